"""What went wrong with a file, in words."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError, one_line

_IN_WORDS: Final = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk reports an error",
    "SQLITE_BUSY": "another program holds it locked",
    "SQLITE_LOCKED": "another program holds it locked",
    "SQLITE_READONLY": "this user may not write it, or what belongs beside it",
    "SQLITE_CANTOPEN": "this user may not open it, or not what belongs beside it",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_NOTADB": "it is no SQLite file",
    "SQLITE_NOMEM": "there is no memory left",
}


_MAY_PASS: Final = tuple(f"SQLITE_{name}" for name in ("FULL", "IOERR", "BUSY", "LOCKED", "NOMEM"))
_MAY_PASS_ERRNO: Final = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ENOMEM}


class JournalUnwritable(UserError):  # noqa: N818 - a state of the journal, told as such
    """Nothing of what was handed over is in the journal; it may be tried again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_status=1)


def told(path: Path, what: str, error: OSError | sqlite3.Error) -> UserError:
    """
    Return the line about what could not be done to a file, and why.

    What may pass by itself, as a full disk, ends with 1 and not with 2: the
    daemon is started again after that.
    """
    line = f"{path}: {what}: {in_words(error)}"
    return JournalUnwritable(line) if _may_pass(error) else UserError(line)


def _may_pass(error: OSError | sqlite3.Error) -> bool:
    if isinstance(error, OSError):
        return error.errno in _MAY_PASS_ERRNO
    return getattr(error, "sqlite_errorname", "").startswith(_MAY_PASS)


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether the file itself is what is wrong."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def in_words(error: OSError | sqlite3.Error) -> str:
    """Return the reason, for a person, with SQLite's own name for it in brackets."""
    if isinstance(error, OSError):
        return one_line(error)
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        return str(error)
    words = next((words for key, words in _IN_WORDS.items() if name.startswith(key)), str(error))
    return f"{words} [{name}]"

"""Errors of the file system and of SQLite, as one line for the user."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError, one_line

_REASONS: Final = {
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


_TRANSIENT_CODES: Final = tuple(
    f"SQLITE_{name}" for name in ("FULL", "IOERR", "BUSY", "LOCKED", "NOMEM")
)
_TRANSIENT_ERRNOS: Final = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ENOMEM}


class JournalUnwritable(UserError):  # noqa: N818 - describes the state of the journal
    """
    The journal could not be written. Nothing of the batch is stored, and a retry is possible.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_status=1)


def file_error(path: Path, what: str, error: OSError | sqlite3.Error) -> UserError:
    """
    Build the error for a failed operation on a file.

    Temporary failures, such as a full disk, exit with 1, so that the service manager restarts the
    daemon; all others exit with 2.
    """
    line = f"{path}: {what}: {error_reason(error)}"
    return JournalUnwritable(line) if _is_transient(error) else UserError(line)


def _is_transient(error: OSError | sqlite3.Error) -> bool:
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT_ERRNOS
    return getattr(error, "sqlite_errorname", "").startswith(_TRANSIENT_CODES)


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the error means that the file is corrupt."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def error_reason(error: OSError | sqlite3.Error) -> str:
    """Return the reason in plain words, with SQLite's error name in brackets."""
    if isinstance(error, OSError):
        return one_line(error)
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        return str(error)
    words = next((words for key, words in _REASONS.items() if name.startswith(key)), str(error))
    return f"{words} [{name}]"

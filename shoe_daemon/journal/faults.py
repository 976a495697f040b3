"""
What went wrong with a file, in words.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from shoe_daemon.errors import UserError

_IN_WORDS: Final = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk reports an error",
    "SQLITE_BUSY": "another program holds it locked",
    "SQLITE_LOCKED": "another program holds it locked",
    "SQLITE_READONLY": "it may not be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_NOTADB": "it is no SQLite file",
    "SQLITE_NOMEM": "there is no memory left",
}


class JournalUnwritable(UserError):  # noqa: N818 - a state of the journal, told as such
    """
    Nothing of what was handed over is in the journal; it may be tried again.
    """


def in_words(error: OSError | sqlite3.Error) -> str:
    """
    Return the reason, for a person, with SQLite's own name for it in brackets.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        return str(error)
    words = next((words for key, words in _IN_WORDS.items() if name.startswith(key)), str(error))
    return f"{words} [{name}]"

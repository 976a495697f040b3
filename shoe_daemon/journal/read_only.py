"""Looking at a journal from outside, whether a daemon writes it or not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoe_daemon.errors import UserError
from shoe_daemon.journal import journal_file
from shoe_daemon.journal.journal_reader import JournalReader


@contextmanager
def looking_at(path: Path) -> Iterator[JournalReader]:
    """
    Give a reader of a journal that a daemon may be writing, or not.

    Beside a journal at rest nothing is made, since a daemon that runs as
    somebody else could not write it: it is read as immutable. Should a daemon
    begin to write it meanwhile, the answer would be worth nothing, and is
    refused. (Beside what a killed daemon left, SQLite needs its index and
    makes it anew, owned as the journal is.)

    Raises:
        UserError: It is no journal, cannot be read, or was not at rest.
    """
    journal_file.check_file(path)
    path = journal_file.real(path)
    at_rest = not journal_file.wal_of(path).exists()
    before = path.stat()
    try:
        with (
            journal_file.readable(path),
            JournalReader(path, mode="immutable=1" if at_rest else "mode=ro") as reader,
        ):
            journal_file.check_schema(reader.connection, path, reader.version)
            yield reader
    except (UserError, sqlite3.Error):
        _check_rest(path, before.st_mtime_ns, at_rest=at_rest)
        raise
    _check_rest(path, before.st_mtime_ns, at_rest=at_rest)


def _check_rest(path: Path, written: int, *, at_rest: bool) -> None:
    began = journal_file.wal_of(path).exists() or path.stat().st_mtime_ns != written
    if at_rest and began:
        raise UserError(f"{path}: a daemon began to write it while it was read: try again")

"""A journal that is copied: opened read-only, except for the row that holds back its pruning."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.forward.database import Database, Position
from shoe_daemon.journal import database as journal_file
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.table import to_microseconds

CONSUMER: Final = "forward"
"""The name of the row in `cursor`: pruning keeps what it has not acknowledged."""

BATCH: Final = 20_000
"""Events of one transaction."""

_ACKNOWLEDGE_S: Final = 60.0
_BUSY_MS: Final = 100
_FIRST: Final = "INSERT INTO cursor VALUES (?, ?) ON CONFLICT DO NOTHING"
_SET: Final = "INSERT INTO cursor VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq"


class Lag(Struct, frozen=True):
    """What is not copied yet: events, and the age of the oldest one in seconds."""

    events: int
    seconds: float


class Figures(Struct, frozen=True):
    """The lag of a table; None while it is unknown."""

    site: str
    table: str
    lag: Lag | None


class Source:
    """
    A journal, and how far it is copied.

    Attributes:
        position: The position in the database; None until it is known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position: Position | None = None
        self._reader: JournalReader | None = None
        self._file: os.stat_result | None = None
        self._acknowledged_at = float("-inf")

    def copy_batch(self, target: Database) -> int:
        """
        Copy the next events; return their number.

        Raises:
            DatabaseError: The database cannot be used.
            UserError: The journal cannot be read.
        """
        reader = self._open()
        with journal_file.explain_read_errors(self.path):
            position = self.position or self._registered(reader, target)
            span = reader.next_events(position.seq, BATCH)
            if span is not None:
                pages = reader.event_rows(position.seq, span.last_seq)
                self.position = target.copy(position, span, pages)
            else:
                self.position = position
        self._acknowledge()
        return 0 if span is None else span.count

    def lag(self) -> Lag | None:
        """Return what is to be copied; None while that is unknown."""
        if self._reader is None or self.position is None:
            return None
        with journal_file.explain_read_errors(self.path):
            return lag_after(self._reader, self.position.seq)

    def forget_position(self) -> None:
        """The connection ended: the database knows how far it came."""
        self.position = None

    def close(self) -> None:
        """Close the journal."""
        if self._reader is not None:
            self._acknowledge(at_once=True)
            self._reader.close()
        self._reader = self.position = None

    def _open(self) -> JournalReader:
        """Return the reader; a new one if another file has taken the journal's place."""
        if self._reader is not None and self._file is not None and not self._is_replaced():
            return self._reader
        if self._reader is not None:
            self._reader.close()
        self._reader = self.position = None
        journal_file.check_file(self.path)
        self._file = self.path.stat()
        self._reader = JournalReader(self.path)
        self._acknowledged_at = float("-inf")
        _write_cursor(self.path, _FIRST, 0)
        return self._reader

    def _is_replaced(self) -> bool:
        try:
            return self._file is None or not os.path.samestat(self.path.stat(), self._file)
        except OSError:
            return True

    def _registered(self, reader: JournalReader, target: Database) -> Position:
        position = target.register(reader.identity)
        head = reader.head().seq
        if position.seq > head:
            raise UserError(
                f"{self.path}: ends with event {head}, but the database has its events up to"
                f" {position.seq}: an older copy was put back without `journal restore`"
            )
        return position

    def _acknowledge(self, *, at_once: bool = False) -> None:
        """Note in the journal what is copied, at most once a minute."""
        now = time.monotonic()
        if self.position is None or (now - self._acknowledged_at < _ACKNOWLEDGE_S and not at_once):
            return
        self._acknowledged_at = now
        _write_cursor(self.path, _SET, self.position.seq)


def lag_after(reader: JournalReader, seq: int) -> Lag:
    """Return the lag of a copy that has the events up to `seq`."""
    oldest = reader.next_events(seq, 1)
    if oldest is None:
        return Lag(0, 0.0)
    age = time.time() - to_microseconds(oldest.first_at) / 1_000_000
    return Lag(reader.count_events(seq), max(age, 0.0))


def forget(path: Path) -> None:
    """Let the journal be pruned without regard to the copy."""
    with journal_file.explain_read_errors(path), closing(_writable(path)) as connection:
        connection.execute("DELETE FROM cursor WHERE consumer = ?", (CONSUMER,))


def _write_cursor(path: Path, statement: str, seq: int) -> None:
    # Nothing is lost without it: pruning waits for the next time.
    with suppress(sqlite3.Error), closing(_writable(path)) as connection:
        connection.execute(statement, (CONSUMER, seq))


def _writable(path: Path) -> sqlite3.Connection:
    """
    Open a journal for a row of `cursor`.

    The daemon's next write never waits for the disk here: no sync and no checkpoint. The row
    reaches the disk with the next entry.
    """
    connection = journal_file.connect(journal_file.resolve_link(path), "mode=rw")
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection

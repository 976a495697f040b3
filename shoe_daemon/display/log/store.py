"""
The display's log of all events, in an SQLite database of its own.

It stores what the display received, and can be rebuilt from the tables (the order `replay`) or
from their journals: losing it loses nothing. One process or thread writes, any number read. What
the pages search is derived from the events of a batch in the same transaction.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, Self

import msgspec

from shoe_daemon.display.log.derived import (
    MAX_SEQ,
    ROUND_BITS,
    SCHEMA,
    SEQ_BITS,
    SHOE_BITS,
    Derivation,
    SeqRange,
    delete_cards,
    event_id,
    keys_of,
)
from shoe_daemon.display.log.sql import Sqlite
from shoe_daemon.display.log.summaries import IRREGULARITY, LoggedEvent
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.table import to_microseconds

SCHEMA_VERSION: Final = 1
MAX_JOURNALS: Final = (1 << (63 - SEQ_BITS)) - 1
BUSY_TIMEOUT_S: Final = 30.0
NEW_JOURNAL_MARGIN: Final = 1000
"""A table whose `seq` is lower by more than this has begun a new journal."""

DAMAGED_SUFFIX: Final = ".damaged"

_encode = msgspec.json.Encoder(order="sorted").encode

_SCHEMA: Final = """
CREATE TABLE journal (
    id INTEGER PRIMARY KEY, site TEXT NOT NULL, name TEXT NOT NULL,
    head INTEGER NOT NULL DEFAULT 0, latest INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX journal_of_table ON journal (site, name);
CREATE TABLE coverage (
    journal INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (journal, first)
) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, shoe INTEGER, round INTEGER,
    ref INTEGER, type TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX event_of_round ON event (round) WHERE round IS NOT NULL;
CREATE INDEX event_of_irregularity ON event (ref) WHERE ref IS NOT NULL;
"""

_OBJECTS: Final = (_SCHEMA + SCHEMA).count("CREATE ")
"""Tables and indexes; none of them has an index of its own making."""


class ReceivedEvent(NamedTuple):
    """A public event of a table, as it was received."""

    site: str
    table: str
    event: LoggedEvent


class Envelope(Protocol):
    """An event, checked by its type."""

    at: str
    data: dict[str, Any]
    round: int | None
    seq: int
    shoe: int | None
    type: str


def logged_event(event: Envelope) -> LoggedEvent:
    """
    Return an event for the store.

    Raises:
        ValueError: One of its numbers or its time cannot be stored.
    """
    fits = 0 < event.seq <= MAX_SEQ and 0 <= (event.shoe or 0) < 1 << SHOE_BITS
    fits = fits and 0 <= (event.round or 0) < 1 << ROUND_BITS
    if event.type in IRREGULARITY:
        fits = fits and 0 < event.data["id"] <= MAX_SEQ
    if not fits:
        raise ValueError("a number is too large")
    at = to_microseconds(event.at)
    return LoggedEvent(event.seq, at, event.shoe, event.round, event.type, event.data)


class _Changes:
    """The changes of a batch, and the time of each journal's last event."""

    def __init__(self, database: Sqlite) -> None:
        self.derivation = Derivation(database)
        self.latest: dict[int, int] = {}


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the file is damaged or not such a database."""
    text = str(error)
    return isinstance(error, sqlite3.DatabaseError) and (
        not isinstance(error, sqlite3.OperationalError | sqlite3.InterfaceError)
        or text.startswith(("no such table", "no such column", "malformed"))
    )


def move_aside(path: Path) -> Path:
    """
    Move a damaged database out of the way; an earlier damaged one is replaced.

    Raises:
        OSError: The folder cannot be written.
    """
    target = path.with_name(path.name + DAMAGED_SUFFIX)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.replace(target)
    return target


def connect_read_only(path: Path) -> Sqlite:
    """
    Open the database for reading, for one thread at a time.

    Raises:
        sqlite3.DatabaseError: It is damaged, or not ready.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        factory=Sqlite,
    )
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
            # It was just made; what is not finished is not damaged.
            raise sqlite3.OperationalError("not ready")  # noqa: TRY301
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA mmap_size = 1073741824")
    except BaseException:
        connection.close()
        raise
    return connection


class HistoryStore:
    """
    The writing connection, for one thread at a time.

    Args:
        path: The file; created if it does not exist.

    Raises:
        UserError: It cannot be opened or created.
        sqlite3.DatabaseError: It is damaged; see `is_damage`.
    """

    def __init__(self, path: Path) -> None:
        try:
            with contextlib.ExitStack() as failing:
                self._db = sqlite3.connect(
                    path,
                    timeout=BUSY_TIMEOUT_S,
                    isolation_level=None,
                    check_same_thread=False,
                    factory=Sqlite,
                )
                failing.callback(self._db.close)
                self._prepare()
                failing.pop_all()
        except sqlite3.OperationalError as error:
            if is_damage(error):
                raise
            raise UserError(f"display.history.file: {path}: {one_line(error)}") from error
        self._journals: dict[tuple[str, str], int] = {}

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        # A power cut may lose the last transactions, and the coverage with them.
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA cache_size = -32000")
        with self._transaction():
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            objects = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if (version, objects) == (0, 0):
                for statement in (_SCHEMA + SCHEMA).split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            elif (version, objects) != (SCHEMA_VERSION, _OBJECTS):
                raise sqlite3.DatabaseError(f"schema version {version}; expected {SCHEMA_VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            yield

    # Journals of tables.

    def journal(self, site: str, table: str) -> int:
        """Return the number of a table's newest journal; the first call creates it."""
        key = (site, table)
        if key not in self._journals:
            found = self._journals_of(site, table)
            self._journals[key] = found[0] if found else self._new_journal(site, table)
        return self._journals[key]

    def _journals_of(self, site: str, table: str) -> list[int]:
        query = "SELECT id FROM journal WHERE site = ? AND name = ? ORDER BY latest DESC, id DESC"
        return [row[0] for row in self._db.execute(query, (site, table))]

    def _new_journal(self, site: str, table: str, latest: int = 0) -> int:
        statement = "INSERT INTO journal (site, name, latest) VALUES (?, ?, ?)"
        found = int(self._db.execute(statement, (site, table, latest)).lastrowid or 0)
        if found > MAX_JOURNALS:
            raise UserError(f"the history has more than {MAX_JOURNALS} journals")
        return found

    def begin_journal(self, site: str, table: str) -> int:
        """Begin a new journal of a table: its numbers start again."""
        with self._transaction():
            self._journals[site, table] = self._new_journal(site, table, now_us())
        return self._journals[site, table]

    def _is_other(self, journal: int, event: LoggedEvent) -> bool:
        """Return whether a journal has another event of this number."""
        query = "SELECT at, type FROM event WHERE id = ?"
        row = self._db.execute(query, (event_id(journal, event.seq),)).fetchone()
        return row is not None and row != (event.at, event.type)

    def journal_with(self, site: str, table: str, events: Sequence[LoggedEvent]) -> int:
        """
        Return the journal to which events of a table belong: the newest one without different
        events of the same numbers; else a new one.
        """
        known = self._journals_of(site, table)
        fitting = (
            each for each in known if not any(self._is_other(each, event) for event in events)
        )
        found = next(fitting, None)
        return self._new_journal(site, table) if found is None else found

    # Writing.

    def add(
        self,
        events: Iterable[ReceivedEvent],
        covered: Iterable[tuple[int, SeqRange]] = (),
        heads: Iterable[tuple[int, int]] = (),
    ) -> int:
        """
        Store a batch in one transaction; return how many of its events were new.

        Args:
            events: The events; those that are stored already are ignored.
            covered: Journals, and ranges of which now every public event is stored.
            heads: Journals, and the number of the last event of which is known.
        """
        with self._transaction():
            changes = _Changes(self._db)
            added = sum(self._add_event(each, changes) for each in events)
            self._write(changes)
            for journal, covered_range in covered:
                self._cover(journal, covered_range)
            for journal, head in heads:
                self._set_head(journal, head)
        return added

    def add_to_journal(
        self, journal: int, events: Iterable[LoggedEvent], covered: SeqRange
    ) -> int:
        """Store a batch of one journal: all its public events in that range."""
        with self._transaction():
            changes = _Changes(self._db)
            added = sum(self._insert(journal, each, changes) for each in events)
            self._write(changes)
            self._cover(journal, covered)
            self._set_head(journal, covered.last)
        return added

    def _add_event(self, received: ReceivedEvent, changes: _Changes) -> bool:
        site, table, event = received
        journal = self.journal(site, table)
        if self._insert(journal, event, changes):
            return True
        if not self._is_other(journal, event):
            return False
        # Another event of the same number: the table has a new journal, or an earlier one again.
        self._journals[site, table] = journal = self.journal_with(site, table, [event])
        return self._insert(journal, event, changes)

    def _insert(self, journal: int, event: LoggedEvent, changes: _Changes) -> bool:
        keys = keys_of(journal, event)
        key, number, ref = keys
        data = _encode(event.data).decode()
        values = (key, event.at, event.shoe, number, ref, event.type, data)
        cursor = self._db.execute("INSERT OR IGNORE INTO event VALUES (?,?,?,?,?,?,?)", values)
        if cursor.rowcount == 0:
            return False
        changes.latest[journal] = max(event.at, changes.latest.get(journal, 0))
        changes.derivation.note(keys, event)
        return True

    def _write(self, changes: _Changes) -> None:
        changes.derivation.write()
        self._db.executemany(
            "UPDATE journal SET latest = max(latest, ?) WHERE id = ?",
            [(latest, journal) for journal, latest in changes.latest.items()],
        )

    # Completeness.

    def _cover(self, journal: int, covered: SeqRange) -> None:
        first, last = covered
        query = "SELECT first, last FROM coverage WHERE journal = ? AND first <= ? AND last >= ?"
        rows = self._db.execute(query, (journal, last + 1, first - 1)).fetchall()
        if len(rows) == 1 and rows[0][0] <= first and rows[0][1] >= last:
            return
        delete = "DELETE FROM coverage WHERE journal = ? AND first = ?"
        self._db.executemany(delete, [(journal, row[0]) for row in rows])
        first = min([first, *(row[0] for row in rows)])
        last = max([last, *(row[1] for row in rows)])
        self._db.execute("INSERT INTO coverage VALUES (?, ?, ?)", (journal, first, last))

    def _set_head(self, journal: int, head: int) -> None:
        self._db.execute(
            "UPDATE journal SET head = ? WHERE id = ? AND head < ?", (head, journal, head)
        )

    def head(self, journal: int) -> int:
        """Return the highest known number of a journal."""
        row = self._db.execute("SELECT head FROM journal WHERE id = ?", (journal,)).fetchone()
        return 0 if row is None else int(row[0])

    # Retention.

    def prune(self, before: int, limit: int = 5000) -> bool:
        """
        Delete what is older than a time, in microseconds since 1970, at most so many rows of a
        kind; return whether more may be left.
        """
        more = False
        with self._transaction():
            for (journal,) in self._db.execute("SELECT id FROM journal").fetchall():
                span = (event_id(journal, 0), event_id(journal + 1, 0))
                query = "SELECT id, at FROM event WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
                oldest = self._db.execute(query, (*span, 1)).fetchone()
                if oldest is None or oldest[1] >= before:
                    continue
                rows = self._db.execute(query, (*span, limit)).fetchall()
                old = [row[0] for row in rows if row[1] < before]
                if old:
                    statement = "DELETE FROM event WHERE id >= ? AND id <= ? AND at < ?"
                    self._db.execute(statement, (old[0], old[-1], before))
                    more = more or len(old) == limit
            query = "SELECT id, at, player, banker FROM round WHERE at < ? ORDER BY at LIMIT ?"
            rounds = self._db.execute(query, (before, limit)).fetchall()
            for row in rounds:
                delete_cards(self._db, *row)
            delete = "DELETE FROM round WHERE id = ?"
            self._db.executemany(delete, [(row[0],) for row in rounds])
            self._db.execute("DELETE FROM entry WHERE at < ?", (before,))
        return more or len(rounds) == limit


def now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000

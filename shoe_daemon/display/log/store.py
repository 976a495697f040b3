"""
The display's log of all events, in an SQLite database of its own.

It stores what the display received, and can be rebuilt from the tables (the order `replay`) or
from their journals: losing it loses nothing. One process or thread writes, any number read. What
the log page searches is derived from the events of a batch in the same transaction; it depends on
the set of events alone, so events may arrive in any order and any number of times.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, Self

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, astuple

from shoe_daemon.display.log.summaries import (
    CARD_NUMBERS,
    DECISIONS,
    IRREGULARITY,
    LogEntry,
    LoggedEvent,
    RoundSummary,
    card_mask,
    summarise_decision,
    summarise_irregularity,
    summarise_round,
)
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.report.cards import CausedEvent, received
from shoe_daemon.table import EVENT_DECODERS, Event, from_microseconds, to_microseconds

SCHEMA_VERSION: Final = 1
SEQ_BITS: Final = 40
MAX_SEQ: Final = (1 << SEQ_BITS) - 1
ROUND_BITS: Final = 16
SHOE_BITS: Final = 24
"""A journal's number, a shoe and a round together are one whole number of 63 bits."""

MAX_JOURNALS: Final = (1 << (63 - SEQ_BITS)) - 1
BUSY_TIMEOUT_S: Final = 30.0
NEW_JOURNAL_MARGIN: Final = 1000
"""A table whose `seq` is lower by more than this has begun a new journal."""

DAMAGED_SUFFIX: Final = ".damaged"

_encode = msgspec.json.Encoder(order="sorted").encode

_SCHEMA: Final = f"""
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
CREATE TABLE duty (id INTEGER PRIMARY KEY, dealer TEXT);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, journal INTEGER NOT NULL, at INTEGER NOT NULL, shoe INTEGER,
    round INTEGER, kind TEXT NOT NULL, severity INTEGER NOT NULL, source INTEGER NOT NULL,
    closed INTEGER, action TEXT, operator TEXT, dealer TEXT, reason TEXT, authority TEXT,
    section TEXT, verified INTEGER
);
CREATE INDEX entry_at ON entry (at, id);
CREATE INDEX entry_journal ON entry (journal, at, id);
CREATE INDEX entry_kind ON entry (kind, at, id);
CREATE INDEX entry_severity ON entry (severity, at, id);
CREATE INDEX entry_operator ON entry (operator, at, id) WHERE operator IS NOT NULL;
CREATE INDEX entry_dealer ON entry (dealer, at, id) WHERE dealer IS NOT NULL;
CREATE INDEX entry_open ON entry (at, id) WHERE closed IS NULL;
CREATE TABLE round (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, ended INTEGER, number INTEGER NOT NULL,
    outcome TEXT, marks INTEGER NOT NULL, player TEXT NOT NULL, banker TEXT NOT NULL,
    player_total INTEGER, banker_total INTEGER, kind TEXT NOT NULL, mask INTEGER NOT NULL
);
CREATE INDEX round_at ON round (at, id, outcome);
CREATE INDEX round_journal ON round (id >> {SEQ_BITS}, at, id, outcome, mask);
CREATE INDEX round_number ON round (number, at, id);
CREATE INDEX round_marked ON round (at, id, marks) WHERE marks > 0;
CREATE TABLE round_card (
    card INTEGER NOT NULL, at INTEGER NOT NULL, round INTEGER NOT NULL, mask INTEGER NOT NULL,
    copies INTEGER NOT NULL, PRIMARY KEY (card, at, round)
) WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""

INSERT_ENTRY: Final = (
    "INSERT OR REPLACE INTO entry VALUES (:id, :journal, :at, :shoe, :round, :kind, :severity,"
    " :source, :closed, :action, :operator, :dealer, :reason, :authority, :section, :verified)"
)
INSERT_ROUND: Final = "INSERT OR REPLACE INTO round VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_OBJECTS: Final = _SCHEMA.count("CREATE ")
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


class SeqRange(NamedTuple):
    """Numbers of events, both ends included."""

    first: int
    last: int


class _Changes(Struct):
    """Keys to derive again after a batch, and the time of each journal's last event."""

    rounds: set[int] = set()
    irregularities: set[int] = set()
    decisions: dict[int, LoggedEvent] = {}
    duties: set[int] = set()
    latest: dict[int, int] = {}


def event_id(journal: int, seq: int) -> int:
    """Return the key of an event."""
    return journal << SEQ_BITS | seq


def round_id(journal: int, shoe: int, number: int) -> int:
    """Return the key of a round."""
    return journal << SEQ_BITS | shoe << ROUND_BITS | number


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the file is damaged, or is no database of this kind."""
    text = str(error)
    return isinstance(error, sqlite3.DatabaseError) and (
        not isinstance(error, sqlite3.OperationalError | sqlite3.InterfaceError)
        or text.startswith(("no such table", "no such column", "malformed"))
    )


def round_row(key: int, summary: RoundSummary) -> tuple[Any, ...]:
    """Return the row of a round."""
    at, ended, *others = astuple(summary)
    return key, at, ended, key & ((1 << ROUND_BITS) - 1), *others, card_mask(summary.cards)


def entry_row(key: int, entry: LogEntry, dealer: str | None) -> dict[str, Any]:
    """Return the values of `INSERT_ENTRY`."""
    journal, number = key >> SEQ_BITS, None
    if entry.shoe is not None and entry.round is not None:
        number = round_id(journal, entry.shoe, entry.round)
    others = {"id": key, "journal": journal, "round": number, "dealer": dealer}
    return {**asdict(entry), **others, "source": event_id(journal, entry.source)}


def card_rows(key: int, summary: RoundSummary) -> list[tuple[int, int, int, int, int]]:
    """Return the rows by which a round is found by its cards."""
    mask = card_mask(summary.cards)
    return [
        (CARD_NUMBERS[card], summary.at, key, mask, copies)
        for card, copies in Counter(summary.cards).items()
    ]


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


def connect_read_only(path: Path) -> sqlite3.Connection:
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
                    path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
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
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
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
        Return the journal of a table that events belong to: the newest one that has no other
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
            changes = _Changes()
            added = sum(self._add_event(each, changes) for each in events)
            self._derive(changes)
            for journal, covered_range in covered:
                self._cover(journal, covered_range)
            for journal, head in heads:
                self._set_head(journal, head)
        return added

    def add_to_journal(
        self, journal: int, events: Iterable[LoggedEvent], covered: SeqRange
    ) -> int:
        """Store a batch of one journal, which has no other public events in that range."""
        with self._transaction():
            changes = _Changes()
            added = sum(self._insert(journal, each, changes) for each in events)
            self._derive(changes)
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
        key, data = event_id(journal, event.seq), event.data
        round_key = ref = None
        if event.shoe is not None and event.round is not None:
            round_key = round_id(journal, event.shoe, event.round)
        if event.type in IRREGULARITY:
            ref = event_id(journal, data["id"])
        values = (key, event.at, event.shoe, round_key, ref, event.type, _encode(data).decode())
        cursor = self._db.execute("INSERT OR IGNORE INTO event VALUES (?,?,?,?,?,?,?)", values)
        if cursor.rowcount == 0:
            return False
        changes.latest[journal] = max(event.at, changes.latest.get(journal, 0))
        if round_key is not None:
            changes.rounds.add(round_key)
        if ref is not None:
            changes.irregularities.add(ref)
        if event.type in DECISIONS:
            changes.decisions[key] = event
        if event.type == "dealer_changed":
            self._db.execute("INSERT OR REPLACE INTO duty VALUES (?, ?)", (key, data["dealer"]))
            changes.duties.add(key)
        return True

    def _derive(self, changes: _Changes) -> None:
        for key in changes.rounds:
            self._derive_round(key)
        for key in changes.irregularities:
            entry = summarise_irregularity(self._events("ref", key))
            if entry is not None:
                self._put_entry(key, entry)
        for key, event in changes.decisions.items():
            self._put_entry(key, summarise_decision(event))
        for key in changes.duties:
            self._put_dealer(key)
        self._db.executemany(
            "UPDATE journal SET latest = max(latest, ?) WHERE id = ?",
            [(latest, journal) for journal, latest in changes.latest.items()],
        )

    def _events(self, column: str, key: int) -> Iterator[CausedEvent]:
        query = f"SELECT id, at, shoe, round, type, data FROM event WHERE {column} = ?"  # noqa: S608 - our own name
        return stored_events(self._db.execute(query, (key,)))

    def _derive_round(self, key: int) -> None:
        summary = summarise_round(self._events("round", key))
        if summary is None:
            return
        before = self._db.execute("SELECT at, player, banker FROM round WHERE id = ?", (key,))
        row = before.fetchone()
        if row is not None and row != (summary.at, summary.player, summary.banker):
            self._delete_cards(key, *row)
        self._db.execute(INSERT_ROUND, round_row(key, summary))
        self._db.executemany(
            "INSERT OR IGNORE INTO round_card VALUES (?, ?, ?, ?, ?)", card_rows(key, summary)
        )

    def _delete_cards(self, key: int, at: int, player: str, banker: str) -> None:
        old = RoundSummary(at, player=player, banker=banker)
        self._db.executemany(
            "DELETE FROM round_card WHERE card = ? AND at = ? AND round = ?",
            [(CARD_NUMBERS[card], at, key) for card in set(old.cards)],
        )

    def _put_entry(self, key: int, entry: LogEntry) -> None:
        query = "SELECT dealer FROM duty WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"
        duty = self._db.execute(query, (event_id(key >> SEQ_BITS, 0), key)).fetchone()
        self._db.execute(INSERT_ENTRY, entry_row(key, entry, duty and duty[0]))

    def _put_dealer(self, key: int) -> None:
        """Set the dealer of the entries up to the next change of dealers."""
        end = event_id((key >> SEQ_BITS) + 1, 0)
        query = "SELECT min(id) FROM duty WHERE id > ? AND id < ?"
        following = self._db.execute(query, (key, end)).fetchone()[0] or end
        self._db.execute(
            "UPDATE entry SET dealer = (SELECT dealer FROM duty WHERE duty.id = ?)"
            " WHERE id > ? AND id < ?",
            (key, key, following),
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
                self._delete_cards(*row)
            delete = "DELETE FROM round WHERE id = ?"
            self._db.executemany(delete, [(row[0],) for row in rounds])
            self._db.execute("DELETE FROM entry WHERE at < ?", (before,))
        return more or len(rounds) == limit


def stored_events(rows: Iterable[tuple[Any, ...]]) -> Iterator[CausedEvent]:
    """
    Yield stored events; those of another version of the program are left out.

    Args:
        rows: Key, time, shoe, key of the round, type and data of each.
    """
    for key, at, shoe, round_key, kind, data in rows:
        try:
            found = EVENT_DECODERS[kind].decode(data)
        except (KeyError, msgspec.DecodeError):
            continue
        number = None if round_key is None else round_key & ((1 << ROUND_BITS) - 1)
        moment = from_microseconds(at)
        event = Event(moment, found, number, "", key & MAX_SEQ, shoe, "", "", kind)
        yield received(event, at)


def now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000

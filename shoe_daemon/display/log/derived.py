"""
The rounds, irregularities and decisions of the log, derived from the events of a table.

They depend on the set of events alone, so events may arrive in any order and any number of times.
The tables are the same in SQLite and PostgreSQL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import asdict, astuple, fields

from shoe_daemon.display.log.sql import Database
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
from shoe_daemon.report.cards import CausedEvent, received
from shoe_daemon.table import EVENT_DECODERS, Event, from_microseconds

SEQ_BITS: Final = 40
MAX_SEQ: Final = (1 << SEQ_BITS) - 1
ROUND_BITS: Final = 16
SHOE_BITS: Final = 24
"""A journal's number, a shoe and a round together are one whole number of 63 bits."""


SCHEMA: Final = f"""
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
CREATE INDEX round_journal ON round ((id >> {SEQ_BITS}), at, id, outcome, mask);
CREATE INDEX round_number ON round (number, at, id);
CREATE INDEX round_marked ON round (at, id, marks) WHERE marks > 0;
CREATE TABLE round_card (
    card INTEGER NOT NULL, at INTEGER NOT NULL, round INTEGER NOT NULL, mask INTEGER NOT NULL,
    copies INTEGER NOT NULL, PRIMARY KEY (card, at, round)
) WITHOUT ROWID;
"""


def postgres_schema() -> str:
    """Return the same for PostgreSQL."""
    return SCHEMA.replace("INTEGER", "bigint").replace(" WITHOUT ROWID", "")


def _upsert(table: str, *columns: str) -> str:
    values = ", ".join("?" * len(columns))
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    return (  # names of our own columns
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608
        f" ON CONFLICT ({columns[0]}) DO UPDATE SET {changes}"
    )


_ENTRY_COLUMNS: Final = (
    *("id", "journal", "at", "shoe", "round", "kind", "severity", "source", "closed", "action"),
    *("operator", "dealer", "reason", "authority", "section", "verified"),
)
INSERT_ENTRY: Final = _upsert("entry", *_ENTRY_COLUMNS)
_AT, _ENDED, *_OTHERS = (each.name for each in fields(RoundSummary))
INSERT_ROUND: Final = _upsert("round", "id", _AT, _ENDED, "number", *_OTHERS, "mask")
_INSERT_DUTY: Final = _upsert("duty", "id", "dealer")


class SeqRange(NamedTuple):
    """Numbers of events, both ends included."""

    first: int
    last: int


def event_id(journal: int, seq: int) -> int:
    """Return the key of an event."""
    return journal << SEQ_BITS | seq


def round_id(journal: int, shoe: int, number: int) -> int:
    """Return the key of a round."""
    return journal << SEQ_BITS | shoe << ROUND_BITS | number


class Keys(NamedTuple):
    """
    The keys of an event.

    Attributes:
        event: That of the event itself.
        round: That of its round; None outside a round.
        irregularity: That of the irregularity which it reports or closes; None of other events.
    """

    event: int
    round: int | None
    irregularity: int | None


def keys_of(journal: int, event: LoggedEvent) -> Keys:
    """Return the keys of an event of a journal."""
    number = ref = None
    if event.shoe is not None and event.round is not None:
        number = round_id(journal, event.shoe, event.round)
    if event.type in IRREGULARITY:
        ref = event_id(journal, event.data["id"])
    return Keys(event_id(journal, event.seq), number, ref)


class Derivation:
    """
    The changes of one transaction: `note` each event that it stored, then `write`.

    Args:
        database: The connection; its `event` has all events that are known.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._rounds: set[int] = set()
        self._irregularities: set[int] = set()
        self._decisions: dict[int, LoggedEvent] = {}
        self._duties: dict[int, str | None] = {}

    def note(self, keys: Keys, event: LoggedEvent) -> None:
        """Remember what follows from a new event."""
        if keys.round is not None:
            self._rounds.add(keys.round)
        if keys.irregularity is not None:
            self._irregularities.add(keys.irregularity)
        if event.type in DECISIONS:
            self._decisions[keys.event] = event
        if event.type == "dealer_changed":
            self._duties[keys.event] = event.data["dealer"]

    def write(self) -> None:
        """Derive the rows again that the noted events concern."""
        self._db.executemany(_INSERT_DUTY, list(self._duties.items()))
        for key in self._rounds:
            self._derive_round(key)
        for key in self._irregularities:
            entry = summarise_irregularity(self._events("ref", key))
            if entry is not None:
                self._put_entry(key, entry)
        for key, event in self._decisions.items():
            self._put_entry(key, summarise_decision(event))
        for key in self._duties:
            self._put_dealer(key)

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
            delete_cards(self._db, key, *row)
        self._db.execute(INSERT_ROUND, round_row(key, summary))
        self._db.executemany(
            "INSERT INTO round_card (card, at, round, mask, copies) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            card_rows(key, summary),
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


def delete_cards(database: Database, key: int, at: int, player: str, banker: str) -> None:
    """Delete the rows of `card_rows` of a round as it was."""
    old = RoundSummary(at, player=player, banker=banker)
    database.executemany(
        "DELETE FROM round_card WHERE card = ? AND at = ? AND round = ?",
        [(CARD_NUMBERS[card], at, key) for card in set(old.cards)],
    )


def round_row(key: int, summary: RoundSummary) -> tuple[Any, ...]:
    """Return the row of a round."""
    at, ended, *others = astuple(summary)
    number = key & ((1 << ROUND_BITS) - 1)
    return key, at, ended, number, *others, card_mask(summary.cards)


def entry_row(key: int, entry: LogEntry, dealer: str | None) -> tuple[Any, ...]:
    """Return the row of an entry."""
    journal, number = key >> SEQ_BITS, None
    if entry.shoe is not None and entry.round is not None:
        number = round_id(journal, entry.shoe, entry.round)
    verified = None if entry.verified is None else int(entry.verified)
    row = {
        **asdict(entry),
        "id": key,
        "journal": journal,
        "round": number,
        "dealer": dealer,
        "source": event_id(journal, entry.source),
        "verified": verified,
    }
    return tuple(row[name] for name in _ENTRY_COLUMNS)


def card_rows(key: int, summary: RoundSummary) -> list[tuple[int, int, int, int, int]]:
    """Return the rows by which a round is found by its cards."""
    mask = card_mask(summary.cards)
    return [
        (CARD_NUMBERS[card], summary.at, key, mask, copies)
        for card, copies in Counter(summary.cards).items()
    ]


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

"""
Searches of the log: irregularities and decisions, rounds, and all of one round.

Every search is ordered from the newest to the oldest and goes along an index that fits its
filters, so that a page of it takes milliseconds over a year of many tables. A search that takes
longer than its limit is ended.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from shoe_daemon.display.history_store import (
    ROUND_BITS,
    SEQ_BITS,
    SeqRange,
    connect_read_only,
    round_id,
)
from shoe_daemon.display.history_summaries import CARD_NUMBERS, RoundMark, card_mask

__all__ = [
    "Cursor",
    "LogFilter",
    "LogReader",
    "SearchTimeoutError",
    "TableJournals",
    "missing_ranges",
    "newest_journals",
    "open_log",
]

QUERY_LIMIT_S: Final = 2.0
_PROGRESS_STEPS: Final = 10_000
"""Steps of SQLite's machine between two looks at the clock."""

_ROUND_MASK: Final = (1 << ROUND_BITS) - 1
_SHOE_MASK: Final = (1 << (SEQ_BITS - ROUND_BITS)) - 1
_NO_END: Final = 1 << 62

_decode = msgspec.json.Decoder().decode

_ENTRY_COLUMNS: Final = (
    "entry.id, entry.journal, entry.at, entry.shoe, entry.round, entry.kind, entry.severity,"
    " entry.closed, entry.action, entry.operator, entry.dealer, entry.reason, entry.authority,"
    " entry.section, entry.verified, event.data"
)
_ROUND_COLUMNS: Final = (
    "round.id, round.at, round.ended, round.outcome, round.marks, round.player, round.banker,"
    " round.player_total, round.banker_total, round.kind"
)


class SearchTimeoutError(Exception):
    """A search took longer than its limit."""


class Cursor(NamedTuple):
    """The last row of a page; the next page begins behind it."""

    at: int
    id: int


class LogFilter(Struct, frozen=True, kw_only=True):
    """
    Conditions of a search; None and empty values ask for nothing.

    Attributes:
        table: ``site.table``, or the id of tables at any site.
        shoe: Number of the shoe.
        round: Number of the round within its shoe.
        since: First time, microseconds since 1970.
        until: Last time.
        kind: Kind of an irregularity, or type of a decision's event.
        severity: Severity of an irregularity.
        operator: Who decided.
        dealer: Who was dealing.
        open_only: Irregularities that are still open.
        outcome: ``player``, ``banker`` or ``tie``.
        mark: What happened to the round.
        cards: Cards that the round contains, each as often as it is named.
    """

    table: str | None = None
    shoe: int | None = None
    round: int | None = None
    since: int | None = None
    until: int | None = None
    kind: str | None = None
    severity: int | None = None
    operator: str | None = None
    dealer: str | None = None
    open_only: bool = False
    outcome: str | None = None
    mark: RoundMark | None = None
    cards: tuple[str, ...] = ()


class TableJournals(NamedTuple):
    """A table, and its journals from the newest to the oldest."""

    key: str
    journals: tuple[int, ...]


class _Search:
    """Conditions of a query, and their values."""

    def __init__(self) -> None:
        self.conditions: list[str] = []
        self.values: list[object] = []

    def add(self, condition: str, *values: object) -> None:
        self.conditions.append(condition)
        self.values += values

    def equal(self, column: str, value: object) -> None:
        if value is not None:
            self.add(f"{column} = ?", value)

    def among(self, column: str, values: Sequence[object]) -> None:
        if len(values) == 1:
            self.add(f"{column} = ?", *values)
        else:
            self.add(f"{column} IN ({','.join('?' * len(values))})", *values)

    def times(self, column: str, wanted: LogFilter) -> None:
        if wanted.since is not None:
            self.add(f"{column} >= ?", wanted.since)
        if wanted.until is not None:
            self.add(f"{column} <= ?", wanted.until)

    def after(self, columns: str, cursor: Cursor | None) -> None:
        if cursor is not None:
            self.add(f"({columns}) < (?, ?)", *cursor)

    @property
    def where(self) -> str:
        return " WHERE " + " AND ".join(self.conditions) if self.conditions else ""


class LogReader:
    """
    Searches over one connection, for one thread.

    Args:
        connection: See `connect_read_only`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._tables: list[TableJournals] | None = None

    def tables(self) -> list[TableJournals]:
        """Return all tables by their keys."""
        if self._tables is None:
            query = "SELECT site || '.' || name, id FROM journal ORDER BY latest DESC, id DESC"
            found: dict[str, list[int]] = {}
            for key, journal in self._db.execute(query):
                found.setdefault(key, []).append(journal)
            self._tables = [TableJournals(key, tuple(found[key])) for key in sorted(found)]
        return self._tables

    def key_of(self, journal: int) -> str:
        """Return the key of a journal's table."""
        return next((each.key for each in self.tables() if journal in each.journals), "")

    def names(self, column: str) -> list[str]:
        """Return all operators, or all dealers, of the log."""
        if column not in {"operator", "dealer"}:
            raise ValueError(column)
        # One step for each name along the index, not one for each row.
        query = (
            f"WITH RECURSIVE names (name) AS ("  # noqa: S608 - one of two names
            f" SELECT min({column}) FROM entry WHERE {column} IS NOT NULL UNION ALL"
            f" SELECT (SELECT min({column}) FROM entry WHERE {column} > name) FROM names"
            f" WHERE name IS NOT NULL"
            f") SELECT name FROM names WHERE name IS NOT NULL LIMIT 500"
        )
        return [row[0] for row in self._run(query, ())]

    def entries(
        self, wanted: LogFilter, limit: int, cursor: Cursor | None = None
    ) -> list[dict[str, Any]]:
        """
        Return irregularities and decisions, newest first.

        Raises:
            SearchTimeoutError: It took too long.
        """
        search = _Search()
        if wanted.table is not None:
            search.among("entry.journal", self._journals(wanted.table))
        search.equal("entry.shoe", wanted.shoe)
        if wanted.round is not None:
            search.add(f"entry.round & {_ROUND_MASK} = ?", wanted.round)
        for name in ("kind", "severity", "operator", "dealer"):
            search.equal(f"entry.{name}", getattr(wanted, name))
        if wanted.open_only:
            search.add("entry.closed IS NULL")
        search.times("entry.at", wanted)
        search.after("entry.at, entry.id", cursor)
        query = (
            f"SELECT {_ENTRY_COLUMNS} FROM entry LEFT JOIN event ON event.id = entry.source"  # noqa: S608 - our own names
            f"{search.where} ORDER BY entry.at DESC, entry.id DESC LIMIT {limit:d}"
        )
        return [self._entry(row) for row in self._run(query, search.values)]

    def rounds(
        self, wanted: LogFilter, limit: int, cursor: Cursor | None = None
    ) -> list[dict[str, Any]]:
        """
        Return rounds, newest first.

        Raises:
            SearchTimeoutError: It took too long.
        """
        others = (wanted.table, wanted.shoe, wanted.round, wanted.mark)
        if wanted.cards and all(each is None for each in others):
            return self._rounds_with_cards(wanted, limit, cursor)
        search = _Search()
        source = self._round_source(search, wanted)
        if wanted.cards:
            mask = card_mask(wanted.cards)
            search.add("round.mask & ? = ?", mask, mask)
            self._add_copies(search, Counter(wanted.cards), "round.at", "round.id")
        if wanted.mark is not None:
            search.add("round.marks > 0")
            search.add("round.marks & ? <> 0", int(wanted.mark))
        search.equal("round.number", wanted.round)
        self._add_common(search, wanted, "round.at")
        search.after("round.at, round.id", cursor)
        query = (
            f"SELECT {_ROUND_COLUMNS} FROM {source}{search.where}"  # noqa: S608 - our own names
            f" ORDER BY round.at DESC, round.id DESC LIMIT {limit:d}"
        )
        return [self._round(row) for row in self._run(query, search.values)]

    def _round_source(self, search: _Search, wanted: LogFilter) -> str:
        """Return the table and the index that fit a search best."""
        journals = None if wanted.table is None else self._journals(wanted.table)
        if wanted.shoe is not None:
            # A shoe of a journal is a range of keys.
            if journals is not None:
                search.among("journal.id", journals)
            first = f"(journal.id << {SEQ_BITS}) | ({wanted.shoe:d} << {ROUND_BITS})"
            search.add(f"round.id BETWEEN ({first}) AND ({first} | {_ROUND_MASK})")
            return "journal CROSS JOIN round NOT INDEXED"
        if journals is not None:
            search.among(f"round.id >> {SEQ_BITS}", journals)
        if wanted.mark is not None:
            return "round INDEXED BY round_marked"
        if journals is not None and len(journals) == 1:
            return "round INDEXED BY round_journal"
        if wanted.round is not None:
            return "round INDEXED BY round_number"
        return "round INDEXED BY round_at"

    def _rounds_with_cards(
        self, wanted: LogFilter, limit: int, cursor: Cursor | None
    ) -> list[dict[str, Any]]:
        search = _Search()
        (card, copies), *others = Counter(wanted.cards).most_common()
        mask = card_mask(wanted.cards)
        search.equal("found.card", CARD_NUMBERS[card])
        search.add("found.mask & ? = ?", mask, mask)
        search.add("found.copies >= ?", copies)
        self._add_copies(search, dict(others), "found.at", "found.round")
        self._add_common(search, wanted, "found.at")
        search.after("found.at, found.round", cursor)
        query = (
            f"SELECT {_ROUND_COLUMNS} FROM round_card AS found CROSS JOIN round"  # noqa: S608
            f" ON round.id = found.round{search.where}"
            f" ORDER BY found.at DESC, found.round DESC LIMIT {limit:d}"
        )
        return [self._round(row) for row in self._run(query, search.values)]

    @staticmethod
    def _add_copies(search: _Search, copies: Mapping[str, int], at: str, key: str) -> None:
        for card, count in copies.items():
            if count > 1:
                condition = (  # names of our own columns
                    "EXISTS (SELECT 1 FROM round_card AS other WHERE other.card = ?"  # noqa: S608
                    f" AND other.at = {at} AND other.round = {key} AND other.copies >= ?)"
                )
                search.add(condition, CARD_NUMBERS[card], count)

    @staticmethod
    def _add_common(search: _Search, wanted: LogFilter, at: str) -> None:
        search.equal("round.outcome", wanted.outcome)
        search.times(at, wanted)

    def round(self, table: str, shoe: int, number: int) -> dict[str, Any] | None:
        """Return a round with all its events and entries, and its neighbours; None if unknown."""
        for journal in self._journals(table):
            key = round_id(journal, shoe, number)
            query = f"SELECT {_ROUND_COLUMNS} FROM round WHERE id = ?"  # noqa: S608
            rows = self._run(query, (key,))
            if rows:
                return self._whole_round(key, self._round(rows[0]))
        return None

    def _whole_round(self, key: int, found: dict[str, Any]) -> dict[str, Any]:
        query = "SELECT id, at, type, data FROM event WHERE round = ? ORDER BY id"
        found["events"] = [
            {
                "seq": row[0] & ((1 << SEQ_BITS) - 1),
                "at": row[1],
                "type": row[2],
                "data": _decode(row[3]),
                "shoe": found["shoe"],
                "round": found["round"],
            }
            for row in self._run(query, (key,))
        ]
        query = (
            f"SELECT {_ENTRY_COLUMNS} FROM entry LEFT JOIN event ON event.id = entry.source"  # noqa: S608
            " WHERE entry.journal = ? AND entry.round = ? ORDER BY entry.id"
        )
        rows = self._run(query, (key >> SEQ_BITS, key))
        found["entries"] = [self._entry(row) for row in rows]
        for name, query in (
            ("before", "SELECT max(id) FROM round WHERE id < ? AND id > ?"),
            ("after", "SELECT min(id) FROM round WHERE id > ? AND id < ?"),
        ):
            shoe = key & ~_ROUND_MASK
            end = shoe if name == "before" else shoe + _ROUND_MASK
            other = self._run(query, (key, end))[0][0]
            found[name] = None if other is None else other & _ROUND_MASK
        return found

    def running_since(self, table: str) -> int | None:
        """Return the time of the first event of a table's newest round; None if it has ended."""
        journal = self._journals(table)[0]
        query = "SELECT at, ended FROM round WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1"
        rows = self._run(query, (journal << SEQ_BITS, (journal + 1) << SEQ_BITS))
        return rows[0][0] if rows and rows[0][1] is None else None

    def incomplete(self, wanted: str | None, most: int = 20) -> list[dict[str, Any]]:
        """
        Return what may be missing: tables, with the times between which their events are not
        known to be complete.
        """
        found = []
        for table in self.tables():
            if wanted is not None and wanted not in {table.key, table.key.partition(".")[2]}:
                continue
            for first, last in self._gaps(table.journals[0]):
                found.append(
                    {
                        "table": table.key,
                        "from": self._time(table.journals[0], first, "before"),
                        "to": self._time(table.journals[0], last, "after"),
                    }
                )
                if len(found) == most:
                    return found
        return found

    def _gaps(self, journal: int) -> list[SeqRange]:
        head = self._run("SELECT head FROM journal WHERE id = ?", (journal,))[0][0]
        return missing_ranges(self._db, journal, head)

    def _time(self, journal: int, seq: int, side: str) -> int | None:
        low, high = journal << SEQ_BITS, (journal + 1) << SEQ_BITS
        key = low | seq
        if side == "before":
            query = "SELECT at FROM event WHERE id < ? AND id > ? ORDER BY id DESC LIMIT 1"
            rows = self._run(query, (key, low))
        else:
            query = "SELECT at FROM event WHERE id > ? AND id < ? ORDER BY id LIMIT 1"
            rows = self._run(query, (key, high))
        return rows[0][0] if rows else None

    def _journals(self, table: str) -> tuple[int, ...]:
        found = [
            each.journals
            for each in self.tables()
            if table in {each.key, each.key.partition(".")[2]}
        ]
        return tuple(journal for journals in found for journal in journals) or (-1,)

    def _run(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        until = time.monotonic() + QUERY_LIMIT_S
        self._db.set_progress_handler(lambda: time.monotonic() > until, _PROGRESS_STEPS)
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise SearchTimeoutError from error
            raise

    def _entry(self, row: tuple[Any, ...]) -> dict[str, Any]:
        key, journal, at, shoe, round_key = row[:5]
        closed = row[7]
        return {
            "id": key & ((1 << SEQ_BITS) - 1),
            "cursor": [at, key],
            "table": self.key_of(journal),
            "at": at,
            "shoe": shoe,
            "round": None if round_key is None else round_key & _ROUND_MASK,
            "kind": row[5],
            "severity": row[6],
            "closed": closed,
            "seconds": None if closed is None or row[6] == 0 else (closed - at) / 1_000_000,
            "action": row[8],
            "operator": row[9],
            "dealer": row[10],
            "reason": row[11],
            "authority": row[12],
            "section": row[13],
            "verified": None if row[14] is None else bool(row[14]),
            "data": None if row[15] is None else _decode(row[15]),
        }

    def _round(self, row: tuple[Any, ...]) -> dict[str, Any]:
        key, marks = row[0], RoundMark(row[4])
        return {
            "cursor": [row[1], key],
            "table": self.key_of(key >> SEQ_BITS),
            "shoe": key >> ROUND_BITS & _SHOE_MASK,
            "round": key & _ROUND_MASK,
            "at": row[1],
            "ended": row[2],
            "outcome": row[3],
            "marks": [mark.name.lower() for mark in RoundMark if mark in marks and mark.name],
            "player": row[5].split(),
            "banker": row[6].split(),
            "player_total": row[7],
            "banker_total": row[8],
            "kind": row[9],
        }


def missing_ranges(connection: sqlite3.Connection, journal: int, head: int) -> list[SeqRange]:
    """Return the ranges of a journal that are not known to be complete, newest first."""
    query = "SELECT first, last FROM coverage WHERE journal = ? ORDER BY first DESC"
    missing, upper = [], head
    for first, last in connection.execute(query, (journal,)):
        if last < upper:
            missing.append(SeqRange(last + 1, upper))
        upper = min(upper, first - 1)
    if upper >= 1:
        missing.append(SeqRange(1, upper))
    return missing


def newest_journals(connection: sqlite3.Connection) -> list[tuple[int, str, str, int]]:
    """Return number, site, table and head of the newest journal of every table."""
    query = "SELECT id, site, name, head FROM journal ORDER BY latest, id"
    found = {(row[1], row[2]): row for row in connection.execute(query)}
    return [found[key] for key in sorted(found)]


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[LogReader]:
    """
    Open the log for some searches.

    Raises:
        sqlite3.Error: It cannot be opened, or is damaged.
    """
    connection = connect_read_only(path)
    try:
        yield LogReader(connection)
    finally:
        connection.close()

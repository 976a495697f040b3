"""
Searches of the log: irregularities and decisions, rounds, and all of one round.

Every search is ordered from the newest to the oldest and goes along an index that fits its
filters, so that a page of it takes milliseconds over a year of many tables. A search that takes
longer than its limit is ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from shoe_daemon.display.log.derived import (
    ROUND_BITS,
    SEQ_BITS,
    SeqRange,
    event_id,
    round_id,
)
from shoe_daemon.display.log.sql import Database
from shoe_daemon.display.log.summaries import CARD_NUMBERS, RoundMark, card_mask

_ROUND_MASK: Final = (1 << ROUND_BITS) - 1
_SHOE_MASK: Final = (1 << (SEQ_BITS - ROUND_BITS)) - 1

_decode = msgspec.json.Decoder().decode

_ENTRY_COLUMNS: Final = (
    *("id", "journal", "at", "shoe", "round", "kind", "severity", "closed", "action"),
    *("operator", "dealer", "reason", "authority", "section", "verified"),
)
_ROUND_COLUMNS: Final = (
    *("id", "at", "ended", "outcome", "marks", "player", "banker", "player_total"),
    *("banker_total", "kind"),
)
_SELECT_ENTRY: Final = (
    f"SELECT {', '.join(f'entry.{name}' for name in _ENTRY_COLUMNS)},"  # noqa: S608
    " (SELECT event.data FROM event WHERE event.id = entry.source) FROM entry"
)
_SELECT_ROUND: Final = f"SELECT {', '.join(f'round.{name}' for name in _ROUND_COLUMNS)} FROM "  # noqa: S608


class Cursor(NamedTuple):
    """The last row of a page; the next page begins behind it."""

    at: int
    id: int


class LogFilter(Struct, frozen=True, kw_only=True):
    """
    Conditions of a search; None and empty values set no condition.

    Attributes:
        table: ``site.table``, or the id of tables at any site.
        round: Number of the round within its shoe.
        since: First time, microseconds since 1970.
        until: Last time.
        kind: Kind of an irregularity, or type of a decision's event.
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

    def page(self, at: str, key: str, limit: int, cursor: Cursor | None) -> str:
        """Return the end of the query: conditions, order and limit."""
        if cursor is not None:
            self.add(f"({at}, {key}) < (?, ?)", *cursor)
        where = " WHERE " + " AND ".join(self.conditions) if self.conditions else ""
        return f"{where} ORDER BY {at} DESC, {key} DESC LIMIT {limit:d}"


class LogReader:
    """
    Searches over one connection, for one thread.

    Args:
        connection: The open log.
    """

    def __init__(self, connection: Database) -> None:
        self._db = connection
        self._tables: dict[str, list[int]] | None = None

    def tables(self) -> dict[str, list[int]]:
        """Return the journals of each table from the newest to the oldest, by sorted keys."""
        if self._tables is None:
            query = "SELECT site || '.' || name, id FROM journal ORDER BY latest DESC, id DESC"
            found: dict[str, list[int]] = {}
            for key, journal in self._db.execute(query):
                found.setdefault(key, []).append(journal)
            self._tables = dict(sorted(found.items()))
        return self._tables

    def key_of(self, journal: int) -> str:
        """Return the key of a journal's table."""
        return next((key for key, found in self.tables().items() if journal in found), "")

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
        query = _SELECT_ENTRY + search.page("entry.at", "entry.id", limit, cursor)
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
        search.equal("round.outcome", wanted.outcome)
        search.times("round.at", wanted)
        query = _SELECT_ROUND + source + search.page("round.at", "round.id", limit, cursor)
        return [self._round(row) for row in self._run(query, search.values)]

    def _round_source(self, search: _Search, wanted: LogFilter) -> str:
        """Return the table and the index that fit a search best."""
        journals = None if wanted.table is None else self._journals(wanted.table)
        if wanted.shoe is not None:
            # A shoe of a journal is a range of keys.
            if journals is not None:
                search.among("journal.id", journals)
            first = f"(journal.id << {SEQ_BITS}) | {wanted.shoe << ROUND_BITS:d}"
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
        search.equal("round.outcome", wanted.outcome)
        search.times("found.at", wanted)
        search.add("round.id = found.round")
        source = "round_card AS found CROSS JOIN round"
        query = _SELECT_ROUND + source + search.page("found.at", "found.round", limit, cursor)
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

    def round(self, table: str, shoe: int, number: int) -> dict[str, Any] | None:
        """Return a round with all its events and entries, and its neighbours; None if unknown."""
        for journal in self._journals(table):
            key = round_id(journal, shoe, number)
            rows = self._run(f"{_SELECT_ROUND}round WHERE id = ?", (key,))
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
        query = f"{_SELECT_ENTRY} WHERE entry.journal = ? AND entry.round = ? ORDER BY entry.id"
        rows = self._run(query, (key >> SEQ_BITS, key))
        found["entries"] = [self._entry(row) for row in rows]
        shoe = key & ~_ROUND_MASK
        for name, query, end in (
            ("before", "SELECT max(id) FROM round WHERE id < ? AND id > ?", shoe),
            ("after", "SELECT min(id) FROM round WHERE id > ? AND id < ?", shoe + _ROUND_MASK),
        ):
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
        for key, (journal, *_) in self.tables().items():
            if wanted is not None and wanted not in {key, key.partition(".")[2]}:
                continue
            head = self._run("SELECT head FROM journal WHERE id = ?", (journal,))[0][0]
            for first, last in missing_ranges(self._db, journal, head):
                begin = self._time(journal, first, "before")
                end = self._time(journal, last, "after")
                found.append({"table": key, "from": begin, "to": end})
                if len(found) == most:
                    return found
        return found

    def _time(self, journal: int, seq: int, side: str) -> int | None:
        if side == "before":
            query = "SELECT at FROM event WHERE id < ? AND id > ? ORDER BY id DESC LIMIT 1"
            end = event_id(journal, 0)
        else:
            query = "SELECT at FROM event WHERE id > ? AND id < ? ORDER BY id LIMIT 1"
            end = event_id(journal + 1, 0)
        rows = self._run(query, (event_id(journal, seq), end))
        return rows[0][0] if rows else None

    def _journals(self, table: str) -> tuple[int, ...]:
        found = (
            journals
            for key, journals in self.tables().items()
            if table in {key, key.partition(".")[2]}
        )
        return tuple(chain.from_iterable(found)) or (-1,)

    def _run(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._db.search(query, values)

    def _entry(self, row: tuple[Any, ...]) -> dict[str, Any]:
        *values, data = row
        found = dict(zip(_ENTRY_COLUMNS, values, strict=True))
        journal = found.pop("journal")
        key, at, closed, round_key = (found[name] for name in ("id", "at", "closed", "round"))
        decided = closed is not None and found["severity"] != 0
        return {
            **found,
            "id": key & ((1 << SEQ_BITS) - 1),
            "cursor": [at, key],
            "table": self.key_of(journal),
            "round": None if round_key is None else round_key & _ROUND_MASK,
            "seconds": (closed - at) / 1_000_000 if decided else None,
            "verified": None if found["verified"] is None else bool(found["verified"]),
            "data": None if data is None else _decode(data),
        }

    def _round(self, row: tuple[Any, ...]) -> dict[str, Any]:
        found = dict(zip(_ROUND_COLUMNS, row, strict=True))
        key, marks = found.pop("id"), RoundMark(found["marks"])
        return {
            **found,
            "cursor": [found["at"], key],
            "table": self.key_of(key >> SEQ_BITS),
            "shoe": key >> ROUND_BITS & _SHOE_MASK,
            "round": key & _ROUND_MASK,
            "marks": [mark.name.lower() for mark in RoundMark if mark in marks and mark.name],
            "player": found["player"].split(),
            "banker": found["banker"].split(),
        }


def missing_ranges(connection: Database, journal: int, head: int) -> list[SeqRange]:
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


def newest_journals(connection: Database) -> list[tuple[int, str, str, int]]:
    """Return number, site, table and head of the newest journal of every table."""
    query = "SELECT id, site, name, head FROM journal ORDER BY latest, id"
    found = {(row[1], row[2]): row for row in connection.execute(query)}
    return [found[key] for key in sorted(found)]

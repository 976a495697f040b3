"""
The report on a shift from the log of the pit: a page to print, JSON, or CSV. It is below `/pit`,
and locked as the pit is.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from shoe_daemon.display.languages import BASE, Language, languages
from shoe_daemon.display.log.derived import MAX_SEQ, ROUND_BITS, event_id, stored_events
from shoe_daemon.display.log.queries import missing_ranges, newest_journals
from shoe_daemon.display.log.sql import Database, Log, UnreadableError
from shoe_daemon.errors import UserError
from shoe_daemon.report.figures import ShiftReport, TableEvents
from shoe_daemon.report.period import (
    Period,
    computers_time_zone,
    first_event_at,
    parse_period,
)
from shoe_daemon.report.shift import fold_table_events, report_on_shift
from shoe_daemon.report.shift_page import Pit, shift_page, shift_problem_page, style_of
from shoe_daemon.report.shift_text import shift_csv
from shoe_daemon.report.translation import ENGLISH, Translation
from shoe_daemon.table import from_microseconds

DEFAULT_S: Final = 8 * 3600
"""The report without times is on the last eight hours."""

MAX_DAYS: Final = 31
_DAY_US: Final = 86_400_000_000
_SHOE_EVENTS: Final = 20_000
"""The start of a shoe, and the states of readers, are searched so many events back."""

_NO_END: Final = 1 << 62
_NUMBER: Final = (1 << ROUND_BITS) - 1

_EVENT_FROM: Final = "SELECT id, at FROM event WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1"
_EVENTS: Final = (
    "SELECT id, at, shoe, round, type, data FROM event WHERE id >= ? AND id < ? ORDER BY id"
)
_SHOE_START: Final = "SELECT max(id) FROM event WHERE id >= ? AND id < ? AND type = 'shoe_started'"
_LAST_DUTY: Final = "SELECT max(id) FROM duty WHERE id >= ? AND id < ?"
_LAST_STATES: Final = (
    "SELECT max(id) FROM event WHERE id >= ? AND id < ? AND type = 'reader_status'"
    " GROUP BY data ->> 'source'"
)
_OTHER_JOURNALS: Final = "SELECT id FROM journal WHERE site = ? AND name = ? AND id <> ?"
_COUNT: Final = "SELECT count(*) FROM event WHERE id >= ? AND id < ?"
_LAST_EVENT: Final = "SELECT at FROM event WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1"

_NOT_KEPT: Final = {"Cache-Control": "no-store"}
_FORMATS: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


async def shift_report(
    request: Request, log: Log | None, zone: tzinfo | None, chosen: Language, fonts: str
) -> Response:
    """
    Answer a request for a report.

    Args:
        request: Its parameters are `from`, `to`, `table` and `format`.
        log: The log; None if the display keeps none.
        zone: The time zone of the page; None for that of the computer.
        chosen: The language of the page; JSON and CSV are English.
        fonts: The address of the style sheet with the fonts.
    """
    zone = zone or computers_time_zone()
    given = request.query_params
    kind = given.get("format", "")
    translate = ENGLISH if kind in _FORMATS else _translation(chosen)
    earlier = from_microseconds((time.time_ns() // 10**9 - DEFAULT_S) * 1_000_000)
    times = given.get("from") or earlier, given.get("to") or None
    wanted = tuple(given.get("table", "").split())
    names = tuple((each.code, each.name) for each in languages().values())
    asked = given.get("from", ""), given.get("to", ""), " ".join(wanted)
    pit = Pit(*asked, chosen.code, names, fonts)

    def problem(status: int, text: str) -> Response:
        if kind in _FORMATS:
            return PlainTextResponse(f"{text}\n", status, headers=_NOT_KEPT)
        return _page(shift_problem_page(text, translate, pit), status)

    if log is None:
        return problem(404, chosen.words["log_disabled"])
    try:
        period = parse_period(*times, zone, ("from", "to"))
        if period.end - period.start > MAX_DAYS * _DAY_US:
            text = "At most {n} days; `shoe-daemon report shift` has no such limit."
            return problem(400, translate(text, n=MAX_DAYS))
        report = await asyncio.to_thread(read_shift_from_log, log, period, wanted, translate)
    except UserError as error:
        return problem(400, str(error))
    except UnreadableError:
        return problem(503, chosen.words["log_failed_not_readable"])
    if kind not in _FORMATS:
        return _page(shift_page(report, zone, translate, pit))
    name = f"shift-{report.start[:10]}.{kind}"
    headers = {**_NOT_KEPT, "Content-Disposition": f'attachment; filename="{name}"'}
    content: Any = shift_csv(report)
    if kind == "json":
        content = msgspec.json.encode(report, order="sorted")
    return Response(content, 200, headers, _FORMATS[kind])


def _translation(chosen: Language) -> Translation:
    if chosen.code == BASE:
        return ENGLISH
    return Translation(chosen.lang, chosen.words, {**chosen.sentences, **chosen.report})


def _page(page: str, status: int = 200) -> Response:
    digest = base64.b64encode(hashlib.sha256(style_of(page).encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'self' 'sha256-{digest}'; font-src 'self';"
        " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    headers = {**_NOT_KEPT, "Content-Security-Policy": policy}
    return Response(page, status, headers, "text/html; charset=utf-8")


def read_shift_from_log(
    log: Log, period: Period, wanted: Sequence[str] = (), translate: Translation = ENGLISH
) -> ShiftReport:
    """
    Report on a shift from the log, on the wanted tables (``table`` or ``site.table``) or on all;
    what it lacks is told in a language.

    Raises:
        UserError: The log has no such table.
        UnreadableError: It cannot be read.
    """
    with log.open() as connection:
        tables, gaps = [], []
        known = set()
        for journal, site, table, head in newest_journals(connection):
            known |= {table, f"{site}.{table}"}
            if wanted and not {table, f"{site}.{table}"} & set(wanted):
                continue
            events = _TableLog(connection, journal, period)
            if missing := events.missing(head):
                text = "{n} events of {table} that the log lacks"
                gaps.append(translate(text, n=f"{missing:,}", table=f"{site}/{table}"))
            if earlier := _in_earlier_journals(connection, journal, (site, table), period):
                text = "{n} events of {table} in a journal before its newest"
                gaps.append(translate(text, n=f"{earlier:,}", table=f"{site}/{table}"))
            shift = TableEvents(site, table, stored_events(events.rows), events.silences())
            tables.append(fold_table_events(shift, period))
        if unknown := [each for each in wanted if each not in known]:
            text = "table {table}: the log has no such table"
            raise UserError(translate(text, table=unknown[0]))
        return report_on_shift(tables, period, source="log", not_included=gaps)


def _in_earlier_journals(
    connection: Database, newest: int, name: tuple[str, str], period: Period
) -> int:
    """Return how many events of the shift are in other journals of a table."""
    others = connection.execute(_OTHER_JOURNALS, (*name, newest)).fetchall()
    return sum(
        connection.execute(_COUNT, _span(connection, journal, period)).fetchone()[0]
        for (journal,) in others
    )


def _span(connection: Database, journal: int, period: Period) -> tuple[int, int]:
    """Return the keys of a journal's first event in a shift, and of the first one after it."""
    low, high = event_id(journal, 0), event_id(journal, MAX_SEQ)

    def event_from(key: int) -> tuple[int, int] | None:
        row: tuple[int, int] | None = connection.execute(_EVENT_FROM, (key, high)).fetchone()
        return row

    first, end = (first_event_at(event_from, low, high, at) for at in (period.start, period.end))
    return first, end


class _TableLog:
    """
    The events of one journal in the log that concern a shift.

    Attributes:
        rows: For `stored_events`.
    """

    def __init__(self, connection: Database, journal: int, period: Period) -> None:
        self._execute, self._connection = connection.execute, connection
        self._journal, self._period = journal, period
        self._low, self._high = event_id(journal, 0), event_id(journal, MAX_SEQ)
        self._first, self._end = _span(connection, journal, period)
        back = max(self._low, self._first - _SHOE_EVENTS)
        (start,) = self._execute(_SHOE_START, (back, self._first)).fetchone()
        self._start = start or self._first
        self.rows = [*self._states(back), *self._execute(_EVENTS, (self._start, self._end))]

    def _event_from(self, key: int) -> tuple[int, int] | None:
        row: tuple[int, int] | None = self._execute(_EVENT_FROM, (key, self._high)).fetchone()
        return row

    def _states(self, back: int) -> list[tuple[Any, ...]]:
        """Return the last dealer and the last states of the readers before the first shoe."""
        keys = [
            *self._execute(_LAST_DUTY, (self._low, self._start)),
            *self._execute(_LAST_STATES, (back, self._start)),
        ]
        return [
            row
            for (key,) in sorted(each for each in keys if each[0] is not None)
            for row in self._execute(_EVENTS, (key, key + 1))
        ]

    def silences(self) -> list[tuple[int, int]]:
        """
        Return the times in which the daemon may have been off.

        After a start the table reports that it knows nothing of its readers.
        """
        found, before = [], 0
        for _, at, _, _, kind, data in self.rows:
            if kind == "reader_status" and msgspec.json.decode(data)["link"] == "unknown":
                found.append((before, at))
            before = at
        if self._event_from(self._end) is None:
            found.append((before, _NO_END))
        return found

    def missing(self, head: int) -> int:
        """Return how many events of the shift may be missing."""
        first, last = self._start & MAX_SEQ, (self._end - 1) & MAX_SEQ
        ranges = missing_ranges(self._connection, self._journal, min(head, last))
        return sum(max(0, each.last - max(each.first, first) + 1) for each in ranges)

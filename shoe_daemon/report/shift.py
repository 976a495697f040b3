"""
Computes the figures of a shift from the events of its tables.

A round belongs to the shift in which it ended, a card to the shift in which it was drawn, an
irregularity to the shift in which it was raised. Events after the end of the shift change nothing,
so that the report on a shift is always the same.

This module knows events only: `journal` reads them from journals, the pit from its log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from shoe_daemon import __version__
from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.report.figures import (
    CHARTED_BY_HOUR_S,
    LEAST_PACE_S,
    PAUSE_S,
    Availability,
    DealerShift,
    Figures,
    HourCount,
    Outage,
    RefusedCommand,
    Reversal,
    ShiftExpectation,
    ShiftIncident,
    ShiftReport,
    Source,
    TableEvents,
    TableShift,
)
from shoe_daemon.report.odds import compare_with_odds, confidence_interval
from shoe_daemon.report.people import (
    PeopleFold,
    count_commands,
    people,
    refused_command,
    within,
)
from shoe_daemon.report.period import Period
from shoe_daemon.report.rounds import (
    Incident,
    RoundLine,
    Shoe,
    TableFold,
    count_rounds,
    decision_times,
)
from shoe_daemon.table import Event, events, from_microseconds, to_microseconds

_SECOND: Final = 1_000_000


def report_on_shift(
    tables: Iterable[FoldedTable],
    period: Period,
    *,
    source: Source = "journals",
    not_included: Sequence[str] = (),
) -> ShiftReport:
    """Report on some tables in a period."""
    read = list(tables)
    shares = [share for each in read for share in each.shares.values()]
    incidents = sorted(_incidents(shares), key=lambda each: each.incident.at)
    given = sum((each.given for each in read), Counter[str | None]())
    refused = sorted((each for of in read for each in of.refused), key=lambda each: each.at)
    reversals = sorted((each for of in read for each in of.reversals), key=lambda each: each.at)
    known = any(each.shift.commands for each in read)
    return ShiftReport(
        start=from_microseconds(period.start),
        end=from_microseconds(period.end),
        time_zone=str(period.zone),
        all=_figures(shares),
        availability=_together([each.shift.availability for each in read], period),
        expectations=_compared(shares),
        hours=tuple(_hours(shares, period)),
        tables=tuple(each.shift for each in read),
        dealers=tuple(_dealers(shares)),
        incidents=tuple(incidents),
        commands=count_commands(given.total(), refused, reversals) if known else None,
        people=tuple(people(given, refused, reversals, incidents)),
        refused=tuple(refused),
        reversals=tuple(reversals),
        not_included=tuple(not_included),
        reported_by=__version__,
        source=source,
    )


class _Share(Struct):
    """Figures of one table under one dealer; `rounds` with the decks of their shoes."""

    site: str
    table: str
    dealer: str | None
    rounds: list[tuple[RoundLine, int | None]] = []
    incidents: list[tuple[Incident, int | None]] = []
    held: int = 0
    cards: int = 0
    unread: int = 0
    played: int = 0


class FoldedTable(NamedTuple):
    """
    One table in a shift, and its share of what the tables did together, by dealer.

    Attributes:
        given: Commands that were carried out, by operator.
    """

    shares: dict[str | None, _Share]
    shift: TableShift
    given: Counter[str | None]
    refused: Sequence[RefusedCommand]
    reversals: Sequence[Reversal]


class _Dealers:
    """Dealers of a table, with their times."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._names: list[str | None] = [None]

    def change(self, at: int, before: str | None, dealer: str | None) -> None:
        """Note a dealer who signed on or off. `before` is who dealt since the first event."""
        if not self._times:
            self._names[0] = before
        self._times.append(at)
        self._names.append(dealer)

    def at(self, at: int) -> str | None:
        """Return the dealer at a time."""
        return self._names[bisect_right(self._times, at)]

    def spans(self, start: int, end: int) -> Iterable[tuple[int, int]]:
        """Divide a time by dealer."""
        return pairwise([start, *(at for at in self._times if start < at < end), end])


def fold_table_events(table: TableEvents, period: Period) -> FoldedTable:
    """Fold the events of a table up to the end of the shift, and divide them by dealer."""
    fold = _ShiftFold(table, period)
    for caused in table.events:
        at = to_microseconds(caused.event.at)
        if at >= period.end:
            break
        fold.take(caused, at)
    return fold.finish()


class _ShiftFold:
    """Collects what happened at a table, and divides it by dealer at the end."""

    def __init__(self, table: TableEvents, period: Period) -> None:
        self._table, self._period = table, period
        self._fold, self._people = TableFold(), PeopleFold()
        self._dealers, self._readers = _Dealers(), _Readers()
        self._held: dict[tuple[int | None, int | None], int] = {}
        self._shares: dict[str | None, _Share] = {}

    def take(self, caused: CausedEvent, at: int) -> None:
        """Process the next event; `at` is its time in microseconds."""
        event = caused.event
        self._fold.take(caused)
        self._people.take(caused)
        self._readers.take(event, at)
        match event.data:
            case events.DealerChanged(before=before, dealer=dealer):
                self._dealers.change(at, before, dealer)
            case events.RoundHeld():
                self._held.setdefault((event.shoe, event.round), at)

    def finish(self) -> FoldedTable:
        """Return the shift of the table."""
        moments = sorted(at for shoe in self._fold.shoes.values() for at in self._divide(shoe))
        for each in self._fold.incidents:
            share = self._share(to_microseconds(each.at))
            share.incidents.append((each, self._fold.shoe_of[each.id]))
        for at in self._held.values():
            self._share(at).held += 1
        for start, end in _played(moments, self._period):
            for first, last in self._dealers.spans(start, end):
                self._share(first).played += last - first
        table, shares = self._table, list(self._shares.values())
        name, known = (table.site, table.table), table.commands or ()
        commands = within(known, self._period)
        given = Counter(each.operator for each in commands if each.refused is None)
        refused = [refused_command(*name, each) for each in commands if each.refused is not None]
        reversals = [
            each
            for each in self._people.reversals(*name, known)
            if self._period.start <= to_microseconds(each.at) < self._period.end
        ]
        counted = count_commands(given.total(), refused, reversals)
        shift = TableShift(
            site=table.site,
            table=table.table,
            dealers=tuple(name for name in self._shares if name is not None),
            figures=_figures(shares),
            expectations=_compared(shares),
            availability=self._readers.availability(table, self._period),
            proof=table.proof,
            commands=None if table.commands is None else counted,
            simulated=any(
                shoe.started is not None and shoe.started.simulated is True
                for shoe in self._fold.shoes.values()
            )
            or UNSET,
        )
        return FoldedTable(self._shares, shift, given, refused, reversals)

    def _share(self, at: int) -> _Share:
        """Return the share of the dealer at a time; one that is not kept before the shift."""
        name = self._dealers.at(at)
        share = _Share(self._table.site, self._table.table, name)
        return share if at < self._period.start else self._shares.setdefault(name, share)

    def _divide(self, shoe: Shoe) -> Iterator[int]:
        """Count the cards and rounds of a shoe; yield when they were drawn, and ended."""
        rounds = shoe.finish()
        for card in shoe.cards:
            if card.is_repeat:
                continue
            yield (at := to_microseconds(card.at))
            share = self._share(at)
            share.cards += 1
            share.unread += card.face is None and card.role != "burn"
        decks = None if shoe.started is None else shoe.started.decks
        for line in rounds:
            if line.ended_at is None:
                continue
            yield (at := to_microseconds(line.ended_at))
            self._share(at).rounds.append((line, decks))


def _played(moments: list[int], period: Period) -> Iterator[tuple[int, int]]:
    """Yield the times in play within the period, from one card or result to the next."""
    for before, after in pairwise(moments):
        if after - before < PAUSE_S * _SECOND and period.overlap(before, after):
            yield max(before, period.start), after


def _figures(shares: Sequence[_Share]) -> Figures:
    seconds = sum(each.played for each in shares) / _SECOND
    lines = [line for each in shares for line, _ in each.rounds]
    incidents = [incident for each in shares for incident, _ in each.incidents]
    cards = sum(each.cards for each in shares)
    done = sum(line.status == "finished" for line in lines)
    return Figures(
        seconds=round(seconds, 3),
        rounds=count_rounds(lines),
        held=sum(each.held for each in shares),
        cards=cards,
        unread=sum(each.unread for each in shares),
        rounds_per_hour=_per_hour(done, seconds),
        cards_per_hour=_per_hour(cards, seconds),
        kinds=dict(Counter(each.kind for each in incidents).most_common()),
        **decision_times(incidents),
        still_open=sum(each.action is None for each in incidents),
    )


def _per_hour(count: int, seconds: float) -> float | None:
    return round(count * 3600 / seconds, 1) if seconds >= LEAST_PACE_S else None


def _compared(shares: Sequence[_Share]) -> tuple[ShiftExpectation, ...]:
    rounds = [
        (line, decks)
        for each in shares
        for line, decks in each.rounds
        if line.counts and decks is not None
    ]
    if not rounds:
        return ()
    return tuple(
        ShiftExpectation(**asdict(each), low=low, high=high)
        for each in compare_with_odds(rounds, rounds[0][1], "shift")
        for low, high in [confidence_interval(each.found, each.rounds)]
    )


def _dealers(shares: Sequence[_Share]) -> Iterator[DealerShift]:
    names = sorted({each.dealer for each in shares if each.dealer is not None})
    # Only tables at which dealers sign on can have a time without one.
    for name in [*names, None] if names else []:
        mine = [each for each in shares if each.dealer == name]
        if mine:
            yield DealerShift(name, tuple(each.table for each in mine), _figures(mine))


def _incidents(shares: Sequence[_Share]) -> Iterator[ShiftIncident]:
    for each in shares:
        for incident, shoe in each.incidents:
            yield ShiftIncident(each.site, each.table, shoe, each.dealer, incident)


def _hours(shares: Sequence[_Share], period: Period) -> Iterator[HourCount]:
    by_day = period.end - period.start > CHARTED_BY_HOUR_S * _SECOND
    starts = list(_clock_hours(period, by_day=by_day))
    counts = Counter(
        bisect_right(starts, to_microseconds(line.ended_at))
        for each in shares
        for line, _ in each.rounds
        if line.status == "finished" and line.ended_at is not None
    )
    for number, start in enumerate(starts, start=1):
        yield HourCount(from_microseconds(max(start, period.start)), counts[number])


def _clock_hours(period: Period, *, by_day: bool) -> Iterator[int]:
    """Yield the starts of the hours, or days, of the period's zone that touch the period."""
    local = datetime.fromisoformat(from_microseconds(period.start)).astimezone(period.zone)
    if by_day:
        start = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        while (at := _microseconds(start)) < period.end:
            yield at
            start += timedelta(days=1)  # by the clock on the wall: a day may have 23 hours
    else:
        past = timedelta(minutes=local.minute, seconds=local.second) // timedelta(microseconds=1)
        yield from range(period.start - past - local.microsecond, period.end, 3600 * _SECOND)


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * _SECOND


class _Readers:
    """Collects when a reader worked."""

    def __init__(self) -> None:
        self._states: dict[str | None, str] = {}
        self._changes: list[tuple[int, str]] = [(0, "not known")]

    def take(self, event: Event, at: int) -> None:
        """Process the next event."""
        match event.data:
            case events.ReaderStatus() as data:
                self._states[data.source] = _reader_state(data)
            case events.CardDealt() | events.CardBurned():
                # A card proves that a reader works, also one that reports no link.
                if "working" not in self._states.values():
                    unknown = [k for k, each in self._states.items() if each == "not known"]
                    self._states |= dict.fromkeys(unknown or [None], "working")
            case _:
                return
        state = self._best()
        if state != self._changes[-1][1]:
            self._changes.append((at, state))

    def _best(self) -> str:
        order = ("working", "fault", "locked", "link down", "not known")
        return min(self._states.values(), key=order.index)

    def availability(self, table: TableEvents, period: Period) -> Availability:
        """Return the times of the shift by state; silences are unknown."""
        ends = [at for at, _ in self._changes[1:]] + [period.end]
        spans = [
            part
            for (start, state), end in zip(self._changes, ends, strict=True)
            for part in _with_silences(start, end, state, table.silences)
        ]
        found = [
            (max(start, period.start), period.overlap(start, end) / _SECOND, state)
            for start, end, state in spans
            if period.overlap(start, end)
        ]
        return Availability(
            seconds=(period.end - period.start) / _SECOND,
            working=sum(seconds for _, seconds, state in found if state == "working"),
            unknown=sum(seconds for _, seconds, state in found if state == "not known"),
            starts=table.starts,
            outages=tuple(
                Outage(from_microseconds(at), seconds, state)  # type: ignore[arg-type]  # one of its words
                for at, seconds, state in found
                if state != "working"
            ),
        )


def _reader_state(data: events.ReaderStatus) -> str:
    if data.link == "down":
        return "link down"
    if data.link == "unknown":
        return "not known"
    return data.state if data.state in {"fault", "locked"} else "working"


def _with_silences(
    start: int, end: int, state: str, silences: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, str]]:
    """Divide a time at the silences, in which the state is unknown."""
    for first, last in silences:
        if last <= start or first >= end:
            continue
        if first > start:
            yield start, first, state
        yield max(start, first), min(end, last), "not known"
        start = min(end, last)
    if start < end:
        yield start, end, state


def _together(each_of: Sequence[Availability], period: Period) -> Availability:
    """Add up the times of all tables."""
    whole = (period.end - period.start) / _SECOND
    return Availability(
        seconds=sum(each.seconds for each in each_of) or whole,
        working=sum(each.working for each in each_of),
        unknown=sum(each.unknown for each in each_of) if each_of else whole,
        starts=sum(each.starts for each in each_of),
        outages=tuple(
            sorted((each for of in each_of for each in of.outages), key=lambda each: each.at)
        ),
    )

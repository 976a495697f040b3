"""The report on one shoe, made from its events."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from shoe_daemon.errors import UserError
from shoe_daemon.game import Outcome
from shoe_daemon.journal.journal_reader import open_read_only
from shoe_daemon.report.card_order import CardFold, DrawnCard
from shoe_daemon.report.expected_counts import Expectation, expectation, odds_of
from shoe_daemon.report.incidents_and_changes import ChangeFold, IncidentFold
from shoe_daemon.report.journal_proof import Progress, prove
from shoe_daemon.report.report_model import (
    Incident,
    Pause,
    RoundLine,
    ShoeReport,
    ShoeStatus,
    Tempo,
)
from shoe_daemon.report.round_list import RoundFold, count_rounds
from shoe_daemon.report.shoe_composition import compose
from shoe_daemon.report.shoe_events import CausedEvent, events_in, find_span
from shoe_daemon.table import events, to_microseconds

_SECOND = 1_000_000


def read_shoe(path: Path, shoe: int | None, *, progress: Progress | None = None) -> ShoeReport:
    """
    Report on one shoe of a journal; on the last one for None. A daemon may be writing the journal.

    With `progress` the whole chain is verified, and `progress` is called with the observations
    done and their total.

    Raises:
        UserError: The shoe does not exist, or the file is no journal.
    """
    with open_read_only(path) as reader:
        span = find_span(reader, shoe)
        report = report_on(events_in(reader, span), replaced=span.end is not None)
        return replace(report, proof=prove(reader, span, progress))


def report_on(caused: Iterable[CausedEvent], *, replaced: bool = False) -> ShoeReport:
    """
    Report on the events of one shoe, from its start.

    Raises:
        UserError: The first event is not a shoe's start.
    """
    fold = _ShoeFold()
    for each in caused:
        fold.take(each)
    return fold.report(replaced=replaced)


class _ShoeFold:
    def __init__(self) -> None:
        self._cards, self._rounds = CardFold(), RoundFold()
        self._incidents, self._changes = IncidentFold(), ChangeFold()
        self._first: CausedEvent | None = None
        self._last: CausedEvent | None = None
        self._finished = False
        self._composition: events.StaffComposition | None = None

    def take(self, caused: CausedEvent) -> None:
        self._first = self._first or caused
        self._last = caused
        for fold in (self._cards, self._rounds, self._incidents, self._changes):
            fold.take(caused)
        match caused.event.data:
            case events.ShoeFinished():
                self._finished = True
            case events.StaffComposition() as composition:
                self._composition = composition
            case events.CardCorrected():
                self._composition = None  # counted before the correction

    def report(self, *, replaced: bool) -> ShoeReport:
        if self._first is None or self._last is None:
            raise UserError("these are no events of a shoe")
        first, started = self._first.event, self._first.event.data
        if not isinstance(started, events.ShoeStarted):
            raise UserError(f"event {first.seq} is {first.type}: expected a shoe's start")
        cards = self._cards.finish()
        lines = self._rounds.finish(cards)
        incidents = self._incidents.incidents
        status: ShoeStatus = "replaced" if replaced else "under way"
        return ShoeReport(
            site=first.site,
            table=first.table,
            shoe=first.shoe or 0,
            status="finished" if self._finished else status,
            decks=started.decks,
            house=started.house,
            policy=started.policy,
            started_at=first.at,
            last_at=self._last.event.at,
            counts=count_rounds(lines),
            expectations=tuple(_expectations(lines, started.decks)),
            composition=compose(started.decks, started.house, cards, self._composition),
            incidents=tuple(incidents),
            changes=tuple(self._changes.changes),
            tempo=_tempo(cards, lines, incidents),
            rounds=tuple(lines),
        )


def _expectations(lines: list[RoundLine], decks: int) -> Iterable[Expectation]:
    odds = odds_of(decks)
    counted = [line for line in lines if line.counts]
    outcomes = [line.outcome for line in counted if line.outcome is not None]
    for outcome in (Outcome.BANKER, Outcome.PLAYER, Outcome.TIE):
        found = outcomes.count(outcome)
        yield expectation(outcome.value, found, len(outcomes), odds[outcome.value])
    for name, known in (
        ("natural", [_natural(line) for line in counted]),
        ("player_pair", [line.player.pair for line in counted]),
        ("banker_pair", [line.banker.pair for line in counted]),
    ):
        values = [each for each in known if each is not None]
        yield expectation(name, sum(values), len(values), odds[name])


def _natural(line: RoundLine) -> bool | None:
    either = {line.player.natural, line.banker.natural}
    return True if True in either else None if None in either else False


def _tempo(cards: list[DrawnCard], lines: list[RoundLine], incidents: list[Incident]) -> Tempo:
    moments = [to_microseconds(card.at) for card in cards]
    ends = [to_microseconds(line.ended_at) for line in lines if line.ended_at]
    span = (max([*moments, *ends]) - moments[0]) / _SECOND if moments else 0.0
    waits = [
        each.seconds for each in incidents if each.by is not None and each.seconds is not None
    ]
    done = sum(line.status == "finished" for line in lines)
    return Tempo(
        seconds=round(span, 3),
        cards_per_minute=round(len(cards) * 60 / span, 1) if span else None,
        rounds_per_hour=round(done * 3600 / span, 1) if span else None,
        longest_pause=_longest_pause(cards, moments),
        decided_by_people=len(waits),
        median_decision=round(median(waits), 3) if waits else None,
        longest_decision=max(waits, default=None),
    )


def _longest_pause(cards: list[DrawnCard], moments: list[int]) -> Pause | None:
    gaps = [after - before for before, after in pairwise(moments)]
    if not gaps:
        return None
    place = gaps.index(max(gaps))
    return Pause(cards[place].at, gaps[place] / _SECOND, cards[place + 1].round)

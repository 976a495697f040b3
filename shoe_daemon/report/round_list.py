"""The rounds of a shoe after all corrections, collected from its events."""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Kind
from shoe_daemon.report.card_order import DrawnCard
from shoe_daemon.report.report_model import Person, RoundCounts, RoundLine
from shoe_daemon.report.shoe_events import CausedEvent
from shoe_daemon.table import Event, HandResult, RoundFinished, events

_NO_HAND: Final = HandResult((), None, None, None)


class RoundFold:
    """Collects `rounds` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.rounds: dict[int, RoundLine] = {}
        self._latest = 0

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event = caused.event
        if event.round is not None:
            self._latest = max(self._latest, event.round)
        match event.data:
            case events.RoundStarted():
                self._line(event)
            case events.RoundFinished() as data:
                self._finish(caused, data)
            case events.RoundAborted(cause=cause):
                self._end(event, "aborted").cause = cause
            case events.RoundHeld():
                self._line(event).status = "held"
                self._note_entry(caused)
            case events.RoundVoided():
                self._end(event, "void")
            case events.ResultRevised() as data:
                self._revise(event, data)
            case events.CardCorrected():
                self._line(event).corrected += 1
            case events.Irregularity() as data:
                self._irregular(event, data)

    def finish(self, cards: list[DrawnCard]) -> list[RoundLine]:
        """Return all rounds; rounds without a result get their cards from `cards`."""
        lines = [self.rounds[number] for number in sorted(self.rounds)]
        for line in lines:
            if line.player is _NO_HAND:
                mine = [c for c in cards if c.round == line.number and c.role == "play"]
                line.player, line.banker = _hand(mine, "P"), _hand(mine, "B")
            line.excess += [
                card.face for card in cards if card.role == "excess" and card.after == line.number
            ]
            line.counts = line.status == "finished" and line.kind is Kind.NORMAL
        return lines

    def _line(self, event: Event) -> RoundLine:
        number = event.round or 0
        if number not in self.rounds:
            self.rounds[number] = RoundLine(
                number, event.at, None, "open", _NO_HAND, _NO_HAND, excess=[], irregularities=[]
            )
        return self.rounds[number]

    def _end(self, event: Event, status: str) -> RoundLine:
        line = self._line(event)
        line.status = status  # type: ignore[assignment]  # one of its words
        line.ended_at = line.ended_at or event.at
        return line

    def _finish(self, caused: CausedEvent, data: RoundFinished) -> None:
        line = self._end(caused.event, "finished")
        _put(line, data)
        self._note_entry(caused)

    def _note_entry(self, caused: CausedEvent) -> None:
        order = caused.order
        if order is not None and order.name == "enter_result":
            entered = Person(order.operator, order.claimed, order.reason)
            self._line(caused.event).entered = entered

    def _revise(self, event: Event, data: events.ResultRevised) -> None:
        line = self._line(event)
        line.revised = True
        if data.after is None:
            line.status = "withdrawn"
        else:
            _put(line, data.after)
            line.status = "finished"

    def _irregular(self, event: Event, data: events.Irregularity) -> None:
        number = event.round
        if number is None and data.kind == IrregularityKind.EXCESS_CARD:
            number = self._latest
        if number in self.rounds:
            self.rounds[number].irregularities.append(data.id)


def _put(line: RoundLine, data: RoundFinished) -> None:
    line.player, line.banker = data.player, data.banker
    line.outcome, line.kind, line.partial = data.outcome, data.kind, data.partial


def _hand(cards: list[DrawnCard], side: str) -> HandResult:
    mine = [card for card in cards if card.slot is not None and card.slot.value.startswith(side)]
    mine.sort(key=lambda card: DEALING_ORDER.index(card.slot or DEALING_ORDER[0]))
    return HandResult(tuple(card.face for card in mine), None, None, None)


def count_rounds(lines: list[RoundLine]) -> RoundCounts:
    """Count the rounds by how they ended."""
    done = [line for line in lines if line.status == "finished"]
    return RoundCounts(
        begun=len(lines),
        counted=sum(line.counts for line in lines),
        partial=sum(line.partial for line in done),
        void=sum(line.status == "void" for line in lines),
        aborted=sum(line.status == "aborted" for line in lines),
        entered=sum(line.entered is not None for line in done),
        corrected=sum(line.corrected > 0 for line in lines),
        revised=sum(line.revised for line in lines),
        without_wagers=sum(line.kind is not Kind.NORMAL for line in done),
    )

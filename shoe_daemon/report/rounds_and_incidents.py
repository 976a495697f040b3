"""The rounds, irregularities and operators' changes of a shoe, collected from its events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import median
from typing import Final, TypedDict

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Kind, Outcome
from shoe_daemon.report.cards_in_drawn_order import DrawnCard
from shoe_daemon.report.caused_event import CausedEvent
from shoe_daemon.report.expected_counts import Expectation, expectation, odds_of
from shoe_daemon.report.report_model import (
    Change,
    Incident,
    IncidentOrder,
    Person,
    RoundCounts,
    RoundLine,
)
from shoe_daemon.table import Event, HandResult, RoundFinished, events, to_microseconds

_NO_HAND: Final = HandResult((), None, None, None)


class RoundFold:
    """Collects `rounds` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.rounds: dict[int, RoundLine] = {}
        self._results: defaultdict[int, list[tuple[RoundFinished, Person | None]]] = defaultdict(
            list
        )
        self._latest = 0

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event = caused.event
        if event.round is not None:
            self._latest = max(self._latest, event.round)
        match event.data:
            case events.RoundStarted():
                self._line(event)
            case events.CardDealt() if self._line(event).status == "void":
                self._line(event).status = "open"  # an undo took the void back
            case events.CardCorrected():
                self._line(event).corrected += 1
            case events.Irregularity() as data:
                self._irregular(event, data)
            case _:
                self._take_result(caused)

    def _take_result(self, caused: CausedEvent) -> None:
        event = caused.event
        match event.data:
            case events.RoundFinished() as data:
                _put(self._end(event, "finished"), data)
                self._note_entry(caused)
                self._note_result(event, data)
            case events.RoundAborted(cause=cause):
                self._end(event, "aborted").cause = cause
            case events.RoundHeld():
                self._line(event).status = "held"
                self._note_entry(caused)
            case events.RoundReleased():
                self._release(caused)
            case events.RoundVoided():
                self._end(event, "void")
            case events.ResultRevised() as data:
                self._revise(caused, data)

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

    def _note_entry(self, caused: CausedEvent) -> None:
        order = caused.order
        if order is not None and order.name == "enter_result":
            entered = Person(order.operator, order.claimed, order.reason)
            self._line(caused.event).entered = entered

    def _note_result(self, event: Event, data: RoundFinished) -> None:
        line = self._line(event)
        self._results[line.number].append((data, line.entered))

    def _release(self, caused: CausedEvent) -> None:
        line = self._line(caused.event)
        if line.status == "held":
            line.status = "withdrawn"  # unless its result follows
        if _is_undo(caused):
            line.entered = None

    def _revise(self, caused: CausedEvent, data: events.ResultRevised) -> None:
        event = caused.event
        line = self._line(event)
        line.revised = True
        if _is_undo(caused):
            # The result before the undone order may have been entered too; no other one was.
            known = reversed(self._results[line.number])
            line.entered = next((entered for told, entered in known if told == data.after), None)
        if data.after is None:
            line.status = "withdrawn"
        else:
            _put(line, data.after)
            self._note_result(event, data.after)
            line.status = "finished"
            if data.before is None:  # the first result of this round
                line.ended_at = line.ended_at or event.at

    def _irregular(self, event: Event, data: events.Irregularity) -> None:
        number = event.round
        if number is None and data.kind == IrregularityKind.EXCESS_CARD:
            number = self._latest
        if number in self.rounds:
            self.rounds[number].irregularities.append(data.id)


def _is_undo(caused: CausedEvent) -> bool:
    return caused.order is not None and caused.order.name == "undo"


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


def compare_with_odds(
    rounds: Sequence[tuple[RoundLine, int]], decks: int, thing: str = "shoe"
) -> Iterator[Expectation]:
    """
    Compare outcomes, naturals and pairs with the exact odds.

    Args:
        rounds: Counted rounds, each with the decks of its shoe.
        decks: The decks to compare with where there are no rounds.
        thing: What the rounds are from, for `Expectation.words`.
    """
    for name in odds_of(decks):
        known = [(found, of) for line, of in rounds if (found := _has(line, name)) is not None]
        by_decks = Counter(of for _, of in known) or Counter({decks: 1})
        share = sum((odds_of(of)[name] * many for of, many in by_decks.items()), Fraction())
        count = sum(found for found, _ in known)
        yield expectation(name, count, len(known), share / by_decks.total(), thing)


def _has(line: RoundLine, name: str) -> bool | None:
    """Return whether a round has an outcome, a natural or a pair; None if unknown."""
    if name == "natural":
        either = {line.player.natural, line.banker.natural}
        return True if True in either else None if None in either else False
    if name == "player_pair":
        return line.player.pair
    if name == "banker_pair":
        return line.banker.pair
    return None if line.outcome is None else line.outcome is Outcome(name)


class IncidentFold:
    """Collects `incidents` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.incidents: list[Incident] = []
        self._open: dict[int, Incident] = {}
        self._known: dict[int, Incident] = {}
        self._claimed: set[str] = set()

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event, order = caused.event, caused.order
        if order is not None and order.claimed and order.operator is not None:
            self._claimed.add(order.operator)
        match event.data:
            case events.Irregularity() as data if data.id in self._known:
                self._known[data.id].detail = data.detail  # known to staff before it became public
            case events.IrregularityData() as data:
                self._open_incident(event, data)
            case events.StaffRulingGiven() as data if data.id in self._open:
                incident = self._open[data.id]
                by = Person(data.operator, data.operator in self._claimed, data.reason)
                order_ = IncidentOrder(data.action, _seconds(incident, event), by)
                incident.orders.append(order_)
            case events.ClosedData() as data if data.id in self._open:
                self._close(self._open.pop(data.id), caused, data)

    def _open_incident(self, event: Event, data: events.IrregularityData) -> None:
        place = event.round, data.kind, data.severity, data.slot, data.card
        incident = Incident(data.id, event.at, *place, data.detail)
        self.incidents.append(incident)
        self._open[data.id] = self._known[data.id] = incident

    def _close(self, incident: Incident, caused: CausedEvent, data: events.ClosedData) -> None:
        incident.action, incident.why = data.action, data.reason
        incident.closed_at = caused.event.at
        incident.seconds = _seconds(incident, caused.event)
        if data.operator is not None:
            reason = caused.order.reason if caused.order is not None else None
            claimed = data.operator in self._claimed
            incident.by = Person(data.operator, claimed, reason or data.reason)


def _seconds(incident: Incident, event: Event) -> float:
    return (to_microseconds(event.at) - to_microseconds(incident.at)) / 1_000_000


class _DecisionTimes(TypedDict):
    decided_by_people: int
    median_decision: float | None
    longest_decision: float | None


def decision_time(incident: Incident) -> float | None:
    """
    Return the seconds in which a person closed an irregularity; None if no person did.

    A round that a person voids without an irregularity is one that did not wait.
    """
    is_own = incident.kind == IrregularityKind.MANUAL_VOID
    return None if incident.by is None or is_own else incident.seconds


def decision_times(incidents: Sequence[Incident]) -> _DecisionTimes:
    """Count the irregularities that operators closed, and the seconds that they took."""
    waits = [wait for each in incidents if (wait := decision_time(each)) is not None]
    return {
        "decided_by_people": len(waits),
        "median_decision": round(median(waits), 3) if waits else None,
        "longest_decision": max(waits, default=None),
    }


class ChangeFold:
    """Collects `changes` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        match caused.event.data:
            case events.RoundVoided() as data:
                self._add(caused, "void", data, _result(data.before), None)
            case events.ResultRevised(before=None) as data:
                self._add(caused, "restored", data, None, _result(data.after))
            case events.ResultRevised() as data:
                self._add(caused, "result", data, _result(data.before), _result(data.after))
            case events.CardCorrected() as data:
                self._add(caused, "card", data, data.before, data.after)
            case events.RoundFinished() as data:
                if caused.order is not None and caused.order.name == "enter_result":
                    self._add(caused, "entered", None, None, _result(data))

    def _add(
        self,
        caused: CausedEvent,
        what: str,
        data: events.RoundVoided | events.ResultRevised | events.CardCorrected | None,
        before: str | None,
        after: str | None,
    ) -> None:
        event, order = caused.event, caused.order
        slot = data.slot if isinstance(data, events.CardCorrected) else None
        operator = None if data is None else data.operator
        reason = None if data is None else data.reason
        claimed = False
        if order is not None:
            operator, reason = operator or order.operator, reason or order.reason
            claimed = order.claimed
        person = Person(operator, claimed, reason)
        change = Change(event.seq, event.at, event.round, what, slot, before, after, person)  # type: ignore[arg-type]  # one of its words
        self.changes.append(change)


def _result(data: RoundFinished | None) -> str | None:
    if data is None:
        return None
    outcome = "no outcome" if data.outcome is None else data.outcome.value
    totals = (data.player.total, data.banker.total)
    return outcome if None in totals else f"{outcome} {totals[0]}:{totals[1]}"

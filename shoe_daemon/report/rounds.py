"""
The read model of a table: each fact in its events, folded once. The reports, the log of the pit
and the demo read rounds, irregularities and changes from here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, Literal, TypedDict

from msgspec import Struct

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Kind, Outcome, Slot
from shoe_daemon.report.cards import CardFold, CausedEvent, DrawnCard
from shoe_daemon.table import (
    DetailValue,
    Event,
    HandResult,
    RoundFinished,
    events,
    to_microseconds,
)

_NO_HAND: Final = HandResult((), None, None, None)

RoundStatus = Literal["finished", "aborted", "void", "held", "withdrawn", "open"]


class Person(Struct, frozen=True):
    """
    The operator who gave a command.

    Attributes:
        operator: None without a name.
        claimed: The name was not authenticated.
        reason: As given by the operator.
    """

    operator: str | None
    claimed: bool
    reason: str | None


class RoundLine(Struct):
    """
    One round after all corrections.

    Attributes:
        started_at: Time of the first card, or of entry by hand.
        ended_at: Time of the first published result, or of the abort.
        status:
            ``finished``, ``aborted``, ``void``, ``held`` (until an operator decides),
            ``withdrawn`` (result revoked), ``open`` (in progress).
        cause: The cause of an abort.
        counts: Included in the shoe's counts and roads.
        entered: The operator who entered the result; None if it follows from the cards.
        corrected: Number of cards corrected or entered.
        revised: The result was changed after publication.
        excess: Cards drawn during or after the round that belong to neither hand.
        irregularities: Ids.
    """

    number: int
    started_at: str
    ended_at: str | None
    status: RoundStatus
    player: HandResult
    banker: HandResult
    outcome: Outcome | None = None
    kind: Kind = Kind.NORMAL
    partial: bool = False
    cause: str | None = None
    counts: bool = False
    entered: Person | None = None
    corrected: int = 0
    revised: bool = False
    excess: list[Card | None] = []
    irregularities: list[int] = []


class IncidentOrder(Struct, frozen=True):
    """
    A ruling that waited until it was carried out.

    Attributes:
        seconds: From opening to the ruling.
    """

    action: str
    seconds: float
    by: Person


class Incident(Struct):
    """
    An irregularity and its ruling.

    Attributes:
        seconds: From opening to closing; None while open.
        orders: The rulings that waited until they were carried out.
        action: The ruling; None while open.
        by: The operator; None while open, or if equipment or game closed it.
    """

    id: int
    at: str
    round: int | None
    kind: str
    severity: int
    slot: Slot | None
    card: Card | None
    detail: str
    detail_code: str
    detail_values: dict[str, DetailValue]
    orders: list[IncidentOrder] = []
    action: str | None = None
    closed_at: str | None = None
    seconds: float | None = None
    why: str | None = None
    by: Person | None = None


class Change(Struct, frozen=True):
    """
    A change of published data by an operator.

    Attributes:
        what: ``void``, ``restored``, ``card``, ``result``, ``entered``.
        before: In words; None if there was no value.
        after: Likewise.
    """

    seq: int
    at: str
    round: int | None
    what: Literal["void", "restored", "card", "result", "entered"]
    slot: Slot | None
    before: str | None
    after: str | None
    by: Person


class RoundCounts(Struct, frozen=True):
    """
    The rounds of a shoe, by how they ended.

    Attributes:
        begun: All rounds.
        counted: Rounds in the shoe's counts: finished, not void, with wagers.
        partial: Finished, with missing data.
        void: Declared void and not restored.
        aborted: Without a result.
        entered: With a result entered by hand.
        corrected: With cards corrected or entered.
        revised: With a changed result.
        without_wagers: Free and dummy hands.
    """

    begun: int
    counted: int
    partial: int
    void: int
    aborted: int
    entered: int
    corrected: int
    revised: int
    without_wagers: int


class _RoundFold:
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
            case events.CardDealt():
                line = self._line(event)
                if line.status in {"void", "aborted"}:  # an undo took that back
                    line.status, line.cause = "open", None
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
                _take_back(self._line(event), "held")
                self._note_entry(caused)
            case events.RoundReleased():
                self._release(caused)
            case events.RoundVoided() as data:
                line = self._end(event, "void")
                if data.before is not None:
                    _put(line, data.before)
            case events.ResultRevised() as data:
                self._revise(caused, data)

    def finish(self, cards: list[DrawnCard]) -> list[RoundLine]:
        """Return all rounds; rounds without a result get their cards from `cards`."""
        lines = [self.rounds[number] for number in sorted(self.rounds)]
        for line in lines:
            if line.player is _NO_HAND:
                mine = [c for c in cards if c.round == line.number and c.role == "play"]
                line.player, line.banker = _hand(mine, "P"), _hand(mine, "B")
            line.excess = [
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
            _take_back(line, "withdrawn")
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
        if number in self.rounds and data.id not in self.rounds[number].irregularities:
            self.rounds[number].irregularities.append(data.id)


def _is_undo(caused: CausedEvent) -> bool:
    return caused.order is not None and caused.order.name == "undo"


def _take_back(line: RoundLine, status: Literal["held", "withdrawn"]) -> None:
    line.player = line.banker = _NO_HAND
    line.status, line.outcome, line.kind, line.partial = status, None, Kind.NORMAL, False


def _put(line: RoundLine, data: RoundFinished) -> None:
    line.player, line.banker = data.player, data.banker
    line.outcome, line.kind, line.partial = data.outcome, data.kind, data.partial


def _hand(cards: list[DrawnCard], side: str) -> HandResult:
    mine = [card for card in cards if card.slot is not None and card.slot.value.startswith(side)]
    mine.sort(key=lambda card: DEALING_ORDER.index(card.slot or DEALING_ORDER[0]))
    return HandResult(tuple(card.face for card in mine), None, None, None)


class _IncidentFold:
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
                self._open_again(self._known[data.id], data)
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
        detail = data.detail, data.detail_code, data.detail_values
        incident = Incident(data.id, event.at, *place, *detail)
        self.incidents.append(incident)
        self._open[data.id] = self._known[data.id] = incident

    def _open_again(self, incident: Incident, data: events.Irregularity) -> None:
        """Process an irregularity that staff knew before, or that an undo raises again."""
        incident.detail, incident.detail_code = data.detail, data.detail_code
        incident.detail_values = data.detail_values
        incident.action = incident.why = incident.closed_at = incident.seconds = incident.by = None
        self._open[data.id] = incident

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


def _change(caused: CausedEvent) -> Change | None:
    """Return the change of published data that an event reports, if any."""
    event, order, data, slot = caused.event, caused.order, caused.event.data, None
    what: Literal["void", "restored", "card", "result", "entered"]
    match data:
        case events.RoundVoided():
            what, before, after = "void", _result(data.before), None
        case events.ResultRevised():
            what = "restored" if data.before is None else "result"
            before, after = _result(data.before), _result(data.after)
        case events.CardCorrected():
            what, slot, before, after = "card", data.slot, data.before, data.after
        case events.RoundFinished() if order is not None and order.name == "enter_result":
            what, before, after = "entered", None, _result(data)
        case _:
            return None
    operator, reason = getattr(data, "operator", None), getattr(data, "reason", None)
    if order is not None:
        operator, reason = operator or order.operator, reason or order.reason
    person = Person(operator, order is not None and order.claimed, reason)
    return Change(event.seq, event.at, event.round, what, slot, before, after, person)


def _result(data: RoundFinished | None) -> str | None:
    if data is None:
        return None
    outcome = "no outcome" if data.outcome is None else data.outcome.value
    totals = (data.player.total, data.banker.total)
    return outcome if None in totals else f"{outcome} {totals[0]}:{totals[1]}"


class Shoe:
    """
    The rounds, changes and irregularities of one shoe.

    Attributes:
        started: Its first event; None if the shoe began before the events.
        finished: Its last permitted round has ended.
        composition: The table's own count at the end, unless a card was corrected after it.
        cards: All cards, in drawing order, after `finish`.
        rounds: By number; complete after `finish`.
    """

    def __init__(self) -> None:
        self.started: events.ShoeStarted | None = None
        self.finished = False
        self.composition: events.StaffComposition | None = None
        self._cards, self._rounds = CardFold(), _RoundFold()
        self.rounds = self._rounds.rounds
        self.cards: list[DrawnCard] = []

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        self._cards.take(caused)
        self._rounds.take(caused)
        match caused.event.data:
            case events.ShoeStarted() as started:
                self.started = started
            case events.ShoeFinished():
                self.finished = True
            case events.StaffComposition() as counted:
                self.composition = counted
            case events.CardCorrected():
                self.composition = None

    def finish(self) -> list[RoundLine]:
        """Return all rounds, once, after the last event."""
        self.cards = self._cards.finish()
        return self._rounds.finish(self.cards)


class TableFold:
    """
    Collects what happened at a table from its events, in order.

    Attributes:
        shoes: By number; None for events before the first shoe.
        incidents: Irregularities, in the order in which they were raised.
        shoe_of: The shoe of each irregularity.
        changes: Changes of published data by operators.
    """

    def __init__(self, caused: Iterable[CausedEvent] = ()) -> None:
        self.shoes: defaultdict[int | None, Shoe] = defaultdict(Shoe)
        self._incidents = _IncidentFold()
        self.incidents = self._incidents.incidents
        self.changes: list[Change] = []
        self.shoe_of: dict[int, int | None] = {}
        for each in caused:
            self.take(each)

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event = caused.event
        self.shoes[event.shoe].take(caused)
        self._incidents.take(caused)
        if (change := _change(caused)) is not None:
            self.changes.append(change)
        if isinstance(event.data, events.IrregularityData):
            self.shoe_of.setdefault(event.data.id, event.shoe)


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

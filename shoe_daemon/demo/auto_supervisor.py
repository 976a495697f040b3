"""
What the demo's supervisor decides, without a clock or a line: as a person would
who sees the cards on the table and has read what the house's policy proposes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from drivers.simulators.simulated_shoe import DealtRound, Fault
from shoe_daemon.event_text import card_text
from shoe_daemon.game import ACTION_NAMES, Action, Card, IrregularityKind, Slot
from shoe_daemon.table import Command, Event, IrregularityData, events

__all__ = ["OPERATOR", "Case", "Mind", "Order"]

OPERATOR: Final = "Supervisor"

_CARRIES: Final = frozenset({Action.CARRY_TO_NEXT_HAND, Action.CARRY_AS_DUMMY_HAND})
_NOBODY_DOES: Final = frozenset(
    {
        Action.BURN_CARD_PLUS_VALUE,
        Action.RESCAN,
        Action.MANUAL_ENTRY,  # done by entering the card
        Action.STOP_SHOE,
        Action.SUPERVISOR,
    }
)
"""What the simulated dealer cannot do, or the supervisor does otherwise."""

_OWN: Final = {
    IrregularityKind.EXCESS_CARD: (*sorted(_CARRIES, reverse=True), Action.BURN_CARD),
    IrregularityKind.MISSING_DRAW: (Action.DRAW_NOW, Action.VOID_ROUND),
    IrregularityKind.UNREADABLE_CARD: (Action.VOID_ROUND,),
    IrregularityKind.INSUFFICIENT_CARDS: (Action.VOID_ROUND,),
}
"""What is done where the policy proposes nothing that can be done."""


class Order(Struct, frozen=True, kw_only=True):
    """
    What the supervisor wants.

    Attributes:
        name: As a `Command` is named.
        words: For who watches.
        reason: For the journal.
    """

    name: str
    words: str
    reason: str
    irregularity: int | None = None
    action: Action | None = None
    slot: Slot | None = None
    card: Card | None = None

    @property
    def command(self) -> Command:
        """
        What the table is told.
        """
        return Command(
            name=self.name,
            operator=OPERATOR,
            reason=self.reason,
            irregularity=self.irregularity,
            action=self.action,
            slot=self.slot,
            card=self.card,
        )


class Case(Struct, eq=False):
    """
    An irregularity that is open.

    Attributes:
        found: What it is.
        round: In which round; None between two.
        slot: Where the card lies of which it is said that it passed unread.
        rests: Nothing can be done until the table moves on.
        held: A result waits for it.
        over: Its round is over, without it.
        tried: The orders that were given.
    """

    found: IrregularityData
    round: int | None = None
    slot: Slot | None = None
    rests: bool = False
    held: bool = False
    over: bool = False
    tried: list[Order] = []


class Mind:
    """
    Knows what is open, and what to do about it.

    Attributes:
        cases: What is open, by its id.
    """

    def __init__(self, truth: Callable[[], DealtRound | None]) -> None:
        """
        Args:
            truth: Gives the round that really lies on the table.
        """
        self.cases: dict[int, Case] = {}
        self._truth = truth
        self._shown: dict[Slot, Card | None] = {}
        self._corrected: int | None = None

    def hear(self, event: Event) -> list[Case]:
        """
        Take the next event; return the cases that there is something to do about now.
        """
        self._see(event)
        match event.data:
            case IrregularityData() as found:
                return [] if found.id in self.cases else [self._open(found, event.round)]
            case events.ClosedData(id=number):
                self.cases.pop(number, None)
            case events.RoundFinished() | events.RoundAborted():
                return self._leave(event.round)
            case events.RoundHeld(irregularities=ids):
                return self._hold(ids)
        return []

    def _see(self, event: Event) -> None:
        match event.data:
            case events.RoundStarted():
                self._shown.clear()
            case events.ShoeStarted():
                self._corrected = None
            case events.CardDealt(slot=Slot() as slot, card=card):
                self._shown[slot] = card
            case events.CardDisclosed(slot=Slot() as slot, card=card):
                self._shown[slot] = card
            case events.CardCorrected(slot=Slot() as slot, before=before, after=card):
                self._shown[slot] = card
                if before is not None:
                    self._corrected = event.round

    def _open(self, found: IrregularityData, number: int | None) -> Case:
        case = self.cases[found.id] = Case(found, number)
        dealt = self._truth()
        if found.kind == IrregularityKind.UNREADABLE_CARD and dealt is not None:
            # It lies where no card is known to lie; before a round it is the first.
            shown = {} if number is None else self._shown
            places = (slot for slot, _ in dealt.cards if slot not in shown)
            case.slot = found.slot or next(places, None)
        if _is_excess(found) and dealt is not None:
            case.rests = dealt.carried  # the round itself is called first
        return case

    def _hold(self, ids: tuple[int, ...]) -> list[Case]:
        cases = list(filter(None, map(self.cases.get, ids)))
        for case in cases:
            case.held, case.rests = True, False
        return cases

    def _leave(self, number: int | None) -> list[Case]:
        # What could be done once the result is held cannot be where none was.
        left = [case for case in self.cases.values() if case.rests and not _is_excess(case.found)]
        left = [case for case in left if case.round == number]
        for case in left:
            case.over, case.rests = True, False
        return left

    def decide(self, case: Case) -> Order | None:
        """
        Say what is to be done next; None where nothing is, for now.
        """
        if case.rests or case.found.id not in self.cases:
            return None
        order = next((each for each in self._wishes(case) if each not in case.tried), None)
        if order is not None:
            case.tried.append(order)
        return order

    def answered(self, case: Case, order: Order, refused: str | None) -> None:
        """
        Take the answer: what cannot be done yet may be possible once a result is held.
        """
        if refused is None:
            case.rests = order.action is Action.DRAW_NOW
        elif not (case.held or case.over) and (
            order.name == "enter_card" or order.action in _CARRIES
        ):
            case.tried.remove(order)
            case.rests = True

    def _wishes(self, case: Case) -> Iterator[Order]:
        found, dealt = case.found, self._truth()
        corrected = case.round is not None and case.round == self._corrected
        if not corrected:
            if dealt is not None:
                yield from self._put_right(case, dealt)
            if not case.over:
                yield from _ruled(found, dealt)
        if corrected and not case.held and _is_excess(found):
            return  # it may be due as soon as more faces are seen
        right = "the result follows the corrected cards"
        reason = right if corrected else "seen, and nothing else is to be done"
        words = "seen, play on"
        yield Order(name="acknowledge", words=words, reason=reason, irregularity=found.id)

    def _put_right(self, case: Case, dealt: DealtRound) -> Iterator[Order]:
        truth = dict(dealt.cards)
        if case.found.kind == IrregularityKind.UNREADABLE_CARD and case.slot in truth:
            card = truth[case.slot]
            yield Order(
                name="enter_card",
                words=f"{case.slot} is {card_text(card)}",
                reason="read from the card on the table",
                slot=case.slot,
                card=card,
            )
        elif dealt.fault is Fault.MISREAD:
            yield from self._correct(truth)

    def _correct(self, truth: dict[Slot, Card]) -> Iterator[Order]:
        for slot, card in truth.items():
            shown = self._shown.get(slot)
            if shown not in {None, card}:
                yield Order(
                    name="correct_card",
                    words=f"{slot} is {card_text(card)}, not {card_text(shown)}",
                    reason="compared with the cards on the table",
                    slot=slot,
                    card=card,
                )
                return


def _ruled(found: IrregularityData, dealt: DealtRound | None) -> Iterator[Order]:
    for proposal in found.proposals:
        action = Action(proposal.action)
        if _can_be(action, dealt):
            yield _rule(found, action, f"{proposal.authority}, {proposal.section}")
    for action in _OWN.get(IrregularityKind(found.kind), ()):
        if _can_be(action, dealt):
            yield _rule(found, action, "the policy proposes nothing that can be done")


def _is_excess(found: IrregularityData) -> bool:
    return found.kind == IrregularityKind.EXCESS_CARD


def _can_be(action: Action, dealt: DealtRound | None) -> bool:
    if action in _CARRIES:
        return dealt is not None and dealt.carried
    if action is Action.BURN_CARD:
        return dealt is None or not dealt.carried
    if action is Action.DRAW_NOW:
        return dealt is not None and dealt.made_good
    return action not in _NOBODY_DOES


def _rule(found: IrregularityData, action: Action, reason: str) -> Order:
    words = ACTION_NAMES[action].text
    return Order(name="rule", words=words, reason=reason, irregularity=found.id, action=action)

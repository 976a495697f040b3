"""
Decisions of the demo's supervisor, who sees the cards and follows the house's policy.

Pure: without a clock and without MQTT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct

from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.game import ACTION_NAMES, Action, Card, IrregularityKind, Slot, card_text
from shoe_daemon.table import Command, Event, IrregularityData, events

OPERATOR: Final = "Scripted supervisor"

CARRIES: Final = frozenset({Action.CARRY_TO_NEXT_HAND, Action.CARRY_AS_DUMMY_HAND})
_NOT_SIMULATED: Final = frozenset(
    {
        Action.BURN_CARD_PLUS_VALUE,
        Action.RESCAN,
        Action.MANUAL_ENTRY,  # done by entering the card
        Action.STOP_SHOE,
        Action.SUPERVISOR,
    }
)
"""Actions that the simulated dealer cannot do, or that have commands of their own."""

_FALLBACKS: Final = {
    IrregularityKind.EXCESS_CARD: (*sorted(CARRIES, reverse=True), Action.BURN_CARD),
    IrregularityKind.MISSING_DRAW: (Action.DRAW_NOW, Action.VOID_ROUND),
    IrregularityKind.UNREADABLE_CARD: (Action.VOID_ROUND,),
    IrregularityKind.INSUFFICIENT_CARDS: (Action.VOID_ROUND,),
}
"""Actions if the policy proposes none that is possible."""


class Order(Struct, frozen=True):
    """A command of the supervisor, and its text for the view."""

    words: str
    command: Command


class Case(Struct, eq=False):
    """
    An open irregularity.

    Attributes:
        found: The irregularity.
        round: Its round; None between two rounds.
        slot: Slot of an unreadable card.
        rests: Nothing can be done until the table moves on.
        ordered: A ruling that waits, which the dealer carries out.
        held: It holds a result back.
        over: Its round has ended without a held result.
        tried: Commands given so far.
    """

    found: IrregularityData
    round: int | None = None
    slot: Slot | None = None
    rests: bool = False
    ordered: Action | None = None
    held: bool = False
    over: bool = False
    tried: list[Order] = []


class AutoSupervisor:
    """
    Chooses commands for open irregularities.

    Attributes:
        cases: Open irregularities by id.
    """

    def __init__(self, truth: Callable[[], DealtRound | None]) -> None:
        """
        Args:
            truth: Returns the cards really on the table.
        """
        self.cases: dict[int, Case] = {}
        self._truth = truth
        self._shown: dict[Slot, Card | None] = {}
        self._corrected: int | None = None

    def receive(self, event: Event) -> list[Case]:
        """Process an event; return the cases that can be decided now."""
        self._note_cards(event)
        match event.data:
            case IrregularityData() as found:
                return [] if found.id in self.cases else [self._open(found, event.round)]
            case events.RulingGiven(id=number, action=action) if number in self.cases:
                return [self._obey(self.cases[number], Action(action))]
            case events.ClosedData(id=number):
                self.cases.pop(number, None)
            case events.RoundFinished() | events.RoundAborted():
                return self._leave(event.round)
            case events.RoundHeld(irregularities=ids):
                return self._hold(ids)
        return []

    def _note_cards(self, event: Event) -> None:
        match event.data:
            case events.RoundStarted():
                self._shown.clear()
            case events.ShoeStarted():
                self._corrected = None
            case (
                events.CardDealt(slot=Slot() as slot, card=card)
                | events.CardDisclosed(slot=Slot() as slot, card=card)
            ):
                self._shown[slot] = card
            case events.CardCorrected(slot=Slot() as slot, before=before, after=card):
                self._shown[slot] = card
                if before is not None:
                    self._corrected = event.round

    def _open(self, found: IrregularityData, number: int | None) -> Case:
        case = self.cases[found.id] = Case(found, number)
        dealt = self._truth()
        if found.kind == IrregularityKind.UNREADABLE_CARD and dealt is not None:
            # The unread card lies in a slot without a known card; before a round, in the first.
            shown = {} if number is None else self._shown
            places = (slot for slot, _ in dealt.cards if slot not in shown)
            case.slot = found.slot or next(places, None)
        if _is_excess(found) and dealt is not None:
            case.rests = dealt.carried  # the round itself is called first
        return case

    @staticmethod
    def _obey(case: Case, action: Action) -> Case:
        # The dealer draws the card; an unread card is entered, because the reader fails again.
        case.ordered, case.rests = action, action is Action.DRAW_NOW
        return case

    def _hold(self, ids: tuple[int, ...]) -> list[Case]:
        cases = list(filter(None, map(self.cases.get, ids)))
        for case in cases:
            case.held, case.rests = True, False
        return cases

    def _leave(self, number: int | None) -> list[Case]:
        # A command that had to wait for a held result is no longer possible without one.
        left = [case for case in self.cases.values() if case.rests and not _is_excess(case.found)]
        left = [case for case in left if case.round == number]
        for case in left:
            case.over, case.rests = True, False
        return left

    def decide(self, case: Case) -> Order | None:
        """Choose the next command; None if there is none for now."""
        if case.rests or case.found.id not in self.cases:
            return None
        order = next((each for each in self._candidates(case) if each not in case.tried), None)
        if order is not None:
            case.tried.append(order)
        return order

    def answered(self, case: Case, order: Order, refused: str | None) -> None:
        """Process the answer; a refused command may become possible once a result is held."""
        if refused is None:
            case.rests = order.command.action == Action.DRAW_NOW
        elif not (case.held or case.over) and (
            order.command.name == "enter_card" or order.command.action in CARRIES
        ):
            case.tried.remove(order)
            case.rests = True

    def _candidates(self, case: Case) -> Iterator[Order]:
        found, dealt = case.found, self._truth()
        corrected = case.round is not None and case.round == self._corrected
        if not corrected:
            if dealt is not None:
                yield from self._corrections(case, dealt)
            if not case.over:
                yield from _ruled(found, dealt)
        if corrected and not case.held and _is_excess(found):
            return  # the card may be due once more faces are known
        right = "the result follows the corrected cards"
        reason = right if corrected else "seen, and nothing else is to be done"
        yield _order("seen, play on", "acknowledge", reason, irregularity=found.id)

    def _corrections(self, case: Case, dealt: DealtRound) -> Iterator[Order]:
        truth = dict(dealt.cards)
        if case.found.kind == IrregularityKind.UNREADABLE_CARD and case.slot in truth:
            slot, card = case.slot, truth[case.slot]
            words, reason = f"{slot} is {card_text(card)}", "read from the card on the table"
            yield _order(words, "enter_card", reason, slot=slot, card=card)
        elif dealt.fault is Fault.MISREAD:
            yield from self._correct(truth)

    def _correct(self, truth: dict[Slot, Card]) -> Iterator[Order]:
        for slot, card in truth.items():
            shown = self._shown.get(slot)
            if shown not in {None, card}:
                words = f"{slot} is {card_text(card)}, not {card_text(shown)}"
                reason = "compared with the cards on the table"
                yield _order(words, "correct_card", reason, slot=slot, card=card)
                return


def _ruled(found: IrregularityData, dealt: DealtRound | None) -> Iterator[Order]:
    for proposal in found.proposals:
        action = Action(proposal.action)
        if _is_possible(action, dealt):
            yield _rule(found, action, f"{proposal.authority}, {proposal.section}")
    for action in _FALLBACKS.get(IrregularityKind(found.kind), ()):
        if _is_possible(action, dealt):
            yield _rule(found, action, "the policy proposes nothing that can be done")


def _is_excess(found: IrregularityData) -> bool:
    return found.kind == IrregularityKind.EXCESS_CARD


def _is_possible(action: Action, dealt: DealtRound | None) -> bool:
    if action in CARRIES:
        return dealt is not None and dealt.carried
    if action is Action.BURN_CARD:
        return dealt is None or not dealt.carried
    if action is Action.DRAW_NOW:
        return dealt is not None and dealt.made_good
    return action not in _NOT_SIMULATED


def _rule(found: IrregularityData, action: Action, reason: str) -> Order:
    words = ACTION_NAMES[action].text
    return _order(words, "rule", reason, irregularity=found.id, action=action)


def _order(words: str, name: str, reason: str, **fields: Any) -> Order:  # noqa: ANN401 - of `Command`
    return Order(words, Command(name=name, operator=OPERATOR, reason=reason, **fields))

"""
The cards of a shoe in drawing order, collected from its events.

Several events may concern the same card: it is dealt, named to staff, disclosed, corrected,
carried into the next round, or found to belong to the next round. Here it counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from shoe_daemon.game import Card, IrregularityKind, Slot
from shoe_daemon.table import Command, Event, events, to_microseconds


class CausedEvent(NamedTuple):
    """
    An event and its cause: the input of the read model.

    Attributes:
        event: As stored in the journal.
        observation: The id of the observation that caused it; its time where the id is not known.
        cause: The type of that observation.
        order: That observation, if it is a command.
    """

    event: Event
    observation: int
    cause: str
    order: Command | None


def received(event: Event, at: int | None = None) -> CausedEvent:
    """
    Return an event whose observation is not known: events of one time are those of one.

    `at` is that time in microseconds, where the caller has it.
    """
    by_reader = getattr(event.data, "detail_code", "") == "excess_by_reader"
    at = to_microseconds(event.at) if at is None else at
    return CausedEvent(event, at, "device_error" if by_reader else "", None)


Role = Literal["burn", "play", "excess"]

CARD_EVENTS: Final = (
    "card_burned",
    "card_corrected",
    "card_dealt",
    "card_disclosed",
    "irregularity",
    "irregularity_closed",
    "round_aborted",
    "staff_card_dealt",
)
"""Event types that `CardFold` uses."""

_CARRIES: Final = ("carry_to_next_hand", "carry_as_dummy_hand")


class DrawnCard(Struct):
    """
    One card drawn from the shoe.

    Attributes:
        at: Time of the first event about the card.
        face: None if unknown.
        role: ``excess`` belongs to neither hand.
        round: The round in which the card was drawn; None outside a round.
        after: The latest round begun at that time; 0 before the first.
        slot: The last slot reported.
        irregularity: For an excess card, the irregularity's id.
        carried: An excess card that was carried into the next round.
        is_repeat: The card stands in the list for another round, too: it left the shoe only once.
    """

    at: str
    face: Card | None
    role: Role
    round: int | None
    after: int = 0
    slot: Slot | None = None
    irregularity: int | None = None
    carried: bool = False
    is_repeat: bool = False


class CardFold:
    """Collects `cards` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.cards: list[DrawnCard] = []
        self._latest = 0
        self._observation = 0
        self._faces_changed = False
        self._last_drawn: DrawnCard | None = None
        self._split: Event | None = None

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event = caused.event
        self._latest = max(self._latest, event.round or 0)
        if caused.observation != self._observation:
            self._observation = caused.observation
            self._faces_changed, self._last_drawn, self._split = False, None, None
        match event.data:
            case events.CardBurned(card=face):
                self._add(event, face, "burn")
            case events.CardDealt(card=face, slot=slot):
                self._mark_moved(event)
                self._add(event, face, "play", slot)
            case events.RoundAborted() if caused.cause == "disclosed":
                self._split = event
            case events.StaffCardDealt(card=face, slot=slot):
                self._add_staff_face(event, face, slot)
            case events.CardDisclosed() | events.CardCorrected() as changed:
                self._faces_changed = True
                self._change_face(event, changed)
            case events.Irregularity(kind=IrregularityKind.EXCESS_CARD) as irregularity:
                # A device error reports an excess card, but is no card itself.
                if caused.cause != "device_error":
                    self._excess(event, irregularity)
            case events.IrregularityClosed(action=action, id=identifier) if action in _CARRIES:
                self._carry(identifier)

    def finish(self) -> list[DrawnCard]:
        """Return all cards; carried cards are marked in their second round."""
        for place, card in enumerate(self.cards):
            if card.carried:
                _mark_repeat(card, self.cards[place + 1 :])
        return self.cards

    def _add(self, event: Event, face: Card | None, role: Role, slot: Slot | None = None) -> None:
        self._last_drawn = DrawnCard(event.at, face, role, event.round, self._latest, slot)
        self.cards.append(self._last_drawn)

    def _mark_moved(self, event: Event) -> None:
        """
        Mark the latest card of a round that was split: one of its cards is dealt again.

        A disclosed P1 splits a round in which cards were missed (`table.attribute.split_round`).
        """
        split = self._split
        if split is None or split.at != event.at:
            return  # a deadline before the disclosure has ended the round
        for card in reversed(self.cards):
            if card.round == split.round and card.role == "play" and not card.is_repeat:
                card.is_repeat = True
                return

    def _add_staff_face(self, event: Event, face: Card, slot: Slot | None) -> None:
        # The event names the card just drawn, an unread card in that slot, or an excess card
        # without any other event.
        known = self._last_drawn
        if known is None or known.face is not None or known.slot is not slot:
            known = self._unread(event.round, slot)
        if known is None:
            self._add(event, face, "excess")
        else:
            known.face = face

    def _unread(self, number: int | None, slot: Slot | None) -> DrawnCard | None:
        for card in reversed(self.cards):
            if card.face is not None:
                continue
            if slot is None and card.role == "excess" and card.after == self._latest:
                return card
            if slot is not None and card.round == number and card.slot is slot:
                return card
        return None

    def _change_face(
        self, event: Event, data: events.CardDisclosed | events.CardCorrected
    ) -> None:
        if isinstance(data, events.CardDisclosed):
            self._disclose(event, data.card, data.slot)
        else:
            self._correct(event, data)

    def _disclose(self, event: Event, face: Card, slot: Slot | None) -> None:
        card = self._card_in_round(event.round, slot, face)
        if card is not None:
            card.face = face
            card.slot = slot or card.slot

    def _card_in_round(
        self, number: int | None, slot: Slot | None, face: Card | None
    ) -> DrawnCard | None:
        here = [card for card in self.cards if card.round == number and card.role == "play"]
        tests: tuple[Callable[[DrawnCard], bool], ...] = (
            lambda card: card.slot is slot and card.face is face,
            lambda card: card.slot is slot and card.face is None,
            lambda card: slot is not None and card.slot is slot,
            lambda card: card.slot is None and card.face in {None, face},
            lambda card: card.face is face,
        )
        for fits in tests:
            for card in reversed(here):
                if fits(card):
                    return card
        return None

    def _correct(self, event: Event, data: events.CardCorrected) -> None:
        card = self._card_in_round(event.round, data.slot, data.before)
        if card is not None and (data.after is not None or data.before is not None):
            card.face = data.after

    def _excess(self, event: Event, data: events.Irregularity) -> None:
        card = self._last_drawn
        if self._faces_changed:
            # The card belonged to a hand until a disclosed face showed that it was not due.
            card = self._card_in_round(event.round, data.slot, data.card)
        if card is None or (card.role != "excess" and not self._faces_changed):
            self._add(event, data.card, "excess")
            card = self.cards[-1]
        card.role, card.irregularity = "excess", data.id
        self._last_drawn = None

    def _carry(self, identifier: int) -> None:
        for card in self.cards:
            if card.irregularity == identifier:
                card.carried = True


def _mark_repeat(card: DrawnCard, later: list[DrawnCard]) -> None:
    """Mark a carried card in its second round: the first card in play of a later round."""
    for other in later:
        if other.role == "play" and other.round != card.round:
            if other.face is card.face or None in {other.face, card.face}:
                card.face = other.face = card.face or other.face
                other.is_repeat = True
            return

"""
The cards of a shoe in the order in which they left it, told from its events.

A card is told more than once: when it is dealt, to staff, when it is turned
over, when somebody corrects it, and again when it is carried into the next
round. Here it is one card.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from shoe_daemon.game import Card, IrregularityKind, Slot
from shoe_daemon.report.shoe_events import Said
from shoe_daemon.table import Event, events

Role = Literal["burn", "play", "excess"]

CARD_EVENTS: Final = (
    "card_burned",
    "card_corrected",
    "card_dealt",
    "card_disclosed",
    "irregularity",
    "irregularity_closed",
    "staff_card_dealt",
)
"""All that `CardFold` listens to."""

_CARRIES: Final = ("carry_to_next_hand", "carry_as_dummy_hand")


class CardOut(Struct):
    """
    One card that left the shoe.

    Attributes:
        at: When it came to be known.
        face: None where nobody has told it.
        role: What it was for; ``excess`` belongs to neither hand.
        round: The round in which it came; None outside one.
        after: The latest round that had begun by then; 0 before the first.
        slot: Its place, as it was told last.
        irregularity: The id of the one that an excess card was.
        carried: An excess card that was to begin the next round.
        again: The same card as an excess one before it: it did not leave the
            shoe a second time.
    """

    at: str
    face: Card | None
    role: Role
    round: int | None
    after: int = 0
    slot: Slot | None = None
    irregularity: int | None = None
    carried: bool = False
    again: bool = False


class CardFold:
    """Takes the events of one shoe in order; `cards` is what left it so far."""

    def __init__(self) -> None:
        self.cards: list[CardOut] = []
        self._latest = 0
        self._observation = 0
        self._turned = False
        self._loose: CardOut | None = None

    def take(self, said: Said) -> None:
        """Take the next event."""
        event = said.event
        self._latest = max(self._latest, event.round or 0)
        if said.observation != self._observation:
            self._observation, self._turned, self._loose = said.observation, False, None
        match event.data:
            case events.CardBurned(card=face):
                self._add(event, face, "burn")
            case events.CardDealt(card=face, slot=slot):
                self._add(event, face, "play", slot)
            case events.StaffCardDealt(card=face, slot=slot):
                self._tell_staff(event, face, slot)
            case events.CardDisclosed(card=face, slot=slot):
                self._turned = True
                self._disclose(event, face, slot)
            case events.CardCorrected() as corrected:
                self._turned = True
                self._correct(event, corrected)
            case events.Irregularity(kind=IrregularityKind.EXCESS_CARD) as irregularity:
                # A reader's word that there is one is no card yet.
                if said.cause != "device_error":
                    self._excess(event, irregularity)
            case events.IrregularityClosed(action=action, id=identifier) if action in _CARRIES:
                self._carry(identifier)

    def finish(self) -> list[CardOut]:
        """Return all cards, those that were carried told apart."""
        for place, card in enumerate(self.cards):
            if card.carried:
                self._recognise(card, self.cards[place + 1 :])
        return self.cards

    def _add(self, event: Event, face: Card | None, role: Role, slot: Slot | None = None) -> None:
        self._loose = CardOut(event.at, face, role, event.round, self._latest, slot)
        self.cards.append(self._loose)

    def _tell_staff(self, event: Event, face: Card, slot: Slot | None) -> None:
        # Of the card that was just told, of one that lies there unread, or of
        # an excess card that nobody has spoken of yet.
        known = self._loose
        if known is None or known.face is not None or known.slot is not slot:
            known = self._unread(event.round, slot)
        if known is None:
            self._add(event, face, "excess")
        else:
            known.face = face

    def _unread(self, number: int | None, slot: Slot | None) -> CardOut | None:
        for card in reversed(self.cards):
            if card.face is not None:
                continue
            if slot is None and card.role == "excess" and card.after == self._latest:
                return card
            if slot is not None and card.round == number and card.slot is slot:
                return card
        return None

    def _disclose(self, event: Event, face: Card, slot: Slot | None) -> None:
        card = self._lying(event.round, slot, face)
        if card is not None:
            card.face = face
            card.slot = slot or card.slot

    def _lying(self, number: int | None, slot: Slot | None, face: Card | None) -> CardOut | None:
        here = [card for card in self.cards if card.round == number and card.role == "play"]
        tests: tuple[Callable[[CardOut], bool], ...] = (
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
        card = self._lying(event.round, data.slot, data.before)
        if card is not None and (data.after is not None or data.before is not None):
            card.face = data.after

    def _excess(self, event: Event, data: events.Irregularity) -> None:
        card = self._moved(event, data) if self._turned else self._loose
        if card is None or (card.role != "excess" and not self._turned):
            self._add(event, data.card, "excess")
            card = self.cards[-1]
        card.role, card.irregularity = "excess", data.id
        self._loose = None

    def _moved(self, event: Event, data: events.Irregularity) -> CardOut | None:
        # It lay in a hand until the faces told that it was not due.
        return self._lying(event.round, data.slot, data.card)

    def _carry(self, identifier: int) -> None:
        for card in self.cards:
            if card.irregularity == identifier:
                card.carried = True

    @staticmethod
    def _recognise(card: CardOut, later: list[CardOut]) -> None:
        for other in later:
            if other.role == "play" and other.round != card.round:
                if other.face is card.face or None in {other.face, card.face}:
                    card.face = other.face = card.face or other.face
                    other.again = True
                return

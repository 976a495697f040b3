"""The cards of a simulated shoe, and a dealer who knows the rules."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from random import Random
from typing import Final

from msgspec import Struct

from shoe_daemon.game import DECK, Card, Coup, Slot, banker_draws, is_natural, player_draws

__all__ = [
    "CUT_BEHIND",
    "DealtRound",
    "Excess",
    "Fault",
    "Placed",
    "Shoe",
    "burn_count",
    "coup_of",
    "lawful",
]

CUT_BEHIND: Final = 14
"""Cards behind the cut card: enough for the rest of a round, one more, and two mistakes."""

Placed = tuple[Slot, Card]
"""A card on its place."""


class Fault(StrEnum):
    """
    What can go wrong at the simulated table.

    ``overdraw``: one card too many, taken out of play or carried to the next
    round; ``missed-draw``: the dealer calls the result though a card is due;
    ``misread``: the shoe takes one card for another; ``unreadable``: it cannot
    read one; ``reset``: it starts anew in mid-round; ``lost-frame``: a report
    is lost, all copies of it; ``noise``: bytes that nobody sent, and a damaged
    copy; ``unplug``: the line is gone for some seconds.
    """

    OVERDRAW = "overdraw"
    MISSED_DRAW = "missed-draw"
    MISREAD = "misread"
    UNREADABLE = "unreadable"
    RESET = "reset"
    LOST_FRAME = "lost-frame"
    NOISE = "noise"
    UNPLUG = "unplug"


class Excess(StrEnum):
    """
    What becomes of a card too many: it is burned, or begins the next round, or
    now the one and now the other.
    """

    EITHER = "either"
    BURNED = "burned"
    CARRIED = "carried"


class DealtRound(Struct, frozen=True):
    """
    What really happened in one round.

    Attributes:
        shoe: 1 for the first shoe.
        number: 1 for the first round of a shoe; an aborted one has its number too.
        cards: The cards on the table with their true faces, in dealing order.
        excess: The card drawn too many, if any.
        fault: What went wrong; None in a clean round.
        aborted: Whether the shoe was reset before the result.
        carried: Whether the card drawn too many begins the next round.
        made_good: Whether the cards that were missed are drawn after all.
    """

    shoe: int
    number: int
    cards: tuple[Placed, ...]
    excess: Card | None = None
    fault: Fault | None = None
    aborted: bool = False
    carried: bool = False
    made_good: bool = False

    @property
    def coup(self) -> Coup:
        """What the cards on the table come to; four of them at least."""
        return coup_of(self.cards)


class Shoe:
    """Shuffled decks with a cut card in them."""

    def __init__(self, rng: Random, decks: int, cut_behind: int) -> None:
        self._cards = list(DECK) * decks
        rng.shuffle(self._cards)
        self._taken = 0
        self._cut_behind = cut_behind
        self.cut_card_out = False

    @property
    def left(self) -> int:
        """How many cards are left."""
        return len(self._cards) - self._taken

    def ahead(self) -> Iterator[Card]:
        """Look at the next cards without taking them."""
        return iter(self._cards[self._taken : self._taken + 6])

    def take(self) -> Card:
        """Take the next card."""
        self._taken += 1
        return self._cards[self._taken - 1]

    def cut_card_comes(self) -> bool:
        """Take the cut card, where it is next; tell whether it was."""
        if self.cut_card_out or self.left > self._cut_behind:
            return False
        self.cut_card_out = True
        return True

    def far_from_cut_card(self) -> bool:
        """Whether a whole round can be dealt before the cut card comes."""
        return self.left > self._cut_behind + 6


def burn_count(first: Card) -> int:
    """Say how many cards a first card burns: its points, ten for ten and faces."""
    return first.points or 10


def lawful(cards: Iterator[Card]) -> tuple[Placed, ...]:
    """Deal one round from these cards as the rules say: four to six of them."""
    dealt = dict(zip((Slot.P1, Slot.B1, Slot.P2, Slot.B2), cards, strict=False))
    player = (dealt[Slot.P1].points + dealt[Slot.P2].points) % 10
    banker = (dealt[Slot.B1].points + dealt[Slot.B2].points) % 10
    if not is_natural(player, banker):
        if player_draws(player):
            dealt[Slot.P3] = next(cards)
        third = dealt.get(Slot.P3)
        if banker_draws(banker, third.points if third else None):
            dealt[Slot.B3] = next(cards)
    return tuple(dealt.items())


def coup_of(cards: tuple[Placed, ...]) -> Coup:
    """Count both hands of a round and compare them."""
    player = tuple(card for slot, card in cards if slot.startswith("P"))
    banker = tuple(card for slot, card in cards if slot.startswith("B"))
    return Coup.of(player, banker)

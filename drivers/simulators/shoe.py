"""The cards of a simulated shoe, and dealing by the rules."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from random import Random
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from shoe_daemon.game import DECK, Burn, Card, Coup, Slot, banker_draws, is_natural, player_draws

CUT_BEHIND: Final = 14
"""Cards behind the cut card: enough for the current round, one more round, and two faults."""

Placed = tuple[Slot, Card]
"""A card with its slot."""


class Fault(StrEnum):
    """
    Faults of the simulated table.

    ``overdraw``: an excess card, taken out of play or carried to the next round; ``missed-draw``:
    the dealer calls the result although a draw is due; ``misread``: the shoe reports another card;
    ``unreadable``: it cannot read a card; ``reset``: it restarts in mid-round; ``lost-frame``: all
    copies of a report are lost; ``noise``: random bytes, and a damaged copy; ``unplug``: the line
    is interrupted for some seconds.
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
    """The fate of an excess card: burned, carried into the next round, or chosen at random."""

    EITHER = "either"
    BURNED = "burned"
    CARRIED = "carried"


class Dealing(Struct, frozen=True, kw_only=True):
    """
    Cards, and the way in which they are dealt.

    Attributes:
        decks: Decks in a shoe, 1 to 12.
        rounds, shoes: Limits; None for no limit.
        seed: Determines everything that is left to chance. The cards of each shoe depend on
            nothing else, the number of decks apart.
        fault_rate: Probability of a fault in a round.
        excess: The fate of an excess card; after the last round it is burned.
        make_good: Missed cards are drawn after the result.
        cut_behind: Cards behind the cut card, 14 or more.
        last_rounds: Rounds after the round of the cut card.
        burn: The cards burned from a new shoe.
        warm_up: First rounds of the first shoe, which are dealt without faults.
    """

    decks: Annotated[int, Meta(ge=1, le=12)] = 8
    rounds: Annotated[int, Meta(ge=1)] | None = None
    shoes: Annotated[int, Meta(ge=1)] | None = None
    seed: int = 0
    fault_rate: Annotated[float, Meta(ge=0, le=1)] = 0.1
    excess: Excess = Excess.EITHER
    make_good: bool = False
    cut_behind: Annotated[int, Meta(ge=CUT_BEHIND)] = CUT_BEHIND
    last_rounds: Annotated[int, Meta(ge=0, le=1)] = 1
    burn: Burn = Burn(mode="first_card")
    warm_up: Annotated[int, Meta(ge=0)] = 0

    @property
    def dealing(self) -> dict[str, Any]:
        """The same dealing, for the settings of another simulator."""
        return {name: getattr(self, name) for name in Dealing.__struct_fields__}


class DealtRound(Struct, frozen=True):
    """
    The true course of one round.

    Attributes:
        shoe: 1 for the first shoe.
        number: 1 for the first round of a shoe; aborted rounds are numbered too.
        cards: The cards on the table with their true faces, in dealing order.
        excess: The excess card, if any.
        fault: None in a round without a fault.
        aborted: The shoe was reset before the result.
        carried: The excess card begins the next round.
        made_good: Missed cards are drawn after the result.
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
        """The hands and their outcome; needs at least four cards."""
        return coup_of(self.cards)


class Shoe:
    """Shuffled decks with a cut card."""

    def __init__(self, rng: Random, decks: int, cut_behind: int) -> None:
        self._cards = list(DECK) * decks
        rng.shuffle(self._cards)
        self._taken = 0
        self._cut_behind = cut_behind
        self.cut_card_out = False

    @property
    def left(self) -> int:
        """The number of remaining cards."""
        return len(self._cards) - self._taken

    def ahead(self) -> Iterator[Card]:
        """Return the next cards without drawing them."""
        return iter(self._cards[self._taken : self._taken + 6])

    def take(self) -> Card:
        """Draw the next card."""
        self._taken += 1
        return self._cards[self._taken - 1]

    def cut_card_comes(self) -> bool:
        """Draw the cut card if it is next; return whether it was."""
        if self.cut_card_out or self.left > self._cut_behind:
            return False
        self.cut_card_out = True
        return True

    def far_from_cut_card(self) -> bool:
        """Return whether a whole round can be dealt before the cut card."""
        return self.left > self._cut_behind + 6


def cards_burned(burn: Burn, first: Card, decks: int) -> int:
    """Return the number of cards that a house burns from a new shoe, with its first card."""
    if burn.mode == "fixed":
        return burn.fixed
    if burn.mode == "per_deck":
        return decks
    if burn.mode == "none":
        return 0
    return max(1, 1 + (first.points or burn.face_value) - burn.indicator_counts)


def lawful(cards: Iterator[Card]) -> tuple[Placed, ...]:
    """Deal one round by the rules: four to six cards."""
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
    """Evaluate both hands of a round."""
    player = tuple(card for slot, card in cards if slot.startswith("P"))
    banker = tuple(card for slot, card in cards if slot.startswith("B"))
    return Coup.of(player, banker)

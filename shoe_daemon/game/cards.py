"""The fifty-two cards and their points in baccarat."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

RANKS: Final = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS: Final = ("S", "H", "D", "C")
CARDS_PER_DECK: Final = 52
MAX_DECKS: Final = 12
"""The most that any house puts into a shoe."""

_TENS_WITH_T: Final = tuple("T" + suit for suit in SUITS)


class Card(StrEnum):
    """
    One card, written rank then suit: ``AS``, ``10H``, ``KD``.

    ``Card("TH")`` is accepted for ``10H``; any other text raises `ValueError`.

    Attributes:
        rank: ``A``, ``2`` to ``10``, ``J``, ``Q`` or ``K``.
        suit: ``S``, ``H``, ``D`` or ``C``.
        points: What the card counts in a hand, 0 to 9 (ten and faces count 0).
        index: Its place in a new deck, 0 to 51, rank by rank within a suit.
    """

    # A name must be an identifier, so the suit comes first in it: ``S_10``.
    vars().update({f"{suit}_{rank}": rank + suit for suit in SUITS for rank in RANKS})

    rank: str
    suit: str
    points: int
    index: int  # type: ignore[assignment]  # a card is no text to search: str's method goes

    def __init__(self, text: str) -> None:
        self.rank, self.suit = text[:-1], text[-1]
        place = RANKS.index(self.rank)
        self.points = place + 1 if place < 9 else 0  # noqa: PLR2004 - the nine counts nine
        self.index = SUITS.index(self.suit) * len(RANKS) + place

    @classmethod
    def _missing_(cls, value: object) -> Card | None:
        if value in _TENS_WITH_T:
            return cls("10" + str(value)[1])
        return None


DECK: Final[tuple[Card, ...]] = tuple(Card)
"""The cards of one deck, in the order of their `Card.index`."""

SUIT_SIGNS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}


def card_text(card: str | None) -> str:
    """Return a card with the sign of its suit, ``10♥``; ``??`` for an unknown face."""
    return "??" if card is None else card[:-1] + SUIT_SIGNS[card[-1]]

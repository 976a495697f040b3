"""
The words of one round: its places, its hands, its outcome, and a round whose
cards are all known.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from shoe_daemon.game.tableau import NATURAL

if TYPE_CHECKING:
    from shoe_daemon.game.cards import Card


class Slot(StrEnum):
    """
    A place of the layout, named in dealing order: ``P1 B1 P2 B2 P3 B3``.
    """

    P1 = "P1"
    B1 = "B1"
    P2 = "P2"
    B2 = "B2"
    P3 = "P3"
    B3 = "B3"


DEALING_ORDER: Final = tuple(Slot)


class Hand(StrEnum):
    """
    Whose cards: the Player's or the Banker's; ``none`` where nobody's.
    """

    PLAYER = "player"
    BANKER = "banker"
    NONE = "none"


class Outcome(StrEnum):
    """
    Which hand won.
    """

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class Kind(StrEnum):
    """
    What a round is for: play, or a hand without wagers.
    """

    NORMAL = "normal"
    FREE = "free"
    DUMMY = "dummy"


class Holding(NamedTuple):
    """
    One hand of a finished round.

    Attributes:
        cards: Its two or three cards, in dealing order.
        total: 0 to 9.
        natural: Whether it is a *two-card* 8 or 9.
        pair: Whether its first two cards are of one rank (J-J is, J-Q is not).
    """

    cards: tuple[Card, ...]
    total: int
    natural: bool
    pair: bool

    @classmethod
    def of(cls, cards: tuple[Card, ...]) -> Holding:
        """
        Count a hand of two or three cards.
        """
        total = sum(card.points for card in cards) % 10
        return cls(
            cards, total, len(cards) == 2 and total >= NATURAL, cards[0].rank == cards[1].rank
        )


class Coup(NamedTuple):
    """
    A finished round: both hands, and who won.
    """

    player: Holding
    banker: Holding
    outcome: Outcome

    @classmethod
    def of(cls, player: tuple[Card, ...], banker: tuple[Card, ...]) -> Coup:
        """
        Compare two hands of two or three cards each, drawn in any lawful way.
        """
        return cls.between(Holding.of(player), Holding.of(banker))

    @classmethod
    def between(cls, player: Holding, banker: Holding) -> Coup:
        """
        Compare two hands that are counted already.
        """
        if player.total == banker.total:
            return cls(player, banker, Outcome.TIE)
        won = Outcome.PLAYER if player.total > banker.total else Outcome.BANKER
        return cls(player, banker, won)

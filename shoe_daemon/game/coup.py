"""One round: its slots, its hands, its outcome, and a coup whose cards are all known."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from shoe_daemon.game.tableau import NATURAL, banker_draws, is_natural, player_draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoe_daemon.game.cards import Card


class Slot(StrEnum):
    """A place of the layout, named in dealing order: ``P1 B1 P2 B2 P3 B3``."""

    P1 = "P1"
    B1 = "B1"
    P2 = "P2"
    B2 = "B2"
    P3 = "P3"
    B3 = "B3"


DEALING_ORDER: Final = tuple(Slot)
FIRST_CARDS: Final = 2
"""How many cards each hand has before anybody draws."""
FOUR_CARDS: Final = 2 * FIRST_CARDS


class Hand(StrEnum):
    """Whose cards: the Player's or the Banker's; ``none`` where nobody's."""

    PLAYER = "player"
    BANKER = "banker"
    NONE = "none"


class Outcome(StrEnum):
    """Which hand won."""

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class Kind(StrEnum):
    """What a round is for: play, or a hand without wagers."""

    NORMAL = "normal"
    FREE = "free"
    DUMMY = "dummy"


def hand_due(points: Sequence[int]) -> Hand:
    """
    Return the hand that draws the next card, given the points of the cards so far in dealing
    order.

    `Hand.NONE` when the round is complete, after four, five or six cards; further cards change
    nothing.
    """
    dealt = len(points)
    if dealt < FOUR_CARDS:
        return Hand.BANKER if dealt % 2 else Hand.PLAYER
    player, banker = (points[0] + points[2]) % 10, (points[1] + points[3]) % 10
    if is_natural(player, banker):
        return Hand.NONE
    third = None
    if player_draws(player):
        if dealt == FOUR_CARDS:
            return Hand.PLAYER
        third = points[FOUR_CARDS]
    if dealt == FOUR_CARDS + (third is not None) and banker_draws(banker, third):
        return Hand.BANKER
    return Hand.NONE


class CountedHand(NamedTuple):
    """
    One hand of a finished round.

    Attributes:
        cards: Its two or three cards, in dealing order.
        total: 0 to 9.
        natural: It is a *two-card* 8 or 9.
        pair: Its first two cards are of one rank (J-J is a pair, J-Q is not).
    """

    cards: tuple[Card, ...]
    total: int
    natural: bool
    pair: bool

    @classmethod
    def of(cls, cards: tuple[Card, ...]) -> CountedHand:
        """Return the hand of two or three cards."""
        total = sum([card.points for card in cards]) % 10
        natural = len(cards) == FIRST_CARDS and total >= NATURAL
        return cls(cards, total, natural, cards[0].rank == cards[1].rank)


class Coup(NamedTuple):
    """A finished round: both hands and the winner."""

    player: CountedHand
    banker: CountedHand
    outcome: Outcome

    @classmethod
    def of(cls, player: tuple[Card, ...], banker: tuple[Card, ...]) -> Coup:
        """Return the coup of two hands of two or three cards each, drawn in any lawful way."""
        return cls.between(CountedHand.of(player), CountedHand.of(banker))

    @classmethod
    def deal(cls, shoe: Sequence[Card]) -> Coup:
        """
        Deal one round by the rules: the first four to six cards of `shoe`.

        Raises:
            IndexError: The shoe has too few cards to complete the round.
        """
        points: list[int] = []
        hands: dict[Hand, tuple[Card, ...]] = {Hand.PLAYER: (), Hand.BANKER: ()}
        while (hand := hand_due(points)) is not Hand.NONE:
            card = shoe[len(points)]
            points.append(card.points)
            hands[hand] += (card,)
        return cls.of(hands[Hand.PLAYER], hands[Hand.BANKER])

    @classmethod
    def between(cls, player: CountedHand, banker: CountedHand) -> Coup:
        """Return the coup of two counted hands."""
        if player.total == banker.total:
            return cls(player, banker, Outcome.TIE)
        won = Outcome.PLAYER if player.total > banker.total else Outcome.BANKER
        return cls(player, banker, won)

"""
One round: the drawing rules, its slots, its hands, its outcome, and a coup whose cards are known.

The drawing rules of punto banco differ in one place: some houses let the Player choose on 5
(`House.player_on_5`); the functions here draw. Sources: 58 Pa. Code 631a.11; French arrêté of 14
May 2007, article 55-14; and the four rule sheets, which agree wherever they speak. Two places of
them need a word: the Chickasaw sheet has no row for a Banker whose opponent stood (the other three
have: draw on 0-5), and its "0-1-2 always draws" yields to its note that a natural ends the hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from shoe_daemon.game.cards import Card

NATURAL: Final = 8
"""The lowest two-card total after which neither hand draws."""

# One row for each Banker total; the digits are the Player's third cards that
# make the Banker draw.
_BANKER_DRAWS_AGAINST: Final = (
    "0123456789",
    "0123456789",
    "0123456789",
    "012345679",
    "234567",
    "4567",
    "67",
    "",
    "",
    "",
)
_BANKER_DRAWS: Final = tuple(
    tuple(str(third) in row for third in range(10)) for row in _BANKER_DRAWS_AGAINST
)
_STANDS_FROM: Final = 6
PLAYER_CHOICE: Final = 5
"""The Player's total on which some houses let the Player draw or stand."""


def is_natural(player: int, banker: int) -> bool:
    """Return whether either two-card total, 0 to 9, ends the round at once."""
    return player >= NATURAL or banker >= NATURAL


def player_draws(player: int) -> bool:
    """
    Return whether the Player draws a third card on a two-card total of 0 to 9.

    Call `is_natural` first: naturals of the Banker are not considered here.
    """
    return player < _STANDS_FROM


def banker_draws(banker: int, player_third: int | None) -> bool:
    """
    Return whether the Banker draws a third card on a two-card total of 0 to 9.

    `player_third` is the points, 0 to 9, of the Player's third *card* (not of the hand), or None
    if the Player stood.
    """
    if player_third is None:
        return banker < _STANDS_FROM
    return _BANKER_DRAWS[banker][player_third]


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
"""The number of cards of each hand before the draws."""
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

    @classmethod
    def of_totals(cls, player: int, banker: int) -> Outcome:
        """Return the outcome of two totals, 0 to 9."""
        if player == banker:
            return cls.TIE
        return cls.PLAYER if player > banker else cls.BANKER


class Kind(StrEnum):
    """What a round is for: play, or a hand without wagers."""

    NORMAL = "normal"
    FREE = "free"
    DUMMY = "dummy"


def hand_due(points: Sequence[int]) -> Hand:
    """
    Return the hand that draws the next card, given the points of the cards so far in dealing
    order. On 5, the Player draws.

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
        Deal one round by the rules: the first four to six cards of `shoe`. On 5, the Player draws.

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
        return cls(player, banker, Outcome.of_totals(player.total, banker.total))

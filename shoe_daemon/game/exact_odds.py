"""
Exact odds by enumeration: how many of all ordered draws of six cards from a
full shoe end in which way.

Cards that a coup leaves unused are counted too, so that every draw weighs the
same and all counts are whole numbers out of ``52d · (52d-1) … (52d-5)`` for d
decks. They hold for any round of a shoe that nobody has counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import perm, prod
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import CARDS_PER_DECK, DECK, MAX_DECKS
from shoe_daemon.game.coup import FIRST_CARDS, Outcome, banker_draws, is_natural, player_draws
from shoe_daemon.game.wagers import PUSH, CoupShape, HandShape, Wager, parse_odds

CARDS_PER_DRAW: Final = 6
"""Number of cards drawn in every count, used or not."""

_POINTS: Final = range(10)
_PER_DECK: Final = Counter(card.points for card in DECK)
_TWO_HANDS: Final = tuple(combinations_with_replacement(_POINTS, FIRST_CARDS))

# The first two cards of a hand: a pair, and a perfect pair.
_PairKind = tuple[bool, bool]
_NO_PAIR: Final = (False, False)
_PAIR: Final = (True, False)
_PERFECT: Final = (True, True)
# Total and cards of the Player, total and cards of the Banker.
_TotalsAndCards = tuple[int, int, int, int]


class WagerOdds(NamedTuple):
    """
    The odds of a wager, in draws out of `Odds.total`.

    Attributes:
        edge:
            The share of each unit staked, pushes included, that the house keeps in the
            long run; below zero if the player has the advantage.
        prizes: The same by line of the pay table, pushes included.
    """

    win: int
    push: int
    lose: int
    edge: Fraction
    prizes: dict[str, int]


class Odds(NamedTuple):
    """The odds of a round from `decks` decks, in draws out of `total`."""

    decks: int
    total: int
    banker: int
    player: int
    tie: int
    wagers: dict[str, WagerOdds]

    def to_mapping(self) -> dict[str, Any]:
        """Return the odds as plain data; an edge is its exact fraction, ``n/d``."""
        wagers = {
            name: {
                "win": each.win,
                "push": each.push,
                "lose": each.lose,
                "edge": f"{each.edge.numerator}/{each.edge.denominator}",
            }
            for name, each in self.wagers.items()
        }
        outcomes = {"banker": self.banker, "player": self.player, "tie": self.tie}
        return {"total": self.total, **outcomes, "wagers": wagers}


def count_odds(wagers: Iterable[Wager], decks: int) -> Odds:
    """
    Count the odds of each wager for a full shoe.

    Raises:
        UserError: The number of decks is not 1 to 12.
    """
    shapes = count_shapes(decks)
    outcomes: Counter[Outcome] = Counter()
    for shape, count in shapes.items():
        outcomes[shape.outcome] += count
    return Odds(
        decks,
        perm(CARDS_PER_DECK * decks, CARDS_PER_DRAW),
        outcomes[Outcome.BANKER],
        outcomes[Outcome.PLAYER],
        outcomes[Outcome.TIE],
        {wager.id: _odds_of_wager(wager, shapes) for wager in wagers},
    )


def _odds_of_wager(wager: Wager, shapes: Mapping[CoupShape, int]) -> WagerOdds:
    prizes = dict.fromkeys((line.prize.id for line in wager.lines), 0)
    lose = 0
    for shape, count in shapes.items():
        line = wager.line(shape)
        if line is None:
            lose += count
        else:
            prizes[line.prize.id] += count
    won = {line: prizes[line.prize.id] for line in wager.lines if line.pays != PUSH}
    win, total = sum(won.values()), sum(prizes.values()) + lose
    paid = sum(parse_odds(line.pays) * count for line, count in won.items())
    push = total - lose - win
    return WagerOdds(win, push, lose, Fraction(lose - paid) / total, prizes)


@cache
def count_shapes(decks: int) -> Mapping[CoupShape, int]:
    """
    Count the draws that end in each shape, from which the odds of any wager follow.

    Raises:
        UserError: The number of decks is not 1 to 12.
    """
    if not 1 <= decks <= MAX_DECKS:
        raise UserError(f"decks: {decks}; expected 1 to {MAX_DECKS}")
    shapes: Counter[CoupShape] = Counter()
    for classes, endings in _count_endings(decks).items():
        pairings = tuple(_count_pairings(*classes, decks))
        ways = sum(count for _, _, count in pairings)
        for (player, player_cards, banker, banker_cards), count in endings.items():
            for of_player, of_banker, part in pairings:
                shape = CoupShape(
                    HandShape(player, player_cards, *of_player),
                    HandShape(banker, banker_cards, *of_banker),
                )
                shapes[shape] += count * part // ways
    return MappingProxyType({shape: count for shape, count in shapes.items() if count})


def _count_endings(
    decks: int,
) -> Mapping[tuple[int | None, int | None], Mapping[_TotalsAndCards, int]]:
    """
    Count totals and cards of both hands by what the cards count.

    Each hand's first two cards are taken in either order at once. The counts
    are kept apart by the points of which the Player's, and the Banker's, first
    two cards both are (None where they differ): a pair needs that.
    """
    full = [decks * _PER_DECK[points] for points in _POINTS]
    counts: defaultdict[tuple[int | None, int | None], Counter[_TotalsAndCards]] = defaultdict(
        Counter
    )
    for player in _TWO_HANDS:
        for banker in _TWO_HANDS:
            used = Counter(player + banker)
            ways = prod(perm(full[points], count) for points, count in used.items())
            for first, second in (player, banker):
                ways *= 1 if first == second else 2
            left = [full[points] - used[points] for points in _POINTS]
            same = tuple(pair[0] if pair[0] == pair[1] else None for pair in (player, banker))
            _add_endings(counts[same[0], same[1]], sum(player) % 10, sum(banker) % 10, ways, left)
    return counts


def _add_endings(
    counts: Counter[_TotalsAndCards], player: int, banker: int, ways: int, left: list[int]
) -> None:
    """Add the endings of a deal whose first four cards come in this many ways."""
    rest = sum(left)
    if is_natural(player, banker) or not (player_draws(player) or banker_draws(banker, None)):
        counts[player, 2, banker, 2] += ways * rest * (rest - 1)
    elif not player_draws(player):
        for third in _POINTS:
            counts[player, 2, (banker + third) % 10, 3] += ways * left[third] * (rest - 1)
    else:
        for third in _POINTS:
            total, then = (player + third) % 10, ways * left[third]
            if not banker_draws(banker, third):
                counts[total, 3, banker, 2] += then * (rest - 1)
                continue
            left[third] -= 1
            for last in _POINTS:
                counts[total, 3, (banker + last) % 10, 3] += then * left[last]
            left[third] += 1


def _count_pairings(
    player: int | None, banker: int | None, decks: int
) -> Iterator[tuple[_PairKind, _PairKind, int]]:
    """
    Count which cards both hands' first two can be, given the points of both first two cards of
    the Player and of the Banker; None where the two differ.
    """
    for of_player, ways, left in _count_two_card_draws(player, _rank_copies(player, decks)):
        then = left if banker == player else _rank_copies(banker, decks)
        for of_banker, more, _ in _count_two_card_draws(banker, then):
            yield of_player, of_banker, ways * more


def _rank_copies(points: int | None, decks: int) -> list[list[int]]:
    """List the copies of each card of these points in the shoe: ranks of suits."""
    ranks = {card.rank for card in DECK if card.points == points}
    return [[decks] * 4 for _ in ranks]


def _count_two_card_draws(
    points: int | None, copies: list[list[int]]
) -> Iterator[tuple[_PairKind, int, list[list[int]]]]:
    """
    Count the ordered draws of two of these cards by how they pair.

    With each comes what is left after one such draw; for what can be drawn
    from it, any other draw that pairs alike would do as well.
    """
    if points is None:
        yield _NO_PAIR, 1, copies
        return
    perfect = sum(perm(count, 2) for rank in copies for count in rank)
    pair = sum(perm(sum(rank), 2) for rank in copies) - perfect
    other = perm(sum(map(sum, copies)), 2) - pair - perfect
    # One deck has no perfect pair.
    if perfect:
        yield _PERFECT, perfect, _without_cards(copies, (0, 0), (0, 0))
    if pair:
        yield _PAIR, pair, _without_cards(copies, (0, 0), (0, 1))
    if other:
        yield _NO_PAIR, other, _without_cards(copies, (0, 0), (1, 0))


def _without_cards(copies: list[list[int]], *taken: tuple[int, int]) -> list[list[int]]:
    left = [rank.copy() for rank in copies]
    for rank, suit in taken:
        left[rank][suit] -= 1
    return left

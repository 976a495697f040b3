"""
How probable it is that shuffled shoes repeat each other, or follow the order of
a new deck, by chance.

Cards are drawn without replacement, so nothing here takes them as independent.

**Repeats.** Let a shoe hold N cards, d copies of each of its k kinds (52 faces,
or 13 ranks). A given sequence of L cards that holds c copies of a kind stands
at a given place with the probability Π d(d-1)…(d-c+1) / N(N-1)…(N-L+1), the
product over its kinds. That two shuffled shoes agree on L cards at two given
places is the sum of the squares of that over all sequences; there are L!/Πc! of
each composition, so it is

    L! [x^L] (Σ_c (d(d-1)…(d-c+1))² x^c/c!)^k  /  (N(N-1)…(N-L+1))²

and exact. Within one shoe, at two places that do not overlap, the square
becomes d(d-1)…(d-2c+1), and the denominator N(N-1)…(N-2L+1); where they do
overlap, each of the L cards has to be of a kind of which one copy is gone
already, so that ((d-1)/(N-2L+1))^L is more than it can be.

**Order.** A run of L cards in factory order is one of R(L) sequences, and each
of them stands at a given place with at most d^L / N(N-1)…(N-L+1); that is exact
as long as no face comes twice in the run.

An expected number is also a bound: the probability that there is at least one
is at most that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from functools import cache
from math import comb, perm
from typing import Final, NamedTuple

from shoe_daemon.game import CARDS_PER_DECK, RANKS, SUITS

_PRECISION: Final = 30
_SHORTEST_POWERS: Final = 32
_ENDS_TO: Final = 6
"""After the last card of a suit: the ace or the king of one of the other three."""


class Kinds(NamedTuple):
    """What is compared: `many` kinds of cards, each so often in one deck."""

    name: str
    many: int
    per_deck: int


FACES: Final = Kinds("faces", CARDS_PER_DECK, 1)
RANKS_ONLY: Final = Kinds("ranks", len(RANKS), len(SUITS))


class Dealt(NamedTuple):
    """As much of a shoe as chance depends on: its decks, and the cards that were told."""

    decks: int
    cards: int


def agree_between(kinds: Kinds, length: int, decks: tuple[int, int]) -> Decimal:
    """
    Return the probability that two shuffled shoes agree on `length` cards at two
    given places. Exact.
    """
    one, other = decks
    ways = _power(_between(kinds, one, other), kinds.many, length)
    return _ratio(ways, perm(one * CARDS_PER_DECK, length) * perm(other * CARDS_PER_DECK, length))


def agree_within(kinds: Kinds, length: int, decks: int) -> Decimal:
    """Return the same for two places of one shoe that do not overlap. Exact."""
    cards = decks * CARDS_PER_DECK
    if 2 * length > cards:
        return Decimal(0)
    return _ratio(_power(_within(kinds, decks), kinds.many, length), perm(cards, 2 * length))


def expected_between(kinds: Kinds, length: int, one: Dealt, other: Dealt) -> Decimal:
    """
    Return how many maximal repeats of at least `length` cards two shuffled shoes
    have on average. Exact: one that is longer than `length` is counted once.
    """
    decks = (one.decks, other.decks)
    return _maximal(
        _places(one.cards, length) * _places(other.cards, length),
        agree_between(kinds, length, decks),
        _places(one.cards, length + 1) * _places(other.cards, length + 1),
        agree_between(kinds, length + 1, decks),
    )


def expected_within(kinds: Kinds, length: int, shoe: Dealt) -> Decimal:
    """
    Return how many repeats of at least `length` cards a shuffled shoe has within
    itself on average, or a little more.
    """
    cards = shoe.decks * CARDS_PER_DECK
    starts = _places(shoe.cards, length)
    apart = comb(max(starts - length + 1, 0), 2)
    overlapping = comb(starts, 2) - apart
    left = max(cards - 2 * length + 1, 1)
    copies = shoe.decks * kinds.per_deck
    bound = min(Decimal(1), (Decimal(copies - 1) / left) ** length)
    return apart * agree_within(kinds, length, shoe.decks) + overlapping * bound


def expected_repeats(kinds: Kinds, length: int, shoes: Iterable[Dealt]) -> Decimal:
    """
    Return how many repeats of at least `length` cards so many shuffled shoes have
    on average, each compared with itself and with all others, or a little more.
    """
    total, decks = Decimal(0), Counter[int]()
    places: dict[int, list[tuple[int, int]]] = {}
    shapes = Counter(shoes)
    for shoe, count in shapes.items():
        total += count * expected_within(kinds, length, shoe)
        decks[shoe.decks] += count
        here = (_places(shoe.cards, length), _places(shoe.cards, length + 1))
        places.setdefault(shoe.decks, []).extend([here] * count)
    with localcontext() as context:
        context.prec = _PRECISION
        for one in decks:
            for other in decks:
                if one <= other:
                    total += _pairs(kinds, length, (one, other), places)
    return total


def _pairs(
    kinds: Kinds,
    length: int,
    decks: tuple[int, int],
    places: dict[int, list[tuple[int, int]]],
) -> Decimal:
    one, other = places[decks[0]], places[decks[1]]
    both = [sum(each[n] for each in one) * sum(each[n] for each in other) for n in (0, 1)]
    if decks[0] == decks[1]:
        both = [(both[n] - sum(each[n] ** 2 for each in one)) // 2 for n in (0, 1)]
    shorter, longer = (agree_between(kinds, length + n, decks) for n in (0, 1))
    return _maximal(both[0], shorter, both[1], longer)


def _maximal(places: int, shorter: Decimal, fewer: int, longer: Decimal) -> Decimal:
    # Of the agreements of `length` cards, those that go on to the left are of
    # one that began there.
    return places * shorter - fewer * longer


def _places(cards: int, length: int) -> int:
    return max(cards - length + 1, 0)


def expected_runs(length: int, shoes: Iterable[Dealt]) -> Decimal:
    """
    Return how many runs of at least `length` cards in factory order so many
    shuffled shoes have on average, or a little more.
    """
    total = Decimal(0)
    for shoe, count in Counter(shoes).items():
        cards = shoe.decks * CARDS_PER_DECK
        at_place = _ratio(runs(length) * shoe.decks**length, perm(cards, length) or 1)
        total += count * _places(shoe.cards, length) * at_place
    return total


@cache
def runs(length: int) -> int:
    """Count the sequences of `length` cards, two or more, that follow factory order."""
    # By the place of the last card within its suit, in the direction of the run.
    size = len(RANKS)
    at = [2 * len(SUITS)] * size
    for _ in range(length - 1):
        at = [at[-1] * _ENDS_TO, *at[:-1]]
    return sum(at)


@cache
def _between(kinds: Kinds, one: int, other: int) -> tuple[int, ...]:
    copies = one * kinds.per_deck, other * kinds.per_deck
    return tuple(perm(copies[0], c) * perm(copies[1], c) for c in range(min(copies) + 1))


@cache
def _within(kinds: Kinds, decks: int) -> tuple[int, ...]:
    copies = decks * kinds.per_deck
    return tuple(perm(copies, 2 * c) for c in range(copies // 2 + 1))


def _power(series: tuple[int, ...], power: int, degree: int) -> int:
    size = _SHORTEST_POWERS
    while size < degree:
        size *= 2
    return _powers(series, power, size)[degree]


@cache
def _powers(series: tuple[int, ...], power: int, degree: int) -> tuple[int, ...]:
    """Raise an exponential series Σ a_c x^c/c! to a power, up to a degree."""
    if power == 1:
        return (*series, *[0] * degree)[: degree + 1]
    half = _powers(series, power // 2, degree)
    square = _product(half, half)
    return square if power % 2 == 0 else _product(square, _powers(series, 1, degree))


def _product(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    degree = len(one)
    return tuple(
        sum(comb(n, c) * one[c] * other[n - c] for c in range(n + 1) if one[c] and other[n - c])
        for n in range(degree)
    )


def _ratio(ways: int, total: int) -> Decimal:
    with localcontext() as context:
        context.prec = _PRECISION
        return Decimal(ways) / Decimal(total) if total else Decimal(0)

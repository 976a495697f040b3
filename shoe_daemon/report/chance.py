"""
Probability that shuffled shoes contain repeats or factory order by chance.

Cards are drawn without replacement, so no formula here treats them as independent.

**Repeats.** Let a shoe hold N cards, d copies of each of its k kinds (52 faces or 13 ranks). A
given sequence of L cards with c copies of a kind occurs at a given place with the probability Π
d(d-1)…(d-c+1) / N(N-1)…(N-L+1), the product over its kinds. The probability that two shuffled
shoes agree on L cards at two given places is the sum of the squares over all sequences; there are
L!/Πc! of each composition, which gives exactly

    L! [x^L] (Σ_c (d(d-1)…(d-c+1))² x^c/c!)^k  /  (N(N-1)…(N-L+1))²

Within one shoe, at two places that do not overlap, the square becomes d(d-1)…(d-2c+1), and the
denominator N(N-1)…(N-2L+1). Where the places overlap, each of the L cards is of a kind with at
least one copy gone, so ((d-1)/(N-2L+1))^L is an upper bound.

**Order.** A run of L cards in factory order is one of R(L) sequences, and each of them occurs at a
given place with at most d^L / N(N-1)…(N-L+1). This is exact if no face occurs twice in the run.

The expected number is also an upper bound of the probability that there is at least one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from functools import cache
from itertools import combinations_with_replacement
from math import comb, perm
from typing import Final, NamedTuple

from shoe_daemon.game import CARDS_PER_DECK, RANKS, SUITS

_PRECISION: Final = 30
_SHORTEST_POWERS: Final = 32
_ENDS_TO: Final = 6
"""Cards that may follow the last card of a suit: ace or king of the three other suits."""


class CardAlphabet(NamedTuple):
    """Symbols compared in a search: `size` kinds of cards, `per_deck` copies of each."""

    name: str
    size: int
    per_deck: int


FACES: Final = CardAlphabet("faces", CARDS_PER_DECK, 1)
RANKS_ONLY: Final = CardAlphabet("ranks", len(RANKS), len(SUITS))


class ShoeSize(NamedTuple):
    """The size of a shoe: decks, and number of known cards."""

    decks: int
    cards: int


def agree_between(alphabet: CardAlphabet, length: int, decks: tuple[int, int]) -> Decimal:
    """
    Return the probability that two shuffled shoes agree on `length` cards at two given places.
    Exact.
    """
    one, other = decks
    ways = _power(_between(alphabet, one, other), alphabet.size, length)
    return _ratio(ways, perm(one * CARDS_PER_DECK, length) * perm(other * CARDS_PER_DECK, length))


def agree_within(alphabet: CardAlphabet, length: int, decks: int) -> Decimal:
    """Return the same for two places of one shoe that do not overlap. Exact."""
    cards = decks * CARDS_PER_DECK
    if 2 * length > cards:
        return Decimal(0)
    return _ratio(_power(_within(alphabet, decks), alphabet.size, length), perm(cards, 2 * length))


def expected_within(alphabet: CardAlphabet, length: int, shoe: ShoeSize) -> Decimal:
    """
    Return an upper bound of the mean number of repeats of at least `length` cards within a
    shuffled shoe.
    """
    cards = shoe.decks * CARDS_PER_DECK
    starts = _places(shoe.cards, length)
    apart = comb(max(starts - length + 1, 0), 2)
    overlapping = comb(starts, 2) - apart
    left = max(cards - 2 * length + 1, 1)
    copies = shoe.decks * alphabet.per_deck
    bound = min(Decimal(1), (Decimal(copies - 1) / left) ** length)
    return apart * agree_within(alphabet, length, shoe.decks) + overlapping * bound


def expected_repeats(alphabet: CardAlphabet, length: int, shoes: Iterable[ShoeSize]) -> Decimal:
    """
    Return an upper bound of the mean number of repeats of at least `length` cards in shuffled
    shoes, each compared with itself and with all others.
    """
    total = Decimal(0)
    by_decks: dict[int, list[ShoeSize]] = {}
    for shoe, count in Counter(shoes).items():
        total += count * expected_within(alphabet, length, shoe)
        by_decks.setdefault(shoe.decks, []).extend([shoe] * count)
    with localcontext() as context:
        context.prec = _PRECISION
        for decks in combinations_with_replacement(sorted(by_decks), 2):
            groups = by_decks[decks[0]], by_decks[decks[1]]
            shorter, longer = (
                _place_pairs(*groups, cards) * agree_between(alphabet, cards, decks)
                for cards in (length, length + 1)
            )
            # Agreements that extend to the left belong to a repeat that began there.
            total += shorter - longer
    return total


def _place_pairs(one: list[ShoeSize], other: list[ShoeSize], length: int) -> int:
    """Count the pairs of places in two shoes, one of each group; a group may be the other."""
    here, there = ([_places(shoe.cards, length) for shoe in group] for group in (one, other))
    if one is other:
        return (sum(here) ** 2 - sum(places**2 for places in here)) // 2
    return sum(here) * sum(there)


def _places(cards: int, length: int) -> int:
    return max(cards - length + 1, 0)


def expected_runs(length: int, shoes: Iterable[ShoeSize]) -> Decimal:
    """
    Return an upper bound of the mean number of factory-order runs of at least `length` cards in
    shuffled shoes.
    """
    total = Decimal(0)
    for shoe, count in Counter(shoes).items():
        cards = shoe.decks * CARDS_PER_DECK
        at_place = _ratio(runs(length) * shoe.decks**length, perm(cards, length) or 1)
        total += count * _places(shoe.cards, length) * at_place
    return total


@cache
def runs(length: int) -> int:
    """Count the sequences of `length` cards (at least two) in factory order."""
    # By the position of the last card within its suit, in the direction of the run.
    size = len(RANKS)
    at = [2 * len(SUITS)] * size
    for _ in range(length - 1):
        at = [at[-1] * _ENDS_TO, *at[:-1]]
    return sum(at)


@cache
def _between(alphabet: CardAlphabet, one: int, other: int) -> tuple[int, ...]:
    copies = one * alphabet.per_deck, other * alphabet.per_deck
    return tuple(perm(copies[0], c) * perm(copies[1], c) for c in range(min(copies) + 1))


@cache
def _within(alphabet: CardAlphabet, decks: int) -> tuple[int, ...]:
    copies = decks * alphabet.per_deck
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

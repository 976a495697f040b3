"""Probabilities agree with enumeration and with shuffles."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import permutations
from math import sqrt
from random import Random

import pytest

from shoe_daemon.game.cards import DECK, RANKS, SUITS, Card
from shoe_daemon.report.chance import (
    FACES,
    RANKS_ONLY,
    CardAlphabet,
    ShoeSize,
    agree_between,
    agree_within,
    expected_repeats,
    expected_runs,
    expected_within,
    runs,
)
from shoe_daemon.report.repeats import repeats, runs_in
from tests.volume import volume

SHOE = ShoeSize(8, 400)


def shuffled(dice: Random, decks: int = 8, cards: int = 400) -> list[Card]:
    return dice.sample(DECK * decks, len(DECK) * decks)[:cards]


def test_two_cards_of_two_shoes_agree_as_often_as_can_be_counted_by_hand() -> None:
    assert abs(agree_between(FACES, 1, (8, 8)) - Decimal(1) / 52) < Decimal("1e-25")
    # The second card agrees in 8·7 or 8·8 ways, depending on whether it equals the first.
    same = 52 * (8 * 7) ** 2
    other = 52 * 51 * (8 * 8) ** 2
    exact = Decimal(same + other) / Decimal((416 * 415) ** 2)
    assert abs(agree_between(FACES, 2, (8, 8)) - exact) < Decimal("1e-25")
    assert abs(agree_within(FACES, 1, 8) - Decimal(7) / 415) < Decimal("1e-25")
    assert abs(agree_within(RANKS_ONLY, 1, 8) - Decimal(31) / 415) < Decimal("1e-25")


@pytest.mark.parametrize("length", [1, 2, 3])
def test_agreement_is_what_all_orders_of_one_deck_give(length: int) -> None:
    draws = Counter(
        tuple(card.rank for card in drawn) for drawn in permutations(DECK, length)
    )  # fmt: skip
    total = draws.total()
    exact = Decimal(sum(count**2 for count in draws.values())) / total**2
    assert abs(agree_between(RANKS_ONLY, length, (1, 1)) - exact) < Decimal("1e-25")


def test_agreement_within_a_deck_is_what_all_orders_of_it_give() -> None:
    of_rank = {rank: [card for card in DECK if card.rank == rank] for rank in RANKS}
    both = sum(
        len({*drawn, third, fourth}) == 4
        for drawn in permutations(DECK, 2)
        for third in of_rank[drawn[0].rank]
        for fourth in of_rank[drawn[1].rank]
    )
    exact = Decimal(both) / (52 * 51 * 50 * 49)
    assert abs(agree_within(RANKS_ONLY, 2, 1) - exact) < Decimal("1e-25")


def expected_between(
    alphabet: CardAlphabet, length: int, one: ShoeSize, other: ShoeSize
) -> Decimal:
    """Return the mean number of maximal repeats in two shuffled shoes, counted place by place."""
    mean = Decimal(0)
    for cards, sign in ((length, 1), (length + 1, -1)):
        places = max(one.cards - cards + 1, 0) * max(other.cards - cards + 1, 0)
        mean += sign * places * agree_between(alphabet, cards, (one.decks, other.decks))
    return mean


@pytest.mark.parametrize("length", [2, 3])
def test_a_shuffled_shoe_repeats_itself_at_most_as_often_as_expected(length: int) -> None:
    dice, shoes, found = Random(length), volume(25, 100), 0
    for _ in range(shoes):
        text = [card.index for card in shuffled(dice)]
        for group in repeats([text], length):
            found += len(group.places) * (len(group.places) - 1) // 2
    expected = shoes * float(expected_within(FACES, length, SHOE))
    assert expected * 0.8 - 4 * sqrt(expected) < found < expected + 4 * sqrt(expected)


@pytest.mark.parametrize("length", [2, 3])
def test_a_shuffled_shoe_follows_factory_order_as_often_as_expected(length: int) -> None:
    dice, shoes, found = Random(length), volume(150, 300), 0
    for _ in range(shoes):
        for run in runs_in(shuffled(dice), length):
            found += run.length - length + 1
    expected = shoes * float(expected_runs(length, [SHOE]))
    assert abs(found - expected) < 4 * sqrt(expected)


def test_the_sequences_in_factory_order_are_counted() -> None:
    for length in (2, 3, 4):
        follows: set[tuple[Card, ...]] = {(card,) for card in DECK}
        for _ in range(length - 1):
            follows = {
                (*run, card)
                for run in follows
                for card in DECK
                if [each.length for each in runs_in([*run, card])] == [len(run) + 1]
            }
        assert runs(length) == len(follows)
    assert runs(2) == 2 * len(SUITS) * (len(RANKS) - 1) + 2 * len(SUITS) * 6


def test_all_shoes_together_are_all_pairs_and_each_by_itself() -> None:
    shoes = [ShoeSize(8, 400), ShoeSize(8, 380), ShoeSize(6, 300), ShoeSize(8, 400)]
    pairs = sum(
        expected_between(FACES, 4, one, other)
        for place, one in enumerate(shoes)
        for other in shoes[place + 1 :]
    )
    alone = sum(expected_within(FACES, 4, shoe) for shoe in shoes)
    assert abs(expected_repeats(FACES, 4, shoes) - pairs - alone) < Decimal("1e-20")


def test_long_sequences_have_a_probability_that_no_float_can_hold() -> None:
    slug = expected_between(FACES, 300, SHOE, SHOE)
    assert Decimal("1e-600") < slug < Decimal("1e-400")

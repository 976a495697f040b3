"""The hand that draws, for every sequence of cards that there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.game.coup import Hand, banker_draws, hand_due
from tests.each_case import each_case
from tests.game import french_table
from tests.volume import sample

POINTS = range(10)
SIX_POINTS = st.lists(st.integers(0, 9), min_size=6, max_size=6)


def whole_rounds(begun: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], str]]:
    """Give every round that `due` allows, by its cards' points, and who got each card."""
    stack = [(begun, "pb"[: len(begun)])]
    while stack:
        points, owners = stack.pop()
        hand = hand_due(points)
        if hand is Hand.NONE:
            yield points, owners
        else:
            stack += [((*points, card), owners + hand[0]) for card in POINTS]


def test_all_million_sequences_are_dealt_as_by_the_french_table() -> None:
    covered, firsts = 0, sample(POINTS, 3)
    for points, owners in (each for first in firsts for each in whole_rounds((first,))):
        # All sequences that begin with a whole round are the same round.
        unused = 6 - len(points)
        player, banker = french_table.hands([*points, *[0] * unused])
        assert owners == "pbpb" + "p" * (len(player) - 2) + "b" * (len(banker) - 2), points
        covered += 10**unused
    assert covered == len(firsts) * 10**5


@given(SIX_POINTS, st.lists(st.integers(0, 9), max_size=4))
def test_cards_beyond_a_whole_round_are_never_due(points: list[int], more: list[int]) -> None:
    whole = next(n for n in range(7) if hand_due(points[:n]) is Hand.NONE)
    assert hand_due([*points[:whole], *more]) is Hand.NONE


@pytest.mark.parametrize(
    ("total", "published", "wrong"),
    [
        pytest.param(6, "RRRRRRRTRR", {6}, id="a-casino-that-stands-with-6-against-6"),
        *(
            pytest.param(total, row, set(), id=f"right-{total}")
            for total, row in enumerate(
                ["T" * 10] * 3 + ["TTTTTTTTRT", "RRTTTTTTRR", "RRRRTTTTRR", "RRRRRRTTRR", "R" * 10]
            )
        ),
    ],
)
def test_a_wrong_row_in_a_published_table_is_found(
    total: int, published: str, wrong: set[int]
) -> None:
    differing = {card for card in POINTS if banker_draws(total, card) != (published[card] == "T")}
    assert differing == wrong


@each_case("player, banker", list(product(POINTS, POINTS)))
def test_a_natural_of_either_hand_ends_the_round(player: int, banker: int) -> None:
    ended = hand_due([player, banker, 0, 0]) is Hand.NONE
    assert ended == (max(player, banker) >= 8 or (player in {6, 7} and banker in {6, 7}))

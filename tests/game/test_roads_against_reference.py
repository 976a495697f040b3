"""The roads agree with those that are drawn by other rules (`other_roads`)."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.game.reference_roads import reference_roads
from tests.game.road_data import draw, plain
from tests.volume import volume

LEADING_TIES = ["merge", "own_column"]
TAILS = ["flat", "drop"]


def agree(sequence: str, leading_ties: str = "merge", tail: str = "flat") -> None:
    drawn = plain(draw(sequence, leading_ties=leading_ties, tail=tail))
    assert drawn == reference_roads(sequence, leading_ties=leading_ties, tail=tail), (
        sequence,
        leading_ties,
        tail,
    )


def test_every_sequence_of_wins_up_to_a_length() -> None:
    longest, tried = volume(7, 10), 0
    for length in range(1, longest + 1):
        for sides in product("PB", repeat=length):
            agree("".join(sides))
            tried += 1
    assert tried == 2 ** (longest + 1) - 2


@pytest.mark.parametrize("leading_ties", LEADING_TIES)
def test_every_sequence_with_ties_up_to_a_length(leading_ties: str) -> None:
    for length in range(volume(5, 6) + 1):
        for outcomes in product("PBT", repeat=length):
            agree("".join(outcomes), leading_ties)


@pytest.mark.parametrize("leading_ties", LEADING_TIES)
def test_every_sequence_with_pairs_up_to_a_length(leading_ties: str) -> None:
    for length in range(volume(3, 4) + 1):
        for rounds in product(["P", "Pp", "B", "Bbn", "T", "Tp", "Tbn"], repeat=length):
            agree("".join(rounds), leading_ties)


@st.composite
def sequences(draw_from: st.DrawFn) -> str:
    """Draw a shoe: its streaks may be as long as no shoe has them, so that tails meet tails."""
    chance = Random(draw_from(st.integers(0, 2**32)))
    change, tie = draw_from(st.sampled_from([(0.5, 0.1), (0.12, 0.1), (0.06, 0), (0.3, 0.4)]))
    side, rounds = chance.choice("PB"), []
    for _ in range(draw_from(st.integers(0, 110))):
        side = "BP"[side == "B"] if chance.random() < change else side
        letter = "T" if chance.random() < tie else side
        flags = [flag for flag in "pbn" if chance.random() < 0.1]
        rounds.append(letter + "".join(flags))
    return "".join(rounds)


@given(sequences(), st.sampled_from(LEADING_TIES), st.sampled_from(TAILS))
@example("".join(side * 12 for side in "BPBPBPBPB"), "merge", "flat")
@example("".join(side * 12 for side in "BPBPBPBPB"), "merge", "drop")
@settings(deadline=None, max_examples=volume(40, 300))
def test_whole_shoes_with_ties_and_pairs(sequence: str, leading_ties: str, tail: str) -> None:
    agree(sequence, leading_ties, tail)


def test_the_comparison_would_find_a_difference() -> None:
    flat, drop = (reference_roads("B" * 9 + "P" * 10, tail=tail) for tail in TAILS)
    assert flat["big"] != drop["big"]
    merge, own = (reference_roads("TBPBPB", leading_ties=way) for way in LEADING_TIES)
    assert all(merge[road] != own[road] for road in ("big", "big_eye", "small", "cockroach"))

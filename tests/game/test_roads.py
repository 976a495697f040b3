"""The roads, cell by cell, in the cases that boards get wrong."""

from __future__ import annotations

import pytest

from shoe_daemon.game.roads import BigCell
from tests.game.road_data import DERIVED, colours, draw


def places(cells: tuple[BigCell, ...]) -> list[tuple[int, int]]:
    return [(cell.col, cell.row) for cell in cells]


@pytest.mark.parametrize(
    ("sequence", "big_eye"),
    [
        pytest.param("BPPP", "BR", id="straight-drop: two below the end of the column is red"),
        pytest.param("PBB", "B", id="the first column is compared with"),
        pytest.param("BBPPB", "RR", id="a new column looks at the heights before it"),
        pytest.param("BPPPB", "BRB", id="columns of different heights"),
        pytest.param("BPPPPP", "BRRR", id="red all the way down"),
        pytest.param("B", "", id="nothing to compare with"),
        pytest.param("BBBB", "", id="one column"),
        pytest.param("BP", "", id="a new column needs two before it"),
    ],
)
def test_big_eye_boy(sequence: str, big_eye: str) -> None:
    assert colours(draw(sequence), "big_eye") == big_eye


@pytest.mark.parametrize(("road", "back"), DERIVED.items())
def test_each_derived_road_begins_at_its_own_column(road: str, back: int) -> None:
    columns = "PBPB"[:back]
    assert colours(draw(columns), road) == ""
    assert colours(draw(columns + "PB"[back % 2]), road) == ""
    second_cell = columns + "PB"[back % 2] * 2
    assert colours(draw(second_cell), road) == "B"
    second_column = columns + "PBP"[back % 2 : back % 2 + 2]
    assert colours(draw(second_column), road) == "R"


def test_the_three_roads_of_a_shoe_that_was_drawn_by_hand() -> None:
    drawn = draw("BBPPPBPBB")
    assert [colours(drawn, road) for road in DERIVED] == ["RBBBRB", "BBB", "BR"]
    assert [(m.col, m.row, m.column, m.depth) for m in drawn.big_eye] == [
        (0, 0, 0, 0),
        (1, 0, 1, 0),
        (1, 1, 1, 1),
        (1, 2, 1, 2),
        (2, 0, 2, 0),
        (3, 0, 3, 0),
    ]


def test_leading_ties_are_merged_into_the_first_win() -> None:
    (waiting,) = draw("TpTb").big
    assert (waiting.side, waiting.ties, waiting.col, waiting.row) == ("tie", 2, 0, 0)
    assert not waiting.player_pair
    assert not waiting.banker_pair
    won, then = draw("TpTbBbP").big
    assert (won.side, won.ties, won.col, won.row) == ("banker", 2, 0, 0)
    assert (won.player_pair, won.banker_pair) == (False, True)
    assert (then.col, then.row, then.column) == (1, 0, 1)


def test_leading_ties_are_a_column_of_their_own() -> None:
    own = draw("TpTbBTP", leading_ties="own_column").big
    assert [(cell.side, cell.ties, cell.column) for cell in own] == [
        ("tie", 1, 0),
        ("banker", 1, 1),
        ("player", 0, 2),
    ]
    assert own[0].player_pair
    assert not own[0].banker_pair


@pytest.mark.parametrize("tail", ["flat", "drop"])
def test_a_long_streak_turns_in_the_last_row(tail: str) -> None:
    cells = draw("B" * 9 + "PB", tail=tail).big
    assert places(cells) == [
        *((0, row) for row in range(6)),
        (1, 5),
        (2, 5),
        (3, 5),
        # The next column begins beside the first one's head, not behind its tail.
        (1, 0),
        (2, 0),
    ]
    assert [cell.depth for cell in cells] == [*range(9), 0, 0]
    assert [cell.column for cell in cells] == [*[0] * 9, 1, 2]


def test_a_tail_in_the_first_row_is_dodged() -> None:
    # Six long streaks: each turns one row above the one before; the sixth has its
    # whole tail in row 0, and so has the seventh, behind it.
    rounds = "".join(side * 12 for side in "BPBPBPB")
    cells = [cell for cell in draw(rounds).big if cell.column >= 5]
    assert places(tuple(cells)) == [
        *((col, 0) for col in range(5, 17)),
        *((col, 0) for col in range(17, 18)),
        *((17, row) for row in range(1, 6)),
        *((col, 5) for col in range(18, 24)),
    ]

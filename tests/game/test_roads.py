"""The roads, cell by cell, in the cases that boards get wrong."""

from __future__ import annotations

import pytest

from shoe_daemon.game.roads import Ask, BigCell, MarkPlace, Place, RoadCounts
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


def test_bead_plate_has_every_round() -> None:
    beads = draw("BbnTpPBPBPbp").bead
    assert [(cell.col, cell.row) for cell in beads] == [
        *((0, row) for row in range(6)),
        (1, 0),
    ]
    assert [str(cell.outcome) for cell in beads[:2]] == ["banker", "tie"]
    flags = [(cell.player_pair, cell.banker_pair, cell.natural) for cell in beads]
    assert flags == [
        (False, True, True),
        (True, False, False),
        *[(False, False, False)] * 4,
        (True, True, False),
    ]


def test_ties_are_counted_on_the_win_before_them() -> None:
    cells = draw("PTBTTTBPT").big
    assert [cell.ties for cell in cells] == [1, 3, 0, 1]


def test_pairs_of_a_tie_are_on_the_bead_plate_alone() -> None:
    drawn = draw("PTpbBb")
    assert [(cell.player_pair, cell.banker_pair) for cell in drawn.big] == [
        (False, False),
        (False, True),
    ]
    assert drawn.bead[1].player_pair
    assert (drawn.counts.player_pair, drawn.counts.banker_pair) == (1, 2)


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


def test_a_column_of_leading_ties_is_one_to_compare_with() -> None:
    rounds = "TBPBPB"
    merged, own = draw(rounds), draw(rounds, leading_ties="own_column")
    assert [len(getattr(merged, road)) for road in DERIVED] == [3, 2, 1]
    assert [len(getattr(own, road)) for road in DERIVED] == [4, 3, 2]


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


def test_a_streak_that_an_older_tail_turns_early_goes_on_as_chosen() -> None:
    rounds = "B" * 9 + "P" * 10
    begun = [(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert places(draw(rounds, tail="flat").big)[9:] == [*begun, (5, 4), (6, 4)]
    assert places(draw(rounds, tail="drop").big)[9:] == [*begun, (4, 5), (5, 5)]


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


def test_asks_say_what_the_next_round_would_bring() -> None:
    ask = draw("BBPPB").ask
    red, blue = "red", "blue"
    assert ask.banker == Ask(
        big=Place(col=2, row=1),
        big_eye=MarkPlace(col=0, row=2, mark=red),  # type: ignore[arg-type]
        small=MarkPlace(col=0, row=0, mark=red),  # type: ignore[arg-type]
        cockroach=None,
    )
    assert ask.player == Ask(
        big=Place(col=3, row=0),
        big_eye=MarkPlace(col=1, row=0, mark=blue),  # type: ignore[arg-type]
        small=MarkPlace(col=0, row=0, mark=blue),  # type: ignore[arg-type]
        cockroach=None,
    )


@pytest.mark.parametrize(
    ("sequence", "leading_ties", "banker", "player"),
    [
        ("", "merge", (0, 0), (0, 0)),
        ("", "own_column", (0, 0), (0, 0)),
        ("TT", "merge", (0, 0), (0, 0)),
        ("TT", "own_column", (1, 0), (1, 0)),
        ("TB", "merge", (0, 1), (1, 0)),
        ("TB", "own_column", (1, 1), (2, 0)),
        ("BBBBBB", "merge", (1, 5), (1, 0)),
        ("BBBBBBBT", "merge", (2, 5), (1, 0)),
    ],
)
def test_where_the_next_win_goes(
    sequence: str, leading_ties: str, banker: tuple[int, int], player: tuple[int, int]
) -> None:
    ask = draw(sequence, leading_ties=leading_ties).ask
    assert (ask.banker.big.col, ask.banker.big.row) == banker
    assert (ask.player.big.col, ask.player.big.row) == player


def test_counts() -> None:
    counts = draw("BpPTbnBbnTpbnPn").counts
    assert counts == RoadCounts(
        rounds=6, player=2, banker=2, tie=2, player_pair=2, banker_pair=3, natural=4
    )

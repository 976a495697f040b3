"""
The cases of other projects' tests, re-typed (road_vectors.json says from where): what
they expect is what is drawn here, but where they are known to be wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.game.road_data import colours, draw

if TYPE_CHECKING:
    from shoe_daemon.game.roads import Roads

VECTORS: dict[str, Any] = json.loads(
    Path(__file__).with_name("road_vectors.json").read_text(encoding="utf-8")
)
CASES: list[dict[str, Any]] = VECTORS["cases"]
SIDES = {"player": "P", "banker": "B", "tie": "T"}


def those_with(fact: str) -> pytest.MarkDecorator:
    """Try all cases that tell this fact."""
    found = [case for case in CASES if fact in case]
    assert found
    return pytest.mark.parametrize(
        "case", [pytest.param(each, id=f"{each['from']}-{each['sequence']}") for each in found]
    )


def drawn(case: dict[str, Any]) -> Roads:
    """Draw a case by the tail that its source draws."""
    return draw(case["sequence"], tail=case.get("tail", "flat"))


@those_with("lines")
def test_a_big_road_as_it_was_printed(case: dict[str, Any]) -> None:
    lines = [[" "] * len(case["sequence"]) for _ in range(6)]
    for cell in drawn(case).big:
        lines[cell.row][cell.col] = SIDES[cell.side]
    # "=" is printed where a tail touches a cell of its own colour; the streaks of this
    # one case are the Player's.
    printed = [line.replace("=", "P") for line in case["lines"]]
    # Their board has sixty columns; what comes after them is not printed.
    assert ["".join(line[:60]).rstrip() for line in lines] == printed


@those_with("bead")
def test_a_bead_plate(case: dict[str, Any]) -> None:
    columns, rows = case.get("plate", (None, 6))
    beads = drawn(case).bead
    if rows == 6:
        assert [[cell.col, cell.row, SIDES[cell.outcome]] for cell in beads] == case["bead"]
    else:
        # A smaller plate that moves with every round: only what is on it can be compared.
        shown = [SIDES[cell.outcome] for cell in beads[-columns * rows :]]
        assert shown == [side for _, _, side in case["bead"]]


@those_with("big")
def test_a_big_road_cell_by_cell(case: dict[str, Any]) -> None:
    cells = drawn(case).big
    shown = case.get("last_columns", 99)
    first = max(max((cell.col for cell in cells), default=0) + 1 - shown, 0)
    found = [
        [cell.col - first, cell.row, SIDES[cell.side], cell.ties, cell.column]
        for cell in cells
        if cell.col >= first
    ]
    told = len(case["big"][0]) if case["big"] else 0
    assert [cell[:told] for cell in found] == case["big"]


@those_with("last")
def test_the_end_of_a_big_road(case: dict[str, Any]) -> None:
    places = [[cell.col, cell.row] for cell in drawn(case).big]
    assert places[-len(case["last"]) :] == case["last"]


@those_with("places")
@pytest.mark.parametrize("tail", ["flat", "drop"])
def test_some_places_of_a_big_road(case: dict[str, Any], tail: str) -> None:
    cells = draw(case["sequence"], tail=tail).big
    assert {n: [cells[int(n)].col, cells[int(n)].row] for n in case["places"]} == case["places"]


@those_with("ties")
def test_ties_on_the_big_road(case: dict[str, Any]) -> None:
    assert [cell.ties for cell in drawn(case).big] == case["ties"]


@those_with("heights")
def test_the_heights_of_the_columns(case: dict[str, Any]) -> None:
    columns = [cell.column for cell in drawn(case).big]
    assert [columns.count(n) for n in range(max(columns) + 1)] == case["heights"]


@pytest.mark.parametrize("road", ["big_eye", "small", "cockroach"])
def test_derived_roads(road: str) -> None:
    found = {case["sequence"]: colours(drawn(case), road) for case in CASES if road in case}
    assert found == {case["sequence"]: case[road] for case in CASES if road in case}


@those_with("wrongly_expected")
def test_what_a_source_has_wrong_is_not_drawn(case: dict[str, Any]) -> None:
    for road, wrong in case["wrongly_expected"].items():
        assert colours(drawn(case), road) != wrong

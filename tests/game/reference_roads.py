"""
The roads a second time, as people draw them: with a pencil on squared paper.

Nothing here is the project's. A derived road is read off by eye, comparing the square
some columns to the left with the one above it; a road is laid out by writing letters
into six lines of blanks. What both ways agree on is right, or wrong in the same manner
for two different reasons.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["reference_roads"]

NAMES = {"P": "player", "B": "banker", "T": "tie", "r": "red", "b": "blue"}


def reference_roads(
    sequence: str, *, leading_ties: str = "merge", tail: str = "flat"
) -> dict[str, Any]:
    """Return what ``shoe-daemon roads SEQUENCE --json`` must say, as plain data."""
    rounds = re.findall("[PBT][pbn]*", sequence)
    drawn = _draw_roads(rounds, leading_ties, tail)
    ask = {
        NAMES[side]: _next_cells(drawn, _draw_roads([*rounds, side], leading_ties, tail))
        for side in "BP"
    }
    return {"bead": _bead(rounds), "ask": ask, "counts": _counts(rounds), **drawn}


def _bead(rounds: list[str]) -> list[dict[str, Any]]:
    plate = []
    for begin in range(0, len(rounds), 6):
        for row, each in enumerate(rounds[begin : begin + 6]):
            cell = {"col": begin // 6, "row": row, "outcome": NAMES[each[0]]}
            plate.append({**cell, **_pairs(each), "natural": "n" in each})
    return plate


def _pairs(each: str) -> dict[str, bool]:
    return {"player_pair": "p" in each[1:], "banker_pair": "b" in each[1:]}


def _counts(rounds: list[str]) -> dict[str, int]:
    text = "".join(rounds)
    letters = {"player": "P", "banker": "B", "tie": "T"}
    flags = {"player_pair": "p", "banker_pair": "b", "natural": "n"}
    counts = {name: text.count(letter) for name, letter in (letters | flags).items()}
    return {"rounds": len(rounds), **counts}


def _draw_roads(
    rounds: list[str], leading_ties: str, tail: str
) -> dict[str, list[dict[str, Any]]]:
    cells = _with_ties(rounds, leading_ties)
    sides = "".join(each[0] for each, _ in cells)
    big = [
        {**place, "side": NAMES[side], "ties": ties, **_pairs(each)}
        for (place, side), (each, ties) in zip(_on_paper(sides, tail), cells, strict=True)
    ]
    derived = {
        road: [
            {**place, "mark": NAMES[colour]}
            for place, colour in _on_paper(_read_off(sides, left), tail)
        ]
        for left, road in enumerate(("big_eye", "small", "cockroach"), start=1)
    }
    return {"big": big, **derived}


def _with_ties(rounds: list[str], leading_ties: str) -> list[tuple[str, int]]:
    """Return the rounds that get a square of the big road, each with how many ties follow."""
    text = " ".join(rounds) + " "
    lead, rest = re.findall(r"^((?:T\S* )*)(.*)$", text)[0]
    cells = [(win, ties.count("T")) for win, ties in re.findall(r"([PB]\S*) ((?:T\S* )*)", rest)]
    ties = lead.count("T")
    if not ties:
        return cells
    if leading_ties == "own_column":
        return [(rounds[0], ties - 1), *cells]
    if not cells:
        return [("T", ties)]
    (win, more), *others = cells
    return [(win, more + ties), *others]


def _streaks(letters: str) -> list[str]:
    return [found.group() for found in re.finditer(r"(.)\1*", letters)]


def _read_off(sides: str, left: int) -> str:
    """
    Return the colours, ``r`` and ``b``, that a road gets which looks so far to the left.

    On paper without a lower edge: look from the new square `left` columns to the left,
    and compare what is there with the square above it: alike, both marked or both
    blank, is red. For the head of a column: what would the last column have got, had it
    gone on? The opposite.
    """
    paper = {(col, row) for col, run in enumerate(_streaks(sides)) for row in range(len(run))}

    def alike(col: int, row: int) -> bool:
        return ((col - left, row) in paper) == ((col - left, row - 1) in paper)

    colours = ""
    for col, row in sorted(paper):
        if row and col >= left:
            colours += "r" if alike(col, row) else "b"
        elif not row and col > left:
            end = max(y for x, y in paper if x == col - 1)
            colours += "b" if alike(col - 1, end + 1) else "r"
    return colours


def _on_paper(letters: str, tail: str) -> list[tuple[dict[str, int], str]]:
    """Write letters on six lines of blanks; return where each one stands."""
    lines = [" " * (2 * len(letters) + 2) for _ in range(6)]
    places, head = [], -1
    for column, streak in enumerate(_streaks(letters)):
        head = lines[0].index(" ", head + 1)
        squares = (_bent_tail if tail == "drop" else _straight_tail)(lines, head, len(streak))
        for depth, (col, row) in enumerate(squares):
            lines[row] = lines[row][:col] + streak[0] + lines[row][col + 1 :]
            place = {"col": col, "row": row, "column": column, "depth": depth}
            places.append((place, streak[0]))
    return places


def _straight_tail(lines: list[str], head: int, length: int) -> list[tuple[int, int]]:
    """Return the squares of a streak with one bend: down, then all along the line."""
    below = "".join(line[head] for line in lines)
    deep = len(below) - len(below.lstrip(" "))
    down = [(head, row) for row in range(min(deep, length))]
    along = [found.start() for found in re.finditer(" ", lines[deep - 1]) if found.start() > head]
    return down + [(col, deep - 1) for col in along[: length - len(down)]]


def _bent_tail(lines: list[str], col: int, length: int, row: int = 0) -> list[tuple[int, int]]:
    """Return the squares of a streak that goes down wherever there is a blank below."""
    if length == 1:
        return [(col, row)]
    if row < 5 and lines[row + 1][col] == " ":
        return [(col, row), *_bent_tail(lines, col, length - 1, row + 1)]
    return [(col, row), *_bent_tail(lines, lines[row].index(" ", col + 1), length - 1, row)]


def _next_cells(
    before: dict[str, list[dict[str, Any]]], after: dict[str, list[dict[str, Any]]]
) -> dict[str, dict[str, Any] | None]:
    """Return what one more round has brought to each road."""
    news: dict[str, dict[str, Any] | None] = {}
    for road, cells in after.items():
        new = [cell for cell in cells if cell not in before[road]]
        fields = ("col", "row") if road == "big" else ("col", "row", "mark")
        news[road] = {name: new[0][name] for name in fields} if new else None
    return news

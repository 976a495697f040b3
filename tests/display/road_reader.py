"""
Reads roads back from a canvas, as a person would: below its caption, column by column.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from shoe_daemon.display.terminal.canvas import Canvas
from shoe_daemon.display.terminal.palette import OUTCOMES, PAPER, PAPER_SHADE
from shoe_daemon.display.terminal.roads import DERIVED
from shoe_daemon.display.terminal.symbols import Signs
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.roads import ROWS, BeadCell, BigCell, LeadingTies, Roads

__all__ = ["NAMES", "Read", "expected", "read_road"]

NAMES = ("Bead plate", "Big road", *(name for name, _ in DERIVED.values()))
_SHORT = {"Bead plate": "Beads", "Big road": "Big", **dict(DERIVED.values())}
_PAPERS = {PAPER.bgcolor, PAPER_SHADE.bgcolor}
_BEADS = {style.bgcolor for style in OUTCOMES.values()}
_Place = tuple[int, int]


class Read(NamedTuple):
    """
    What is to be seen of a road: by column and row, and how many columns are not.
    """

    cells: dict[_Place, str]
    hidden: int
    pitch: int


def read_road(canvas: Canvas, name: str, signs: Signs) -> Read:
    """
    Find a road by its caption, and read all cells of it.
    """
    x, y = _place(canvas, name)
    hidden = _hidden(canvas, x, y)
    pitch = signs.wide + 2 if name == "Bead plate" else _pitch(canvas, x, y + 1)
    cells = {}
    for column in range((_end(canvas, x, y + 1) - x) // pitch):
        for row in range(ROWS):
            at = x + column * pitch
            text = "".join(sign for sign, _ in canvas.rows[y + 1 + row][at : at + pitch])
            if text.strip():
                cells[hidden + column, row] = text.strip()
    return Read(cells, hidden, pitch)


def _place(canvas: Canvas, name: str) -> _Place:
    for wanted in (name, _SHORT[name]):
        for y, row in enumerate(canvas.rows):
            text = "".join(sign or "\0" for sign, _ in row)
            if (x := text.find(wanted)) >= 0 and row[x][1].bgcolor not in _PAPERS:
                return x, y
    raise AssertionError(f"no {name} in\n{canvas.text}")


def _hidden(canvas: Canvas, x: int, y: int) -> int:
    text = "".join(sign for sign, _ in canvas.rows[y][x:])
    found = re.match(r"[A-Z][a-z ]+?\s*[←<] ?(\d+)", text)
    return int(found[1]) if found else 0


def _pitch(canvas: Canvas, x: int, y: int) -> int:
    papers = [style.bgcolor for _, style in canvas.rows[y][x:]]
    return len(list(next(groupby(papers))[1]))


def _end(canvas: Canvas, x: int, y: int) -> int:
    """
    Find where the paper ends, and what is pasted on it.
    """
    while x < canvas.width and canvas.rows[y][x][1].bgcolor in _PAPERS | _BEADS:
        x += 1
    return x


def expected(
    roads: Roads, ties: LeadingTies, signs: Signs, name: str, pitch: int
) -> dict[_Place, str]:
    """
    Say what should be seen on a road, on which columns are so wide.
    """
    if name == "Bead plate":
        return {(each.col, each.row): _bead(each, signs) for each in roads.bead}
    if name == "Big road":
        pairs = pitch > signs.wide + 1
        return {(each.col, each.row): _big(each, ties, signs, pairs=pairs) for each in roads.big}
    key = next(key for key, names in DERIVED.items() if names[0] == name)
    return {(each.col, each.row): signs.marks[key][each.mark] for each in getattr(roads, key)}


def _bead(cell: BeadCell, signs: Signs) -> str:
    left = signs.pairs[1] if cell.banker_pair else ""
    right = signs.corners[cell.player_pair + 2 * (cell.natural and not signs.lines)]
    return left + signs.outcomes[cell.outcome] + right


def _big(cell: BigCell, ties: LeadingTies, signs: Signs, *, pairs: bool) -> str:
    left = signs.pairs[cell.banker_pair + 2 * cell.player_pair].strip() if pairs else ""
    alone = cell.side is Outcome.TIE and ties is LeadingTies.MERGE
    count = cell.ties - alone
    tie = {0: "", 1: "/"}.get(count, str(count) if count < 10 else "+")
    return left + signs.outcomes[cell.side] + tie

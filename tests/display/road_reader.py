"""Reads roads back from rows of characters: below the caption, column by column."""

from __future__ import annotations

import re
from itertools import groupby, takewhile
from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style

from shoe_daemon.display.terminal.appearance import OUTCOMES, PAPER, PAPER_SHADE, Symbols
from shoe_daemon.display.terminal.road_grid import DERIVED
from shoe_daemon.display.terminal.screen import Rows
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.roads import ROWS, BeadCell, BigCell, LeadingTies, Roads

__all__ = ["NAMES", "Read", "cells_of", "expected", "read_road"]

NAMES = ("Bead plate", "Big road", *(name for name, _ in DERIVED.values()))
_SHORT = {"Bead plate": "Beads", "Big road": "Big", **dict(DERIVED.values())}
_PAPERS = {PAPER.bgcolor, PAPER_SHADE.bgcolor}
_BEADS = {style.bgcolor for style in OUTCOMES.values()}
_Place = tuple[int, int]
_Cell = tuple[str, Style]


class Read(NamedTuple):
    """Visible part of a road, by column and row, and the number of hidden columns."""

    cells: dict[_Place, str]
    hidden: int
    pitch: int


def read_road(rows: Rows, name: str, symbols: Symbols) -> Read:
    """Find a road by its caption, and read all cells of it."""
    picture = cells_of(rows)
    x, y = _place(picture, name)
    hidden = _hidden(picture[y][x:])
    pitch = symbols.wide + 2 if name == "Bead plate" else _pitch(picture[y + 1][x:])
    cells = {}
    for column in range(_width(picture[y + 1][x:]) // pitch):
        for row in range(ROWS):
            at = x + column * pitch
            text = "".join(sign for sign, _ in picture[y + 1 + row][at : at + pitch])
            if text.strip():
                cells[hidden + column, row] = text.strip()
    return Read(cells, hidden, pitch)


def cells_of(rows: Rows) -> list[list[_Cell]]:
    """Return the character and the style of each cell; a wide character is followed by none."""
    return [
        [
            (part, segment.style or Style())
            for segment in row
            for sign in segment.text
            for part in (sign, "")[: cell_len(sign)]
        ]
        for row in rows
    ]


def _place(picture: list[list[_Cell]], name: str) -> _Place:
    for wanted in (name, _SHORT[name]):
        for y, row in enumerate(picture):
            text = "".join(sign or "\0" for sign, _ in row)
            if (x := text.find(wanted)) >= 0 and row[x][1].bgcolor not in _PAPERS:
                return x, y
    raise AssertionError(f"no {name}")


def _hidden(caption: list[_Cell]) -> int:
    text = "".join(sign for sign, _ in caption)
    found = re.match(r"[A-Z][a-z ]+?\s*[←<] ?(\d+)", text)
    return int(found[1]) if found else 0


def _pitch(row: list[_Cell]) -> int:
    return len(list(next(groupby(style.bgcolor for _, style in row))[1]))


def _width(row: list[_Cell]) -> int:
    """Count the cells of the paper and the beads on it."""
    return len(list(takewhile(lambda cell: cell[1].bgcolor in _PAPERS | _BEADS, row)))


def expected(
    roads: Roads, ties: LeadingTies, symbols: Symbols, name: str, pitch: int
) -> dict[_Place, str]:
    """Say what should be seen on a road, on which columns are so wide."""
    if name == "Bead plate":
        return {(each.col, each.row): _bead(each, symbols) for each in roads.bead}
    if name == "Big road":
        pairs = pitch > symbols.wide + 1
        return {(each.col, each.row): _big(each, ties, symbols, pairs=pairs) for each in roads.big}
    key = next(key for key, names in DERIVED.items() if names[0] == name)
    return {(each.col, each.row): symbols.marks[key][each.mark] for each in getattr(roads, key)}


def _bead(cell: BeadCell, symbols: Symbols) -> str:
    left = symbols.pairs[1] if cell.banker_pair else ""
    right = symbols.corners[cell.player_pair + 2 * (cell.natural and not symbols.lines)]
    return left + symbols.outcomes[cell.outcome] + right


def _big(cell: BigCell, ties: LeadingTies, symbols: Symbols, *, pairs: bool) -> str:
    left = symbols.pairs[cell.banker_pair + 2 * cell.player_pair].strip() if pairs else ""
    alone = cell.side is Outcome.TIE and ties is LeadingTies.MERGE
    count = cell.ties - alone
    tie = {0: "", 1: "/"}.get(count, str(count) if count < 10 else "+")
    return left + symbols.outcomes[cell.side] + tie

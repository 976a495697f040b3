"""
Arrangement of the five roads: in rows of a board, or below one another for `roads`.
"""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.layout_helpers import Part, beside, line
from shoe_daemon.display.terminal.road_counts import (
    COUNTS_WIDTH,
    counts_block,
    counts_line,
    next_round,
)
from shoe_daemon.display.terminal.road_grid import (
    DERIVED,
    HEIGHT,
    Road,
    RoadGrid,
    bead_plate,
    big_road_for,
    derived_roads,
)
from shoe_daemon.display.terminal.symbols import Symbols, Theme
from shoe_daemon.display.terminal.view_model import TableView, past_round_line
from shoe_daemon.game import LeadingTies, Mark, Outcome, Roads
from shoe_daemon.mqtt.messages import RoadsNow

__all__ = ["board_rows", "scoreboard"]

_GAP: Final = 2
_THREE_ROWS: Final = 3
_LOG_WIDTH: Final = 64
_MIN_BEAD_COLUMNS: Final = 15
"""Columns of the bead plate that have priority over the last rounds."""

_USUAL_WIDTH: Final = 80
_MIN_WIDTH_FOR_COUNTS: Final = 56
"""Columns from which the counts have room beside the bead plate."""


def board_rows(view: TableView, theme: Theme, width: int, rows: int) -> list[RenderableType]:
    """
    Arrange the roads and counts of a board in two rows, or in three.
    """
    roads = view.roads
    if roads is None:
        return [Padding(Text("No roads yet", palette.RAIL_DIM, justify="center"), (3, 0, 0, 0))]
    beads = bead_plate(roads.bead, theme.symbols)
    big = big_road_for(roads, roads.options.leading_ties, theme.symbols, width)
    if rows < _THREE_ROWS:
        counts = line(counts_line(roads.counts), palette.RAIL)
        small = _whole_columns(width * 2 // 5, beads)
        rest = width - small - _GAP
        lower = beside(
            (RoadGrid(beads, theme), small), ("", _GAP), (_derived(roads, theme, rest), rest)
        )
        return [RoadGrid(big, theme, counts), lower]
    upper = _beads_and_counts(view, roads, theme, width)
    return [upper, RoadGrid(big, theme), _derived(roads, theme, width)]


def _whole_columns(width: int, road: Road) -> int:
    return width // road.pitch * road.pitch


def _beads_and_counts(
    view: TableView, roads: RoadsNow, theme: Theme, width: int
) -> RenderableType:
    """
    Arrange the bead plate with the counts and, where there is room, the last rounds.
    """
    beads = bead_plate(roads.bead, theme.symbols)
    counts = Group("", counts_block(roads.counts, theme))
    room = width - COUNTS_WIDTH - _GAP
    shown = room - _LOG_WIDTH - _GAP >= beads.pitch * _MIN_BEAD_COLUMNS
    room -= (_LOG_WIDTH + _GAP) * shown
    small = _whole_columns(room, beads)
    parts: list[tuple[RenderableType, int]] = [
        (RoadGrid(beads, theme), small),
        ("", room - small + _GAP),
        (counts, COUNTS_WIDTH),
    ]
    if shown:
        parts += [("", _GAP), (_last_rounds(view), _LOG_WIDTH)]
    return beside(*parts)


def _last_rounds(view: TableView) -> RenderableType:
    rounds = view.history.rounds[-(HEIGHT - 1) :] if view.history else ()
    lines = [line(past_round_line(past), palette.RAIL) for past in reversed(rounds)]
    return Group(line("Last rounds", palette.RAIL_BRIGHT), *lines)


def _derived(roads: Roads, theme: Theme, width: int) -> RenderableType:
    """
    Arrange the derived roads side by side, close together where there is little room.
    """
    each = (width + _GAP) // len(DERIVED) - _GAP
    made = derived_roads(roads, theme.symbols, 2)
    if any(road.width > each for road in made):
        made = derived_roads(roads, theme.symbols, 1)
    return _side_by_side(made, theme, each)


def _side_by_side(roads: list[Road], theme: Theme, each: int) -> RenderableType:
    parts: list[tuple[RenderableType, int]] = []
    for road in roads:
        parts += [("", _GAP)] if parts else []
        parts.append((RoadGrid(road, theme), each))
    return beside(*parts)


def scoreboard(roads: Roads, ties: LeadingTies, symbols: Symbols, width: int) -> tuple[Part, int]:
    """
    Draw all roads below one another, as `shoe-daemon roads` prints them.

    Returns:
        The picture, and the columns that it takes.
    """
    width, theme = max(width, 1), Theme(symbols, palette.ON_TERMINAL)
    beads = bead_plate(roads.bead, symbols)
    big = big_road_for(roads, ties, symbols, width)
    rows = _derived_rows(roads, symbols, width)
    usual = max(_USUAL_WIDTH, big.width, beads.width + COUNTS_WIDTH + _GAP, *map(_width, rows))
    width = min(width, usual)
    parts = [_first_rows(beads, roads, theme, width), "", RoadGrid(big, theme), ""]
    for row in rows:
        each = (width + _GAP) // len(row) - _GAP
        parts += [_side_by_side(row, theme, each), ""]
    parts += [next_round(roads.ask, theme), "", *_legend(symbols)]
    return Part(Group(*parts), None, palette.ON_TERMINAL.text), width


def _first_rows(beads: Road, roads: Roads, theme: Theme, width: int) -> RenderableType:
    counts = counts_block(roads.counts, theme)
    if width < _MIN_WIDTH_FOR_COUNTS:
        return Group(RoadGrid(beads, theme), "", counts)
    room = width - COUNTS_WIDTH - _GAP
    aside = Group("", counts)
    return beside((RoadGrid(beads, theme), room), ("", _GAP), (aside, COUNTS_WIDTH))


def _derived_rows(roads: Roads, symbols: Symbols, width: int) -> list[list[Road]]:
    """
    Choose the arrangement of the derived roads: in one row if they fit, else in three.
    """
    wide, narrow = (derived_roads(roads, symbols, pitch) for pitch in (2, 1))
    for row in (wide, narrow):
        if _width(row) <= width:
            return [row]
    fits = all(road.width <= width for road in wide)
    return [[road] for road in (wide if fits else narrow)]


def _width(row: list[Road]) -> int:
    return (max(road.width for road in row) + _GAP) * len(row) - _GAP


def _legend(symbols: Symbols) -> list[Text]:
    dim = palette.ON_TERMINAL.dim
    _, banker, player, _ = symbols.pairs
    pairs = f"{banker} Banker pair  {player} Player pair  / tie  2 two ties  "
    natural = palette.OUTCOMES[Outcome.PLAYER] + palette.NATURAL if symbols.lines else dim
    sign = symbols.outcomes[Outcome.PLAYER] if symbols.lines else symbols.corners[2]
    red, blue = (
        " ".join(symbols.marks[road][mark] for road in DERIVED) for mark in (Mark.RED, Mark.BLUE)
    )
    marks = f"{red}  red: as before  {blue}  blue: not as before"
    return [
        Text.assemble((pairs, dim), (sign, natural), (" natural", dim), no_wrap=True),
        Text(marks, dim, no_wrap=True),
    ]

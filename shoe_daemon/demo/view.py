"""
The live view of a table: a pure function from what is known to a picture.

It is drawn for 80 columns and 24 rows, and uses what there is beyond.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shoe_daemon.demo import footer
from shoe_daemon.demo.between_rounds import words_of
from shoe_daemon.demo.irregularity_panel import draw_panel
from shoe_daemon.demo.narrow_view import draw_small
from shoe_daemon.demo.view_model import Board
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit
from shoe_daemon.display.terminal.cards import LARGE, SMALL, Size
from shoe_daemon.display.terminal.hands import draw_hands

__all__ = ["LEAST", "draw"]

LEAST: Final = (80, 24)
"""Columns and rows for which the whole view has room."""

_TALL: Final = 36
_WIDE: Final = 100


class Plan(NamedTuple):
    """
    Which rows belong to what.
    """

    size: Size
    felt: Box
    road: Box
    panel: Box
    log: Box
    foot: Box


def draw(board: Board, width: int, height: int) -> Canvas:
    """
    Draw the table, as large as it is to be.
    """
    canvas = Canvas(width, height, palette.RAIL)
    if width < LEAST[0] or height < LEAST[1]:
        draw_small(canvas, board)
        return canvas
    plan = _plan(width, height)
    _draw_head(canvas, board)
    canvas.fill(*plan.felt, palette.FELT)
    draw_hands(canvas, plan.felt, plan.size, board.table, words_of(board))
    footer.draw_road(canvas, plan.road, board)
    draw_panel(canvas, plan.panel, board)
    footer.draw_log(canvas, plan.log, board)
    footer.draw_foot(canvas, plan.foot, board)
    return canvas


def _plan(width: int, height: int) -> Plan:
    roomy = height >= _TALL and width >= _WIDE
    size, felt, road, panel, foot = (LARGE, 15, 8, 6, 5) if roomy else (SMALL, 9, 6, 5, 3)
    foot += not roomy and height > LEAST[1]
    log = max(height - 1 - felt - road - panel - foot, 0)
    boxes = []
    y = 1
    for part in (felt, road, panel, log, foot):
        boxes.append(Box(0, y, width, part))
        y += part
    return Plan(size, *boxes)


def _draw_head(canvas: Canvas, board: Board) -> None:
    table = board.table
    shoe = f"Shoe {table.shoe.number}" if table.shoe else "No shoe yet"
    parts = [shoe]
    if table.round:
        parts.append(f"round {table.round.number}")
    if table.shoe and table.shoe.last_round:
        parts.append("last round")
    elif table.shoe and table.shoe.cut_card:
        parts.append("cut card out")
    if table.on_hold:
        parts.append("on hold")
    if table.betting != "unknown":
        parts.append(f"bets {table.betting}")
    right = " · ".join(parts)
    name = fit(table.name or table.table, canvas.width - len(right) - len(board.house) - 12)
    canvas.put(1, 0, f"♠ {name}", palette.RAIL_TITLE)
    canvas.put(len(name) + 5, 0, board.house, palette.RAIL_DIM)
    canvas.right(canvas.width - 1, 0, right, palette.RAIL_BRIGHT)

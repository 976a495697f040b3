"""
The board of a table in a terminal: a pure function from what is known to a picture.

It is drawn for 80 columns and 24 rows, and uses what there is beyond.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.brief import draw_brief
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit, width_of
from shoe_daemon.display.terminal.cards import LARGE, SMALL, Size
from shoe_daemon.display.terminal.hands import draw_hands
from shoe_daemon.display.terminal.road_counts import asks_width, draw_asks
from shoe_daemon.display.terminal.road_layout import draw_roads
from shoe_daemon.display.terminal.roads import HEIGHT
from shoe_daemon.display.terminal.symbols import LETTERS, Look, Signs
from shoe_daemon.display.terminal.view_model import (
    Seen,
    headline,
    limits,
    title,
    trouble,
    words_of,
)
from shoe_daemon.mqtt.messages import State

__all__ = ["LEAST", "draw_board"]

LEAST: Final = (80, 24)
"""Columns and rows for which the whole board has room."""

_TIGHT_FELT: Final = 8
_SMALL_FELT: Final = 9
_LARGE_FELT: Final = 15
_WIDE: Final = 100


class Plan(NamedTuple):
    """
    Where everything goes.

    Attributes:
        size: Of the cards.
        limits: The row of the limits; None where they stand in the head.
        felt: The table.
        roads: The rows where roads begin: two of them, or three.
    """

    size: Size
    limits: int | None
    felt: Box
    roads: tuple[int, ...]


def draw_board(seen: Seen, width: int, height: int, signs: Signs = LETTERS) -> Canvas:
    """
    Draw the board, as large as it is to be.
    """
    canvas = Canvas(width, height, palette.RAIL)
    if width < LEAST[0] or height < LEAST[1]:
        draw_brief(canvas, seen)
        return canvas
    plan = _plan(width, height)
    look = Look(signs, palette.ON_RAIL)
    canvas.fill(*plan.felt, palette.FELT)
    _draw_name(canvas, seen)
    if seen.state is not None:
        _draw_head(canvas, plan, seen.state)
        draw_hands(canvas, plan.felt, plan.size, seen.state, words_of(seen))
        draw_roads(canvas, plan.roads, seen, look)
    wrong = trouble(seen)
    if wrong is not None:
        canvas.mute()
        _draw_trouble(canvas, plan, wrong)
    _draw_foot(canvas, seen, look)
    return canvas


def _plan(width: int, height: int) -> Plan:
    three = height >= 2 + _TIGHT_FELT + 3 * HEIGHT
    blocks = 3 if three else 2
    spare = height - 2 - blocks * HEIGHT
    size, felt = SMALL, _TIGHT_FELT
    if spare > _TIGHT_FELT:
        felt = _SMALL_FELT
    if spare >= _LARGE_FELT and width >= _WIDE:
        size, felt = LARGE, _LARGE_FELT
    spare -= felt
    lined = spare > 0
    air = max(min((spare - lined) // (blocks + 1), 2), 0)
    top = 1 + lined
    roads = [top + felt + air + number * (HEIGHT + air) for number in range(blocks)]
    return Plan(size, 1 if lined else None, Box(0, top, width, felt), tuple(roads))


def _draw_name(canvas: Canvas, seen: Seen) -> None:
    room = canvas.width // 2 - 6
    canvas.put(1, 0, f"♠ {fit(title(seen), room)}", palette.RAIL_TITLE)


def _draw_head(canvas: Canvas, plan: Plan, state: State) -> None:
    right = headline(state)
    canvas.right(canvas.width - 1, 0, right, palette.RAIL_BRIGHT)
    name = fit(state.name or state.table, canvas.width // 2 - 6)
    if plan.limits is not None:
        canvas.put(3, plan.limits, fit(limits(state), canvas.width - 6), palette.RAIL_DIM)
        return
    start = width_of(name) + 5
    room = canvas.width - width_of(right) - start - 3
    if room > 0:
        canvas.put(start, 0, fit(limits(state), room), palette.RAIL_DIM)


def _draw_trouble(canvas: Canvas, plan: Plan, wrong: tuple[str, str]) -> None:
    """
    Say across the felt that what is shown is not fresh, in the only colour left.
    """
    y = plan.felt.y + plan.felt.height - 2
    for row, text in enumerate(wrong, y):
        canvas.fill(0, row, canvas.width, 1, palette.ALARM)
        style = palette.ALARM_TITLE if row == y else palette.ALARM
        canvas.centre(1, row, canvas.width - 2, text, style)


def _draw_foot(canvas: Canvas, seen: Seen, look: Look) -> None:
    y = canvas.height - 1
    live = seen.fresh.state == "live"
    canvas.put(1, y, "●" if live else "✗", palette.GOOD if live else palette.BAD)
    told = "live" if live else seen.fresh.state.replace("_", " ")
    canvas.put(
        3, y, fit(f"{told} · {seen.broker} · {seen.hint}", canvas.width - 6), palette.RAIL_DIM
    )
    if seen.roads is not None and live:
        draw_asks(canvas, (canvas.width - 1 - asks_width(look.signs), y), seen.roads.ask, look)

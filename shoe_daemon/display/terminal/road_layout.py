"""
The roads of a board, laid out on the rows that it has for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit, width_of
from shoe_daemon.display.terminal.road_counts import COUNTS, counts_line, draw_counts
from shoe_daemon.display.terminal.roads import (
    DERIVED,
    HEIGHT,
    Road,
    bead_plate,
    big_road,
    derived_road,
    draw_road,
)
from shoe_daemon.display.terminal.symbols import Look, Signs
from shoe_daemon.display.terminal.view_model import Seen, past_line
from shoe_daemon.game import Roads
from shoe_daemon.mqtt.messages import RoadsNow

__all__ = ["draw_roads"]

_GAP: Final = 2
_THREE: Final = 3
_LOG: Final = 64
_BEADS: Final = 15
"""Columns of the bead plate that come before the last rounds."""


def draw_roads(canvas: Canvas, at: Sequence[int], seen: Seen, look: Look) -> None:
    """
    Draw all five, from two rows on or from three; the counts with them.
    """
    if seen.roads is None or seen.state is None:
        canvas.centre(0, at[0] + 3, canvas.width, "No roads yet", palette.RAIL_DIM)
        return
    beads = bead_plate(seen.roads.bead, look.signs)
    width = canvas.width - 2
    if len(at) < _THREE:
        _draw_big(canvas, at[0], seen, look, counts=counts_line(seen.roads.counts))
        small = _beads_width(beads, width)
        draw_road(canvas, Box(1, at[1], small, HEIGHT), beads, look)
        lower = Box(1 + small + _GAP, at[1], width - small - _GAP, HEIGHT)
        _draw_derived(canvas, lower, seen.roads, look)
        return
    _draw_upper(canvas, at[0], beads, seen, look)
    _draw_big(canvas, at[1], seen, look, counts="")
    _draw_derived(canvas, Box(1, at[2], width, HEIGHT), seen.roads, look)


def _beads_width(beads: Road, width: int) -> int:
    return width * 2 // 5 // beads.pitch * beads.pitch


def _draw_upper(canvas: Canvas, y: int, beads: Road, seen: Seen, look: Look) -> None:
    """
    Draw the bead plate with the counts beside it, and the last rounds where they fit.
    """
    width = canvas.width - 2 - COUNTS - _GAP
    rounds = seen.history.rounds[-(HEIGHT - 1) :] if seen.history else ()
    told = width - _LOG - _GAP >= beads.pitch * _BEADS
    if told:
        width -= _LOG + _GAP
    draw_road(canvas, Box(1, y, width // beads.pitch * beads.pitch, HEIGHT), beads, look)
    if seen.roads is not None:
        counts = Box(1 + width + _GAP, y + 1, COUNTS, HEIGHT - 1)
        draw_counts(canvas, counts, seen.roads.counts, look)
    if told:
        x = canvas.width - 1 - _LOG
        canvas.put(x, y, "Last rounds", palette.RAIL_BRIGHT)
        for row, past in enumerate(reversed(rounds), y + 1):
            canvas.put(x, row, fit(past_line(past), _LOG), palette.RAIL)


def _draw_big(canvas: Canvas, y: int, seen: Seen, look: Look, *, counts: str) -> None:
    if seen.roads is None:
        return
    ties = seen.roads.options.leading_ties
    width = canvas.width - 2
    big = big_road(seen.roads, ties, look.signs, pairs=True)
    if big.width > width:
        big = big_road(seen.roads, ties, look.signs, pairs=False)
    reserve = width_of(counts) + _GAP
    draw_road(canvas, Box(1, y, width, HEIGHT), big, look, reserve=reserve)
    canvas.right(canvas.width - 1, y, counts, palette.RAIL)


def _draw_derived(canvas: Canvas, box: Box, roads: RoadsNow, look: Look) -> None:
    each = (box.width + _GAP) // len(DERIVED) - _GAP
    made = _derived(roads, look.signs, 2)
    if any(road.width > each for road in made):
        made = _derived(roads, look.signs, 1)
    for number, road in enumerate(made):
        place = Box(box.x + number * (each + _GAP), box.y, each, HEIGHT)
        draw_road(canvas, place, road, look)


def _derived(roads: Roads, signs: Signs, pitch: int) -> list[Road]:
    return [derived_road(name, getattr(roads, name), signs, pitch=pitch) for name in DERIVED]

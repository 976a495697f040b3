"""
All roads of a shoe below one another, as `roads` prints them.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas
from shoe_daemon.display.terminal.road_counts import COUNTS, draw_asks, draw_counts
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
from shoe_daemon.game import LeadingTies, Mark, Outcome, Roads

__all__ = ["scoreboard"]

_GAP: Final = 2
_USUAL: Final = 80
_LEAST: Final = 56
"""Columns from which the counts have room beside the bead plate."""

_TONES: Final = palette.ON_TERMINAL


def scoreboard(roads: Roads, ties: LeadingTies, signs: Signs, width: int) -> Canvas:
    """
    Draw the roads in so many columns; as few rows as they take.
    """
    width, look = max(width, 1), Look(signs, _TONES)
    beads = bead_plate(roads.bead, signs)
    big = big_road(roads, ties, signs, pairs=True)
    if big.width > width:
        big = big_road(roads, ties, signs, pairs=False)
    rows = _derived(roads, signs, width)
    usual = max(_USUAL, big.width, beads.width + COUNTS + _GAP, *(_width(row) for row in rows))
    width = min(width, usual)
    aside = width >= _LEAST
    height = (1 if aside else 2) * HEIGHT + 1 + (HEIGHT + 1) * (1 + len(rows)) + 4
    canvas = Canvas(width, height, _TONES.text)
    y = _draw_beads(canvas, beads, roads, look, aside=aside)
    draw_road(canvas, Box(0, y, width, HEIGHT), big, look)
    for number, row in enumerate(rows):
        at = y + (HEIGHT + 1) * (number + 1)
        each = (width + _GAP) // len(row) - _GAP
        for place, road in enumerate(row):
            box = Box(place * (each + _GAP), at, each, HEIGHT)
            draw_road(canvas, box, road, look)
    draw_asks(canvas, (0, height - 4), roads.ask, look)
    _draw_legend(canvas, height - 2, signs)
    canvas.put(0, height - 1, _legend_of_marks(signs), _TONES.dim)
    return canvas


def _draw_beads(canvas: Canvas, beads: Road, roads: Roads, look: Look, *, aside: bool) -> int:
    """
    Draw the bead plate and the counts; return the row for what follows.
    """
    if aside:
        width = canvas.width - COUNTS - _GAP
        counts = Box(canvas.width - COUNTS, 1, COUNTS, HEIGHT - 1)
    else:
        width = canvas.width
        counts = Box(0, HEIGHT + 1, COUNTS, HEIGHT - 1)
    draw_road(canvas, Box(0, 0, width, HEIGHT), beads, look)
    draw_counts(canvas, counts, roads.counts, look)
    return counts.y + HEIGHT


def _derived(roads: Roads, signs: Signs, width: int) -> list[list[Road]]:
    """
    Lay the derived roads beside one another where they fit, else below one another.
    """
    for pitch in (2, 1):
        row = _at(roads, signs, pitch)
        if all(road.width <= (width + _GAP) // len(row) - _GAP for road in row):
            return [row]
    wide = _at(roads, signs, 2)
    fits = all(road.width <= width for road in wide)
    return [[road] for road in (wide if fits else _at(roads, signs, 1))]


def _at(roads: Roads, signs: Signs, pitch: int) -> list[Road]:
    return [derived_road(name, getattr(roads, name), signs, pitch=pitch) for name in DERIVED]


def _width(row: list[Road]) -> int:
    return (max(road.width for road in row) + _GAP) * len(row) - _GAP


def _draw_legend(canvas: Canvas, y: int, signs: Signs) -> None:
    _, banker, player, _ = signs.pairs
    text = f"{banker} Banker pair  {player} Player pair  / tie  2 two ties  "
    canvas.put(0, y, text, _TONES.dim)
    natural = signs.outcomes[Outcome.PLAYER] if signs.lines else signs.corners[2]
    canvas.put(len(text), y, f"{natural} natural", _TONES.dim)
    if signs.lines:
        canvas.put(len(text), y, natural, palette.OUTCOMES[Outcome.PLAYER] + palette.NATURAL)


def _legend_of_marks(signs: Signs) -> str:
    red, blue = (
        " ".join(signs.marks[road][mark] for road in DERIVED) for mark in (Mark.RED, Mark.BLUE)
    )
    return f"{red}  red: as before  {blue}  blue: not as before"

"""
Cards, empty places and totals, drawn on a canvas.

A card has half blocks around it, so that its edge is finer than the characters
and its shape is there without colours too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.event_text import SUIT_SIGNS
from shoe_daemon.game import Card

__all__ = ["LARGE", "SMALL", "Size", "draw_card", "draw_place", "draw_total", "draw_unread_card"]


class Size(NamedTuple):
    """
    Columns and rows of a card; a third card lies on its side.
    """

    width: int
    height: int
    lying_width: int
    lying_height: int

    def box(self, x: int, y: int, *, lying: bool) -> Box:
        """
        Give a card's rectangle; one that lies is in the middle of the row of cards.
        """
        if not lying:
            return Box(x, y, self.width, self.height)
        lower = (self.height - self.lying_height) // 2
        return Box(x, y + lower, self.lying_width, self.lying_height)


SMALL: Final = Size(7, 5, 9, 3)
LARGE: Final = Size(9, 7, 13, 5)

_RED: Final = frozenset("HD")
_ROOM_FOR_EDGE: Final = 4
_DIGITS: Final = (
    ("███", " █ ", "███", "███", "█ █", "███", "███", "███", "███", "███"),
    ("█ █", "██ ", "  █", "  █", "█ █", "█  ", "█  ", "  █", "█ █", "█ █"),
    ("█ █", " █ ", "███", "███", "███", "███", "███", "  █", "███", "███"),
    ("█ █", " █ ", "█  ", "  █", "  █", "  █", "█ █", "  █", "█ █", "  █"),
    ("███", "███", "███", "███", "  █", "███", "███", "  █", "███", "███"),
)
"""Rows of points, digit by digit."""

_PIPS: Final = {
    "H": (" ██ ██ ", "███████", "███████", " █████ ", "  ███  ", "   █   "),
    "D": ("   █   ", "  ███  ", " █████ ", " █████ ", "  ███  ", "   █   "),
    "S": ("   █   ", "  ███  ", " █████ ", "███████", "   █   ", "  ███  "),
    "C": ("  ███  ", "  ███  ", "███████", "███████", "   █   ", "  ███  "),
}

_HALVES: Final = {"██": "█", "█ ": "▀", " █": "▄", "  ": " "}


def draw_unread_card(canvas: Canvas, box: Box) -> None:
    """
    Draw a card that nobody could read: a sheet with a question mark.
    """
    x, y, width, height = _sheet(canvas, box, palette.UNREAD_EDGE, palette.UNREAD)
    canvas.centre(x, y + height // 2, width, "?", palette.UNREAD)


def draw_card(canvas: Canvas, size: Size, box: Box, card: Card | None) -> None:
    """
    Draw a card of this size; None is one that lies face down.
    """
    if card is None:
        inside = _sheet(canvas, box, palette.BACK_EDGE, palette.BACK)
        for row in range(inside.y, inside.y + inside.height):
            canvas.put(inside.x, row, "▚" * inside.width, palette.BACK)
        return
    ink = palette.CARD_RED if card.suit in _RED else palette.CARD_BLACK
    inside = _sheet(canvas, box, palette.CARD_EDGE, ink)
    x, y, width, height = inside
    upper, lower = (y, y + height - 1) if box.height == size.height else (y + height // 2,) * 2
    canvas.put(x, upper, card.rank, ink)
    canvas.right(x + width, lower, card.rank, ink)
    pip = _halved(_PIPS[card.suit]) if size is LARGE else [SUIT_SIGNS[card.suit]]
    for row, text in enumerate(pip, y + (height - len(pip)) // 2):
        canvas.centre(x, row, width, text, ink)


def _sheet(canvas: Canvas, box: Box, edge: Style, inside: Style) -> Box:
    """
    Draw an empty card, and return what is within its edge.
    """
    x, y, width, height = box
    if height > _ROOM_FOR_EDGE:
        canvas.put(x, y, f"▗{'▄' * (width - 2)}▖", edge)
        canvas.put(x, y + height - 1, f"▝{'▀' * (width - 2)}▘", edge)
        y, height = y + 1, height - 2
    for row in range(y, y + height):
        canvas.put(x, row, "▐", edge)
        canvas.put(x + width - 1, row, "▌", edge)
    canvas.fill(x + 1, y, width - 2, height, inside)
    return Box(x + 1, y, width - 2, height)


def draw_place(canvas: Canvas, box: Box, *, due: bool) -> None:
    """
    Draw the outline of an empty place; the one that is due is lit.
    """
    x, y, width, height = box
    style = palette.DUE if due else palette.FELT_LINE
    across = "─" * (width - 2)
    canvas.put(x, y, f"╭{across}╮", style)
    for row in range(y + 1, y + height - 1):
        canvas.put(x, row, "│", style)
        canvas.put(x + width - 1, row, "│", style)
    canvas.put(x, y + height - 1, f"╰{across}╯", style)
    if due:
        canvas.centre(x + 1, y + height // 2, width - 2, "next", style)


def draw_total(canvas: Canvas, box: Box, total: int | None, style: Style) -> None:
    """
    Draw a total, five rows high where there is room, else three; one that is not
    known, or none of a hand, is a dot.
    """
    x, y, width, height = box
    if total is None or not 0 <= total < len(_DIGITS[0]):
        canvas.centre(x, y + height // 2, width, "·", palette.FELT_LINE)
        return
    for row, text in enumerate(_digit(total, height), y):
        canvas.centre(x, row, width, text, style)


def _digit(digit: int, height: int) -> list[str]:
    rows = [digits[digit] for digits in _DIGITS]
    if height >= len(rows):
        return [row.replace("█", "██").replace(" ", "  ") for row in rows]
    return _halved((*rows, "   "))


def _halved(points: Sequence[str]) -> list[str]:
    """
    Put two rows of points into each row of characters.
    """
    return [
        "".join(_HALVES[above + below] for above, below in zip(upper, lower, strict=True))
        for upper, lower in zip(points[0::2], points[1::2], strict=True)
    ]

"""
Playing cards, empty places and totals as blocks of text.

Cards have half blocks as edges, so that they have a shape without colours too.
"""

from __future__ import annotations

from typing import Final

from rich.style import Style
from rich.text import Text

from shoe_daemon.display.terminal import appearance
from shoe_daemon.game import SUIT_SIGNS, Card

WIDTH: Final = 7
"""Columns of an upright card."""

HEIGHT: Final = 5
LYING_WIDTH: Final = 9
"""Columns of a third card, which lies on its side."""

DIGIT_WIDTH: Final = 3
_LYING_HEIGHT: Final = 3
_DIGIT_HEIGHT: Final = 3

_RED: Final = frozenset("HD")
_RANK_WIDTH: Final = 2
_DIGITS: Final = (
    ("███", " █ ", "███", "███", "█ █", "███", "███", "███", "███", "███"),
    ("█ █", "██ ", "  █", "  █", "█ █", "█  ", "█  ", "  █", "█ █", "█ █"),
    ("█ █", " █ ", "███", "███", "███", "███", "███", "  █", "███", "███"),
    ("█ █", " █ ", "█  ", "  █", "  █", "  █", "█ █", "  █", "█ █", "  █"),
    ("███", "███", "███", "███", "  █", "███", "███", "  █", "███", "███"),
    ("   ", "   ", "   ", "   ", "   ", "   ", "   ", "   ", "   ", "   "),
)
"""Rows of pixels of each digit."""

_HALVES: Final = {"██": "█", "█ ": "▀", " █": "▄", "  ": " "}


def card_block(face: Card | None, *, lying: bool, unread: bool = False) -> Text:
    """Draw a card; None is a card that lies face down, or could not be read."""
    width, height = _size(lying=lying)
    width, height = width - 2, height if lying else height - 2
    rows, middle = [""] * height, height // 2
    if unread:
        rows[middle] = "?"
        return _sheet(rows, appearance.UNREAD_EDGE, appearance.UNREAD, lying=lying)
    if face is None:
        rows = ["▚" * width] * height
        return _sheet(rows, appearance.BACK_EDGE, appearance.BACK, lying=lying)
    rank, sign = face.rank, SUIT_SIGNS[face.suit]
    if lying:
        sign = f"{sign:^{width - 2 * _RANK_WIDTH}}"
        rows[middle] = f"{rank:<{_RANK_WIDTH}}{sign}{rank:>{_RANK_WIDTH}}"
    else:
        rows = [f"{rank:<{width}}", sign, f"{rank:>{width}}"]
    ink = appearance.CARD_RED if face.suit in _RED else appearance.CARD_BLACK
    return _sheet(rows, appearance.CARD_EDGE, ink, lying=lying)


def _size(*, lying: bool) -> tuple[int, int]:
    return (LYING_WIDTH, _LYING_HEIGHT) if lying else (WIDTH, HEIGHT)


def _above(height: int) -> str:
    """Return empty rows that centre something beside an upright card."""
    return "\n" * ((HEIGHT - height) // 2)


def _sheet(rows: list[str], edge: Style, inside: Style, *, lying: bool) -> Text:
    width, height = _size(lying=lying)
    text = Text(_above(height), no_wrap=True)
    if not lying:
        text.append(f"▗{'▄' * (width - 2)}▖\n", edge)
    for row in rows:
        text.append("▐", edge).append(f"{row:^{width - 2}}", inside).append("▌\n", edge)
    if not lying:
        text.append(f"▝{'▀' * (width - 2)}▘", edge)
    return text


def place_block(*, lying: bool, due: bool) -> Text:
    """Draw the outline of an empty place, highlighted if the next card goes there."""
    width, height = _size(lying=lying)
    rows = [f"│{'':{width - 2}}│"] * (height - 2)
    if due:
        rows[(height - 2) // 2] = f"│{'next':^{width - 2}}│"
    across = "─" * (width - 2)
    text = _above(height) + "\n".join([f"╭{across}╮", *rows, f"╰{across}╯"])
    return Text(text, appearance.DUE if due else appearance.FELT_LINE, no_wrap=True)


def total_block(value: int | None, style: Style) -> Text:
    """Draw a total as a large digit; a dot if it is unknown."""
    above = _above(_DIGIT_HEIGHT)
    if value is None or not 0 <= value < len(_DIGITS[0]):
        return Text(f"{above}\n{'·':^{DIGIT_WIDTH}}", appearance.FELT_LINE, no_wrap=True)
    pixels = [digits[value] for digits in _DIGITS]
    rows = [
        "".join(_HALVES[upper + lower] for upper, lower in zip(*pair, strict=True))
        for pair in zip(pixels[0::2], pixels[1::2], strict=True)
    ]
    return Text(above + "\n".join(rows), style, no_wrap=True)

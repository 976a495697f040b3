"""
Playing cards, empty places and totals as blocks of text.

Cards have half blocks as edges, so that they have a shape without colours too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.style import Style
from rich.text import Text

from shoe_daemon.display.terminal import appearance
from shoe_daemon.game import SUIT_SIGNS, Card


class Size(NamedTuple):
    """Columns and rows of an upright card, of a third card lying on its side, and of a total."""

    width: int
    height: int
    lying_width: int
    lying_height: int
    digit_width: int
    digit_height: int

    def of(self, *, lying: bool) -> tuple[int, int, int]:
        """Return columns and rows of a card, and the empty rows above it."""
        if not lying:
            return self.width, self.height, 0
        return self.lying_width, self.lying_height, (self.height - self.lying_height) // 2


SMALL: Final = Size(7, 5, 9, 3, 3, 3)
LARGE: Final = Size(9, 7, 13, 5, 6, 5)

_RED: Final = frozenset("HD")
_MIN_HEIGHT_FOR_EDGE: Final = 5
_RANK_WIDTH: Final = 2
_DIGITS: Final = (
    ("███", " █ ", "███", "███", "█ █", "███", "███", "███", "███", "███"),
    ("█ █", "██ ", "  █", "  █", "█ █", "█  ", "█  ", "  █", "█ █", "█ █"),
    ("█ █", " █ ", "███", "███", "███", "███", "███", "  █", "███", "███"),
    ("█ █", " █ ", "█  ", "  █", "  █", "  █", "█ █", "  █", "█ █", "  █"),
    ("███", "███", "███", "███", "  █", "███", "███", "  █", "███", "███"),
)
"""Rows of pixels of each digit."""

_PIPS: Final = {
    "H": (" ██ ██ ", "███████", "███████", " █████ ", "  ███  ", "   █   "),
    "D": ("   █   ", "  ███  ", " █████ ", " █████ ", "  ███  ", "   █   "),
    "S": ("   █   ", "  ███  ", " █████ ", "███████", "   █   ", "  ███  "),
    "C": ("  ███  ", "  ███  ", "███████", "███████", "   █   ", "  ███  "),
}

_HALVES: Final = {"██": "█", "█ ": "▀", " █": "▄", "  ": " "}


def card_block(face: Card | None, size: Size, *, lying: bool, unread: bool = False) -> Text:
    """Draw a card; None is a card that lies face down, or could not be read."""
    width, height, _ = size.of(lying=lying)
    width, height = width - 2, height - 2 if height >= _MIN_HEIGHT_FOR_EDGE else height
    rows, middle = [""] * height, height // 2
    if unread:
        rows[middle] = "?"
        return _sheet(rows, appearance.UNREAD_EDGE, appearance.UNREAD, size, lying=lying)
    if face is None:
        rows = ["▚" * width] * height
        return _sheet(rows, appearance.BACK_EDGE, appearance.BACK, size, lying=lying)
    pip = _halved(_PIPS[face.suit]) if size is LARGE else [SUIT_SIGNS[face.suit]]
    above = (height - len(pip)) // 2
    rows[above : above + len(pip)] = pip
    rank = face.rank
    if lying:
        sign = f"{rows[middle]:^{width - 2 * _RANK_WIDTH}}"
        rows[middle] = f"{rank:<{_RANK_WIDTH}}{sign}{rank:>{_RANK_WIDTH}}"
    else:
        rows[0], rows[-1] = f"{rank:<{width}}", f"{rank:>{width}}"
    ink = appearance.CARD_RED if face.suit in _RED else appearance.CARD_BLACK
    return _sheet(rows, appearance.CARD_EDGE, ink, size, lying=lying)


def _sheet(rows: list[str], edge: Style, inside: Style, size: Size, *, lying: bool) -> Text:
    width, height, above = size.of(lying=lying)
    text = Text("\n" * above, no_wrap=True)
    edged = height >= _MIN_HEIGHT_FOR_EDGE
    if edged:
        text.append(f"▗{'▄' * (width - 2)}▖\n", edge)
    for row in rows:
        text.append("▐", edge).append(f"{row:^{width - 2}}", inside).append("▌\n", edge)
    if edged:
        text.append(f"▝{'▀' * (width - 2)}▘", edge)
    return text


def place_block(size: Size, *, lying: bool, due: bool) -> Text:
    """Draw the outline of an empty place, highlighted if the next card goes there."""
    width, height, above = size.of(lying=lying)
    rows = [f"│{'':{width - 2}}│"] * (height - 2)
    if due:
        rows[(height - 2) // 2] = f"│{'next':^{width - 2}}│"
    across = "─" * (width - 2)
    text = "\n".join([f"╭{across}╮", *rows, f"╰{across}╯"])
    return Text("\n" * above + text, appearance.DUE if due else appearance.FELT_LINE, no_wrap=True)


def total_block(value: int | None, size: Size, style: Style) -> Text:
    """Draw a total as a large digit; a dot if it is unknown."""
    above = (size.height - size.digit_height) // 2
    if value is None or not 0 <= value < len(_DIGITS[0]):
        dot = "\n" * (size.digit_height // 2) + f"{'·':^{size.digit_width}}"
        return Text("\n" * above + dot, appearance.FELT_LINE, no_wrap=True)
    rows = [digits[value] for digits in _DIGITS]
    if size is LARGE:
        rows = [row.replace("█", "██").replace(" ", "  ") for row in rows]
    else:
        rows = _halved((*rows, "   "))
    return Text("\n".join([""] * above + rows), style, no_wrap=True)


def _halved(pixels: Sequence[str]) -> list[str]:
    """Combine two rows of pixels into each row of characters."""
    return [
        "".join(_HALVES[above + below] for above, below in zip(upper, lower, strict=True))
        for upper, lower in zip(pixels[0::2], pixels[1::2], strict=True)
    ]

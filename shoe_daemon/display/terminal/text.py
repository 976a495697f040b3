"""Building blocks of the boards: safe lines of text, parts beside and below one another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rich.console import Group, JustifyMethod, RenderableType
from rich.layout import Layout
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from shoe_daemon.display.terminal import appearance

MIN_SIZE: Final = (80, 24)
"""Columns and rows of the smallest full board; smaller terminals get `facts`."""

_DROPPED: Final = frozenset({"Mn", "Me"})
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@lru_cache(maxsize=1000)
def clean(text: str) -> str:
    """Replace control characters, which could move the cursor or reprogram the terminal."""
    if text.isascii() and text.isprintable():
        return text
    kinds = ((character, unicodedata.category(character)) for character in text)
    return "".join(
        "�" if kind in _UNPRINTABLE else character
        for character, kind in kinds
        if kind not in _DROPPED
    )


def line(text: str, style: Style | str = "", justify: JustifyMethod | None = None) -> Text:
    """Make a line of text that is cut off where it does not fit."""
    return Text(clean(text), style, justify=justify, no_wrap=True, overflow="ellipsis")


def centred(text: str, style: Style | str = "") -> Text:
    """Make a centred line; the background of its style fills the width."""
    return line(text, style, "center")


def line_with_end(left: Text, right: Text, width: int) -> Text:
    """Join two texts into a line of `width` columns; the left one is shortened if need be."""
    joined = Text(no_wrap=True, overflow="ellipsis").append_text(left)
    joined.truncate(max(width - right.cell_len - 1, 0), overflow="ellipsis")
    joined.pad_right(width - joined.cell_len - right.cell_len)
    return joined.append_text(right)


def facts(lines: Iterable[tuple[str, Style]]) -> RenderableType:
    """Write lines for a terminal that is too small for a board."""
    texts = Group(*(Text(clean(text), style) for text, style in lines))
    return Padding(texts, style=appearance.RAIL)


def beside(*parts: tuple[RenderableType, int], gap: int = 0) -> Table:
    """Arrange pictures side by side, each in a given number of columns, `gap` columns apart."""
    shown = [(picture, width) for picture, width in parts if width > 0]
    grid = Table.grid(padding=(0, gap, 0, 0))
    for _, width in shown:
        grid.add_column(width=width)
    grid.add_row(*(picture for picture, _ in shown))
    return grid


def part(
    picture: RenderableType, height: int, style: Style = appearance.RAIL, margin: int = 0
) -> Layout:
    """Make rows of a board: a background, and empty columns at both sides."""
    return Layout(Padding(picture, (0, margin), style=style), size=height)


def stacked(*parts: Layout) -> Layout:
    """Arrange parts below one another; those without rows are left out."""
    board = Layout()
    board.split_column(*(each for each in parts if each.size))
    return board

"""
A rectangle of characters, each with its style.

Everything has a place of its own here, so nothing moves when something changes.
Names come from elsewhere: what is no printable character never gets onto a canvas,
and what is two columns wide takes two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from shoe_daemon.display.terminal.styles import Style, grey

__all__ = ["Box", "Canvas", "clean", "fit", "width_of"]

_WIDE: Final = frozenset("WF")
_DROPPED: Final = frozenset({"Mn", "Me"})
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Box(NamedTuple):
    """
    A rectangle on a canvas.
    """

    x: int
    y: int
    width: int
    height: int


class Canvas:
    """
    Rows of styled characters; what lies outside is cut off.

    Attributes:
        width: Columns.
        height: Rows.
    """

    def __init__(self, width: int, height: int, style: Style) -> None:
        self.width = width
        self.height = height
        self._cells = [[(" ", style)] * width for _ in range(height)]

    def fill(self, x: int, y: int, width: int, height: int, style: Style) -> None:
        """
        Paint a rectangle over; nothing of what was there is left.
        """
        for row in range(max(y, 0), min(y + height, self.height)):
            for column in range(max(x, 0), min(x + width, self.width)):
                self._set(column, row, " ", style)

    def put(self, x: int, y: int, text: str, style: Style) -> None:
        """
        Write a text; where its style names no background, the one there stays.
        """
        if not 0 <= y < self.height:
            return
        column = x
        for character in clean(text):
            wide = is_wide(character)
            if column >= 0 and column + wide < self.width:
                over = _over(self._cells[y][column][1], style)
                self._set(column, y, character, over)
                if wide:
                    self._set(column + 1, y, " ", over)
                    self._cells[y][column] = (character, over)
                    self._cells[y][column + 1] = ("", over)
            column += 1 + wide

    def _set(self, column: int, y: int, character: str, style: Style) -> None:
        # Of a wide character that is half written over, nothing stays.
        row = self._cells[y]
        if row[column][0] == "":
            row[column - 1] = (" ", row[column - 1][1])
        if column + 1 < self.width and row[column + 1][0] == "":
            row[column + 1] = (" ", row[column + 1][1])
        row[column] = (character, style)

    def centre(self, x: int, y: int, width: int, text: str, style: Style) -> None:
        """
        Write a text in the middle of so many columns.
        """
        text = fit(text, width)
        self.put(x + (width - width_of(text)) // 2, y, text, style)

    def right(self, x: int, y: int, text: str, style: Style) -> None:
        """
        Write a text that ends before column `x`.
        """
        self.put(x - width_of(text), y, text, style)

    @property
    def rows(self) -> list[list[tuple[str, Style]]]:
        """
        Every character and its style, row by row; beside a wide one is an empty one.
        """
        return self._cells

    def mute(self) -> None:
        """
        Take all colour out of what is drawn so far.
        """
        for row in self._cells:
            row[:] = [(character, grey(style)) for character, style in row]

    def underlay(self, below: Style) -> None:
        """
        Give a ground to what is drawn so far.
        """
        for row in self._cells:
            row[:] = [(character, below + style) for character, style in row]

    @property
    def text(self) -> str:
        """
        The characters alone.
        """
        return "\n".join("".join(character for character, _ in row) for row in self._cells)

    def changes(self, before: Canvas | None) -> list[int]:
        """
        Name the rows that differ from those of a canvas shown before.
        """
        if before is None or (before.width, before.height) != (self.width, self.height):
            return list(range(self.height))
        pairs = enumerate(zip(self._cells, before.rows, strict=True))
        return [number for number, (new, old) in pairs if new != old]

    def runs(self, row: int) -> Iterator[tuple[str, Style]]:
        """
        Give a row in pieces of one style each.
        """
        for style, cells in groupby(self._cells[row], key=itemgetter(1)):
            yield "".join(character for character, _ in cells), style


@lru_cache(maxsize=1000)
def _over(below: Style, above: Style) -> Style:
    return Style(bgcolor=below.bgcolor) + above


@lru_cache(maxsize=1000)
def clean(text: str) -> str:
    """
    Return a text without what moves the cursor or speaks to the terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    kinds = ((character, unicodedata.category(character)) for character in text)
    return "".join(
        "�" if kind in _UNPRINTABLE else character
        for character, kind in kinds
        if kind not in _DROPPED
    )


def is_wide(character: str) -> bool:
    """
    Tell whether a character takes two columns.
    """
    return not character.isascii() and unicodedata.east_asian_width(character) in _WIDE


def width_of(text: str) -> int:
    """
    Count the columns that a text takes.
    """
    return sum(1 + is_wide(character) for character in clean(text))


def fit(text: str, width: int) -> str:
    """
    Shorten a text to so many columns, and show that it was.
    """
    text = clean(text)
    if width_of(text) <= width:
        return text
    while text and width_of(text) > max(width - 1, 0):
        text = text[:-1]
    return text + "…"

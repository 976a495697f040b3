"""
A rectangle of characters, each with its style, that rich can print.

Everything has a place of its own here, so nothing moves when something changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

__all__ = ["Canvas", "fit"]


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
                self._cells[row][column] = (" ", style)

    def put(self, x: int, y: int, text: str, style: Style) -> None:
        """
        Write a text; where its style names no background, the one there stays.
        """
        if not 0 <= y < self.height:
            return
        row = self._cells[y]
        for column, character in enumerate(text, x):
            if 0 <= column < self.width:
                row[column] = (character, _over(row[column][1], style))

    def centre(self, x: int, y: int, width: int, text: str, style: Style) -> None:
        """
        Write a text in the middle of so many columns.
        """
        text = fit(text, width)
        self.put(x + (width - len(text)) // 2, y, text, style)

    def right(self, x: int, y: int, text: str, style: Style) -> None:
        """
        Write a text that ends before column `x`.
        """
        self.put(x - len(text), y, text, style)

    @property
    def rows(self) -> list[list[tuple[str, Style]]]:
        """
        Every character and its style, row by row.
        """
        return self._cells

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

    def segments(self, row: int) -> Iterator[Segment]:
        """
        Give a row as rich prints it.
        """
        for style, cells in groupby(self._cells[row], key=itemgetter(1)):
            yield Segment("".join(character for character, _ in cells), style)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """
        Give the rows, without a line's end after the last.
        """
        for row in range(self.height):
            if row:
                yield Segment.line()
            yield from self.segments(row)


@lru_cache(maxsize=1000)
def _over(below: Style, above: Style) -> Style:
    return Style(bgcolor=below.bgcolor) + above


def fit(text: str, width: int) -> str:
    """
    Shorten a text to so many columns, and show that it was.
    """
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"

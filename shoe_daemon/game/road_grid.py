"""The grid on which a road is drawn: six rows, and as many columns as needed."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["ROWS", "RoadGrid", "Tail"]

ROWS: Final = 6
"""Rows of every road."""


class Tail(StrEnum):
    """
    How a streak goes on that was turned to the right before the lowest row.

    ``flat``: along its row. ``drop``: down again as soon as there is room.
    """

    FLAT = "flat"
    DROP = "drop"


class RoadGrid:
    """
    The grid of one road, filled cell by cell.

    A column goes down and, where the way is barred, to the right: the dragon's tail. The next
    one begins right of its head, beside the tail or below it.
    """

    def __init__(self, tail: Tail) -> None:
        self._drops = tail is Tail.DROP
        self._taken: set[tuple[int, int]] = set()
        self._head = -1
        self._last = (-1, 0)

    def next_cell(self, depth: int) -> tuple[int, int]:
        """
        Return the next cell, (col, row).

        For `depth` 0 it is the first cell of a new column, else the next cell of the last
        column.
        """
        col, row = self._last
        if depth == 0:
            col, row = self._head + 1, 0
        elif (
            (self._drops or col == self._head)
            and row + 1 < ROWS
            and (col, row + 1) not in self._taken
        ):
            return col, row + 1
        while (col, row) in self._taken:
            col += 1
        return col, row

    def add_cell(self, depth: int) -> tuple[int, int]:
        """Occupy the next cell and return it."""
        self._last = self.next_cell(depth)
        self._taken.add(self._last)
        if depth == 0:
            self._head = self._last[0]
        return self._last

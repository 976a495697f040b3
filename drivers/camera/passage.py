"""
What passes the shoe's mouth: from which side it came, where it went, how long it is.

Positions are millimetres along the way that cards leave the shoe, 0 in the middle of
the window; the shoe is on the negative side.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Extent", "Passage", "Way", "runs"]

_TOUCH: Final = 3.0
_EDGES: Final = 6
"""Positions of edges from which a motion can be told."""

_LEAST_RUN: Final = 8.0


class Extent(NamedTuple):
    """
    How far something reaches at one moment.

    Attributes:
        at: When.
        start, end: The edge towards the shoe, and the one that leads.
        starts, ends: Whether these edges are in the window, not behind its plates.
    """

    at: float
    start: float
    end: float
    starts: bool
    ends: bool


class Way(NamedTuple):
    """
    Where something came from, and where it went.
    """

    from_shoe: bool
    to_table: bool


class Passage:
    """
    One thing that passes, or two at once.
    """

    def __init__(self) -> None:
        self.extents: list[Extent] = []

    def add(self, extent: Extent) -> None:
        """
        It was seen here.
        """
        self.extents.append(extent)

    @property
    def way(self) -> Way:
        """
        Where it came from and where it went.
        """
        first, last = self.extents[0], self.extents[-1]
        # What is first seen in mid-window came too fast to be seen enter: from the shoe.
        from_shoe = not first.starts or first.ends
        to_table = last.starts if last.starts != last.ends else last.start + last.end > 0
        return Way(from_shoe, to_table)

    def excess(self, length: float) -> float | None:
        """
        Return by how many millimetres it is longer than a card; None where too little of
        its motion was seen.

        One smooth motion is drawn through both edges: they are seldom seen together.
        """
        leads = [(each.at, each.end) for each in self.extents if each.ends]
        trails = [(each.at, each.start) for each in self.extents if each.starts]
        if len(leads) < 2 or len(trails) < 2 or len(leads) + len(trails) < _EDGES:  # noqa: PLR2004 - a line
            return None
        begin = self.extents[0].at
        span = max(self.extents[-1].at - begin, 1e-6)
        rows = [((at - begin) / span, end - length / 2, 0.0) for at, end in leads]
        rows += [((at - begin) / span, start + length / 2, -1.0) for at, start in trails]
        moments, places, behind = np.array(rows).T
        powers = np.vander(moments, 4 if len(rows) > _EDGES + 1 else 3)
        found, *_ = np.linalg.lstsq(np.column_stack([powers, behind]), places, rcond=None)
        return float(found[-1])


def runs(occupied: NDArray[np.bool_], positions: NDArray[np.float64], at: float) -> list[Extent]:
    """
    Return the stretches of the window that are covered, from the shoe outwards.

    Args:
        occupied: Whether something is there, row by row.
        positions: Of the rows.
        at: When.
    """
    step = float(positions[1] - positions[0])
    padded = np.concatenate([[False], occupied, [False]])
    changes = np.flatnonzero(padded[1:] != padded[:-1])
    low, high = float(positions[0]) - step / 2, float(positions[-1]) + step / 2
    found = []
    for first, last in zip(changes[::2], changes[1::2], strict=True):
        start, end = low + first * step, low + last * step
        if end - start >= _LEAST_RUN:
            found.append(Extent(at, start, end, start > low + _TOUCH, end < high - _TOUCH))
    return found

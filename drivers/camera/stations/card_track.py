"""
What passes the shoe's mouth: from which side it came, where it went, how long it is.

Positions are millimetres along the way that cards leave the shoe, 0 in the middle of
the window; the shoe is on the negative side.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CardTrack", "Extent", "TrackOutcome", "TrackSide", "covered_extents"]

_WINDOW_END_MM: Final = 3.0
"""Millimetres from an end of the window within which something reaches beyond it."""

_MIN_EDGES_FOR_CUBIC: Final = 5
"""Positions of edges from which a motion can be told."""

_MAX_EDGE_POINTS: Final = 3
"""Pictures before and after an edge is hidden by which it is followed."""

_MIN_EXTENT_MM: Final = 8.0
"""Millimetres that something covers, at the least."""

_MIN_MOTION_MM: Final = 4.0
"""Millimetres from picture to picture from which something moves."""

_MAX_PEEP_MM: Final = 20.0
"""Millimetres by which a card may show itself, and go back, without any word of it."""

_CARD_LENGTH_SHARE: Final = 0.8
"""Share of a card's length from which what comes from the table and goes may be a card."""

_MAX_SPEED_MM_S: Final = 4000.0
"""Millimetres a second that no card surpasses."""

_EDGE_TOLERANCE_MM: Final = 8.0
"""Millimetres by which an edge may seem to go back, or a card seem longer than it is."""

_MAX_REVERSE_SPEED_MM_S: Final = 1500.0
"""Millimetres a second at most, at which a card is pushed back."""


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


class TrackSide(Enum):
    """
    Where something came from, or went.
    """

    SHOE = "shoe"
    TABLE = "table"
    UNKNOWN = "unknown"


class TrackOutcome(Enum):
    """
    What has become of something that was in the window.

    ``left``: it came out of the shoe. ``returned``: it went back into it. ``harmless``: no
    card can have passed with it. ``unclear``: one may have.
    """

    LEFT = "left"
    RETURNED = "returned"
    HARMLESS = "harmless"
    UNCLEAR = "unclear"


class CardTrack:
    """
    One thing that passes, or two at once.

    Attributes:
        extents: How it was seen, picture by picture.
        torn: Whether it was out of sight meanwhile, or was not seen to come.
    """

    def __init__(
        self, low: float, length: float, *, before: float = 0.0, interrupted: bool = False
    ) -> None:
        """
        Args:
            low: Where the window begins, at the shoe.
            length: Of a card.
            before: When it was not yet there.
            interrupted: Whether its arrival was not seen.
        """
        self.extents: list[Extent] = []
        self.interrupted = interrupted
        self._start = low
        self._length = length
        self._before = before
        self._waiting_since = 0.0

    def add(self, extent: Extent) -> None:
        """
        It was seen here.
        """
        if not self.extents or (
            not extent.starts and extent.end - extent.start <= self._length + _EDGE_TOLERANCE_MM
        ):
            self._waiting_since = extent.at  # half out of the shoe, it may wait for long
        self.extents.append(extent)

    @property
    def blocked_s(self) -> float:
        """
        For how long it has been where no card stays.
        """
        return self.extents[-1].at - self._waiting_since

    def is_next_card(self, extent: Extent, *, more: bool) -> bool:
        """
        Tell whether what is now innermost is another thing, behind this one.

        Args:
            extent: Where it is.
            more: Whether there is something else, farther out.
        """
        last = self.extents[-1]
        if more:
            return extent.end < last.end - _EDGE_TOLERANCE_MM
        if not extent.ends or extent.starts:
            return False
        gone = last.starts and not last.ends and extent.end < last.start
        return gone or last.end - extent.end > _MAX_REVERSE_SPEED_MM_S * (extent.at - last.at)

    def may_continue_with(self, extent: Extent) -> bool:
        """
        Tell whether this may be it, a moment later, on its way out.
        """
        last = self.extents[-1]
        return (
            extent.starts
            and extent.start > last.start
            and extent.end > last.end - _EDGE_TOLERANCE_MM
        )

    @property
    def is_leaving(self) -> bool:
        """
        Whether it was last seen to go out at the table's side, or back where it came from.
        """
        last = self.extents[-1]
        return last.starts != last.ends

    def outcome(self, at: float) -> TrackOutcome:
        """
        Say what has become of it, which was seen to be gone at this moment.
        """
        came, went = self.origin, self.destination(at)
        if went is TrackSide.TABLE and came is TrackSide.SHOE:
            return TrackOutcome.LEFT
        if went is TrackSide.SHOE and came is TrackSide.SHOE:
            peeped = max(each.end for each in self.extents) < self._start + _MAX_PEEP_MM
            if peeped:
                return TrackOutcome.HARMLESS
            return TrackOutcome.RETURNED if self.extents[-1].ends else TrackOutcome.UNCLEAR
        if came is TrackSide.TABLE and went is TrackSide.TABLE and self._kept_clear_of_shoe:
            return TrackOutcome.HARMLESS
        return TrackOutcome.UNCLEAR

    @property
    def _kept_clear_of_shoe(self) -> bool:
        # Whatever comes out of the shoe has to pass there. A damaged picture may not show it
        # there, but then what is seen to come back is nearly a card long.
        inmost = min(each.start for each in self.extents)
        longest = max(each.end - each.start for each in self.extents)
        short = longest < _CARD_LENGTH_SHARE * self._length
        return short and not self.interrupted and inmost > self._start + _MAX_PEEP_MM

    @property
    def origin(self) -> TrackSide:
        """
        Where it came from.
        """
        first = self.extents[0]
        way = self._direction(self.extents[:2]) or self._direction(self.extents[:3])
        if len(self.extents) == 1:
            return TrackSide.UNKNOWN  # too fast, or a ghost
        if not first.starts and first.ends:
            return TrackSide.SHOE
        if first.starts and not first.ends and (way <= 0 or not self._may_come_from_shoe):
            return TrackSide.TABLE
        return TrackSide.SHOE if way > 0 else TrackSide.UNKNOWN

    @property
    def _may_come_from_shoe(self) -> bool:
        # From the shoe to where it was first seen, between two pictures.
        first = self.extents[0]
        far = first.start + self._length - self._start - _MIN_EXTENT_MM
        return (first.at - self._before) * _MAX_SPEED_MM_S >= far

    def destination(self, at: float) -> TrackSide:
        """
        Say where it went; it was seen to be gone at this moment.
        """
        last = self.extents[-1]
        way = self._direction(self.extents[-2:]) or self._direction(self.extents[-3:])
        if last.starts and not last.ends:
            return TrackSide.TABLE
        if last.ends and not last.starts:
            far = self._length - self._start - last.end
            if (at - last.at) * _MAX_SPEED_MM_S < far:
                return TrackSide.UNKNOWN if way > 0 else TrackSide.SHOE
        return {1: TrackSide.TABLE, -1: TrackSide.SHOE, 0: TrackSide.UNKNOWN}[way]

    @staticmethod
    def _direction(extents: list[Extent]) -> int:
        """
        Say which way something moves: 1 out of the shoe, -1 into it, 0 where that was not
        seen.
        """
        moved = 0.0
        for before, after in pairwise(extents):
            if before.starts and after.starts:
                moved += after.start - before.start
            elif before.ends and after.ends:
                moved += after.end - before.end
            elif before.ends != after.ends or before.starts != after.starts:
                moved += (after.start + after.end - before.start - before.end) / 2
        return 0 if abs(moved) < _MIN_MOTION_MM else int(np.sign(moved))

    @property
    def excess_mm(self) -> float | None:
        """
        Return by how many millimetres it is longer than a card; None where too little of
        its motion was seen.

        Where both edges were seen at once it is measured. Else one smooth motion is drawn
        through both, near the moment at which the one is hidden and the other appears.
        """
        whole = [each.end - each.start for each in self.extents if each.starts and each.ends]
        if whole:
            return float(np.median(whole)) - self._length
        leads = [(each.at, each.end) for each in self.extents if each.ends]
        trails = [(each.at, each.start) for each in self.extents if each.starts]
        if not leads or not trails or leads[-1][0] > trails[0][0]:
            return None
        return _estimate_excess(leads[-_MAX_EDGE_POINTS:], trails[:_MAX_EDGE_POINTS], self._length)


def _estimate_excess(
    leads: list[tuple[float, float]], trails: list[tuple[float, float]], length: float
) -> float | None:
    """
    Draw a motion through the one edge before it is hidden, and the other once it appears.
    """
    if min(len(leads), len(trails)) < 2:  # noqa: PLR2004 - a line
        return None
    if len(leads) + len(trails) < _MIN_EDGES_FOR_CUBIC:
        # As fast in between as before and after.
        speeds = [
            (each[-1][1] - each[0][1]) / (each[-1][0] - each[0][0]) for each in (leads, trails)
        ]
        moved = (trails[0][0] - leads[-1][0]) * sum(speeds) / 2
        return leads[-1][1] + moved - trails[0][1] - length
    begin = leads[0][0]
    span = max(trails[-1][0] - begin, 1e-6)
    rows = [((at - begin) / span, end - length / 2, 0.0) for at, end in leads]
    rows += [((at - begin) / span, start + length / 2, -1.0) for at, start in trails]
    moments, places, behind = np.array(rows).T
    powers = np.vander(moments, 4 if len(rows) > _MIN_EDGES_FOR_CUBIC else 3)
    found, *_ = np.linalg.lstsq(np.column_stack([powers, behind]), places, rcond=None)
    return float(found[-1])


def covered_extents(
    occupied: NDArray[np.bool_], positions: NDArray[np.float64], at: float
) -> list[Extent]:
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
        if end - start >= _MIN_EXTENT_MM:
            found.append(
                Extent(at, start, end, start > low + _WINDOW_END_MM, end < high - _WINDOW_END_MM)
            )
    return found

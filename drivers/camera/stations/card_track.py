"""
Track of a card through the throat, and gaps between frames in which a card may leave unseen.

A track gives a card's origin, destination and length. Positions are millimetres in the direction
in which cards leave the shoe, 0 in the middle of the window; the shoe is on the negative side.
Missing, frozen and unusable frames make gaps.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MIN_EDGES_FOR_CUBIC: Final = 5
"""Number of edge positions above which the motion is cubic."""

_MAX_EDGE_POINTS: Final = 3
"""Number of frames in which an edge is followed before or after it is hidden."""

MIN_EXTENT_MM: Final = 8.0
"""Minimum length of a covered extent."""

_MIN_MOTION_MM: Final = 4.0
"""Minimum movement between two frames."""

_MAX_PEEP_MM: Final = 20.0
"""Distance by which a card may appear and go back without a report."""

_CARD_LENGTH_SHARE: Final = 0.8
"""Share of a card's length from which an object that comes from the table may be a card."""

_MAX_SPEED_MM_S: Final = 4000.0
"""Speed that no card exceeds."""

_EDGE_TOLERANCE_MM: Final = 8.0
"""Distance by which an edge may seem to move back, or a card may seem too long."""

_MAX_REVERSE_SPEED_MM_S: Final = 1500.0
"""Maximum speed at which a card is pushed back."""


class Extent(NamedTuple):
    """
    Extent of an object in one frame.

    Attributes:
        at: Time of the frame.
        start, end: The edge nearest to the shoe, and the leading edge.
        starts, ends: Whether these edges are in the window, not hidden beside it.
    """

    at: float
    start: float
    end: float
    starts: bool
    ends: bool


class TrackSide(Enum):
    """Side from which an object came, or to which it went."""

    SHOE = "shoe"
    TABLE = "table"
    UNKNOWN = "unknown"


class TrackOutcome(Enum):
    """
    Outcome of a track.

    ``left``: a card left the shoe. ``returned``: it went back. ``harmless``: no card can have
    left. ``unclear``: a card may have left.
    """

    LEFT = "left"
    RETURNED = "returned"
    HARMLESS = "harmless"
    UNCLEAR = "unclear"


class CardTrack:
    """
    Track of one object, or of two at once.

    Attributes:
        extents: Its extent in each frame.
        interrupted: Whether it was not visible for a while, or its arrival was not seen.

    Args:
        low: Position of the window's begin, at the shoe.
        length: Length of a card.
        before: Time of the last frame without the object.
        interrupted: The attribute.
    """

    def __init__(
        self, low: float, length: float, *, before: float = 0.0, interrupted: bool = False
    ) -> None:
        self.extents: list[Extent] = []
        self.interrupted = interrupted
        self._start = low
        self._length = length
        self._before = before
        self._waiting_since = 0.0

    def add(self, extent: Extent) -> None:
        """Add the extent of the next frame."""
        if not self.extents or (
            not extent.starts and extent.end - extent.start <= self._length + _EDGE_TOLERANCE_MM
        ):
            self._waiting_since = extent.at  # half out of the shoe, it may wait for long
        self.extents.append(extent)

    @property
    def blocked_s(self) -> float:
        """Time for which the object has been where no card stays."""
        return self.extents[-1].at - self._waiting_since

    def is_next_card(self, extent: Extent, *, more: bool) -> bool:
        """Return True if the innermost extent is a card behind this; `more` are farther out."""
        last = self.extents[-1]
        if more:
            return extent.end < last.end - _EDGE_TOLERANCE_MM
        if not extent.ends or extent.starts:
            return False
        gone = last.starts and not last.ends and extent.end < last.start
        return gone or last.end - extent.end > _MAX_REVERSE_SPEED_MM_S * (extent.at - last.at)

    def may_continue_with(self, extent: Extent) -> bool:
        """True if this extent may be the same card a moment later, on its way out."""
        last = self.extents[-1]
        return (
            extent.starts
            and extent.start > last.start
            and extent.end > last.end - _EDGE_TOLERANCE_MM
        )

    @property
    def is_leaving(self) -> bool:
        """True if the object was last seen leaving at one end of the window."""
        last = self.extents[-1]
        return last.starts != last.ends

    def outcome(self, at: float) -> TrackOutcome:
        """Return the outcome of an object that was gone at this time."""
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
        # A card that leaves the shoe passes there. A damaged frame may not show it there, but
        # then the object that comes back is nearly a card long.
        inmost = min(each.start for each in self.extents)
        longest = max(each.end - each.start for each in self.extents)
        short = longest < _CARD_LENGTH_SHARE * self._length
        return short and not self.interrupted and inmost > self._start + _MAX_PEEP_MM

    @property
    def origin(self) -> TrackSide:
        """Side from which the object came."""
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
        # From the shoe to the first position, between two frames.
        first = self.extents[0]
        far = first.start + self._length - self._start - MIN_EXTENT_MM
        return (first.at - self._before) * _MAX_SPEED_MM_S >= far

    def destination(self, at: float) -> TrackSide:
        """Return the side to which an object went that was gone at this time."""
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
        """Return the direction of motion: 1 out of the shoe, -1 into it, 0 unknown."""
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
        Length beyond that of a card; None where too little of the motion was seen.

        It is measured where both edges were visible at once. Else one smooth motion is fitted to
        both, near the time at which one edge is hidden and the other appears.
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
    """Fit one motion to the leading edge until it is hidden and the trailing one from then on."""
    if min(len(leads), len(trails)) < 2:  # noqa: PLR2004 - a line
        return None
    if len(leads) + len(trails) < _MIN_EDGES_FOR_CUBIC:
        # Between the two, the mean of the speeds before and after.
        speeds = [(b[1] - a[1]) / (b[0] - a[0]) for a, *_, b in (leads, trails)]
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


_MAX_UNSEEN_S: Final = 0.15
"""Gap in which a card may leave unseen."""

_MAX_FRAME_GAP_S: Final = 0.1
"""Gap in which the object in the throat may be replaced by another."""

_MAX_INTERVAL_FACTOR: Final = 2.5
"""Multiple of the usual interval that is tolerated: one lost frame, even of a slow camera."""

_INTERVALS_KEPT: Final = 25
"""Number of intervals whose median is the usual one."""

_DELAYED_FRAME_SHARE: Final = 0.5
"""Share of the usual interval within which a delayed frame follows."""

_MIN_NOISY_FRAMES: Final = 10
"""Frames without motion, all different, after which a camera is known to have noise."""

_REPORT_INTERVAL_S: Final = 1.0
"""Length of a gap after which it is reported again."""


class VisibilityMonitor:
    """
    Measures the time between usable frames.

    Attributes:
        gap_before_frame: Whether the object in the throat may have been replaced by another
            before the latest frame.
    """

    def __init__(self) -> None:
        self.gap_before_frame = True
        self._last: float | None = None
        self._spans: deque[float] = deque(maxlen=_INTERVALS_KEPT)
        self._waiting: float | None = None
        self._reported_at: float | None = None
        self._sample: NDArray[np.uint8] | None = None
        self._same = False
        self._noisy_count = 0

    def is_frozen(self, sample: NDArray[np.uint8]) -> bool:
        """
        Return True if a frame repeats the previous one.

        Only for cameras whose noise has made all frames different so far: a stream's encoder may
        repeat a frame while nothing changes.
        """
        self._same = self._sample is not None and np.array_equal(sample, self._sample)
        self._sample = sample
        return self._same and self._noisy_count >= _MIN_NOISY_FRAMES

    def add_idle_frame(self) -> None:
        """Add a frame without motion: if it differs from the last one, the camera has noise."""
        self._noisy_count = 0 if self._same else self._noisy_count + 1

    def add_unusable_frame(self, at: float) -> float | None:
        """Add an unusable frame; return the length of a gap that is to be reported."""
        if self._last is None:
            self._last = at
        gap_s = at - self._last
        if gap_s <= self._limit(_MAX_UNSEEN_S) or self._reported_at is not None:
            return None
        self._reported_at = at
        return gap_s

    def unseen_s(self, at: float) -> float:
        """Return the time since the last usable frame."""
        return 0.0 if self._last is None else at - self._last

    def add_usable_frame(self, at: float) -> float | None:
        """Add a usable frame; return the length of a gap that is to be reported."""
        before, self._last = self._last, at
        reported_at, self._reported_at = self._reported_at, None
        if before is None:
            return None
        span = at - before
        self.gap_before_frame = span > self._limit(_MAX_FRAME_GAP_S)
        if reported_at is not None:
            return span if at - reported_at > _REPORT_INTERVAL_S else None
        return self._check_gap(span)

    def _check_gap(self, span: float) -> float | None:
        """Ignore a gap whose frame was only delayed: the next frames follow at once."""
        waiting, self._waiting = self._waiting, None
        usual = self._usual
        self._spans.append(span)
        if waiting is not None and span < _DELAYED_FRAME_SHARE * usual:
            self._waiting = waiting - usual
            return None
        if span > self._limit(_MAX_UNSEEN_S):
            self._waiting = span
        return waiting if waiting is not None and waiting > self._limit(_MAX_UNSEEN_S) else None

    @property
    def _usual(self) -> float:
        if not self._spans:
            return _MAX_FRAME_GAP_S / _MAX_INTERVAL_FACTOR
        return float(np.median(self._spans))

    def _limit(self, least: float) -> float:
        return max(least, _MAX_INTERVAL_FACTOR * self._usual)

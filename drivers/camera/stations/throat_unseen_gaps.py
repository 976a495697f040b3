"""
Visibility of the throat: gaps between usable frames, and the edges beside the window.

Missing, frozen and unusable frames make gaps. In a long gap a card may leave unseen. The
surroundings of the window show that the camera still looks at the throat from its place.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.table_projection import TableProjection
from drivers.camera.sources.video_frame import Image

__all__ = ["ThroatEdges", "VisibilityMonitor"]

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
        Whether a frame repeats the previous one.

        Only for cameras whose noise has made all frames different so far: a stream's encoder may
        repeat a frame while nothing changes.
        """
        self._same = self._sample is not None and np.array_equal(sample, self._sample)
        self._sample = sample
        return self._same and self._noisy_count >= _MIN_NOISY_FRAMES

    def add_idle_frame(self) -> None:
        """
        Add a frame without motion: if it differs from the previous one, the camera has noise.
        """
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
        return (
            float(np.median(self._spans))
            if self._spans
            else _MAX_FRAME_GAP_S / _MAX_INTERVAL_FACTOR
        )

    def _limit(self, least: float) -> float:
        return max(least, _MAX_INTERVAL_FACTOR * self._usual)


_COMPARED_WIDTH_PX: Final = 160
"""Width of the shrunk image that is compared."""

_MIN_SIDE_PX: Final = 60
_MIN_GREY_SPREAD: Final = 2.5
"""Minimum number of pixels of a side, and spread of their grey values."""

_MIN_LIKENESS: Final = 0.5
"""Minimum likeness, of 1, of a visible side."""


class ThroatEdges:
    """Compares the areas beside the window, on each of its sides."""

    def __init__(self, profile: Profile, projection: TableProjection, reference: Image) -> None:
        small = _small_grey(reference)
        high, wide = small.shape
        scale = reference.shape[1] / wide
        rows, columns = np.mgrid[0:high, 0:wide]
        pixels = (np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5) * scale
        points = projection.to_table(pixels)
        window = np.array(profile.throat.window if profile.throat is not None else points[:1])
        low, high_ = window.min(axis=0), window.max(axis=0)
        beside = [*(points < low).T, *(points > high_).T]
        sides = [np.flatnonzero(side) for side in beside]
        flat = small.ravel()
        self._sides = [
            (side, _without_mean(flat[side]))
            for side in sides
            if len(side) >= _MIN_SIDE_PX and flat[side].std() >= _MIN_GREY_SPREAD
        ]

    def is_visible(self, image: Image) -> bool:
        """
        Whether at least one side looks as in the reference image, in any light; True where no side
        has enough texture.
        """
        if not self._sides:
            return True
        flat = _small_grey(image).ravel()
        return any(
            float(now @ before)
            > _MIN_LIKENESS * float(np.linalg.norm(now) * np.linalg.norm(before))
            for now, before in (
                (_without_mean(flat[side]), before) for side, before in self._sides
            )
        )


def _small_grey(image: Image) -> NDArray[np.float32]:
    size = (
        _COMPARED_WIDTH_PX,
        max(1, round(_COMPARED_WIDTH_PX * image.shape[0] / image.shape[1])),
    )
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.float32)


def _without_mean(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(values - values.mean(), np.float32)

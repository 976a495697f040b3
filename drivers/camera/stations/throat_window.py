"""
The window at the shoe's mouth: what covers it, and where the card in it lies.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivers.camera.profile.camera_profile import Profile, Throat
from drivers.camera.recognition.card_detection import different
from drivers.camera.recognition.outline_fitting import Found, Pose, Scene, fit_card, grey_of
from drivers.camera.recognition.table_geometry import Floats, Ground, Patch, Raster
from drivers.camera.sources.frame_quality import Image
from drivers.camera.stations.card_track import Extent, runs

__all__ = ["Aimed", "Mouth"]

Floats32 = NDArray[np.float32]

_ROWS: Final = 1.0
_COLUMNS: Final = 3.0
"""Millimetres between the points by which the mouth is watched, along and across."""

_DIFFERENT: Final = 30.0
"""Grey values from the empty mouth, beyond which something is there."""

_COVERED: Final = 0.55
"""Share of a row that something as wide as a card covers; a finger does not."""

_ALIKE: Final = 14.0
"""Grey values from the empty mouth, up to which it looks as it does empty."""

_FREE: Final = 0.45
"""Share of a row that looks as it does empty: no card, which is as wide, lies there."""

_SOFT: Final = 8
"""Rows beside something in which its blurred edge hides the mouth."""

_STRIP: Final = 8
"""Rows whose pattern is compared."""

_LIKE: Final = 0.45
"""Likeness of its pattern by which the empty mouth is known in another light."""

_PLAIN: Final = 0.5
"""Spread of grey values up to which there is no pattern."""

_GAP: Final = 12
"""Rows of dark print across a whole card, which are no gap between two."""

_SHOWS: Final = 0.5
"""Share of an edge, or of both beside it together, that has to be seen."""

_BESIDE: Final = 1.5
"""Millimetres by which an index may reach behind the plates."""


class Aimed(NamedTuple):
    """
    A card that was found in the mouth.

    Attributes:
        quad: Its corners in the picture, in reading order.
        patch: What was looked at.
    """

    quad: Floats
    patch: Image


class Mouth:
    """
    The window, seen along the way that cards leave.

    Attributes:
        length: Of a card along that way, in millimetres.
        low: Where the window begins, at the shoe.
        leading: Which of a card's two ends leads: 0 for the upper one, 1 for the lower.
    """

    leading: Final = 1

    def __init__(self, profile: Profile, ground: Ground, reference: Image) -> None:
        throat = profile.throat
        if throat is None:
            raise ValueError("no [throat] in this profile")
        self._card = profile.card.width, profile.card.height
        self._sideways = throat.turn == 90  # noqa: PLR2004 - degrees
        wide, high = self._card
        self.length, across = (wide, high) if self._sideways else (high, wide)
        corners = np.array(throat.window)
        self._centre = corners.mean(axis=0)
        self._axes = _axes_of(ground, throat, self._centre)
        self._window = (corners - self._centre) @ self._axes.T
        along = self._window[:, 0 if self._sideways else 1]
        self._positions = np.arange(along.min() + _ROWS / 2, along.max(), _ROWS)
        self.low = float(along.min())
        self._raster = self._make_raster(ground, across)
        self._empty = self._raster.sample(reference).astype(np.float32)
        self._pattern = _pattern(self._empty.mean(axis=2))
        self._stray = float(np.abs(along).max()) + self.length / 2
        reach = float(np.abs(self._window).max()) + 4
        centre = float(self._centre[0]), float(self._centre[1])
        self._patch = Patch(ground, centre, self._axes, reach)
        self._bare = self._patch.cut(reference)

    def _make_raster(self, ground: Ground, across: float) -> Raster:
        lane = np.arange(-across / 2 + 4, across / 2 - 3, _COLUMNS)
        rows, columns = np.meshgrid(self._positions, lane, indexing="ij")
        flat = (rows, columns) if self._sideways else (columns, rows)
        points = np.stack(flat, axis=-1).reshape(-1, 2) @ self._axes + self._centre
        return Raster(ground.to_pixels(points), rows.shape)

    def sample(self, image: Image) -> Image:
        """
        Take the points by which the window is watched.
        """
        return self._raster.sample(image)

    def extents(self, sample: Image, at: float, gain: float) -> list[Extent]:
        """
        Say what covers the window, from the shoe outwards: nothing only where so much of the
        empty mouth is seen everywhere that no card can be there.
        """
        empty = self._empty * gain
        apart = np.abs(sample - empty).max(axis=2)
        covered = (apart > _DIFFERENT * min(1.0, max(0.4, gain))).mean(axis=1) > _COVERED
        hidden = (apart <= _ALIKE * max(1.0, gain)).mean(axis=1) < _FREE
        if hidden.any():
            shows = self._shows(sample)
            covered, hidden = covered & ~shows, hidden & ~shows
        return runs(_closed(covered | _apart(hidden, covered), hidden), self._positions, at)

    def _shows(self, sample: Image) -> NDArray[np.bool_]:
        """
        Say in which rows the pattern of the empty mouth shows: also in another light.
        """
        now, empty = _pattern(sample.mean(axis=2, dtype=np.float32)), self._pattern
        alike, this, that = (_together(each) for each in (now * empty, now**2, empty**2))
        clear = (alike > _LIKE * np.sqrt(this * that)) & (empty.std(axis=(1, 2)) > _PLAIN)
        return np.pad(np.repeat(clear, _STRIP), (0, len(sample) - _STRIP * len(clear)))

    def aim(self, image: Image, extent: Extent, gain: float, *, leading: bool) -> Aimed | None:
        """
        Find the card whose leading, or trailing, edge is the one of what covers the window.
        """
        if not (extent.ends if leading else extent.starts):
            return None
        half = self.length / 2
        along = extent.end - half if leading else extent.start + half
        patch = self._patch.cut(image)
        mask = different(patch, self._bare, gain)
        pose = Pose(along, 0.0, 0.0) if self._sideways else Pose(0.0, along, 0.0)
        scene = Scene(grey_of(patch), mask, self._patch.scale, self._card, self._stray)
        found = fit_card(scene, pose)
        if found is None or not self._is_founded(found, leading=leading):
            return None
        return Aimed(self._patch.to_picture(found.quad), patch)

    def _is_founded(self, found: Found, *, leading: bool) -> bool:
        top, right, bottom, left = found.sides
        front, back, beside = (
            (right, left, top + bottom) if self._sideways else (bottom, top, left + right)
        )
        return (front if leading else back) >= _SHOWS and beside >= _SHOWS

    def holds(self, ground: Ground, pixels: Floats) -> bool:
        """
        Whether points of the picture are all in the window.
        """
        local = (ground.to_table(pixels) - self._centre) @ self._axes.T
        low, high = self._window.min(axis=0) - _BESIDE, self._window.max(axis=0) + _BESIDE
        return bool(((local >= low) & (local <= high)).all())


def _pattern(rows: Floats32) -> Floats32:
    """
    Return strips of rows without all that changes slowly: light and shadow.
    """
    fine = np.diff(np.diff(rows, axis=0, append=rows[-1:]), axis=1)
    return fine[: len(fine) // _STRIP * _STRIP].reshape(-1, _STRIP, fine.shape[1])


def _together(strips: Floats32) -> NDArray[np.float64]:
    """
    Sum up each strip with those beside it.
    """
    return np.convolve(strips.sum(axis=(1, 2)), np.ones(3), "same")


def _apart(hidden: NDArray[np.bool_], covered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """
    Return the hidden rows that are not just beside covered ones: dark print, a dark back.
    """
    near = np.convolve(covered, np.ones(2 * _SOFT + 1), "same") > 0
    return np.asarray(hidden & ~near)


def _closed(covered: NDArray[np.bool_], hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """
    Fill the gaps in which the empty mouth does not show: dark print across a whole card.
    """
    there = np.flatnonzero(covered)
    filled = covered.copy()
    for before, after in pairwise(there):
        if after - before <= _GAP or hidden[before + 1 : after].all():
            filled[before:after] = True
    return filled


def _axes_of(ground: Ground, throat: Throat, centre: Floats) -> Floats:
    """
    Return a card's short and long side as it passes: it moves along the positive one.
    """
    way = np.array(throat.direction, np.float64)
    way /= np.hypot(*way)
    x, y = way
    axes = np.array([(x, y), (-y, x)]) if throat.turn else np.array([(y, -x), (x, y)])
    if ground.is_mirrored((float(centre[0]), float(centre[1]))):
        axes[1 if throat.turn else 0] *= -1
    return axes

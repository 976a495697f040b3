"""The watched window of the throat: its covered extents, and the pose of the card in it."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.profile.sections import Profile, Throat
from drivers.camera.recognition.outline_fitting import (
    FittedCard,
    PatchScene,
    Pose,
    edge_image,
    fit_card,
)
from drivers.camera.recognition.outline_search import difference_mask
from drivers.camera.recognition.table_projection import Floats, Patch, Raster, TableProjection
from drivers.camera.stations.card_track import MIN_EXTENT_MM, Extent

Floats32 = NDArray[np.float32]

_WINDOW_END_MM: Final = 3.0
"""Distance from an end of the window within which an object extends beyond it."""

_ROW_STEP_MM: Final = 1.0
_COLUMN_STEP_MM: Final = 3.0
"""Distance of the sample points, along and across."""

_MIN_DIFFERENCE: Final = 30.0
"""Grey difference from the empty throat beyond which a point is covered."""

_MIN_COVERED_SHARE: Final = 0.55
"""Share of a row that a card covers; a finger covers less."""

_MAX_EMPTY_DIFFERENCE: Final = 14.0
"""Grey difference from the empty throat up to which a point is free."""

_MIN_FREE_SHARE: Final = 0.45
"""Share of free points in a row that no card covers."""

_BLURRED_EDGE_ROWS: Final = 8
"""Rows beside an object that its blurred edge hides."""

_STRIP_ROWS: Final = 8
"""Rows whose pattern is compared."""

_MIN_PATTERN_LIKENESS: Final = 0.45
"""Minimum likeness of the empty throat's pattern in another light."""

_MIN_PATTERN_SPREAD: Final = 0.5
"""Spread of grey values up to which there is no pattern."""

_MAX_GAP_ROWS: Final = 12
"""Rows of dark print across a whole card, which are not a gap between two cards."""

_MIN_VISIBLE_SHARE: Final = 0.5
"""Share of an edge, or of both sides together, that has to be visible."""

_WINDOW_TOLERANCE_MM: Final = 1.5
"""Distance by which an index may extend beyond the window."""


class ThroatWindow:
    """
    The window, along the direction in which cards leave.

    Attributes:
        length: Length of a card in that direction, in millimetres.
        start: Position of the window's begin, at the shoe.
    """

    def __init__(self, profile: Profile, projection: TableProjection, reference: Image) -> None:
        throat = profile.throat
        if throat is None:
            raise ValueError("no [throat] in this profile")
        self._card = profile.card.width, profile.card.height
        self._sideways = throat.turn == 90  # noqa: PLR2004 - degrees
        wide, high = self._card
        self.length, across = (wide, high) if self._sideways else (high, wide)
        corners = np.array(throat.window)
        self._centre = corners.mean(axis=0)
        self._axes = _card_axes(projection, throat, self._centre)
        self._window = (corners - self._centre) @ self._axes.T
        along = self._window[:, 0 if self._sideways else 1]
        self._positions = np.arange(along.min() + _ROW_STEP_MM / 2, along.max(), _ROW_STEP_MM)
        self.start = float(along.min())
        self._raster = self._make_raster(projection, across)
        self._empty = self._raster.sample(reference).astype(np.float32)
        self._pattern = _pattern(self._empty.mean(axis=2))
        self._stray = float(np.abs(along).max()) + self.length / 2
        reach = float(np.abs(self._window).max()) + 4
        centre = float(self._centre[0]), float(self._centre[1])
        self._patch = Patch(projection, centre, self._axes, reach)
        self._bare = self._patch.cut(reference)

    def _make_raster(self, projection: TableProjection, across: float) -> Raster:
        lane = np.arange(-across / 2 + 4, across / 2 - 3, _COLUMN_STEP_MM)
        rows, columns = np.meshgrid(self._positions, lane, indexing="ij")
        flat = (rows, columns) if self._sideways else (columns, rows)
        points = np.stack(flat, axis=-1).reshape(-1, 2) @ self._axes + self._centre
        return Raster(projection.to_pixels(points), rows.shape)

    def sample(self, image: Image) -> Image:
        """Sample the points of the window."""
        return self._raster.sample(image)

    def extents(self, sample: Image, at: float, gain: float) -> list[Extent]:
        """
        Return the covered extents, from the shoe outwards: none only where so much of the empty
        throat is visible everywhere that no card can be there.
        """
        empty = self._empty * gain
        apart = np.abs(sample - empty).max(axis=2)
        differs = apart > _MIN_DIFFERENCE * min(1.0, max(0.4, gain))
        covered = differs.mean(axis=1) > _MIN_COVERED_SHARE
        hidden = (apart <= _MAX_EMPTY_DIFFERENCE * max(1.0, gain)).mean(axis=1) < _MIN_FREE_SHARE
        if hidden.any():
            shows = self._pattern_rows(sample)
            covered, hidden = covered & ~shows, hidden & ~shows
        filled = _fill_gaps(covered | _away_from_covered(hidden, covered), hidden)
        return covered_extents(filled, self._positions, at)

    def _pattern_rows(self, sample: Image) -> NDArray[np.bool_]:
        """Return the rows in which the pattern of the empty throat is visible, in any light."""
        now, empty = _pattern(sample.mean(axis=2, dtype=np.float32)), self._pattern
        alike, this, that = (_sum_neighbours(each) for each in (now * empty, now**2, empty**2))
        clear = alike > _MIN_PATTERN_LIKENESS * np.sqrt(this * that)
        clear &= empty.std(axis=(1, 2)) > _MIN_PATTERN_SPREAD
        return np.pad(np.repeat(clear, _STRIP_ROWS), (0, len(sample) - _STRIP_ROWS * len(clear)))

    def align_card(
        self, image: Image, extent: Extent, gain: float, *, leading: bool
    ) -> tuple[Floats, Image] | None:
        """
        Find the card whose leading, or trailing, edge is that of an extent; return its corners in
        the frame, in reading order, and the searched area.
        """
        if not (extent.ends if leading else extent.starts):
            return None
        half = self.length / 2
        along = extent.end - half if leading else extent.start + half
        patch = self._patch.cut(image)
        mask = difference_mask(patch, self._bare, gain)
        pose = Pose(along, 0.0, 0.0) if self._sideways else Pose(0.0, along, 0.0)
        scene = PatchScene(edge_image(patch), mask, self._patch.scale, self._card, self._stray)
        found = fit_card(scene, pose)
        if found is None or not self._is_founded(found, leading=leading):
            return None
        return self._patch.to_picture(found.quad), patch

    def _is_founded(self, found: FittedCard, *, leading: bool) -> bool:
        top, right, bottom, left = found.sides
        front, back, beside = (
            (right, left, top + bottom) if self._sideways else (bottom, top, left + right)
        )
        return (front if leading else back) >= _MIN_VISIBLE_SHARE and beside >= _MIN_VISIBLE_SHARE

    def contains(self, projection: TableProjection, pixels: Floats) -> bool:
        """True if points of the frame are all in the window."""
        local = (projection.to_table(pixels) - self._centre) @ self._axes.T
        low = self._window.min(axis=0) - _WINDOW_TOLERANCE_MM
        high = self._window.max(axis=0) + _WINDOW_TOLERANCE_MM
        return bool(((local >= low) & (local <= high)).all())


def covered_extents(
    occupied: NDArray[np.bool_], positions: NDArray[np.float64], at: float
) -> list[Extent]:
    """Return the extents of the occupied rows at these positions, from the shoe outwards."""
    step = float(positions[1] - positions[0])
    padded = np.concatenate([[False], occupied, [False]])
    changes = np.flatnonzero(padded[1:] != padded[:-1])
    low, high = float(positions[0]) - step / 2, float(positions[-1]) + step / 2
    found = []
    for first, last in zip(changes[::2], changes[1::2], strict=True):
        start, end = low + first * step, low + last * step
        if end - start >= MIN_EXTENT_MM:
            found.append(
                Extent(at, start, end, start > low + _WINDOW_END_MM, end < high - _WINDOW_END_MM)
            )
    return found


def _pattern(rows: Floats32) -> Floats32:
    """Return strips of rows without slow changes such as light and shadow."""
    fine = np.diff(np.diff(rows, axis=0, append=rows[-1:]), axis=1)
    return fine[: len(fine) // _STRIP_ROWS * _STRIP_ROWS].reshape(-1, _STRIP_ROWS, fine.shape[1])


def _sum_neighbours(strips: Floats32) -> NDArray[np.float64]:
    """Add each strip to its neighbours."""
    return np.convolve(strips.sum(axis=(1, 2)), np.ones(3), "same")


def _away_from_covered(hidden: NDArray[np.bool_], covered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the hidden rows that are not beside covered ones: dark print, a dark back."""
    near = np.convolve(covered, np.ones(2 * _BLURRED_EDGE_ROWS + 1), "same") > 0
    return np.asarray(hidden & ~near)


def _fill_gaps(covered: NDArray[np.bool_], hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Fill gaps in which the empty throat is not visible: dark print across a whole card."""
    there = np.flatnonzero(covered)
    filled = covered.copy()
    for before, after in pairwise(there):
        if after - before <= _MAX_GAP_ROWS or hidden[before + 1 : after].all():
            filled[before:after] = True
    return filled


def _card_axes(projection: TableProjection, throat: Throat, centre: Floats) -> Floats:
    """Return a card's short and long side in the throat: it moves in the positive direction."""
    way = np.array(throat.direction, np.float64)
    way /= np.hypot(*way)
    x, y = way
    axes = np.array([(x, y), (-y, x)]) if throat.turn else np.array([(y, -x), (x, y)])
    if projection.is_mirrored((float(centre[0]), float(centre[1]))):
        axes[1 if throat.turn else 0] *= -1
    return axes

"""Projection from millimetres on the table to pixels, and upright images of places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.profile.sections import CardSize, Place, Point, Profile

Floats = NDArray[np.float64]
PixelShift = tuple[int, int]
"""Shift of the table in the image since the calibration, to the right and down, in pixels."""

NO_SHIFT: Final[PixelShift] = (0, 0)

RemapTables = tuple[NDArray[Any], NDArray[Any]]
"""Pixels to sample, in the two parts in which OpenCV is fastest."""

MAX_STRAY_MM: Final = 38.0
"""Distance by which a card may lie off its place: a third card may overlap others."""

_MAX_PX_PER_MM: Final = 2.2
_MIN_PX_PER_MM: Final = 1.2
"""Maximum and minimum resolution of a place's upright image."""

_RASTER_STEP_MM: Final = 3.0
"""Distance between the sample points of a place."""


class TableProjection:
    """Projection between the plane of the cards and the image."""

    def __init__(self, profile: Profile) -> None:
        self._matrix: Floats = np.array(profile.table.homography, np.float64)
        self._back: Floats = np.asarray(np.linalg.inv(self._matrix), np.float64)
        self._lens: tuple[Floats, Floats] | None = None
        if profile.lens is not None:
            self._lens = np.array(profile.lens.matrix), np.array(profile.lens.distortion)

    def to_pixels(self, points: Iterable[Point] | Floats) -> Floats:
        """Return the pixels of points on the table, given in millimetres."""
        flat = transform_points(self._matrix, np.asarray(points, np.float64).reshape(-1, 2))
        if self._lens is None:
            return flat
        matrix, bent = self._lens
        rays = np.column_stack([flat, np.ones(len(flat))]) @ np.linalg.inv(matrix).T
        nothing = np.zeros(3)
        found, _ = cv2.projectPoints(rays.reshape(-1, 1, 3), nothing, nothing, matrix, bent)
        return np.asarray(found, np.float64).reshape(-1, 2)

    def to_table(self, points: Iterable[Point] | Floats) -> Floats:
        """Return the points on the table of pixels."""
        return transform_points(self._back, self.undistort(points))

    def undistort(self, points: Iterable[Point] | Floats) -> Floats:
        """Return pixels of the undistorted image: there the projection is a homography."""
        flat = np.asarray(points, np.float64).reshape(-1, 2)
        if self._lens is None:
            return flat
        matrix, distortion = self._lens
        straight = cv2.undistortPoints(flat.reshape(-1, 1, 2), matrix, distortion, None, matrix)
        return np.asarray(straight, np.float64).reshape(-1, 2)

    def remap_tables(self, square: Floats, size: int) -> RemapTables:
        """
        Return the pixels of the points of a square grid on the table.

        Args:
            square: Maps a column and a row of the grid to a point on the table.
            size: Rows, and columns.
        """
        matrix, distortion = self._lens or (np.eye(3), np.zeros(4))
        # OpenCV takes the way from the rays before the lens to the grid, usually a rotation.
        way = np.linalg.inv(np.linalg.inv(matrix) @ self._matrix @ square)
        first, second = cv2.initUndistortRectifyMap(
            matrix, distortion, way, np.eye(3), (size, size), cv2.CV_16SC2
        )
        return np.asarray(first), np.asarray(second)

    def scale(self, at: Point) -> float:
        """Return the pixels per millimetre at a point of the table, in the worst direction."""
        return float(np.linalg.svd(self._slope(at), compute_uv=False)[-1])

    def is_mirrored(self, at: Point) -> bool:
        """True if the table's axes have the opposite orientation to the image's."""
        return bool(np.linalg.det(self._slope(at)) < 0)

    def _slope(self, at: Point) -> Floats:
        x, y = at
        base, right, down = self.to_pixels([(x, y), (x + 1, y), (x, y + 1)])
        return np.column_stack([right - base, down - base])


class Patch:
    """
    A square area of the table, seen from above, turned so that a card is upright.

    Attributes:
        scale: Pixels per millimetre.
        size: Pixels of a side.
    """

    def __init__(
        self, projection: TableProjection, centre: Point, axes: Floats, reach: float
    ) -> None:
        self.scale = min(_MAX_PX_PER_MM, max(_MIN_PX_PER_MM, projection.scale(centre)))
        self.size = int(np.ceil(2 * reach * self.scale))
        self._projection = projection
        self._centre = np.array(centre)
        self._axes = axes
        corner = self.to_table(np.zeros(2))
        whole = np.column_stack([*(axes / self.scale), corner])
        self._maps = projection.remap_tables(np.vstack([whole, [0, 0, 1]]), self.size)

    def cut(self, image: Image, shift: PixelShift = NO_SHIFT) -> Image:
        """Cut the area out of an image in which the table is shifted."""
        return _remap(image, self._maps, shift)

    def to_table(self, points: Floats) -> Floats:
        """Return the points on the table of pixels of the patch."""
        local = (points - self.size / 2) / self.scale
        found: Floats = local @ self._axes + self._centre
        return found

    def to_picture(self, points: Floats) -> Floats:
        """Return the pixels in the image of pixels of the patch."""
        return self._projection.to_pixels(self.to_table(points))


class Raster:
    """A grid of points of the image that is sampled in every frame."""

    def __init__(self, pixels: Floats, shape: tuple[int, int]) -> None:
        self._maps = _remap_tables(pixels, shape)

    def sample(self, image: Image, shift: PixelShift = NO_SHIFT) -> Image:
        """Sample the points of an image in which the table is shifted."""
        return _remap(image, self._maps, shift)


def max_stray_mm(place: Place, places: Iterable[Place]) -> float:
    """Return the distance by which a card may lie off its place and still not on another one."""
    far = [
        float(np.hypot(*(np.array(place.centre) - np.array(other.centre))))
        for other in places
        if other is not place and other.turn == place.turn
    ]
    return min([MAX_STRAY_MM, *(each / 2 - 1 for each in far)])


def place_patch(projection: TableProjection, place: Place, card: CardSize) -> Patch:
    """Return the area of the table in which a place's card is searched."""
    reach = float(np.hypot(card.width, card.height)) / 2 + MAX_STRAY_MM
    return Patch(projection, place.centre, card_axes(projection, place.centre, place.turn), reach)


def places_raster(projection: TableProjection, places: Sequence[Place], card: CardSize) -> Raster:
    """
    Return sample points of places, one below the other: of a card in the middle of each, and
    a small margin.
    """
    u = np.arange(-card.width / 2 - 2, card.width / 2 + 2.1, _RASTER_STEP_MM)
    v = np.arange(-card.height / 2 - 2, card.height / 2 + 2.1, _RASTER_STEP_MM)
    grid = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    points = [
        grid @ card_axes(projection, place.centre, place.turn) + np.array(place.centre)
        for place in places
    ]
    return Raster(projection.to_pixels(np.concatenate(points)), (len(v) * len(places), len(u)))


def card_axes(projection: TableProjection, centre: Point, turn: int) -> Floats:
    """Return the directions of a card's short and long side on the table, as rows."""
    axes = np.eye(2) if turn == 0 else np.array([[0.0, 1.0], [-1.0, 0.0]])
    if projection.is_mirrored(centre):
        axes[0] = -axes[0]
    return axes


def transform_points(matrix: Floats, points: Floats) -> Floats:
    """Return the points to which a homography maps points."""
    if not len(points):
        return points
    found = cv2.perspectiveTransform(points.reshape(-1, 1, 2), matrix)
    return np.asarray(found, np.float64).reshape(-1, 2)


def _remap_tables(points: Floats, shape: tuple[int, int]) -> RemapTables:
    x, y = (points[:, i].astype(np.float32).reshape(shape) for i in (0, 1))
    first, second = cv2.convertMaps(x, y, cv2.CV_16SC2)
    return np.asarray(first), np.asarray(second)


def _remap(image: Image, maps: RemapTables, shift: PixelShift) -> Image:
    whole, rest = maps
    if shift != NO_SHIFT:
        whole = whole + np.array(shift, whole.dtype)
    found = cv2.remap(image, whole, rest, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(found, np.uint8)

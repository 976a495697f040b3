"""
Whether the camera still looks at what its profile describes: the light, the likeness
of the picture to that of the empty table, and by how much it was moved.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.profile.camera_profile import Point, Profile
from drivers.camera.recognition.table_geometry import HERE, Aside, Floats, Ground, Raster
from drivers.camera.sources.frame_quality import Image
from drivers.transport import LineError

__all__ = ["MOST_MOVED", "Ambience", "Bearings", "Light"]

MOST_MOVED: Final = 15.0
"""Millimetres from which a moved camera is not trusted: places would be mistaken."""

_CLEAR_OF: Final = 75.0
"""Millimetres from a place's middle within which cards come and go."""

_MARGIN: Final = 2.0
"""Millimetres beside a shoe's mouth in which nothing moves any more."""

_GRID: Final = (36, 64)
"""Rows and columns of the points at which the light is measured."""

_LEAST_POINTS: Final = 60
"""Those of them that have to lie beside the places; else all are taken."""

_EVERY: Final = 1.0
_IN_A_ROW: Final = 3
"""Seconds between two looks, and looks in a row after which it is told what is wrong."""

_SMALL: Final = 4
"""By how much pictures are made smaller to be compared."""

_TILE: Final = 28
_REACH: Final = 26
"""Pixels of the small picture: of a tile's side, and by how far it is looked for."""

_TILES: Final = 14
_LEAST_TILES: Final = 4
"""Tiles at the most, and those with fewer than which nothing can be told."""

_LEAST_TEXTURE: Final = 5.0
"""Mean slope of a tile's grey values, without which it looks like any other."""

_FOUND: Final = 0.55
"""Likeness, of 1, from which a tile is found again."""

_AGREE: Final = 2.0
"""Pixels of the small picture from the median within which tiles agree."""

_LEAST_AGREEING: Final = 0.3
"""Share of all tiles that have to."""

_BETWEEN: Final = 0.8
"""Pixels by which the table has to be elsewhere before it is looked for there."""


class Light(NamedTuple):
    """
    How the picture is lit.

    Attributes:
        gain: Against the picture of the empty table.
        noise: The usual difference of a point between two pictures.
    """

    gain: float
    noise: float


class Ambience:
    """
    Watches the table between the places.
    """

    def __init__(self, profile: Profile, ground: Ground, reference: Image) -> None:
        pixels = _grid(profile)
        kept = pixels[_away_from_places(profile, ground.to_table(pixels))]
        if len(kept) < _LEAST_POINTS:
            kept = pixels
        self._raster = Raster(kept, (1, len(kept)))
        brightest = _brightest(self._raster.sample(reference))
        # Grey values that tell something.
        self._lit = np.flatnonzero(brightest > 16)  # noqa: PLR2004 - as above
        self._reference = brightest[self._lit].astype(np.float32)
        self._before: Image | None = None
        self._noise = 2.0

    def measure(self, image: Image) -> Light:
        """
        Say how a picture is lit.
        """
        now = self._raster.sample(image)
        if self._before is not None:
            apart = float(np.median(cv2.absdiff(now, self._before)))
            # Slowly: one picture in which much moves is no noise.
            self._noise += 0.1 * (min(apart * 1.48, 12.0) - self._noise)
        self._before = now
        if not len(self._lit):
            return Light(1.0, self._noise)
        ratio = _brightest(now)[self._lit] / self._reference
        return Light(float(np.clip(np.median(ratio), 0.15, 4.0)), self._noise)


def _brightest(points: Image) -> Image:
    # Over three colours numpy's own maximum takes ten times as long.
    blue, green, red = (points[0, :, colour] for colour in range(3))
    return np.asarray(np.maximum(np.maximum(blue, green), red), np.uint8)


class Bearings:
    """
    Looks for pieces of the empty table, every second or so, and whether they are where
    they were. Cards and hands hide some; those that are seen have to agree.

    Attributes:
        moved: By how many millimetres the camera has moved; None where that is not known.
        aside: Where the table is in the picture now, as far as it is trusted.
    """

    def __init__(self, profile: Profile, ground: Ground, reference: Image) -> None:
        self.moved: float | None = None
        self.aside: Aside = HERE
        x, y = np.mean(_watched(profile), axis=0)
        self._scale = ground.scale((float(x), float(y)))
        small = _small(reference)
        self._tiles = [
            (x, y, small[y : y + _TILE, x : x + _TILE]) for x, y in _choose(small, profile, ground)
        ]
        self._next: float | None = None
        self._looked: float | None = None
        self._unlike = 0
        self._shifts: list[float] = []

    def check(self, image: Image, at: float) -> bool:
        """
        Look, if it is time to; tell whether the camera is not known to have moved.

        Raises:
            LineError: The picture is of something else, or of this from elsewhere, and has
                been so for some seconds.
        """
        if len(self._tiles) < _LEAST_TILES or (self._next is not None and at < self._next):
            return self._is_near
        self._next = at + _EVERY
        self._look(image, at)
        self._unlike = self._unlike + 1 if self.moved is None else 0
        if self._unlike >= _IN_A_ROW:
            raise LineError(
                "camera: the picture is of something else than the profile's table: is it this "
                "camera's profile?"
            )
        if self.moved is not None:
            self._shifts = [*self._shifts, self.moved][-_IN_A_ROW:]
        if len(self._shifts) == _IN_A_ROW and min(self._shifts) > MOST_MOVED:
            raise LineError(
                f"camera: the camera has moved by {np.median(self._shifts):.0f} mm on the "
                "table: set it back, or calibrate it again"
            )
        return self._is_near

    def confirm(self, image: Image, at: float, since: float) -> bool:
        """
        Tell whether the table was seen where it is thought to be, at a moment or after it;
        look once more where that is not known. What lies on a place is told only then.
        """
        if len(self._tiles) < _LEAST_TILES:
            return True
        known = self._looked is not None and self._looked >= since
        if (not known or self.moved is None) and self._looked != at:
            self._look(image, at)
        return self.moved is not None and self._is_near

    def _look(self, image: Image, at: float) -> None:
        shift, self._looked = self._shift(_small(image)), at
        self.moved = None if shift is None else float(np.hypot(*shift)) / self._scale
        if shift is None or not self._is_near:
            return
        # Not to and fro where it is just between two pixels.
        if float(np.abs(shift - self.aside).max()) > _BETWEEN:
            x, y = shift.round()
            self.aside = int(x), int(y)

    @property
    def _is_near(self) -> bool:
        return self.moved is None or self.moved <= MOST_MOVED

    def _shift(self, now: Image) -> Floats | None:
        """
        Say by how many pixels the table is aside.
        """
        found = [self._find(now, *tile) for tile in self._tiles]
        shifts = np.array([shift for score, shift in found if score >= _FOUND]).reshape(-1, 2)
        if len(shifts) < _LEAST_TILES - 1:
            return None
        middle = np.median(shifts, axis=0)
        agree = np.hypot(*(shifts - middle).T) <= _AGREE
        if np.count_nonzero(agree) < _LEAST_AGREEING * len(self._tiles):
            return None
        return np.asarray(np.median(shifts[agree], axis=0) * _SMALL, np.float64)

    def _find(self, now: Image, x: int, y: int, tile: Image) -> tuple[float, Point]:
        left, top = max(0, x - _REACH), max(0, y - _REACH)
        around = now[top : y + _TILE + _REACH, left : x + _TILE + _REACH]
        likeness = cv2.matchTemplate(around, tile, cv2.TM_CCOEFF_NORMED)
        _, score, _, (column, row) = cv2.minMaxLoc(likeness)
        across = _peak(likeness[row, max(0, column - 1) : column + 2])
        along = _peak(likeness[max(0, row - 1) : row + 2, column])
        return score, (column + across - (x - left), row + along - (y - top))


def _peak(three: NDArray[Any]) -> float:
    """
    Say how far from the middle one of three values a curve through them is highest.
    """
    if len(three) < 3:  # noqa: PLR2004 - at the rim
        return 0.0
    low, middle, high = (float(each) for each in three)
    bend = low - 2 * middle + high
    return 0.0 if bend >= 0 else (low - high) / (2 * bend)


def _small(image: Image) -> Image:
    height, width = image.shape[:2]
    size = (width // _SMALL, height // _SMALL)
    small = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return np.asarray(cv2.GaussianBlur(small, (3, 3), 0), np.uint8)


def _choose(small: Image, profile: Profile, ground: Ground) -> list[tuple[int, int]]:
    """
    Choose tiles with the most to be seen on them, away from where cards come to lie.
    """
    slope = np.hypot(cv2.Sobel(small, cv2.CV_32F, 1, 0), cv2.Sobel(small, cv2.CV_32F, 0, 1))
    rows, columns = small.shape[0] - _TILE, small.shape[1] - _TILE
    corners = [(x, y) for y in range(4, rows, _TILE // 2) for x in range(4, columns, _TILE // 2)]
    middles = (np.array(corners, np.float64) + _TILE / 2) * _SMALL
    away = _away_from_places(profile, ground.to_table(middles))
    told = [
        (float(slope[y : y + _TILE, x : x + _TILE].mean()), (x, y))
        for (x, y), free in zip(corners, away, strict=True)
        if free
    ]
    chosen: list[tuple[int, int]] = []
    for texture, (x, y) in sorted(told, reverse=True):
        apart = all(max(abs(x - left), abs(y - top)) >= _TILE for left, top in chosen)
        if texture >= _LEAST_TEXTURE and apart and len(chosen) < _TILES:
            chosen.append((x, y))
    return chosen


def _grid(profile: Profile) -> Floats:
    rows, columns = _GRID
    x = (np.arange(columns) + 0.5) * profile.camera.width / columns
    y = (np.arange(rows) + 0.5) * profile.camera.height / rows
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _watched(profile: Profile) -> list[tuple[float, float]]:
    """
    Return the middles of places, or the corners of a shoe's mouth.
    """
    if profile.throat is not None:
        return list(profile.throat.window)
    return [place.centre for place in profile.place]


def _away_from_places(profile: Profile, points: Floats) -> NDArray[np.bool_]:
    if profile.throat is not None:
        window = np.array(profile.throat.window)
        low, high = window.min(axis=0) - _MARGIN, window.max(axis=0) + _MARGIN
        return np.asarray(((points < low) | (points > high)).any(axis=1))
    away = np.ones(len(points), np.bool_)
    for centre in _watched(profile):
        away &= np.hypot(*(points - np.array(centre)).T) > _CLEAR_OF
    return away

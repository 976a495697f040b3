"""
Checks of a frame against the profile's reference image: lighting, colours, pose, edges of the
throat.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.evidence import Evidence
from drivers.camera.image import Image
from drivers.camera.profile.sections import Point, Profile
from drivers.camera.recognition.card_reader import CardReader
from drivers.camera.recognition.outline_fitting import max_channel
from drivers.camera.recognition.table_projection import (
    NO_SHIFT,
    Floats,
    PixelShift,
    Raster,
    TableProjection,
)
from drivers.transport import LineError

MAX_CAMERA_SHIFT_MM: Final = 15.0
"""Shift from which a moved camera is rejected: its places would be confused."""

_PLACE_RADIUS_MM: Final = 75.0
"""Distance from a place's middle within which cards come and go."""

_THROAT_MARGIN_MM: Final = 2.0
"""Margin beside the throat's window within which cards may still be visible."""

_LIGHT_GRID: Final = (36, 64)
"""Rows and columns of the points at which the lighting is measured."""

_MIN_LIGHT_POINTS: Final = 60
"""Number of points that have to lie beside the places; else all points are used."""

_CHECK_INTERVAL_S: Final = 1.0
_MAX_FAILED_CHECKS: Final = 3
"""Interval of the checks, and consecutive failures after which an error is raised."""

_SHRINK_FACTOR: Final = 4
"""Factor by which images are shrunk for the comparison."""

_TILE_PX: Final = 28
_SEARCH_PX: Final = 26
"""Side of a tile and range of its search, in pixels of the shrunk image."""

_MAX_TILES: Final = 14
_MIN_TILES: Final = 4
"""Maximum number of tiles, and the number below which nothing is checked."""

_MIN_TEXTURE: Final = 5.0
"""Mean gradient of a tile, without which it resembles any other."""

_MIN_TILE_LIKENESS: Final = 0.55
"""Minimum likeness, of 1, of a tile that is found again."""

_AGREEMENT_PX: Final = 2.0
"""Distance from the median within which tiles agree, in pixels of the shrunk image."""

_MIN_AGREEING_SHARE: Final = 0.3
"""Share of all tiles that have to agree."""

_MIN_SHIFT_PX: Final = 0.8
"""Shift from which the places are read at their new position."""


class Lighting(NamedTuple):
    """
    Lighting of a frame.

    Attributes:
        gain: Brightness, as a multiple of the reference image's.
        noise: Usual difference of a point between two frames.
    """

    gain: float
    noise: float


class LightingMonitor:
    """Measures the lighting of the table between the places."""

    def __init__(self, profile: Profile, projection: TableProjection, reference: Image) -> None:
        pixels = _grid_points(profile)
        kept = pixels[_away_from_places(profile, projection.to_table(pixels))]
        if len(kept) < _MIN_LIGHT_POINTS:
            kept = pixels
        self._raster = Raster(kept, (1, len(kept)))
        brightest = max_channel(self._raster.sample(reference))[0]
        # Darker points are unreliable.
        self._lit = np.flatnonzero(brightest > 16)  # noqa: PLR2004 - as above
        self._reference = brightest[self._lit].astype(np.float32)
        self._before: Image | None = None
        self._noise = 2.0

    def measure(self, image: Image) -> Lighting:
        """Return the lighting of a frame."""
        now = self._raster.sample(image)
        if self._before is not None:
            apart = float(np.median(cv2.absdiff(now, self._before)))
            # Slowly: one frame in which much moves is not noise.
            self._noise += 0.1 * (min(apart * 1.48, 12.0) - self._noise)
        self._before = now
        if not len(self._lit):
            return Lighting(1.0, self._noise)
        ratio = max_channel(now)[0][self._lit] / self._reference
        return Lighting(float(np.clip(np.median(ratio), 0.15, 4.0)), self._noise)


MIN_COLOUR: Final = 5.0
"""Colour, in grey values, below which an image has none: compression leaves one or two."""

_MIN_LIGHT: Final = 8.0
"""Mean grey value, of 255, below which a frame is black."""

_MIN_REFERENCE_COLOUR: Final = 15.0
"""Colour of a reference image from which a frame must have colours too."""


def measure_colour(image: Image) -> float:
    """
    Return the colour of an image: the difference between the channels, of 255, that one pixel in a
    hundred exceeds. It is 0 to 2 in the image of a monochrome or infrared camera.
    """
    some = image[::4, ::4].reshape(-1, 3).astype(np.int16)
    return float(np.percentile(some.max(axis=1) - some.min(axis=1), 99))


class ColourCheck:
    """Checks about every second that the image has colours, where the reference image has them."""

    def __init__(self, reference: Image) -> None:
        self._is_coloured = measure_colour(reference) >= _MIN_REFERENCE_COLOUR
        self._next_check_at = -math.inf
        self._failed_checks = 0

    def check(self, image: Image, at: float) -> None:
        """Check the colours if that is due; a `LineError` if there were none for some seconds."""
        if not self._is_coloured or at < self._next_check_at:
            return
        self._next_check_at = at + _CHECK_INTERVAL_S
        # A black picture has no colours either: that is another fault.
        is_grey = measure_colour(image) < MIN_COLOUR and float(image[::8, ::8].mean()) > _MIN_LIGHT
        self._failed_checks = self._failed_checks + 1 if is_grey else 0
        if self._failed_checks >= _MAX_FAILED_CHECKS:
            raise LineError(
                "camera: the picture has lost its colours: is the camera in night mode "
                "(infrared)? switch that off"
            )


class PoseCheck:
    """
    Searches tiles of the empty table in a frame, about every second, and compares their
    positions. Cards and hands hide some tiles; the visible ones have to agree.

    Attributes:
        shift_mm: Distance by which the camera has moved; None where it is unknown.
        shift_px: Shift of the table in the frame, as far as it is trusted.
    """

    def __init__(self, profile: Profile, projection: TableProjection, reference: Image) -> None:
        self.shift_mm: float | None = None
        self.shift_px: PixelShift = NO_SHIFT
        x, y = np.mean(_watched(profile), axis=0)
        self._scale = projection.scale((float(x), float(y)))
        small = _small_grey(reference)
        self._tiles = [
            (x, y, small[y : y + _TILE_PX, x : x + _TILE_PX])
            for x, y in _choose_tiles(small, profile, projection)
        ]
        self._next_check_at = self._measured_at = -math.inf
        self._failed_checks = 0
        self._shifts: list[float] = []

    def check(self, image: Image, at: float) -> bool:
        """
        Check the pose if it is due; return False where the camera is known to have moved.

        Raises:
            LineError: The frames have shown another scene, or the table from elsewhere, for some
                seconds.
        """
        if len(self._tiles) < _MIN_TILES or at < self._next_check_at:
            return self._is_near
        self._next_check_at = at + _CHECK_INTERVAL_S
        self._measure(image, at)
        self._failed_checks = self._failed_checks + 1 if self.shift_mm is None else 0
        if self._failed_checks >= _MAX_FAILED_CHECKS:
            raise LineError(
                "camera: the picture is of something else than the profile's table: is it this "
                "camera's profile?"
            )
        if self.shift_mm is not None:
            self._shifts = [*self._shifts, self.shift_mm][-_MAX_FAILED_CHECKS:]
        if len(self._shifts) == _MAX_FAILED_CHECKS and min(self._shifts) > MAX_CAMERA_SHIFT_MM:
            raise LineError(
                f"camera: the camera has moved by {np.median(self._shifts):.0f} mm on the "
                "table: set it back, or calibrate it again"
            )
        return self._is_near

    def confirm(self, image: Image, at: float, since: float) -> bool:
        """
        Return whether the table was at its position at a time or after it; check once more where
        that is unknown. Only then is a card on a place certain to be that place's.
        """
        if len(self._tiles) < _MIN_TILES:
            return True
        known = self.shift_mm is not None and self._measured_at >= since
        if not known and self._measured_at != at:
            self._measure(image, at)
        return self.shift_mm is not None and self._is_near

    def _measure(self, image: Image, at: float) -> None:
        shift, self._measured_at = self._shift(_small_grey(image)), at
        self.shift_mm = None if shift is None else float(np.hypot(*shift)) / self._scale
        if shift is None or not self._is_near:
            return
        # Avoids toggling between two pixels.
        if float(np.abs(shift - self.shift_px).max()) > _MIN_SHIFT_PX:
            x, y = shift.round()
            self.shift_px = int(x), int(y)

    @property
    def _is_near(self) -> bool:
        return self.shift_mm is None or self.shift_mm <= MAX_CAMERA_SHIFT_MM

    def _shift(self, now: Image) -> Floats | None:
        """Return the shift of the table in pixels."""
        found = [self._find(now, *tile) for tile in self._tiles]
        good = [shift for score, shift in found if score >= _MIN_TILE_LIKENESS]
        shifts = np.array(good).reshape(-1, 2)
        if len(shifts) < _MIN_TILES - 1:
            return None
        middle = np.median(shifts, axis=0)
        agree = np.hypot(*(shifts - middle).T) <= _AGREEMENT_PX
        if np.count_nonzero(agree) < _MIN_AGREEING_SHARE * len(self._tiles):
            return None
        return np.asarray(np.median(shifts[agree], axis=0) * _SHRINK_FACTOR, np.float64)

    def _find(self, now: Image, x: int, y: int, tile: Image) -> tuple[float, Point]:
        left, top = max(0, x - _SEARCH_PX), max(0, y - _SEARCH_PX)
        around = now[top : y + _TILE_PX + _SEARCH_PX, left : x + _TILE_PX + _SEARCH_PX]
        likeness = cv2.matchTemplate(around, tile, cv2.TM_CCOEFF_NORMED)
        _, score, _, (column, row) = cv2.minMaxLoc(likeness)
        across = _subpixel_peak(likeness[row, max(0, column - 1) : column + 2])
        along = _subpixel_peak(likeness[max(0, row - 1) : row + 2, column])
        return score, (column + across - (x - left), row + along - (y - top))


def _subpixel_peak(three: NDArray[Any]) -> float:
    """Return the offset from the middle of three values at which a parabola is highest."""
    if len(three) < 3:  # noqa: PLR2004 - at the rim
        return 0.0
    low, middle, high = (float(each) for each in three)
    bend = low - 2 * middle + high
    return 0.0 if bend >= 0 else (low - high) / (2 * bend)


def _small_grey(image: Image) -> Image:
    height, width = image.shape[:2]
    size = (width // _SHRINK_FACTOR, height // _SHRINK_FACTOR)
    small = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return np.asarray(cv2.GaussianBlur(small, (3, 3), 0), np.uint8)


def _choose_tiles(
    small: Image, profile: Profile, projection: TableProjection
) -> list[tuple[int, int]]:
    """Choose the tiles with the most texture, away from the places."""
    slope = np.hypot(cv2.Sobel(small, cv2.CV_32F, 1, 0), cv2.Sobel(small, cv2.CV_32F, 0, 1))
    rows, columns = small.shape[0] - _TILE_PX, small.shape[1] - _TILE_PX
    corners = [
        (x, y) for y in range(4, rows, _TILE_PX // 2) for x in range(4, columns, _TILE_PX // 2)
    ]
    middles = (np.array(corners, np.float64) + _TILE_PX / 2) * _SHRINK_FACTOR
    away = _away_from_places(profile, projection.to_table(middles))
    candidates = [
        (float(slope[y : y + _TILE_PX, x : x + _TILE_PX].mean()), (x, y))
        for (x, y), free in zip(corners, away, strict=True)
        if free
    ]
    chosen: list[tuple[int, int]] = []
    for texture, (x, y) in sorted(candidates, reverse=True):
        apart = all(max(abs(x - left), abs(y - top)) >= _TILE_PX for left, top in chosen)
        if texture >= _MIN_TEXTURE and apart and len(chosen) < _MAX_TILES:
            chosen.append((x, y))
    return chosen


def _grid_points(profile: Profile) -> Floats:
    rows, columns = _LIGHT_GRID
    x = (np.arange(columns) + 0.5) * profile.camera.width / columns
    y = (np.arange(rows) + 0.5) * profile.camera.height / rows
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _watched(profile: Profile) -> list[tuple[float, float]]:
    """Return the centres of the places, or the corners of the throat's window."""
    if profile.throat is not None:
        return list(profile.throat.window)
    return [place.centre for place in profile.place]


def _away_from_places(profile: Profile, points: Floats) -> NDArray[np.bool_]:
    if profile.throat is not None:
        window = np.array(profile.throat.window)
        low, high = window.min(axis=0) - _THROAT_MARGIN_MM, window.max(axis=0) + _THROAT_MARGIN_MM
        return np.asarray(((points < low) | (points > high)).any(axis=1))
    away = np.ones(len(points), np.bool_)
    for centre in _watched(profile):
        away &= np.hypot(*(points - np.array(centre)).T) > _PLACE_RADIUS_MM
    return away


class CheckedStation:
    """
    The part that both stations share: the checks of each frame, and the pictures of its cards.

    Args:
        profile: The profile.
        reference: Its frame of the empty table.
        reader: Reads the cards.
        evidence: Stores their pictures; None for none.
    """

    def __init__(
        self,
        profile: Profile,
        reference: Image,
        reader: CardReader,
        evidence: Evidence | None = None,
    ) -> None:
        # Remove the noise of the reference image.
        self._reference = np.asarray(cv2.GaussianBlur(reference, (3, 3), 0), np.uint8)
        self._projection = TableProjection(profile)
        self._lighting = LightingMonitor(profile, self._projection, self._reference)
        self._pose = PoseCheck(profile, self._projection, self._reference)
        self._colours = ColourCheck(self._reference)
        self._reader = reader
        self._evidence = evidence

    def close(self) -> None:
        """Write the last pictures."""
        if self._evidence is not None:
            self._evidence.close()


_COMPARED_WIDTH_PX: Final = 160
"""Width of the shrunk image that is compared."""

_MIN_SIDE_PX: Final = 60
_MIN_GREY_SPREAD: Final = 2.5
"""Minimum number of pixels of a side, and spread of their grey values."""

_MIN_LIKENESS: Final = 0.5
"""Minimum likeness, of 1, of a visible side."""


class ThroatEdges:
    """
    Compares the areas beside the window, on each of its sides: they show that the camera still
    looks at the throat from its place.
    """

    def __init__(self, profile: Profile, projection: TableProjection, reference: Image) -> None:
        small = _narrow_grey(reference)
        rows, columns = np.indices(small.shape)
        scale = reference.shape[1] / small.shape[1]
        pixels = (np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5) * scale
        points = projection.to_table(pixels)
        window = np.array(profile.throat.window if profile.throat is not None else points[:1])
        low, high = window.min(axis=0), window.max(axis=0)
        beside = [*(points < low).T, *(points > high).T]
        sides = [np.flatnonzero(side) for side in beside]
        flat = small.ravel()
        self._sides = [
            (side, _without_mean(flat[side]))
            for side in sides
            if len(side) >= _MIN_SIDE_PX and flat[side].std() >= _MIN_GREY_SPREAD
        ]

    def is_visible(self, image: Image) -> bool:
        """
        Return whether at least one side looks as in the reference image, in any light; True where
        no side has enough texture.
        """
        if not self._sides:
            return True
        flat = _narrow_grey(image).ravel()
        for side, before in self._sides:
            now = _without_mean(flat[side])
            whole = float(np.linalg.norm(now) * np.linalg.norm(before))
            if float(now @ before) > _MIN_LIKENESS * whole:
                return True
        return False


def _narrow_grey(image: Image) -> NDArray[np.float32]:
    height = max(1, round(_COMPARED_WIDTH_PX * image.shape[0] / image.shape[1]))
    small = cv2.resize(image, (_COMPARED_WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.float32)


def _without_mean(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(values - values.mean(), np.float32)

"""Sharpness and brightness of images, and flicker of the lamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from drivers.camera.image import Image

_TILE_PX: Final = 48
_MIN_PRINT_CONTRAST: Final = 40.0
"""Minimum grey range of a tile with print."""

_MEASURE_SPREAD_PX: Final = 1.1
"""Spread of an edge that the measurement itself adds."""

_MAX_STEADY_FLICKER: Final = 0.015
"""Share of the light that may vary between frames."""

_MIN_FLICKER_FRAMES: Final = 8
"""Number of frames from which flicker can be measured."""

_DEFAULT_FPS: Final = 25.0
_MAINS_HZ: Final = (50, 60)
"""Frequencies of the mains."""

_BLOCKS: Final = 8
_BANDS: Final = 40
"""Columns and rows in which the brightness is measured."""


def measure_sharpness(image: Image) -> float:
    """
    Return the sharpness of an image: 1 where the steepest edges of its print are as steep as
    pixels allow, 0 without print.
    """
    grey = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (3, 3), 0.8)
    slopes = [np.abs(cv2.Scharr(grey, cv2.CV_32F, dx, 1 - dx)) / 32 for dx in (0, 1)]
    bright, steep = _tiles(np.asarray(grey)), _tiles(np.maximum(*slopes))
    low, high = np.percentile(bright, (1, 99), axis=1)
    printed = high - low > _MIN_PRINT_CONTRAST
    if not printed.any():
        return 0.0
    steepest = np.percentile(steep[printed], 99.5, axis=1)
    measured = _MEASURE_SPREAD_PX * math.sqrt(2 * math.pi) * steepest / (high - low)[printed]
    return round(min(1.0, float(np.percentile(measured, 90))), 3)


def _tiles(grey: NDArray[Any]) -> NDArray[Any]:
    rows, columns = grey.shape[0] // _TILE_PX, grey.shape[1] // _TILE_PX
    whole = grey[: rows * _TILE_PX, : columns * _TILE_PX].reshape(
        rows, _TILE_PX, columns, _TILE_PX
    )
    return whole.swapaxes(1, 2).reshape(rows * columns, -1)


def mean_brightness(image: Image) -> float:
    """Return the mean grey value of an image, of 255, without its brightest pixels."""
    grey = np.sort(image[::8, ::8].mean(axis=2).ravel())
    return round(float(grey[: len(grey) * 19 // 20].mean()), 2)


def mean_image(frames: Sequence[Image]) -> Image:
    """Return the mean of frames of a still table, without the sensor's noise."""
    whole = np.zeros(frames[0].shape, np.float32)
    for frame in frames:
        whole += frame
    return np.asarray((whole / len(frames)).round(), np.uint8)


class Flicker(Struct, frozen=True):
    """
    Flicker of the lamps.

    Attributes:
        strength: Share of the light that varies.
        beat: Its frequency in Hz; None where it is steady.
        mains: 50 or 60, where the beat is that of lamps on such mains.
    """

    strength: float
    beat: float | None = None
    mains: int | None = None

    @property
    def steady(self) -> bool:
        """True if the flicker is harmless."""
        return self.strength <= _MAX_STEADY_FLICKER


def measure_flicker(frames: Sequence[Image], fps: float | None) -> Flicker:
    """
    Measure bands and beats of lamps in consecutive frames of a still table; fewer than eight are
    taken to be steady. An unknown frame rate (None) is taken to be 25.
    """
    fps = fps or _DEFAULT_FPS
    if len(frames) < _MIN_FLICKER_FRAMES:
        return Flicker(0.0)
    bands = np.stack([_bands(frame) for frame in frames])
    # A hand or a card changes some blocks of a band, a lamp changes all of them.
    apart = np.median(bands / np.maximum(bands.mean(axis=0), 1.0) - 1, axis=2)
    low, high = np.percentile(apart, (3, 97))
    strength = round(float(high - low) / 2, 4)
    if strength <= _MAX_STEADY_FLICKER:
        return Flicker(strength)
    spectrum = np.abs(np.fft.rfft(apart - apart.mean(axis=0), axis=0)).sum(axis=1)
    step = fps / len(frames)
    beat = float(np.argmax(spectrum[1:]) + 1) * step
    return Flicker(strength, round(beat, 2), _matching_mains(beat, fps, step))


def _bands(frame: Image) -> NDArray[np.float32]:
    small = cv2.resize(frame, (_BLOCKS, _BANDS), interpolation=cv2.INTER_AREA)
    return np.asarray(small.mean(axis=2), np.float32)


def _matching_mains(beat: float, fps: float, step: float) -> int | None:
    """Return the mains whose flashes, two per period, make this beat at a frame rate."""
    for mains in _MAINS_HZ:
        flashes = 2 * mains
        if abs(abs(flashes - round(flashes / fps) * fps) - beat) <= step / 2:
            return mains
    return None

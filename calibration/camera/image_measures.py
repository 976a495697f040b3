"""
How sharp and how bright pictures are, and whether the lamps flicker in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from drivers.camera.sources.frame_quality import Image

__all__ = ["Flicker", "mean_brightness", "mean_image", "measure_flicker", "measure_sharpness"]

_TILE_PX: Final = 48
_MIN_PRINT_CONTRAST: Final = 40.0
"""Grey values between the darkest and the brightest of a tile that has print in it."""

_MEASURE_SPREAD_PX: Final = 1.1
"""Pixels by which the measure itself spreads an edge."""

_MAX_STEADY_FLICKER: Final = 0.015
"""Share of the light that may come and go from picture to picture."""

_MIN_FLICKER_FRAMES: Final = 8
"""Pictures in a row of which flicker can be told."""

_DEFAULT_FPS: Final = 25.0
_MAINS_HZ: Final = (50, 60)
"""Periods a second of the mains that there are."""

_BLOCKS: Final = 8
_BANDS: Final = 40
"""Columns and rows of a picture in which the light is measured."""


def measure_sharpness(image: Image) -> float:
    """
    Return how sharp a picture is: 1 where the steepest edges of its print are as steep as
    pixels allow, 0 where there is no print at all.
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
    """
    Return how bright a picture is, of 255: the mean of its grey values, without the very
    brightest.
    """
    grey = np.sort(image[::8, ::8].mean(axis=2).ravel())
    return round(float(grey[: len(grey) * 19 // 20].mean()), 2)


def mean_image(pictures: Sequence[Image]) -> Image:
    """
    Take the mean of pictures of a still table: the sensor's noise goes.
    """
    whole = np.zeros(pictures[0].shape, np.float32)
    for picture in pictures:
        whole += picture
    return np.asarray((whole / len(pictures)).round(), np.uint8)


class Flicker(Struct, frozen=True):
    """
    What lamps do from picture to picture.

    Attributes:
        strength: The share of the light that comes and goes.
        beat: How often a second; None where nothing does.
        mains: 50 or 60, where the beat is that of lamps on such mains.
    """

    strength: float
    beat: float | None = None
    mains: int | None = None

    @property
    def steady(self) -> bool:
        """
        Whether it does no harm.
        """
        return self.strength <= _MAX_STEADY_FLICKER


def measure_flicker(pictures: Sequence[Image], fps: float | None) -> Flicker:
    """
    Find bands and beats of lamps in pictures of a still table, taken in a row.

    Args:
        pictures: Of fewer than eight nothing is told: they are taken to be steady.
        fps: Pictures a second; None where that is not known: 25 are taken to be usual.
    """
    fps = fps or _DEFAULT_FPS
    if len(pictures) < _MIN_FLICKER_FRAMES:
        return Flicker(0.0)
    bands = np.stack([_bands(picture) for picture in pictures])
    # A hand or a card changes some blocks of a band, a lamp changes all of them.
    apart = np.median(bands / np.maximum(bands.mean(axis=0), 1.0) - 1, axis=2)
    low, high = np.percentile(apart, (3, 97))
    strength = round(float(high - low) / 2, 4)
    if strength <= _MAX_STEADY_FLICKER:
        return Flicker(strength)
    spectrum = np.abs(np.fft.rfft(apart - apart.mean(axis=0), axis=0)).sum(axis=1)
    step = fps / len(pictures)
    beat = float(np.argmax(spectrum[1:]) + 1) * step
    return Flicker(strength, round(beat, 2), _matching_mains(beat, fps, step))


def _bands(picture: Image) -> NDArray[np.float32]:
    small = cv2.resize(picture, (_BLOCKS, _BANDS), interpolation=cv2.INTER_AREA)
    return np.asarray(small.mean(axis=2), np.float32)


def _matching_mains(beat: float, fps: float, step: float) -> int | None:
    """
    Tell whose flashes, two a period, beat so with so many pictures a second.
    """
    for mains in _MAINS_HZ:
        flashes = 2 * mains
        if abs(abs(flashes - round(flashes / fps) * fps) - beat) <= step / 2:
            return mains
    return None

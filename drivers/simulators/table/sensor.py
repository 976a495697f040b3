"""
What the sensor and the cable make of a picture: noise, flicker, blur, torn pictures.
"""

from __future__ import annotations

import math
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.table.settings import Settings

__all__ = ["Sensor"]

Pixels = NDArray[np.uint8]

_SPARE: Final = 64
_BANK: Final = 3
_GREY: Final = 128.0
_SPREAD: Final = 16.0
"""Steps of noise in the bank, so that it can be made weaker and stronger."""

_FLICKER: Final = 0.10
_BEAT: Final = 7.3
"""How often a second the lamps' hundred flashes beat with the camera's pictures."""


class Sensor:
    """
    One camera's sensor; its noise follows from the seed.
    """

    def __init__(self, settings: Settings) -> None:
        self._chance = np.random.default_rng([settings.seed & 0xFFFFFFFF, 4])
        self._noise = settings.noise
        size = (settings.height + _SPARE, settings.width + _SPARE)
        self._bank = [self._speckle(size) for _ in range(_BANK)] if settings.noise else []

    def _speckle(self, size: tuple[int, int]) -> Pixels:
        # What is in all colours alike, and what is in each: single pixels of one colour
        # are smeared by every camera.
        grey = self._chance.normal(0, 1, size).astype(np.float32)
        colour = self._chance.normal(0, 1, (size[0] // 2, size[1] // 2, 3)).astype(np.float32)
        smeared = cv2.resize(colour, size[::-1], interpolation=cv2.INTER_LINEAR)
        whole = grey[..., None] * 0.75 + smeared * 0.8
        return np.asarray(np.clip(whole * _SPREAD + _GREY, 0, 255).round(), np.uint8)

    def take(
        self, picture: Pixels, at: float, *, flicker: bool, blur: float, torn: bool
    ) -> Pixels:
        """
        Give the picture as it comes out of the camera.

        Args:
            picture: What is before it.
            at: Seconds.
            flicker: Whether the lamps flicker.
            blur: How much it is out of focus, in pixels.
            torn: Whether the cable tears it.
        """
        if blur:
            picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), blur), np.uint8)
        if flicker:
            gain = 1 + _FLICKER * math.sin(2 * math.pi * _BEAT * at)
            picture = np.asarray(cv2.convertScaleAbs(picture, alpha=gain), np.uint8)
        if self._bank:
            picture = self._noisy(picture)
        return self._torn(picture) if torn else picture

    def _noisy(self, picture: Pixels) -> Pixels:
        which, x, y = (int(v) for v in self._chance.integers((_BANK, _SPARE, _SPARE)))
        high, wide = picture.shape[:2]
        speckle = self._bank[which][y : y + high, x : x + wide]
        share = self._noise / _SPREAD
        return np.asarray(cv2.addWeighted(picture, 1.0, speckle, share, -_GREY * share), np.uint8)

    def _torn(self, picture: Pixels) -> Pixels:
        """
        Shift and smear bands of rows, as where packets are lost.
        """
        torn = picture.copy()
        for _ in range(int(self._chance.integers(2, 7))):
            top = int(self._chance.integers(picture.shape[0] - 16))
            rows = slice(top, top + int(self._chance.integers(8, 90)))
            if self._chance.random() < 0.5:  # noqa: PLR2004 - a coin
                torn[rows] = torn[top, ::-1]
            else:
                shift = int(self._chance.integers(20, 400))
                torn[rows] = np.roll(torn[rows], shift, axis=1)[:, :, ::-1]
        return torn

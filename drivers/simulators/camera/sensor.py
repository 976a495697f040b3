"""The camera's sensor and cable: they add noise, flicker, blur and torn pictures."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import cv2
import numpy as np

from drivers.simulators.camera.settings import Settings
from drivers.simulators.camera.sprites import Pixels

_NOISE_MARGIN_PX: Final = 64
_NOISE_IMAGES: Final = 3
_FLICKER_GAIN: Final = 0.10
_FLICKER_HZ: Final = 7.3
"""Beat frequency of the mains flicker and the picture rate."""


class Sensor:
    """A camera's sensor; its noise is determined by the seed."""

    def __init__(self, settings: Settings) -> None:
        self._chance = np.random.default_rng([settings.seed & 0xFFFFFFFF, 4])
        self._noise = settings.noise
        self._size = (settings.height + _NOISE_MARGIN_PX, settings.width + _NOISE_MARGIN_PX)

    @cached_property
    def _bank(self) -> list[tuple[Pixels, Pixels]]:
        """
        Images of the noise: how much each pixel becomes brighter, and darker. Drawn with the first
        picture, as many plays take none.
        """
        return [self._speckle(self._size) for _ in range(_NOISE_IMAGES if self._noise else 0)]

    def _speckle(self, size: tuple[int, int]) -> tuple[Pixels, Pixels]:
        # Brightness noise per pixel, and smoothed colour noise: cameras smear single coloured
        # pixels.
        grey = self._chance.normal(0, 1, size).astype(np.float32)
        colour = self._chance.normal(0, 1, (size[0] // 2, size[1] // 2, 3)).astype(np.float32)
        smeared = cv2.resize(colour, size[::-1], interpolation=cv2.INTER_LINEAR)
        whole = ((grey[..., None] * 0.75 + smeared * 0.8) * self._noise).round()
        more, less = (np.clip(each, 0, 255).astype(np.uint8) for each in (whole, -whole))
        return more, less

    def take(
        self,
        picture: Pixels,
        at: float,
        *,
        flicker: bool = False,
        blur: float = 0.0,
        torn: bool = False,
    ) -> Pixels:
        """
        Apply the effects to a picture.

        Args:
            picture: The scene.
            at: Seconds.
            flicker: Lamps flicker.
            blur: Defocus in pixels.
            torn: The cable tears the picture.
        """
        if blur:
            picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), blur), np.uint8)
        if flicker:
            gain = 1 + _FLICKER_GAIN * math.sin(2 * math.pi * _FLICKER_HZ * at)
            picture = np.asarray(cv2.convertScaleAbs(picture, alpha=gain), np.uint8)
        picture = self._noisy(picture) if self._bank else picture.copy()
        return self._torn(picture) if torn else picture

    def _noisy(self, picture: Pixels) -> Pixels:
        which, x, y = (
            int(v)
            for v in self._chance.integers((_NOISE_IMAGES, _NOISE_MARGIN_PX, _NOISE_MARGIN_PX))
        )
        high, wide = picture.shape[:2]
        more, less = (each[y : y + high, x : x + wide] for each in self._bank[which])
        # For each pixel one of the two is zero.
        noisy = np.asarray(cv2.add(picture, more), np.uint8)
        cv2.subtract(noisy, less, dst=noisy)
        return noisy

    def _torn(self, picture: Pixels) -> Pixels:
        """Shift and smear bands of rows, as after lost packets."""
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

"""
Lamps above the table and effects of the camera's sensor.

Lamps give each point its brightness, and glossy cards their glare. Sensor and cable add noise,
flicker, blur and torn pictures.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import cv2
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from drivers.simulators.camera.camera_projection import Camera
from drivers.simulators.camera.scene_settings import Settings
from drivers.simulators.camera.sprites import LIT, Light, Pixels, three_channels
from drivers.simulators.camera.table_layout import Point

Single = NDArray[np.float32]

_COARSE: Final = 8
"""Factor by which light is computed at a lower resolution."""


class Lamp(Struct, frozen=True):
    """
    Attributes:
        x, y, height: Position in millimetres.
        strength: Share of the total light.
        spread: Size of its reflection on a card, in millimetres.
        shine: Brightness of the reflection; 0 for a covered lamp.
    """

    x: float
    y: float
    height: float
    strength: float
    spread: float = 45.0
    shine: float = 90.0


class Shadow(Struct, frozen=True):
    """
    The edge of a shadow: everything beyond a line is darker.

    Attributes:
        at: A point on the line.
        away: Direction of the dark side.
        dark: Share of light lost.
        soft: Width of the transition in millimetres.
    """

    at: Point
    away: Point
    dark: float = 0.45
    soft: float = 25.0


class Lamps:
    """All lamps of a table, as seen by one camera."""

    def __init__(self, lamps: tuple[Lamp, ...], camera: Camera) -> None:
        self._size = camera.size
        self._points = points = camera.table_points(_COARSE)
        middle = np.zeros((1, 1, 2), np.float32)
        whole = sum(float(_lit(lamp, middle)[0, 0]) for lamp in lamps)
        self._lit = [_lit(lamp, points) / whole for lamp in lamps]
        self._mirrored = [_mirrored(lamp, camera, points) for lamp in lamps]
        self._fade = _vignette(points.shape[:2])

    def light(self, strengths: tuple[float, ...], shadow: Shadow | None = None) -> Light:
        """Return the light for these lamp strengths; 1 is normal, 0 off."""
        lit = (_mixed(strengths, self._lit) + 0.04) * self._fade
        glare = _mixed(strengths, self._mirrored)
        if shadow is not None:
            share = 1 - shadow.dark * _beyond(shadow, self._points)
            lit, glare = lit * share, glare * share
        return Light(self._whole(lit * LIT), self._whole(glare) if glare.max() > 1 else None)

    def _whole(self, coarse: Single) -> Pixels:
        fine = cv2.resize(
            np.clip(coarse, 0, 255).astype(np.float32), self._size, interpolation=cv2.INTER_LINEAR
        )
        return three_channels(np.round(fine).astype(np.uint8))


def _mixed(strengths: tuple[float, ...], lights: list[Single]) -> Single:
    shares = (strength * each for strength, each in zip(strengths, lights, strict=True))
    return sum(shares, np.zeros_like(lights[0]))


def _lit(lamp: Lamp, points: Single) -> Single:
    aside = (points[..., 0] - lamp.x) ** 2 + (points[..., 1] - lamp.y) ** 2
    return np.asarray(
        lamp.strength * (lamp.height**2 / (aside + lamp.height**2)) ** 1.5, np.float32
    )


def _mirrored(lamp: Lamp, camera: Camera, points: Single) -> Single:
    share = camera.height / (camera.height + lamp.height)
    x, y = camera.at[:2]
    x, y = x + (lamp.x - x) * share, y + (lamp.y - y) * share
    aside = (points[..., 0] - x) ** 2 + (points[..., 1] - y) ** 2
    return np.asarray(lamp.shine * np.exp(-aside / (2 * lamp.spread**2)), np.float32)


def _beyond(shadow: Shadow, points: Single) -> Single:
    away = np.array(shadow.away) / max(float(np.hypot(*shadow.away)), 1e-6)
    far = (points - np.array(shadow.at, np.float32)) @ away.astype(np.float32)
    return np.asarray(np.clip(far / shadow.soft + 0.5, 0, 1), np.float32)


def _vignette(shape: tuple[int, ...]) -> Single:
    y, x = np.mgrid[-1 : 1 : shape[0] * 1j, -1 : 1 : shape[1] * 1j]
    return np.asarray(1 - 0.10 * (x**2 + y**2), np.float32)


def lamps_of(seed: int, camera: Camera) -> tuple[Lamp, ...]:
    """Place three lamps whose reflections are outside all card places."""
    chance = np.random.default_rng([seed & 0xFFFFFFFF, 3])
    found = []
    for aim, strength in (((-420.0, -330.0), 0.4), ((430.0, -320.0), 0.35), ((40.0, 360.0), 0.3)):
        spot = (aim[0] + float(chance.uniform(-60, 60)), aim[1] + float(chance.uniform(-40, 0)))
        found.append(_mirrored_at(spot, camera, strength, float(chance.uniform(900, 1300))))
    return tuple(found)


def lamp_for_glare(spot: Point, camera: Camera) -> Lamp:
    """Place a lamp whose reflection dazzles the camera at this spot."""
    return replace(_mirrored_at(spot, camera, 0.12, 1100.0), spread=20.0, shine=170.0)


def _mirrored_at(spot: Point, camera: Camera, strength: float, height: float) -> Lamp:
    share = (camera.height + height) / camera.height
    x, y = camera.at[:2]
    return Lamp(x + (spot[0] - x) * share, y + (spot[1] - y) * share, height, strength)


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

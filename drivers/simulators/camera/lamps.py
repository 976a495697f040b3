"""Lamps above the table: they give each point its brightness, and glossy cards their glare."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from drivers.simulators.camera.projection import Camera
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

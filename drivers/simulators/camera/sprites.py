"""
Flat objects with soft edges, drawn in perspective and lit like the table.

An object that moves during the exposure is drawn once, in the middle of its path, and blurred
along the path. Only the rectangle around an object is changed.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.camera.projection import Floats
from drivers.simulators.camera.table_layout import Point

Pixels = NDArray[np.uint8]
Box = tuple[int, int, int, int]
"""Pixels: left, top, right, bottom."""

LIT: Final = 128
"""Neutral value of a light picture."""

STILL: Final[Point] = (0.0, 0.0)
"""Path of an object at rest, in pixels."""

_MIN_SIZE_PX: Final = 2
_MIN_SMEAR_PX: Final = 1.5
"""Shorter paths are not blurred."""

_MAX_GAP_PX: Final = 3.0
"""Maximum distance of the copies of a blurred object."""

_COARSE: Final = 4
"""Factor by which soft shadows are computed at a lower resolution."""


class Sprite(NamedTuple):
    """
    Attributes:
        paint: Colours multiplied by coverage, and coverage.
        gloss: Share of a lamp's glare that is reflected, 0 to 1.
    """

    paint: Pixels
    gloss: float = 0.0

    @property
    def covers(self) -> Pixels:
        """The coverage, 0 to 255."""
        return np.asarray(cv2.extractChannel(self.paint, 3), np.uint8)


class Light(NamedTuple):
    """
    The table's light as two pictures.

    Attributes:
        lit: Brightness times `LIT`.
        glare: Reflected by glossy objects; None for none.
    """

    lit: Pixels
    glare: Pixels | None = None


def sprite(colours: Pixels, mask: Pixels, gloss: float = 0.0) -> Sprite:
    """Create a sprite from colours and coverage (0 to 255); the edges become soft."""
    wider = cv2.copyMakeBorder(colours, 2, 2, 2, 2, cv2.BORDER_REPLICATE)
    edged = cv2.copyMakeBorder(mask, 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=(0,))
    ink = cv2.multiply(wider, cv2.merge([edged, edged, edged]), scale=1 / 255)
    return Sprite(np.asarray(cv2.merge([*cv2.split(ink), edged]), np.uint8), gloss)


def lay(
    picture: Pixels, thing: Sprite, quad: Floats, light: Light | None, way: Point = STILL
) -> Box | None:
    """
    Draw a sprite into a picture; return the changed rectangle.

    Args:
        picture: The picture.
        thing: The sprite.
        quad: Its corners: upper left, upper right, lower right, lower left.
        light: The light on it.
        way: Its path during the exposure, with `quad` in the middle.
    """
    far = max(abs(way[0]), abs(way[1]))
    smeared = far >= _MIN_SMEAR_PX
    box = _box(quad, picture.shape, 1 + (int(far / 2 + 1) if smeared else 0))
    if box is None:
        return None
    left, top, right, bottom = box
    paint = _warped(thing.paint, quad, box)
    if smeared:
        paint = _smeared(paint, way)
    ink = cv2.cvtColor(paint, cv2.COLOR_BGRA2BGR)
    through = three_channels(cv2.bitwise_not(cv2.extractChannel(paint, 3)))
    if light is not None:
        cv2.multiply(ink, light.lit[top:bottom, left:right], dst=ink, scale=1 / LIT)
        if light.glare is not None and thing.gloss:
            covers = cv2.bitwise_not(through)
            shine = cv2.multiply(
                light.glare[top:bottom, left:right], covers, scale=thing.gloss / 255
            )
            cv2.add(ink, shine, dst=ink)
    part = picture[top:bottom, left:right]
    cv2.add(cv2.multiply(part, through, scale=1 / 255), ink, dst=part)
    return box


def three_channels(grey: object) -> Pixels:
    """Return a grey picture as a coloured one."""
    return np.asarray(cv2.cvtColor(np.asarray(grey, np.uint8), cv2.COLOR_GRAY2BGR), np.uint8)


def _smeared(paint: Pixels, way: Point) -> Pixels:
    """
    Average copies of a picture along a path, centred on it.

    Each step doubles the number of copies and halves their distance.
    """
    far = max(abs(way[0]), abs(way[1]))
    for number in range(1, max(1, math.ceil(math.log2(far / _MAX_GAP_PX))) + 1):
        paint = _doubled(paint, round(way[0] / 2**number), round(way[1] / 2**number))
    return paint


def _doubled(paint: Pixels, x: int, y: int) -> Pixels:
    """Average a picture and a shifted copy of it, keeping the centre."""
    rim = max(abs(x), abs(y)) // 2 + 1
    edged = cv2.copyMakeBorder(paint, rim, rim, rim, rim, cv2.BORDER_CONSTANT)
    rows, columns = paint.shape[:2]

    def moved(by_x: int, by_y: int) -> Pixels:
        top, left = rim - by_y, rim - by_x
        return np.asarray(edged[top : top + rows, left : left + columns], np.uint8)

    one, other = moved(x // 2, y // 2), moved(x // 2 - x, y // 2 - y)
    return np.asarray(cv2.addWeighted(one, 0.5, other, 0.5, 0), np.uint8)


def _warped(paint: Pixels, quad: Floats, box: Box, shrink: int = 1) -> Pixels:
    """Warp a drawn object into a box, at a resolution reduced by `shrink`."""
    left, top, right, bottom = box
    high, wide = paint.shape[:2]
    corners = np.array([[1, 1], [wide - 2, 1], [wide - 2, high - 2], [1, high - 2]], np.float32)
    target = (quad - (left, top)) / shrink
    way = cv2.getPerspectiveTransform(corners, target.astype(np.float32))
    size = -((left - right) // shrink), -((top - bottom) // shrink)
    return np.asarray(cv2.warpPerspective(paint, way, size, flags=cv2.INTER_LINEAR), np.uint8)


def dim(picture: Pixels, dark: Pixels, quad: Floats) -> Box | None:
    """Darken a picture softly by a mask with these corners."""
    box = _box(quad, picture.shape, _COARSE)
    if box is None:
        return None
    taken = _enlarged(_warped(dark, quad, box, _COARSE), _COARSE)
    return _darken(picture, box, np.asarray(cv2.bitwise_not(taken), np.uint8))


def _enlarged(coarse: Pixels, times: int) -> Pixels:
    size = coarse.shape[1] * times, coarse.shape[0] * times
    return np.asarray(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def _darken(picture: Pixels, box: Box, through: Pixels) -> Box:
    """Let through a share of the light in a box."""
    left, top, right, bottom = box
    part = picture[top:bottom, left:right]
    share = three_channels(through[: bottom - top, : right - left])
    cv2.multiply(part, share, dst=part, scale=1 / 255)
    return box


def shade(picture: Pixels, quad: Floats, soft: float, dark: float) -> Box | None:
    """Draw the soft shadow of a quadrangle."""
    spread = math.ceil(soft * 2) + 1
    box = _box(quad, picture.shape, spread)
    if box is None:
        return None
    left, top, right, bottom = box
    # Soft shadows need less resolution.
    shrink = _COARSE if soft >= _COARSE else 1
    rows, columns = -((top - bottom) // shrink), -((left - right) // shrink)
    mask = np.full((rows, columns), 255, np.uint8)
    inner = np.round((quad - (left, top)) / shrink * 16).astype(np.int32)
    cv2.fillConvexPoly(mask, inner, (int(255 * (1 - dark)),), cv2.LINE_AA, 4)
    mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), max(0.5, soft / shrink)), np.uint8)
    return _darken(picture, box, _enlarged(mask, shrink))


def _box(quad: Floats, shape: tuple[int, ...], spread: int = 1) -> Box | None:
    (x0, y0), (x1, y1) = quad.min(axis=0), quad.max(axis=0)
    left, top = max(0, math.floor(x0) - spread), max(0, math.floor(y0) - spread)
    right = min(shape[1], math.ceil(x1) + spread + 1)
    bottom = min(shape[0], math.ceil(y1) + spread + 1)
    if right - left < _MIN_SIZE_PX or bottom - top < _MIN_SIZE_PX:
        return None
    return left, top, right, bottom

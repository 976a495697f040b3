"""
Flat things with soft edges, laid into a picture in perspective, lit as the table is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.table.camera import Floats

__all__ = ["Light", "Sprite", "dim", "lay", "shade", "sprite"]

Pixels = NDArray[np.uint8]

LIT: Final = 128
"""In a light's picture: neither darker nor brighter."""

_FEWEST: Final = 2


class Sprite(NamedTuple):
    """
    Attributes:
        ink: Its colours, times how much it covers.
        through: How much of what is below is seen, in each colour.
        gloss: How much of a lamp's glare it throws back, 0 to 1.
    """

    ink: Pixels
    through: Pixels
    gloss: float = 0.0


class Light(NamedTuple):
    """
    How the table is lit, as two pictures.

    Attributes:
        lit: Times `LIT`.
        glare: What something glossy throws back; None where nothing does.
    """

    lit: Pixels
    glare: Pixels | None = None


def sprite(colours: Pixels, mask: Pixels, gloss: float = 0.0) -> Sprite:
    """
    Make one of colours and of what they cover, 0 to 255; its edges become soft.
    """
    wider = cv2.copyMakeBorder(colours, 2, 2, 2, 2, cv2.BORDER_REPLICATE)
    edged = cv2.copyMakeBorder(mask, 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=(0,))
    covers = cv2.merge([edged, edged, edged])
    ink = cv2.multiply(wider, covers, scale=1 / 255)
    return Sprite(np.asarray(ink, np.uint8), np.asarray(cv2.bitwise_not(covers), np.uint8), gloss)


def lay(picture: Pixels, thing: Sprite, quad: Floats, light: Light | None) -> None:
    """
    Lay a sprite into a picture, its corners at these pixels: upper left, upper right,
    lower right, lower left.
    """
    box = _box(quad, picture.shape)
    if box is None:
        return
    left, top, right, bottom = box
    way, through = _warped(thing.through, quad, box)
    size = (right - left, bottom - top)
    ink = cv2.warpPerspective(thing.ink, way, size, flags=cv2.INTER_LINEAR)
    if light is not None:
        ink = cv2.multiply(ink, light.lit[top:bottom, left:right], scale=1 / LIT)
        if light.glare is not None and thing.gloss:
            covers = cv2.bitwise_not(through)
            shine = cv2.multiply(
                light.glare[top:bottom, left:right], covers, scale=thing.gloss / 255
            )
            ink = cv2.add(ink, shine)
    part = picture[top:bottom, left:right]
    cv2.add(cv2.multiply(part, through, scale=1 / 255), ink, dst=part)


def dim(picture: Pixels, through: Pixels, quad: Floats) -> None:
    """
    Darken a picture by what a sprite lets through, as its shadow does.
    """
    box = _box(quad, picture.shape)
    if box is not None:
        left, top, right, bottom = box
        part = picture[top:bottom, left:right]
        cv2.multiply(part, _warped(through, quad, box)[1], dst=part, scale=1 / 255)


def _warped(
    through: Pixels, quad: Floats, box: tuple[int, int, int, int]
) -> tuple[Floats, Pixels]:
    left, top, right, bottom = box
    high, wide = through.shape[:2]
    corners = np.array([[1, 1], [wide - 2, 1], [wide - 2, high - 2], [1, high - 2]], np.float32)
    way = cv2.getPerspectiveTransform(corners, (quad - (left, top)).astype(np.float32))
    warped = cv2.warpPerspective(
        through,
        way,
        (right - left, bottom - top),
        flags=cv2.INTER_LINEAR,
        borderValue=(255, 255, 255),
    )
    return np.asarray(way, np.float64), np.asarray(warped, np.uint8)


def shade(picture: Pixels, quad: Floats, soft: float, dark: float) -> None:
    """
    Darken what lies in the shadow of something with these corners.
    """
    spread = int(np.ceil(soft * 2)) + 1
    box = _box(quad, picture.shape, spread)
    if box is None:
        return
    left, top, right, bottom = box
    mask = np.full((bottom - top, right - left), 255, np.uint8)
    inner = np.round((quad - (left, top)) * 16).astype(np.int32)
    cv2.fillConvexPoly(mask, inner, (int(255 * (1 - dark)),), cv2.LINE_AA, 4)
    mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), max(0.5, soft)), np.uint8)
    part = picture[top:bottom, left:right]
    cv2.multiply(part, cv2.merge([mask, mask, mask]), dst=part, scale=1 / 255)


def _box(
    quad: Floats, shape: tuple[int, ...], spread: int = 1
) -> tuple[int, int, int, int] | None:
    left, top = np.floor(quad.min(axis=0)).astype(int) - spread
    right, bottom = np.ceil(quad.max(axis=0)).astype(int) + spread + 1
    left, top = max(0, int(left)), max(0, int(top))
    right, bottom = min(shape[1], int(right)), min(shape[0], int(bottom))
    if right - left < _FEWEST or bottom - top < _FEWEST:
        return None
    return left, top, right, bottom

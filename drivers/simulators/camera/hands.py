"""Hands with forearm and sleeve: flat on the table, or holding a card."""

from __future__ import annotations

import math
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

import cv2
import numpy as np

from drivers.simulators.camera.projection import Floats
from drivers.simulators.camera.sprites import Pixels, Sprite, sprite
from drivers.simulators.camera.table_layout import Point, turned

_SCALE: Final = 2.0
_SIZE: Final = (150.0, 560.0)
"""Width and height of the drawn arm in millimetres."""

ARM_CORNERS: Final = np.array([[0.0, 0.0], [150.0, 0.0], [150.0, 560.0], [0.0, 560.0]])
_RIM: Final = (
    (28, 52),
    (60, 28),
    (84, 25),
    (114, 42),
    (138, 84),
    (116, 190),
    (131, 560),
    (19, 560),
)
ARM_OUTLINE: Final = np.array([*_RIM, (34, 190), (32, 130)], np.float64)
"""Outline of fingers, palm and forearm."""

_TIP: Final = (75.0, 34.0)
"""Position of the finger tips from the upper left corner, in millimetres."""

_SKINS: Final = ((150, 178, 222), (118, 152, 205), (88, 120, 176), (62, 86, 132), (164, 190, 230))
_SLEEVES: Final = ((38, 34, 32), (52, 40, 34), (96, 66, 48), (60, 60, 66), (150, 120, 96))


class Grip(StrEnum):
    """The pose of a hand."""

    FLAT = "flat"
    PINCH = "pinch"


class _Part(NamedTuple):
    start: Point
    end: Point
    wide: tuple[float, float]


_FINGERS: Final[dict[Grip, tuple[_Part, ...]]] = {
    Grip.FLAT: (
        _Part((108, 128), (128, 84), (23, 18)),
        _Part((46, 112), (36, 58), (20, 15)),
        _Part((62, 108), (59, 38), (20, 16)),
        _Part((80, 108), (82, 34), (20, 16)),
        _Part((96, 114), (104, 48), (19, 15)),
    ),
    Grip.PINCH: (
        _Part((104, 124), (92, 58), (23, 18)),
        _Part((50, 112), (44, 82), (20, 18)),
        _Part((64, 108), (60, 66), (20, 18)),
        _Part((78, 106), (78, 38), (20, 16)),
        _Part((90, 112), (88, 60), (18, 16)),
    ),
}


@lru_cache(maxsize=32)
def hand(grip: Grip, person: int) -> Sprite:
    """Draw a hand with its arm, finger tips up."""
    wide, high = (round(length * _SCALE) for length in _SIZE)
    colours: Pixels = np.zeros((high, wide, 3), np.uint8)
    mask: Pixels = np.zeros((high, wide), np.uint8)
    skin = _SKINS[person % len(_SKINS)]
    sleeve = _SLEEVES[person // 2 % len(_SLEEVES)]
    _add(colours, mask, _Part((74, 190), (75, 330), (52, 62)), skin)
    _add(colours, mask, _Part((70, 140), (74, 172), (78, 58)), skin)
    for part in _FINGERS[grip]:
        _add(colours, mask, part, skin)
        _nail(colours, part, skin)
    _add(colours, mask, _Part((75, 216), (75, 234), (70, 74)), (228, 230, 232), square=True)
    _add(colours, mask, _Part((75, 230), (75, 640), (80, 116)), sleeve, square=True)
    chance = np.random.default_rng([person, 5])
    grain = chance.normal(0, 3.5, (high, wide, 1)).astype(np.float32)
    colours = np.asarray(np.clip(colours + grain, 0, 255), np.uint8)
    return sprite(np.asarray(cv2.GaussianBlur(colours, (0, 0), 1.1), np.uint8), mask)


@lru_cache(maxsize=4)
def arm_shadow(grip: Grip) -> Pixels:
    """Draw the shadow of an arm: the share of light that it takes."""
    soft = cv2.GaussianBlur(hand(grip, 0).covers, (0, 0), 9)
    return np.asarray(cv2.convertScaleAbs(soft, alpha=0.38), np.uint8)


def _add(
    colours: Pixels,
    mask: Pixels,
    part: _Part,
    colour: tuple[int, int, int],
    *,
    square: bool = False,
) -> None:
    """Draw a rounded limb with a shaded rim."""
    limb: Pixels = np.zeros_like(mask)
    outline = np.array(_outline(part, square=square))
    cv2.fillPoly(limb, [np.round(outline * _SCALE * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    deep = cv2.distanceTransform((limb > 127).astype(np.uint8), cv2.DIST_L2, 3)  # noqa: PLR2004 - half
    deep = np.minimum(deep / max(1.0, min(part.wide) * _SCALE / 2), 1)
    lit = (0.60 + 0.44 * np.sqrt(np.asarray(deep, np.float32)))[..., None]
    covers = (limb.astype(np.float32) / 255)[..., None]
    painted = np.clip(np.array(colour, np.float32) * lit, 0, 255)
    colours[:] = colours * (1 - covers) + painted * covers + 0.5
    np.maximum(mask, limb, out=mask)


def _outline(part: _Part, *, square: bool) -> list[Point]:
    (x0, y0), (x1, y1), (w0, w1) = part
    angle = math.atan2(y1 - y0, x1 - x0)
    if square:
        sides = ((x0, y0, w0, 1), (x1, y1, w1, 1), (x1, y1, w1, -1), (x0, y0, w0, -1))
        return [
            (x - math.sin(angle) * side * w / 2, y + math.cos(angle) * side * w / 2)
            for x, y, w, side in sides
        ]
    points = []
    for x, y, w, begins in ((x0, y0, w0, math.pi / 2), (x1, y1, w1, -math.pi / 2)):
        for step in range(13):
            turn = angle + begins + step * math.pi / 12
            points.append((x + math.cos(turn) * w / 2, y + math.sin(turn) * w / 2))
    return points


def _nail(colours: Pixels, part: _Part, skin: tuple[int, int, int]) -> None:
    (x0, y0), (x1, y1), (_, w) = part
    length = math.dist((x0, y0), (x1, y1))
    along = ((x1 - x0) / length, (y1 - y0) / length)
    centre = (x1 + along[0] * w * 0.08, y1 + along[1] * w * 0.08)
    pale = tuple(min(255, round(each * 1.1 + 14)) for each in skin)
    cv2.ellipse(
        colours,
        (round(centre[0] * _SCALE), round(centre[1] * _SCALE)),
        (round(w * 0.40 * _SCALE), round(w * 0.30 * _SCALE)),
        math.degrees(math.atan2(along[1], along[0])),
        0,
        360,
        pale,
        -1,
        cv2.LINE_AA,
    )


def arm_on_table(points: Floats, at: Point, degrees: float, up: float) -> Floats:
    """
    Place points of a drawn arm on the table.

    Args:
        points: Of the drawn arm, such as `ARM_CORNERS` or `ARM_OUTLINE`.
        at: The finger tips, in millimetres on the table.
        degrees: 0 if the fingers point away from the players, clockwise.
        up: Millimetres above the table.
    """
    x, y = turned(points[:, 0] - _TIP[0], points[:, 1] - _TIP[1], degrees, at)
    return np.column_stack([x, y, np.full(len(points), up)])

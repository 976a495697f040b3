"""The four suits as shapes, a little different in every deck."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np

from drivers.simulators.card_artwork.drawing_tools import (
    Mask,
    Points,
    blank,
    cropped,
    curve,
    fill,
    points,
)

__all__ = ["pip_mask"]

_SIZE: Final = 144
_MIDDLE: Final = _SIZE / 2
_Chance = np.random.Generator


@lru_cache(maxsize=512)
def pip_mask(suit: str, seed: int) -> Mask:
    """Draw the pip of a suit (``S``, ``H``, ``D``, ``C``), cut to its ink."""
    chance = np.random.default_rng([seed, ord(suit)])
    canvas = blank(_SIZE, _SIZE)
    _SHAPES[suit](canvas, chance)
    return cropped(canvas)


def _lobes(chance: _Chance, top: float, height: float, *, upright: bool) -> Points:
    """Give a heart's outline: two lobes and a point; upside down it is a spade's leaf."""
    width = _SIZE * chance.uniform(0.72, 0.95)
    dip, belly = chance.uniform(0.2, 0.33), chance.uniform(0.36, 0.52)
    turn = np.linspace(0, np.pi, 40)
    rise = -np.sin(turn) * height * dip
    left, right = (_MIDDLE + side * width / 4 - width / 4 * np.cos(turn) for side in (-1, 1))
    tip = (_MIDDLE, height * (1 - dip))
    down = curve((_MIDDLE + width / 2, 0), (_MIDDLE + width * belly, height * 0.38), tip)
    up = curve(tip, (_MIDDLE - width * belly, height * 0.38), (_MIDDLE - width / 2, 0))
    lobes = np.stack([np.concatenate([left, right]), np.concatenate([rise, rise])], 1)
    path = np.vstack([lobes, down, up]) + points((0, height * dip))
    if not upright:
        path[:, 1] = height - path[:, 1]
    return np.asarray(path + points((0, top)), np.float64)


def _stem(chance: _Chance, canvas: Mask) -> None:
    foot, floor = _SIZE * chance.uniform(0.16, 0.32), _SIZE * 0.97
    waist = _SIZE * chance.uniform(0.02, 0.05)
    sides = [
        curve(
            (_MIDDLE + s * waist, _SIZE * 0.5),
            (_MIDDLE + s * waist, _SIZE * 0.85),
            (_MIDDLE + s * foot, floor),
        )
        for s in (-1, 1)
    ]
    fill(canvas, np.vstack([sides[0], sides[1][::-1]]))


def _heart(canvas: Mask, chance: _Chance) -> None:
    fill(canvas, _lobes(chance, _SIZE * 0.06, _SIZE * chance.uniform(0.8, 0.92), upright=True))


def _spade(canvas: Mask, chance: _Chance) -> None:
    fill(canvas, _lobes(chance, _SIZE * 0.03, _SIZE * chance.uniform(0.68, 0.8), upright=False))
    _stem(chance, canvas)


def _diamond(canvas: Mask, chance: _Chance) -> None:
    half, bend = _SIZE * chance.uniform(0.3, 0.43), chance.uniform(-0.02, 0.13)
    tips = points((0, -0.47 * _SIZE), (half, 0), (0, 0.47 * _SIZE), (-half, 0))
    sides = []
    for here, there in zip(tips, np.roll(tips, -1, 0), strict=True):
        pull = (here + there) / 2 * (1 - 2 * bend)
        sides.append(curve((here[0], here[1]), (pull[0], pull[1]), (there[0], there[1])))
    fill(canvas, np.vstack(sides) + _MIDDLE)


def _club(canvas: Mask, chance: _Chance) -> None:
    radius, reach = _SIZE * chance.uniform(0.19, 0.25), chance.uniform(1.0, 1.15)
    low = _SIZE * 0.48 + radius * 0.35
    leaves = ((0, _SIZE * 0.03 + radius), (-radius * reach, low), (radius * reach, low))
    for x, y in leaves:
        cv2.circle(canvas, (round(_MIDDLE + x), round(y)), round(radius), (255,), -1, cv2.LINE_AA)
    cv2.circle(canvas, (round(_MIDDLE), _SIZE // 2), round(radius * 0.5), (255,), -1)
    _stem(chance, canvas)


_SHAPES: Final = {"S": _spade, "H": _heart, "D": _diamond, "C": _club}

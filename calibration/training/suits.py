"""Suits of discs, triangles and straight lines, as simple printing has them."""

from __future__ import annotations

from typing import Final

import numpy as np

from calibration.training.chance import Chance, happens
from drivers.simulators.card_artwork.drawing_tools import (
    Mask,
    Points,
    arc,
    blank,
    cropped,
    curve,
    fill,
    points,
)

_SIZE: Final = 144


def plain_pip(chance: Chance, suit: str) -> Mask:
    """Draw the pip of a suit, cut to its ink."""
    canvas = blank(_SIZE, _SIZE)
    for outline in _AREAS[suit](chance):
        fill(canvas, outline * (_SIZE * 0.46) + _SIZE / 2)
    return cropped(canvas)


def _disc(x: float, y: float, radius: float) -> Points:
    return arc((x, y), (radius, radius), (0, 360))


def _lobes(chance: Chance) -> list[Points]:
    """Draw two discs over a point; upside down they are a spade's leaf."""
    radius = chance.uniform(0.4, 0.52)
    x, tip = radius * chance.uniform(0.8, 1.0), chance.uniform(0.75, 1.0)
    # The tangent from the tip to a disc keeps the sides straight; a share of them bends.
    side = np.array([x + radius * 0.9, -0.35 + radius * 0.4])
    bend = curve((0, tip), (side[0] * chance.uniform(0.4, 0.75), tip * 0.5), (side[0], side[1]))
    inner = points((x, -0.4), (0, -0.4 + radius * 0.3))
    half = np.vstack([bend, inner])
    return [_disc(x, -0.4, radius), _disc(-x, -0.4, radius), half, half * (-1, 1)]


def _stem(chance: Chance) -> Points:
    foot, waist, top = (
        chance.uniform(0.2, 0.45),
        chance.uniform(0.03, 0.14),
        chance.uniform(-0.1, 0.2),
    )
    if happens(chance, 0.5):  # every second is straight
        return points((-waist, top), (waist, top), (foot, 1), (-foot, 1))
    right = curve((waist, top), (waist, 0.8), (foot, 1))
    return np.vstack([right, (right * (-1, 1))[::-1]])


def _heart(chance: Chance) -> list[Points]:
    return [part + np.array([0, 0.05]) for part in _lobes(chance)]


def _spade(chance: Chance) -> list[Points]:
    return [*(part * (1, -0.9) - np.array([0, 0.1]) for part in _lobes(chance)), _stem(chance)]


def _diamond(chance: Chance) -> list[Points]:
    wide, belly = chance.uniform(0.5, 0.85), chance.uniform(-0.06, 0.1)
    inner = (wide * (0.5 - belly), -(0.5 - belly))
    right = points((0, -1), inner, (wide, 0), (inner[0], -inner[1]), (0, 1))
    return [np.vstack([right, (right * (-1, 1))[::-1]])]


def _club(chance: Chance) -> list[Points]:
    radius, reach = chance.uniform(0.36, 0.48), chance.uniform(0.42, 0.56)
    low = chance.uniform(0.12, 0.3)
    leaves = [
        _disc(0, -0.97 + radius, radius),
        _disc(-reach, low, radius),
        _disc(reach, low, radius),
    ]
    middle = [_disc(0, 0, chance.uniform(0.1, 0.3))] if happens(chance, 0.6) else []
    return [*leaves, *middle, _stem(chance)]


_AREAS: Final = {"S": _spade, "H": _heart, "D": _diamond, "C": _club}

"""
Shapes of ranks and suits, a little different in every deck.

The thirteen ranks are strokes in a box of one by one, drawn with a pen. Card makers draw figures
that no font has: a flat-topped 3, slab feet, a ten whose nought is squeezed against its one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import cv2
import numpy as np

from drivers.simulators.card_artwork.deck_style import Figures
from drivers.simulators.card_artwork.drawing_tools import (
    Mask,
    Points,
    arc,
    blank,
    cropped,
    curve,
    fill,
    line,
    points,
)

_HEIGHT: Final = 160
_Chance = np.random.Generator
_Draw = Callable[[_Chance, Figures], list[Points]]


@lru_cache(maxsize=512)
def rank_mask(rank: str, figures: Figures) -> Mask:
    """Draw a rank as an index has it, cut to its ink."""
    return _ten(figures) if rank == "10" else _drawn(rank, figures)


def _ten(figures: Figures) -> Mask:
    chance = np.random.default_rng(figures.seed + 10)
    one, nought = _drawn("1", figures), _drawn("0", figures)
    if chance.random() < 0.3:  # noqa: PLR2004 - a one that is a bar
        one = np.full((_HEIGHT, max(8, round(figures.pen * _HEIGHT))), 255, np.uint8)
    height = nought.shape[0]
    one = _scaled(one, max(4, one.shape[1] * height // one.shape[0]), height)
    gap = blank(height, max(2, round(height * chance.uniform(0.03, 0.15))))
    both = np.hstack([one, gap, nought])
    return _scaled(both, max(8, round(both.shape[1] * figures.narrow_ten)), height)


def _scaled(mask: Mask, width: int, height: int) -> Mask:
    return np.asarray(cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _drawn(figure: str, figures: Figures) -> Mask:
    chance = np.random.default_rng(figures.seed + ord(figure))
    width = figures.width * chance.uniform(0.92, 1.08)
    if figure == "1":
        width = chance.uniform(0.2, 0.45)
    size = np.array([width * _HEIGHT, _HEIGHT])
    pad = round(figures.pen * _HEIGHT) + 24
    canvas = blank(_HEIGHT + 2 * pad, round(size[0]) + 2 * pad)
    for stroke in _STROKES[figure](chance, figures):
        line(canvas, stroke * size + pad, 255, 2)
    return cropped(np.asarray(cv2.dilate(canvas, _pen(figures)), np.uint8))


def _pen(figures: Figures) -> Any:  # noqa: ANN401 - what OpenCV's stubs take
    across = max(4, round(figures.pen * _HEIGHT))
    along = max(4, round(across * figures.contrast))
    if figures.square:
        return np.ones((along, across), np.uint8)
    side = max(across, along) + 2
    tip = blank(side, side)
    middle = (side // 2, side // 2)
    cv2.ellipse(tip, middle, (across // 2, along // 2), figures.slant, 0, 360, (1,), -1)
    return tip


def _feet(figures: Figures, *places: tuple[float, float]) -> list[Points]:
    reach = figures.serif / figures.width
    if not figures.serif:
        return []
    return [points((x - reach, y), (x + reach, y)) for x, y in places]


def _tick(figures: Figures, x: float, down: float) -> list[Points]:
    """Give a slab's short upright at the end of a stroke, downwards or upwards."""
    end = 0.0 if down > 0 else 1.0
    return [points((x, end), (x, end + down))] if figures.serif else []


def _ace(chance: _Chance, figures: Figures) -> list[Points]:
    bar = 0.66 + chance.uniform(-0.05, 0.05)
    edge = bar * 0.5
    legs = [points((0, 1), (0.5, 0), (1, 1)), points((0.5 - edge, bar), (0.5 + edge, bar))]
    return legs + _feet(figures, (0, 1), (1, 1))


def _two(chance: _Chance, figures: Figures) -> list[Points]:
    neck = arc(
        (0.5, 0.28), (0.46, 0.28), (185 + chance.uniform(-10, 15), 365 + chance.uniform(0, 35))
    )
    return [np.vstack([neck, points((0.02, 1), (1, 1))]), *_tick(figures, 1, -0.12)]


def _three(chance: _Chance, figures: Figures) -> list[Points]:
    if figures.flat_three:
        bowl = arc((0.45, 0.68), (0.5, 0.32), (-75, 150 + chance.uniform(-10, 10)))
        knee = (0.38 + chance.uniform(-0.06, 0.06), 0.37)
        return [np.vstack([points((0.06, 0), (0.92, 0), knee), bowl]), *_tick(figures, 0.06, 0.13)]
    upper = arc((0.46, 0.25), (0.42, 0.25), (-160, 80))
    return [np.vstack([upper, arc((0.46, 0.72), (0.5, 0.28), (-85, 155))])]


def _four(chance: _Chance, figures: Figures) -> list[Points]:
    x, y = 0.72 + chance.uniform(-0.08, 0.06), 0.70 + chance.uniform(-0.06, 0.05)
    if chance.random() < 0.15:  # noqa: PLR2004 - an open four
        return [points((x, 1), (x, 0.3)), points((0.2, 0), (0, y), (1.02, y))]
    return [points((x, 1), (x, 0), (0, y), (1.02, y)), *_feet(figures, (x, 1))]


def _five(chance: _Chance, figures: Figures) -> list[Points]:
    bowl = arc((0.48, 0.68), (0.48, 0.32), (-135, 150 + chance.uniform(-12, 12)))
    top = points((0.9, 0), (0.18, 0), (0.12, 0.47))
    return [np.vstack([top, bowl]), *_tick(figures, 0.9, 0.1)]


def _six(chance: _Chance, figures: Figures) -> list[Points]:
    bowl = arc((0.5, 0.69), (0.47, 0.31), (0, 360))
    kind = chance.random()
    if kind < 0.35:  # noqa: PLR2004 - a straight neck
        return [curve((0.72, 0), (0.25, 0.22), (0.04, 0.62)), bowl]
    if kind < 0.6:  # noqa: PLR2004 - a neck that turns over
        return [np.vstack([arc((0.5, 0.3), (0.42, 0.3), (-20, -150)), points((0.03, 0.66))]), bowl]
    return [curve((0.85, 0.06), (0.15, -0.05), (0.03, 0.66)), bowl, *_tick(figures, 0.85, 0.12)]


def _nine(chance: _Chance, figures: Figures) -> list[Points]:
    six = np.random.default_rng(figures.seed + ord("6"))
    six.uniform()  # the width's share, as in `_drawn`: a nine is its deck's six turned round
    del chance
    return [1 - stroke for stroke in _six(six, figures)]


def _seven(chance: _Chance, figures: Figures) -> list[Points]:
    foot = 0.35 + chance.uniform(-0.1, 0.12)
    pull = (0.45, 0.4) if chance.integers(2) else ((1 + foot) / 2, 0.5)
    leg = curve((1, 0), pull, (foot, 1))
    return [np.vstack([points((0, 0), (1, 0)), leg]), *_tick(figures, 0, 0.14)]


def _eight(chance: _Chance, _: Figures) -> list[Points]:
    upper = 0.38 + chance.uniform(-0.05, 0.06)
    return [arc((0.5, 0.25), (upper, 0.25), (0, 360)), arc((0.5, 0.74), (0.48, 0.26), (0, 360))]


def _nought(chance: _Chance, _: Figures) -> list[Points]:
    if chance.random() < 0.3:  # noqa: PLR2004 - a nought with straight sides
        top = arc((0.5, 0.3), (0.5, 0.3), (180, 360))
        bottom = arc((0.5, 0.7), (0.5, 0.3), (0, 180))
        return [np.vstack([top, bottom, top[:1]])]
    return [arc((0.5, 0.5), (0.5, 0.5), (0, 360))]


def _one(chance: _Chance, figures: Figures) -> list[Points]:
    flag = [points((0.5, 0), (0.12, 0.2))] if chance.random() < 0.6 else []  # noqa: PLR2004 - most have one
    foot = [points((0.08, 1), (0.92, 1))] if figures.serif else []
    return [points((0.5, 0), (0.5, 1)), *flag, *foot]


def _jack(chance: _Chance, figures: Figures) -> list[Points]:
    hook = arc((0.39, 0.70), (0.36, 0.30), (0, 170 + chance.uniform(-20, 15)))
    return [np.vstack([points((0.75, 0), (0.75, 0.68)), hook]), *_feet(figures, (0.75, 0))]


def _queen(chance: _Chance, _: Figures) -> list[Points]:
    ring = arc((0.48, 0.48), (0.48, 0.48), (0, 360))
    kind = chance.random()
    if kind < 0.4:  # noqa: PLR2004 - a curved tail
        return [ring, curve((0.5, 0.62), (0.75, 0.7), (1.03, 1.05))]
    if kind < 0.75:  # noqa: PLR2004 - a straight one
        return [ring, points((0.55, 0.65), (1, 1.04))]
    curl = np.vstack(
        [arc((0.33, 0.8), (0.18, 0.13), (180, 360)), curve((0.51, 0.8), (0.7, 1.1), (1.05, 0.95))]
    )
    return [ring, curl]


def _king(chance: _Chance, figures: Figures) -> list[Points]:
    fork = 0.40 + chance.uniform(-0.08, 0.05)
    arms = [
        points((0.1, 0), (0.1, 1)),
        points((0.95, 0), (0.1, 0.62)),
        points((fork, 0.40), (1, 1)),
    ]
    return arms + _feet(figures, (0.1, 0), (0.1, 1), (0.93, 0), (0.98, 1))


_STROKES: Final[dict[str, _Draw]] = {
    "A": _ace,
    "2": _two,
    "3": _three,
    "4": _four,
    "5": _five,
    "6": _six,
    "7": _seven,
    "8": _eight,
    "9": _nine,
    "0": _nought,
    "1": _one,
    "J": _jack,
    "Q": _queen,
    "K": _king,
}


_SIZE: Final = 144
_MIDDLE: Final = _SIZE / 2


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
    sides = [
        curve(here, (here + there) / 2 * (1 - 2 * bend), there)
        for here, there in zip(tips, np.roll(tips, -1, 0), strict=True)
    ]
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

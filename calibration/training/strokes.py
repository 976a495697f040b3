"""
Ranks and letters of strokes, in more hands than the project's own decks have.

A hand is chosen for each index: the pen, the shape of the bowls (round, square, with cut corners),
the lean and the feet; and each figure has several shapes, whose points move a little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from calibration.training.chance import Chance, happens, near
from drivers.simulators.card_artwork.drawing_tools import (
    Mask,
    Points,
    blank,
    cropped,
    curve,
    line,
    points,
)

_HEIGHT: Final = 150
_Pair = tuple[float, float]


class _Hand(Struct, frozen=True, kw_only=True):
    """
    Drawing style of the figures of an index; lengths in parts of a figure's height.

    Attributes:
        width: Of a usual figure.
        pen: Width of the pen.
        contrast: The pen's height to its width.
        turn: The pen's turn in degrees.
        blunt: The pen is a rectangle.
        lean: Shear of the figures.
        serif: Half the length of the feet; 0: none.
        corner: Exponent of the bowls: 2 is an ellipse, more is squarer.
        cut: Straight cuts in place of round corners.
    """

    width: float
    pen: float
    contrast: float
    turn: float
    blunt: bool
    lean: float
    serif: float
    corner: float
    cut: bool


def _hand(chance: Chance) -> _Hand:
    square = happens(chance, 0.45)
    return _Hand(
        width=float(chance.uniform(0.42, 0.85)),
        pen=float(chance.uniform(0.07, 0.235)),
        contrast=float(chance.choice([1, chance.uniform(0.45, 1.2)])),
        turn=float(chance.choice([0, 0, 0, 20, 35])),
        blunt=bool(happens(chance, 0.3)),
        lean=float(chance.normal(0.03, 0.07)),
        serif=float(chance.uniform(0.06, 0.17) if happens(chance, 0.45) else 0),
        corner=float(chance.uniform(3, 9) if square else chance.uniform(1.9, 2.5)),
        cut=bool(square and happens(chance, 0.5)),
    )


def stroke_figure(chance: Chance, text: str) -> Mask:
    """Draw a rank, a letter or a number, cut to its ink."""
    hand = _hand(chance)
    if len(text) == 1:
        return _drawn(chance, hand, text)
    signs = [_drawn(chance, hand, sign) for sign in text]
    height = max(sign.shape[0] for sign in signs)
    parts: list[Mask] = []
    gap = blank(height, max(2, round(height * chance.uniform(0.03, 0.3))))
    for sign in signs:
        size = (max(4, sign.shape[1] * height // sign.shape[0]), height)
        parts += [gap, np.asarray(cv2.resize(sign, size, interpolation=cv2.INTER_AREA), np.uint8)]
    whole = np.hstack(parts[1:])
    narrow = max(8, round(whole.shape[1] * chance.uniform(0.55, 1.0)))
    return np.asarray(cv2.resize(whole, (narrow, height), interpolation=cv2.INTER_AREA), np.uint8)


def _drawn(chance: Chance, hand: _Hand, sign: str) -> Mask:
    width = chance.uniform(0.14, 0.4) if sign in "1I" else hand.width * chance.uniform(0.92, 1.08)
    if sign in "WM":
        width *= 1.25
    size = np.array([width * _HEIGHT, _HEIGHT])
    pad = round(hand.pen * _HEIGHT) + 40
    canvas = blank(_HEIGHT + 2 * pad, round(size[0]) + 2 * pad)
    strokes, feet = _SHAPES[sign](chance, hand)
    if hand.serif:
        reach = hand.serif / width
        strokes = [*strokes, *(points((x - reach, y), (x + reach, y)) for x, y in feet)]
    for stroke in strokes:
        moved = np.asarray(stroke, np.float64) * size
        moved[:, 0] += hand.lean * (_HEIGHT - moved[:, 1])
        line(canvas, moved + pad, 255, 2)
    return cropped(np.asarray(cv2.dilate(canvas, _pen(hand)), np.uint8))


def _pen(hand: _Hand) -> Any:  # noqa: ANN401 - what OpenCV's stubs take
    across = max(4, round(hand.pen * _HEIGHT))
    along = max(4, round(across * hand.contrast))
    if hand.blunt:
        return np.ones((along, across), np.uint8)
    side = max(across, along) + 2
    tip = blank(side, side)
    middle = (side // 2, side // 2)
    cv2.ellipse(tip, middle, (across // 2, along // 2), hand.turn, 0, 360, (1,), -1)
    return tip


def _bowl(hand: _Hand, centre: _Pair, radii: _Pair, span: _Pair = (0, 360)) -> Points:
    """Draw part of a bowl; angles in degrees, clockwise from the right."""
    step = 45.0 if hand.cut else 10.0
    count = max(3, round(abs(span[1] - span[0]) / step) + 1)
    turn = np.radians(np.linspace(*span, count) + (22.5 if hand.cut and count > 8 else 0))  # noqa: PLR2004 - a whole one has upright sides
    across, along = np.cos(turn), np.sin(turn)
    if hand.cut:
        reach = np.maximum(np.abs(across), np.abs(along)) if count > 8 else 1.0  # noqa: PLR2004 - as above
        unit = np.stack([across, along], 1) / (np.asarray(reach).reshape(-1, 1) + 1e-9)
    else:
        power = 2 / hand.corner
        unit = np.stack(
            [np.sign(side) * np.abs(side) ** power for side in (across, along)], axis=1
        )
    return np.asarray(np.array(centre) + unit * np.array(radii), np.float64)


_Shape = tuple[list[Points], Sequence[_Pair]]
"""Strokes, and the ends that may have feet."""
_Draw = Callable[[Chance, _Hand], _Shape]


def _join(*parts: Points | NDArray[np.float64]) -> Points:
    return np.vstack(parts)


def _ace(chance: Chance, _: _Hand) -> _Shape:
    flat = float(chance.choice([0, 0, chance.uniform(0.03, 0.14)]))
    bar = near(chance, 0.67, 0.1)
    edge = flat + (0.5 - flat) * bar
    legs = points((0, 1), (0.5 - flat, 0), (0.5 + flat, 0), (1, 1))
    return [legs, points((0.5 - edge, bar), (0.5 + edge, bar))], [(0, 1), (1, 1)]


def _two(chance: Chance, hand: _Hand) -> _Shape:
    kind = chance.random()
    if kind < 0.25:  # noqa: PLR2004 - a share of the shapes
        low = near(chance, 0.42, 0.06)
        top = points((0.02, 0.16), (0.2, 0), (0.8, 0), (0.98, 0.17), (0.98, low))
        return [_join(top, points((0.02, 1), (1, 1)))], []
    high = near(chance, 0.28, 0.03)
    top = _bowl(hand, (0.5, high), (0.47, high), (near(chance, 188, 12), near(chance, 372, 20)))
    if kind < 0.6:  # noqa: PLR2004 - as above
        return [_join(top, points((0.02, 1), (1, 1)))], []
    foot = curve((0.96, high), (0.95, 0.6), (0.03, 1))
    end = points((1, 1)) if kind < 0.85 else curve((0.03, 1), (0.5, 0.86), (1, 0.97))  # noqa: PLR2004 - as above
    return [_join(top, foot, end)], [(1, 0.97)] if happens(chance, 0.3) else []


def _three(chance: Chance, hand: _Hand) -> _Shape:
    kind, end = chance.random(), near(chance, 155, 15)
    if kind < 0.4:  # noqa: PLR2004 - flat tops
        left, knee = (
            near(chance, 0.03, 0.05),
            (near(chance, 0.43, 0.1), near(chance, 0.38, 0.03)),
        )
        bowl = _bowl(hand, (0.46, 0.69), (0.52, 0.31), (near(chance, -80, 10), end))
        return [_join(points((left, 0), (near(chance, 0.95, 0.05), 0), knee), bowl)], [
            (left, 0.04)
        ]
    upper = _bowl(
        hand, (0.46, 0.25), (near(chance, 0.44, 0.04), 0.25), (near(chance, -165, 12), 88)
    )
    lower = _bowl(hand, (0.46, 0.74), (0.53, 0.26), (-88, end))
    if kind < 0.55:  # noqa: PLR2004 - a middle stroke of its own
        return [_join(upper, points((0.3, 0.49))), _join(points((0.3, 0.49)), lower)], []
    return [_join(upper, lower)], []


def _four(chance: Chance, _: _Hand) -> _Shape:
    x, y = near(chance, 0.74, 0.07), near(chance, 0.7, 0.06)
    right = near(chance, 1.0, 0.06)
    if happens(chance, 0.2):  # open ones
        top = near(chance, 0.3, 0.2)
        return [
            points((x, 1), (x, max(0.0, top))),
            points((near(chance, 0.35, 0.12), 0), (0, y), (right, y)),
        ], [(x, 1)]
    return [points((x, 1), (x, 0), (0, y), (right, y))], [(x, 1)]


def _five(chance: Chance, hand: _Hand) -> _Shape:
    right, low = near(chance, 0.93, 0.06), near(chance, 0.44, 0.04)
    left = near(chance, 0.1, 0.09)
    if hand.corner > 2.6:  # noqa: PLR2004 - square hands
        bowl = _bowl(
            hand, (0.5, (1 + low) / 2), (0.48, (1 - low) / 2), (-90, near(chance, 105, 15))
        )
        back = points((right, 0), (left, 0), (left, low))
        return [_join(back, bowl, points((0.02, 1)))], []
    bowl = _bowl(hand, (0.48, 0.68), (0.5, 0.32), (-140, near(chance, 150, 15)))
    return [_join(points((right, 0), (left + 0.08, 0), (left, 0.47)), bowl)], []


def _six(chance: Chance, hand: _Hand) -> _Shape:
    top = near(chance, 0.39, 0.05)
    bowl = _bowl(hand, (0.5, (1 + top) / 2), (0.48, (1 - top) / 2))
    kind, middle = chance.random(), (1 + top) / 2
    if kind < 0.25:  # noqa: PLR2004 - a straight neck
        return [points((near(chance, 0.78, 0.12), 0), (0.04, middle)), bowl], []
    if kind < 0.6 or hand.corner > 2.6:  # noqa: PLR2004 - a neck that turns over
        high = near(chance, 0.3, 0.05)
        neck = _bowl(hand, (0.5, high), (0.48, high), (near(chance, -35, 20), -180))
        return [_join(neck, points((0.02, middle))), bowl], []
    return [
        curve((near(chance, 0.85, 0.1), near(chance, 0.04, 0.04)), (0.12, -0.02), (0.02, middle)),
        bowl,
    ], []


def _nine(chance: Chance, hand: _Hand) -> _Shape:
    strokes, _ = _six(chance, hand)
    return [1 - stroke for stroke in strokes], []


def _seven(chance: Chance, _: _Hand) -> _Shape:
    foot = near(chance, 0.35, 0.14)
    leg = (
        points((1, 0), (foot, 1))
        if happens(chance, 0.5)
        else curve((1, 0), (near(chance, 0.5, 0.12), 0.42), (foot, 1))
    )
    strokes = [_join(points((0, 0)), leg)]
    kind = chance.random()
    if kind < 0.2:  # noqa: PLR2004 - a bar through the leg
        y = near(chance, 0.5, 0.05)
        strokes.append(points((near(chance, 0.25, 0.08), y), (near(chance, 0.9, 0.06), y)))
    elif kind < 0.45:  # noqa: PLR2004 - a short upright at the left
        strokes.append(points((0, 0), (0, near(chance, 0.16, 0.05))))
    return strokes, [(foot, 1)] if happens(chance, 0.4) else []


def _eight(chance: Chance, hand: _Hand) -> _Shape:
    waist, narrow = near(chance, 0.48, 0.04), near(chance, 0.42, 0.06)
    if happens(chance, 0.15):  # one stroke that crosses itself
        turn = np.linspace(0, 2 * np.pi, 50)
        crossing = np.stack([0.5 + 0.5 * np.sin(2 * turn), 0.5 - 0.5 * np.cos(turn)], axis=1)
        return [crossing], []
    upper = _bowl(hand, (0.5, waist / 2), (narrow, waist / 2))
    return [upper, _bowl(hand, (0.5, (1 + waist) / 2), (0.49, (1 - waist) / 2))], []


def _nought(_: Chance, hand: _Hand) -> _Shape:
    return [_bowl(hand, (0.5, 0.5), (0.5, 0.5))], []


def _one(chance: Chance, _: _Hand) -> _Shape:
    x = near(chance, 0.55, 0.1)
    flag = [points((x, 0), (near(chance, 0.08, 0.08), near(chance, 0.2, 0.06)))]
    if happens(chance, 0.4):  # bars
        flag = []
    foot = [points((0.08, 1), (1, 1))] if happens(chance, 0.3) else []
    return [points((x, 0), (x, 1)), *flag, *foot], [(x, 1)]


def _jack(chance: Chance, hand: _Hand) -> _Shape:
    x, low = near(chance, 0.75, 0.1), near(chance, 0.7, 0.05)
    hook = _bowl(hand, (x / 2, low), (x / 2, 1 - low), (0, near(chance, 172, 14)))
    stroke = _join(points((x, 0)), hook)
    kind = chance.random()
    if kind < 0.25:  # noqa: PLR2004 - the hook turns up
        stroke = _join(stroke, points((near(chance, 0.04, 0.06), near(chance, low - 0.08, 0.06))))
    top = chance.random()
    if top < 0.25:  # noqa: PLR2004 - a bar to the left
        return [stroke, points((near(chance, 0.25, 0.12), 0), (x, 0))], []
    if top < 0.5:  # noqa: PLR2004 - a bar to both sides
        return [stroke, points((near(chance, 0.38, 0.12), 0), (near(chance, 1.05, 0.08), 0))], []
    return [stroke], [(x, 0)]


def _queen(chance: Chance, hand: _Hand) -> _Shape:
    ring = _bowl(hand, (0.5, 0.5), (0.5, 0.5))
    kind = chance.random()
    inner, outer = near(chance, 0.57, 0.08), near(chance, 1.02, 0.06)
    if kind < 0.4:  # noqa: PLR2004 - a straight tail
        return [
            ring,
            points((inner, near(chance, 0.7, 0.06)), (outer, near(chance, 1.05, 0.05))),
        ], []
    if kind < 0.6:  # noqa: PLR2004 - a curved one
        return [ring, curve((inner, 0.68), (0.72, 0.98), (outer, 1.06))], []
    if kind < 0.8:  # noqa: PLR2004 - a wave under the ring
        y = near(chance, 1.02, 0.05)
        wave = _join(
            curve((0.28, y + 0.06), (0.45, y - 0.1), (0.62, y)),
            curve((0.62, y), (0.8, y + 0.12), (1.02, y + 0.04)),
        )
        return [ring, wave], []
    return [
        ring,
        points((0.5, near(chance, 0.75, 0.06)), (0.5, 1.1), (near(chance, 0.9, 0.08), 1.1)),
    ], []


def _king(chance: Chance, _: _Hand) -> _Shape:
    x, meet = near(chance, 0.05, 0.05), near(chance, 0.58, 0.08)
    arm = points((near(chance, 0.95, 0.05), 0), (x, meet))
    share = float(chance.choice([0.0, near(chance, 0.3, 0.15)]))
    start = (x + (0.95 - x) * share, meet * (1 - share))
    strokes = [points((x, 0), (x, 1)), arm, points(start, (near(chance, 1.0, 0.04), 1))]
    return strokes, [(x, 0), (x, 1), (0.95, 0), (1.0, 1)]


def _b(chance: Chance, hand: _Hand) -> _Shape:
    waist, upper = near(chance, 0.48, 0.04), near(chance, 0.88, 0.08)
    x = near(chance, 0.04, 0.04)
    bowls = [
        _join(
            points((x, 0)),
            _bowl(hand, (0.45, waist / 2), (upper - 0.45, waist / 2), (-90, 90)),
            points((x, waist)),
        ),
        _join(
            points((x, waist)),
            _bowl(hand, (0.45, (1 + waist) / 2), (0.53, (1 - waist) / 2), (-90, 90)),
            points((x, 1)),
        ),
    ]
    return [points((x, 0), (x, 1)), *bowls], [(x - 0.05, 0), (x - 0.05, 1)]


def _c(chance: Chance, hand: _Hand) -> _Shape:
    gap = near(chance, 45, 15)
    return [_bowl(hand, (0.52, 0.5), (0.5, 0.5), (gap, 360 - gap))], []


def _d(chance: Chance, hand: _Hand) -> _Shape:
    x, start = near(chance, 0.04, 0.04), near(chance, 0.42, 0.1)
    bow = _join(
        points((x, 0)), _bowl(hand, (start, 0.5), (1 - start, 0.5), (-90, 90)), points((x, 1))
    )
    return [points((x, 0), (x, 1)), bow], [(x - 0.05, 0), (x - 0.05, 1)]


def _g(chance: Chance, hand: _Hand) -> _Shape:
    strokes, feet = _c(chance, hand)
    return [*strokes, points((0.6, 0.55), (1, 0.55), (1, 0.9))], feet


def _p(chance: Chance, hand: _Hand) -> _Shape:
    x, waist = near(chance, 0.05, 0.04), near(chance, 0.54, 0.06)
    bowl = _bowl(hand, (0.5, waist / 2), (0.48, waist / 2), (-90, 90))
    return [points((x, 0), (x, 1)), _join(points((x, 0)), bowl, points((x, waist)))], [
        (x, 1),
        (x, 0),
    ]


def _r(chance: Chance, hand: _Hand) -> _Shape:
    strokes, feet = _p(chance, hand)
    waist = float(strokes[1][-1, 1])
    return [*strokes, points((near(chance, 0.45, 0.15), waist), (1, 1))], [*feet, (1, 1)]


def _s(chance: Chance, hand: _Hand) -> _Shape:
    upper = _bowl(hand, (0.5, 0.26), (0.46, 0.26), (near(chance, -30, 12), -270))
    return [_join(upper, _bowl(hand, (0.5, 0.74), (0.48, 0.26), (-90, near(chance, 150, 12))))], []


def _u(chance: Chance, hand: _Hand) -> _Shape:
    low = near(chance, 0.68, 0.06)
    bow = _bowl(hand, (0.5, low), (0.48, 1 - low), (180, 0))
    return [_join(points((0.02, 0)), bow, points((0.98, 0)))], [(0.02, 0), (0.98, 0)]


_RIM: Final = 0.1


def _straight(*paths: Sequence[_Pair], feet: Sequence[_Pair] = ()) -> _Draw:
    """Give a letter of straight strokes, whose ends move a little."""

    def draw(chance: Chance, _: _Hand) -> _Shape:
        off = chance.uniform(-0.05, 0.05, 2)
        outlines = [points(*path) for path in paths]
        # The corners of the outline stay.
        moved = [path + off * ((path > _RIM) & (path < 1 - _RIM)) for path in outlines]
        return moved, feet

    return draw


LETTERS: Final = "BCDEFGHILMNOPRSTUVWXYZ"
"""Letters that are no rank."""
_SHAPES: Final[dict[str, _Draw]] = {
    "A": _ace, "2": _two, "3": _three, "4": _four, "5": _five, "6": _six, "7": _seven,
    "8": _eight, "9": _nine, "0": _nought, "1": _one, "J": _jack, "Q": _queen, "K": _king,
    "B": _b, "C": _c, "D": _d, "G": _g, "P": _p, "R": _r, "S": _s, "U": _u, "O": _nought,
    "E": _straight([(1, 0), (0.05, 0), (0.05, 1), (1, 1)], [(0.05, 0.48), (0.8, 0.48)]),
    "F": _straight([(1, 0), (0.05, 0), (0.05, 1)], [(0.05, 0.48), (0.8, 0.48)], feet=[(0.05, 1)]),
    "H": _straight([(0.03, 0), (0.03, 1)], [(0.97, 0), (0.97, 1)], [(0.03, 0.48), (0.97, 0.48)],
                   feet=[(0.03, 0), (0.03, 1), (0.97, 0), (0.97, 1)]),
    "I": _straight([(0.5, 0), (0.5, 1)], feet=[(0.5, 0), (0.5, 1)]),
    "L": _straight([(0.05, 0), (0.05, 1), (1, 1)], feet=[(0.05, 0)]),
    "M": _straight([(0.03, 1), (0.03, 0), (0.5, 0.7), (0.97, 0), (0.97, 1)],
                   feet=[(0.03, 1), (0.97, 1)]),
    "N": _straight([(0.03, 1), (0.03, 0), (0.97, 1), (0.97, 0)], feet=[(0.03, 1), (0.97, 0)]),
    "T": _straight([(0, 0), (1, 0)], [(0.5, 0), (0.5, 1)], feet=[(0.5, 1)]),
    "V": _straight([(0, 0), (0.5, 1), (1, 0)], feet=[(0, 0), (1, 0)]),
    "W": _straight([(0, 0), (0.27, 1), (0.5, 0.25), (0.73, 1), (1, 0)], feet=[(0, 0), (1, 0)]),
    "X": _straight([(0, 0), (1, 1)], [(1, 0), (0, 1)], feet=[(0, 0), (1, 0), (0, 1), (1, 1)]),
    "Y": _straight([(0, 0), (0.5, 0.5), (1, 0)], [(0.5, 0.5), (0.5, 1)],
                   feet=[(0, 0), (1, 0), (0.5, 1)]),
    "Z": _straight([(0, 0), (1, 0), (0, 1), (1, 1)]),
}  # fmt: skip

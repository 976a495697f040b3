"""
Signs that are printed on cards without a name: figures that are no rank, emblems that are no suit.

Figures are letters and numbers of strokes and of fonts, ranks in a mirror, and scribbles. Emblems
are symbols of fonts, letters, and shapes drawn here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from PIL import ImageFont

from calibration.training import system_fonts
from calibration.training.chance import Chance, happens, one_of
from calibration.training.strokes import LETTERS, stroke_figure
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
from drivers.simulators.card_artwork.shapes import pip_mask

_LIKELY: Final = (
    "V",
    "D",
    "R",
    "B",
    "T",
    "C",
    "L",
    "E",
    "1",
    "0",
    "11",
    "12",
    "13",
    "I",
    "O",
    "F",
)
"""Letters and numbers of other countries' cards."""
_MORE: Final = (
    *"GHMNPUWXYSZ", "14", "15", "20", "21", "01", "Re", "Da", "Va", "II", "III", "IV", "VI", "VII",
    "?", "!", "&", "#", "%", "+", "=", "*", "@", *"dehnrtfmwyvcupx",
)  # fmt: skip
_FOREIGN: Final = "ΓΔΘΛΞΠΣΦΨΩБГДЖИЛПФЦШЩЫЮЯÆÐÞÑאבגדהטלמנפצקרשת"
"""Letters of other scripts that look like no rank."""
_LIKE_RANKS: Final = ("B", "B", "B", "12", "13", "11", "S", "Z", "G", "O")
"""Signs that are taken for ranks: a B for an 8, a 13 for a 3."""
_MIRRORED: Final = ("3", "4", "6", "7", "9", "J", "K")
"""Ranks that are no rank in a mirror."""
_UPSIDE_DOWN: Final = ("4", "7", "A", "J")


def draw_figure(chance: Chance, fonts: Sequence[Path]) -> Mask:
    """Draw a figure that is none of the thirteen ranks, cut to its ink."""
    kind = chance.random()
    if kind < 0.06:  # noqa: PLR2004 - the shares of the lessons
        return _scribble(chance)
    if kind < 0.14:  # noqa: PLR2004 - as above
        return _turned_rank(chance, fonts)
    if kind < 0.24:  # noqa: PLR2004 - as above
        text = one_of(chance, _LIKE_RANKS)
        if happens(chance, 0.5):
            return stroke_figure(chance, text)
        return _weighted(chance, _font_figure(chance, fonts, text))
    likely = happens(chance, 0.6)
    if kind < 0.6:  # noqa: PLR2004 - as above
        every = _LIKELY if likely else (*LETTERS, "14", "21", "01", "10A", "1J")
        return stroke_figure(chance, one_of(chance, every))
    others = (*_MORE, *_FOREIGN)
    text = str(one_of(chance, _LIKELY))
    if not likely:
        text = one_of(chance, others)
    font = one_of(chance, fonts)
    if not has_sign(font, text[0]):
        text = one_of(chance, "VDRBT")
    return _weighted(chance, system_fonts.glyph(font, text))


def _weighted(chance: Chance, figure: Mask) -> Mask:
    """Condense a font's figure, and sometimes make it bolder."""
    width = max(6, round(figure.shape[1] * chance.uniform(0.6, 1.1)))
    size = (width, figure.shape[0])
    figure = np.asarray(cv2.resize(figure, size, interpolation=cv2.INTER_AREA), np.uint8)
    if happens(chance, 0.25):
        side = int(chance.integers(2, 6))
        figure = np.asarray(cv2.dilate(figure, np.ones((side, side), np.uint8)), np.uint8)
    return figure


def _turned_rank(chance: Chance, fonts: Sequence[Path]) -> Mask:
    mirrored = happens(chance, 0.6)
    ranks = _MIRRORED if mirrored else _UPSIDE_DOWN
    rank = one_of(chance, ranks)
    own = happens(chance, 0.5)
    drawn = stroke_figure(chance, rank) if own else _font_figure(chance, fonts, rank)
    return np.ascontiguousarray(drawn[:, ::-1] if mirrored else drawn[::-1, ::-1])


def _font_figure(chance: Chance, fonts: Sequence[Path], text: str) -> Mask:
    return system_fonts.glyph(one_of(chance, fonts), text)


def _scribble(chance: Chance) -> Mask:
    """Draw two to four strokes anyhow."""
    wide, pen = int(chance.integers(60, 130)), int(chance.integers(10, 34))
    canvas = blank(200, wide + 60)
    for _ in range(int(chance.integers(2, 5))):
        ends = chance.uniform((30, 30), (30 + wide, 170), (3, 2))
        bent = happens(chance, 0.5)
        (ax, ay), (bx, by), (cx, cy) = ends.tolist()
        line(canvas, curve((ax, ay), (bx, by), (cx, cy)) if bent else ends[:2], 255, pen)
    drawn = cropped(canvas)
    return np.asarray(cv2.resize(drawn, (max(30, drawn.shape[1]), 150)), np.uint8)


@lru_cache(maxsize=4096)
def has_sign(path: Path, sign: str) -> bool:
    """Return whether a font has a sign of its own."""
    font = ImageFont.truetype(str(path), 24)
    drawn = bytes(font.getmask(sign))
    return any(drawn) and drawn != bytes(font.getmask("\U0010fffe"))


_SYMBOLS: Final = tuple(
    chr(code)
    for start, end in (
        (0x2190, 0x21FF), (0x2300, 0x23CF), (0x25A0, 0x25FF), (0x2600, 0x26FF), (0x2701, 0x27BF),
        (0x2B12, 0x2B59), (0x1F300, 0x1F6C5),
    )
    for code in range(start, end)
)  # fmt: skip
_SUIT_LIKE: Final = frozenset("♠♡♢♣♤♥♦♧❣❤❥❦❧☙◆◇◈◊⬥⬦⬧⬨⬖⬗⬩⬫⟠☘♢⯁⯀🌲💎🞄🞙♆⚘✤✣✢❖")
_SYMBOL_FONTS: Final = ("DejaVuSans", "DejaVuSans-Bold", "FreeSerif", "FreeSans", "Symbola")


@lru_cache(maxsize=1)
def _font_symbols() -> tuple[tuple[Path, str], ...]:
    """Return all symbols of the fonts that have them, but those that look like suits."""
    paths = [
        path
        for held_out in (False, True)
        for path in system_fonts.found(held_out=held_out)
        if path.stem in _SYMBOL_FONTS
    ]
    return tuple(
        (path, sign)
        for path in paths
        for sign in _SYMBOLS
        if sign not in _SUIT_LIKE and not 0x1F493 <= ord(sign) <= 0x1F49F and has_sign(path, sign)  # noqa: PLR2004 - hearts
    )


_SIZE: Final = 144
_MIDDLE: Final = _SIZE / 2


def draw_emblem(chance: Chance, fonts: Sequence[Path]) -> Mask:
    """Draw an emblem that is none of the four suits, cut to its ink."""
    kind = chance.random()
    symbols = _font_symbols()
    if kind < 0.3 and symbols:  # noqa: PLR2004 - the shares of the lessons
        drawn = system_fonts.glyph(*one_of(chance, symbols))
        if drawn.shape[0] < drawn.shape[1] / 2:  # a dash
            drawn = _own_emblem(chance)
    elif kind < 0.38:  # noqa: PLR2004 - as above
        drawn = draw_figure(chance, fonts)
    elif kind < 0.42:  # noqa: PLR2004 - as above
        suit = one_of(chance, "SC")
        drawn = np.ascontiguousarray(pip_mask(suit, int(chance.integers(1000)))[::-1])
    else:
        drawn = _own_emblem(chance)
    if happens(chance, 0.12) and min(drawn.shape) > 30:  # noqa: PLR2004 - an outline only
        drawn = _hollow(chance, drawn)
    height = max(8, round(drawn.shape[0] * chance.uniform(0.8, 1.25)))
    size = (drawn.shape[1], height)
    return np.asarray(cv2.resize(drawn, size, interpolation=cv2.INTER_AREA), np.uint8)


def _hollow(chance: Chance, mask: Mask) -> Mask:
    side = max(3, round(min(mask.shape) * chance.uniform(0.08, 0.2)))
    padded = np.asarray(cv2.copyMakeBorder(mask, 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=0))
    inner = cv2.erode(padded, np.ones((side, side), np.uint8))
    return cropped(np.asarray(cv2.subtract(padded, inner), np.uint8))


def _own_emblem(chance: Chance) -> Mask:
    canvas = blank(_SIZE + 40, _SIZE + 40)
    shapes = one_of(chance, _EMBLEMS)(chance)
    for outline, colour in shapes:
        fill(canvas, outline * (_SIZE / 2) + _MIDDLE + 20, colour)
    if not canvas.any():
        cv2.circle(canvas, (90, 90), 60, (255,), -1)
    return cropped(canvas)


_Areas = list[tuple[Points, int]]
"""Outlines within -1 to 1, filled in order: 255 is ink, 0 is paper."""


def _spread(chance: Chance, value: float, share: float = 0.15) -> float:
    return float(value * chance.uniform(1 - share, 1 + share))


def _disc(x: float, y: float, across: float, along: float | None = None) -> Points:
    return arc((x, y), (across, across if along is None else along), (0, 360))


def _band(y: float, height: float, half: float = 0.9) -> Points:
    return points((-half, y), (half, y), (half, y + height), (-half, y + height))


def _mirror(right: Points) -> Points:
    """Complete the right half of an outline, from top to bottom, by its left half."""
    return np.vstack([right, (right * (-1, 1))[::-1]])


def _polygon(chance: Chance) -> _Areas:
    sides = int(chance.choice([3, 3, 4, 5, 6, 6, 7, 8]))
    start = 45 if sides == 4 else float(chance.choice([-90, 90, -90 + 180 / sides]))  # noqa: PLR2004 - a square, no diamond
    turn = np.radians(start + np.arange(sides) * 360 / sides)
    stretch = (_spread(chance, 0.85), _spread(chance, 0.95))
    return [(np.stack([np.cos(turn) * stretch[0], np.sin(turn) * stretch[1]], 1), 255)]


def _star(chance: Chance) -> _Areas:
    tips = int(chance.integers(5, 13)) if happens(chance, 0.85) else 4  # a share of the stars
    inner = chance.uniform(0.12, 0.28) if tips == 4 else chance.uniform(0.25, 0.7)  # noqa: PLR2004 - as above
    turn = np.radians(-90 + np.arange(2 * tips) * 180 / tips)
    reach = np.where(np.arange(2 * tips) % 2 == 0, 1.0, inner)
    star = np.stack([np.cos(turn) * reach, np.sin(turn) * reach], 1)
    return [(star, 255)] + ([(_disc(0, 0, inner * 0.5), 0)] if happens(chance, 0.2) else [])


def _coin(chance: Chance) -> _Areas:
    areas: _Areas = [(_disc(0, 0, _spread(chance, 0.9), _spread(chance, 0.92)), 255)]
    reach, colour = chance.uniform(0.6, 0.8), 0
    for _ in range(int(chance.integers(0, 4))):
        areas.append((_disc(0, 0, reach), colour))
        reach, colour = reach * chance.uniform(0.55, 0.8), 255 - colour
    return areas


def _moon(chance: Chance) -> _Areas:
    side = float(chance.choice([-1, 1]))
    bite = _disc(
        side * chance.uniform(0.3, 0.6), chance.uniform(-0.15, 0.15), chance.uniform(0.65, 0.85)
    )
    return [(_disc(0, 0, 0.95), 255), (bite, 0)]


def _cross(chance: Chance) -> _Areas:
    wide, end, bar = (
        chance.uniform(0.14, 0.36),
        chance.uniform(1.0, 2.6),
        _spread(chance, 0.0) - chance.choice([0.0, 0.3]),
    )
    arm = wide * end
    upright = points(
        (-min(arm, 0.9), -1),
        (min(arm, 0.9), -1),
        (wide, bar),
        (min(arm, 0.9), 1),
        (-min(arm, 0.9), 1),
        (-wide, bar),
    )
    across = np.stack([upright[:, 1], upright[:, 0]], 1) * (0.9, 1) + (0, bar)
    areas: _Areas = [(upright, 255), (across, 255)]
    if happens(chance, 0.3):  # a share of the crosses
        areas.append((_disc(0, bar, wide * 1.8), 255))
    return areas


def _crown(chance: Chance) -> _Areas:
    tips = int(chance.choice([3, 3, 4, 5]))
    low, high = chance.uniform(0.0, 0.35), -chance.uniform(0.5, 0.85)
    x = np.linspace(-0.95, 0.95, 2 * tips - 1)
    y = np.where(np.arange(2 * tips - 1) % 2 == 0, high, low)
    outline = np.vstack([np.stack([x, y], 1), points((0.8, 0.8), (-0.8, 0.8))])
    areas: _Areas = [(outline, 255)]
    if happens(chance, 0.6):  # balls on the tips
        areas += [(_disc(px, high, _spread(chance, 0.13)), 255) for px in x[::2]]
    if happens(chance, 0.5):  # a line over the foot
        areas.append((points((-0.85, 0.5), (0.85, 0.5), (0.85, 0.6), (-0.85, 0.6)), 0))
    return areas


def _goblet(chance: Chance) -> _Areas:
    """Draw a bowl on a stem with a foot."""
    rim, neck, deep = (
        chance.uniform(0.55, 0.9),
        chance.uniform(0.07, 0.16),
        chance.uniform(-0.1, 0.35),
    )
    foot, floor = chance.uniform(0.35, 0.75), chance.uniform(0.72, 0.9)
    bowl = curve(
        (rim, -chance.uniform(0.75, 1.0)),
        (rim * chance.uniform(0.75, 1.25), deep * 0.8),
        (neck, deep),
    )
    stand = points((neck, floor), (foot, floor + 0.08), (foot, 1))
    areas: _Areas = [(_mirror(np.vstack([bowl, stand])), 255)]
    if happens(chance, 0.3):  # a knob
        areas.append((_disc(0, (deep + floor) / 2, neck * 2), 255))
    if happens(chance, 0.3):  # a lid
        areas.append((arc((0, -0.8), (rim * 0.9, chance.uniform(0.15, 0.4)), (180, 360)), 255))
    return areas


def _bell(chance: Chance) -> _Areas:
    mouth, crown = chance.uniform(0.7, 0.95), chance.uniform(0.25, 0.5)
    side = curve((crown, -0.6), (crown * 1.1, 0.25), (mouth, chance.uniform(0.5, 0.68)))
    top = arc((0, -0.6), (crown, chance.uniform(0.2, 0.38)), (-90, 0))
    areas: _Areas = [(_mirror(np.vstack([top, side])), 255)]
    areas.append((_disc(0, 0.75, chance.uniform(0.12, 0.24)), 255))
    if happens(chance, 0.4):  # a slit or a band
        y = chance.uniform(0.1, 0.4)
        areas.append((points((-0.9, y), (0.9, y), (0.9, y + 0.09), (-0.9, y + 0.09)), 0))
    if happens(chance, 0.35):  # a round bell of German cards
        y = chance.uniform(0.0, 0.2)
        return [
            (_disc(0, 0, 0.88), 255),
            (_band(y, 0.1), 0),
            (points((-0.05, y), (0.05, y), (0.12, 0.85), (-0.12, 0.85)), 0),
            (_disc(0, -0.92, 0.12), 255),
        ]
    return areas


def _acorn(chance: Chance) -> _Areas:
    wide, rim = chance.uniform(0.45, 0.65), chance.uniform(-0.35, -0.05)
    nut = curve((wide, rim), (wide * 1.05, 0.6), (0, chance.uniform(0.8, 1.0)))
    cap = chance.uniform(1.1, 1.4) * wide
    areas: _Areas = [(_mirror(np.vstack([points((0, rim)), nut])), 255)]
    areas.append((arc((0, rim), (cap, chance.uniform(0.3, 0.5)), (180, 360)), 255))
    stalk = chance.uniform(0.04, 0.12)
    areas.append((points((-stalk, -1), (stalk, -1), (stalk, rim), (-stalk, rim)), 255))
    if happens(chance, 0.5):  # a gap under the cap
        areas.append((points((-1, rim), (1, rim), (1, rim + 0.08), (-1, rim + 0.08)), 0))
    return areas


def _leaf(chance: Chance) -> _Areas:
    """Draw a leaf with a stalk: lens, egg or lobes, its tip up or to a side."""
    wide, low = chance.uniform(0.35, 0.85), chance.uniform(0.35, 0.7)
    kind = chance.random()
    if kind < 0.35:  # noqa: PLR2004 - pointed at both ends
        side = curve((0, -1), (wide * 1.6, chance.uniform(-0.5, 0.2)), (0, low))
    elif kind < 0.7:  # noqa: PLR2004 - an egg with a short tip
        side = np.vstack([curve((0, -1), (wide * 0.4, -0.7), (wide * 0.8, -0.35)),
                          curve((wide * 0.8, -0.35), (wide * 1.25, low), (0, low))])  # fmt: skip
    else:  # lobes
        count, turn = int(chance.integers(2, 4)), np.linspace(0, np.pi, 40)
        reach = wide * (0.75 + 0.3 * np.abs(np.sin(turn * count)))
        side = np.stack([np.sin(turn) * reach, -np.cos(turn) * (1 + low) / 2 - (1 - low) / 2], 1)
    stalk = chance.uniform(0.03, 0.09)
    areas: _Areas = [
        (_mirror(side), 255),
        (points((-stalk, 0.2), (stalk, 0.2), (stalk, 1), (-stalk, 1)), 255),
    ]
    if happens(chance, 0.4):  # a rib
        areas.append(
            (points((-0.035, -0.7), (0.035, -0.7), (0.035, low * 0.8), (-0.035, low * 0.8)), 0)
        )
    if happens(chance, 0.3):  # lying
        turn = np.radians(chance.choice([-1, 1]) * chance.uniform(25, 90))
        spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        areas = [(outline @ spin.T, colour) for outline, colour in areas]
    return areas


def _lily(chance: Chance) -> _Areas:
    middle = curve((0, -1), (chance.uniform(0.35, 0.6), -0.35), (0.1, 0.25))
    side = np.vstack(
        [
            curve((0.12, 0.25), (0.25, -0.65), (0.7, -0.5)),
            curve((0.7, -0.5), (1.1, -0.2), (0.75, 0.15)),
            curve((0.75, 0.15), (0.8, -0.2), (0.55, -0.2)),
            curve((0.55, -0.2), (0.35, -0.1), (0.2, 0.3)),
        ]
    )
    foot = curve((0.1, 0.4), (chance.uniform(0.1, 0.4), 0.6), (0.05, 1.0))
    y = chance.uniform(0.25, 0.35)
    return [(_mirror(middle), 255), (side, 255), (side * (-1, 1), 255), (_mirror(foot), 255),
            (points((-0.45, y), (0.45, y), (0.45, y + 0.13), (-0.45, y + 0.13)), 255)]  # fmt: skip


def _shield(chance: Chance) -> _Areas:
    wide, shoulder = chance.uniform(0.65, 0.9), chance.uniform(-0.2, 0.35)
    top = (
        points((0, -chance.uniform(0.7, 1.0)), (wide, -0.88))
        if happens(chance, 0.5)
        else points((wide, -0.9))
    )
    side = np.vstack(
        [top, curve((wide, shoulder), (wide * chance.uniform(0.7, 1.0), 0.7), (0, 1))]
    )
    areas: _Areas = [(_mirror(side), 255)]
    if happens(chance, 0.35):  # a border
        areas += [(_mirror(side) * 0.8, 0), (_mirror(side) * 0.62, 255)]
    return areas


_CLOVER: Final = 4
"""Leaves of a clover."""


def _flower(chance: Chance) -> _Areas:
    """Draw petals round a middle, four leaves of a clover with a stalk among them."""
    petals = int(chance.choice([4, 4, 5, 6, 7, 8]))
    radius, reach = chance.uniform(0.28, 0.48) * (4 / petals) ** 0.5, chance.uniform(0.45, 0.6)
    start = 45.0
    if petals != _CLOVER or happens(chance, 0.6):
        start = float(chance.choice([0, 180 / petals]))
    areas: _Areas = []
    for number in range(petals):
        turn = math.radians(-90 + start + number * 360 / petals)
        areas.append((_disc(reach * math.cos(turn), reach * math.sin(turn), radius), 255))
    stalked = petals == _CLOVER and happens(chance, 0.5)
    if stalked:
        areas.append((points((-0.06, 0), (0.06, 0), (0.25, 1), (0.05, 1)), 255))
    areas.append(
        (
            _disc(0, 0, chance.uniform(0.12, 0.3)),
            0 if happens(chance, 0.4) and not stalked else 255,
        )
    )
    return areas


def _blade(chance: Chance) -> _Areas:
    """Draw a sword, a club or an arrow, upright or aslant."""
    blade, guard, at = (
        chance.uniform(0.05, 0.16),
        chance.uniform(0.3, 0.65),
        chance.uniform(0.25, 0.6),
    )
    kind = chance.random()
    if kind < 0.5:  # noqa: PLR2004 - a sword
        areas: _Areas = [
            (points((0, -1), (blade, -0.8), (blade, at), (-blade, at), (-blade, -0.8)), 255),
            (points((-guard, at), (guard, at), (guard, at + 0.13), (-guard, at + 0.13)), 255),
            (points((-0.06, at), (0.06, at), (0.06, 0.95), (-0.06, 0.95)), 255),
            (_disc(0, 0.92, chance.uniform(0.08, 0.16)), 255),
        ]
    elif kind < 0.75:  # noqa: PLR2004 - a cudgel
        thick = chance.uniform(0.2, 0.38)
        areas = [
            (
                _mirror(
                    np.vstack([arc((0, -0.7), (thick, 0.3), (-90, 0)), points((thick * 0.35, 1))])
                ),
                255,
            )
        ]
    else:
        areas = [
            (
                points(
                    (0, -1),
                    (0.6, -0.3),
                    (0.18, -0.3),
                    (0.18, 1),
                    (-0.18, 1),
                    (-0.18, -0.3),
                    (-0.6, -0.3),
                ),
                255,
            )
        ]
    turn = np.radians(chance.choice([0, 0, 180, chance.uniform(-60, 60)]))
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return [(outline @ spin.T, colour) for outline, colour in areas]


def _cut_stone(chance: Chance) -> _Areas:
    """Draw a jewel from the side: a flat top over a point."""
    top, girdle = chance.uniform(0.35, 0.65), chance.uniform(-0.5, -0.1)
    areas: _Areas = [(_mirror(points((top, -0.8), (1, girdle), (0, 1))), 255)]
    if happens(chance, 0.5):  # facets
        areas.append(
            (
                points(
                    (-0.95, girdle), (0.95, girdle), (0.95, girdle + 0.07), (-0.95, girdle + 0.07)
                ),
                0,
            )
        )
        areas.append((points((-0.3, girdle), (-0.22, girdle), (0.02, 0.9), (-0.02, 0.9)), 0))
        areas.append((points((0.3, girdle), (0.22, girdle), (-0.02, 0.9), (0.02, 0.9)), 0))
    return areas


def _drop(chance: Chance) -> _Areas:
    wide, low = chance.uniform(0.5, 0.8), chance.uniform(0.2, 0.45)
    side = np.vstack(
        [curve((0, -1), (0.1, -0.4), (wide, low)), arc((0, low), (wide, 1 - low), (0, 90))]
    )
    return [(_mirror(side), 255)]


def _tree(chance: Chance) -> _Areas:
    areas: _Areas = []
    tiers = int(chance.integers(2, 4))
    for tier in range(tiers):
        top, reach = -1 + tier * 0.5, 0.45 + 0.45 * tier / tiers
        areas.append((points((0, top), (reach, top + 0.75), (-reach, top + 0.75)), 255))
    return [*areas, (points((-0.12, 0.3), (0.12, 0.3), (0.12, 1), (-0.12, 1)), 255)]


def _hourglass(chance: Chance) -> _Areas:
    wide, waist = chance.uniform(0.5, 0.85), chance.uniform(0.02, 0.15)
    return [(_mirror(points((wide, -1), (waist, 0), (wide, 1))), 255)]


def _box(chance: Chance) -> _Areas:
    wide, tall = chance.uniform(0.4, 1.0), chance.uniform(0.6, 1.0)
    box = points((-wide, -tall), (wide, -tall), (wide, tall), (-wide, tall))
    areas: _Areas = [(box, 255)]
    if happens(chance, 0.4):  # a frame
        areas += [(box * 0.65, 0), (box * chance.uniform(0, 0.4), 255)]
    return areas


def _blot(chance: Chance) -> _Areas:
    """Draw an outline of random waves."""
    turn = np.linspace(0, 2 * np.pi, 90)
    reach = np.full_like(turn, 0.75)
    for wave in range(2, 8):
        reach += chance.normal(0, 0.26 / wave**0.7) * np.cos(wave * turn + chance.uniform(0, 6.3))
    return [(np.stack([np.cos(turn), np.sin(turn)], 1) * np.clip(reach, 0.1, 1.1)[:, None], 255)]


_EMBLEMS: Final[tuple[Callable[[Chance], _Areas], ...]] = (
    _polygon, _polygon, _star, _star, _coin, _coin, _moon, _cross, _crown, _goblet, _goblet,
    _bell, _bell, _acorn, _leaf, _leaf, _leaf, _lily, _shield, _shield, _flower, _flower, _blade,
    _blade, _cut_stone, _drop, _tree, _hourglass, _box, _blot,
)  # fmt: skip
"""The shapes, the more important ones twice."""

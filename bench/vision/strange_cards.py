"""
Draws cards of decks that the recogniser's training never saw: figures made of pen strokes, suits
and emblems of outlines, and photographs of them.

Nothing is shared with the generators of the training: no font, no artwork, no effect. A deck is
drawn from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.recognition.recogniser import Quad

__all__ = [
    "EMBLEMS",
    "FOREIGN_RANKS",
    "RATIO",
    "Chance",
    "Deck",
    "Photo",
    "arrange",
    "cover_halves",
    "draw_card",
    "make_deck",
    "overlap",
]

Chance = np.random.Generator
Mask = NDArray[np.uint8]
Stroke = Sequence[tuple[float, float]]
Colour = tuple[float, float, float]
"""Blue, green and red, from 0 to 255."""

RATIO: Final = 88 / 63
_WIDTH: Final = 300
"""Pixels of a drawn card's width."""

_HEIGHT: Final = round(_WIDTH * RATIO)


def _arc(
    middle: tuple[float, float], radii: tuple[float, float], start: float = 0, end: float = 360
) -> list[tuple[float, float]]:
    """Return points of an ellipse's arc; degrees, clockwise from the right."""
    angles = np.radians(np.linspace(start, end, 24))
    return [
        (middle[0] + radii[0] * math.cos(a), middle[1] + radii[1] * math.sin(a)) for a in angles
    ]


def _square(middle: tuple[float, float], radii: tuple[float, float]) -> list[tuple[float, float]]:
    """Return a closed bowl with square shoulders."""
    x, y, rx, ry = *middle, *radii
    cut = 0.65
    return [
        *[(x - rx, y - ry * cut), (x - rx * cut, y - ry), (x + rx * cut, y - ry)],
        *[(x + rx, y - ry * cut), (x + rx, y + ry * cut), (x + rx * cut, y + ry)],
        *[(x - rx * cut, y + ry), (x - rx, y + ry * cut), (x - rx, y - ry * cut)],
    ]


_WHOLE: Final = ((0.5, 0.5), (0.5, 0.5))
_LOW: Final = ((0.5, 0.7), (0.5, 0.3))
_HIGH: Final = ((0.5, 0.3), (0.5, 0.3))

_SIGNS: Final[dict[str, tuple[list[Stroke], ...]]] = {
    "A": (
        [[(0, 1), (0.5, 0), (1, 1)], [(0.2, 0.66), (0.8, 0.66)]],
        [[(0, 1), (0.4, 0), (0.6, 0), (1, 1)], [(0.2, 0.66), (0.8, 0.66)]],
    ),
    "2": (
        [[*_arc((0.5, 0.28), (0.5, 0.28), 190, 390), (0, 1), (1, 1)]],
        [[(0, 0.12), (0.2, 0), (0.8, 0), (1, 0.2), (1, 0.4), (0, 1), (1, 1)]],
    ),
    "3": (
        [
            [
                *_arc((0.45, 0.25), (0.45, 0.25), 200, 450),
                *_arc((0.45, 0.73), (0.55, 0.27), -90, 160),
            ]
        ],
        [[(0, 0), (1, 0), (0.45, 0.38), *_arc((0.45, 0.68), (0.55, 0.32), -80, 160)]],
    ),
    "4": (
        [[(0.75, 1), (0.75, 0), (0, 0.7), (1, 0.7)]],
        [[(0.75, 1), (0.75, 0), (0, 0.7), (1, 0.7)], [(0.55, 1), (0.95, 1)]],
        [[(0.72, 1), (0.72, 0.3)], [(0.4, 0), (0, 0.7), (1, 0.7)]],
    ),
    "5": (
        [[(0.95, 0), (0.15, 0), (0.08, 0.48), *_arc((0.48, 0.68), (0.52, 0.32), 215, 500)]],
        [[(1, 0), (0, 0), (0, 0.42), (0.8, 0.42), (1, 0.6), (1, 0.85), (0.8, 1), (0, 1)]],
    ),
    "6": (
        [[(0.95, 0.08), (0.6, 0), (0.2, 0.12), (0, 0.5), (0, 0.7)], _arc(*_LOW)],
        [[(0.95, 0.08), (0.6, 0), (0.2, 0.12), (0, 0.5), (0, 0.7)], _square(*_LOW)],
        [[(0.85, 0), (0, 0.65)], _arc(*_LOW)],
    ),
    "7": (
        [[(0, 0), (1, 0), (0.35, 1)]],
        [[(0, 0.18), (0, 0), (1, 0), (0.35, 1)]],
        [[(0, 0), (1, 0), (0.35, 1)], [(0.25, 0.5), (0.85, 0.5)]],
    ),
    "8": (
        [_arc((0.5, 0.26), (0.42, 0.26)), _arc((0.5, 0.75), (0.5, 0.25))],
        [_square((0.5, 0.26), (0.42, 0.26)), _square((0.5, 0.75), (0.5, 0.25))],
    ),
    "9": (
        [[(0.05, 0.92), (0.4, 1), (0.8, 0.88), (1, 0.5), (1, 0.3)], _arc(*_HIGH)],
        [[(0.05, 0.92), (0.4, 1), (0.8, 0.88), (1, 0.5), (1, 0.3)], _square(*_HIGH)],
        [[(0.15, 1), (1, 0.35)], _arc(*_HIGH)],
    ),
    "0": ([_arc(*_WHOLE)], [_square(*_WHOLE)]),
    "1": (
        [[(0.6, 0), (0.6, 1)]],
        [[(0.1, 0.25), (0.6, 0), (0.6, 1)]],
        [[(0.1, 0.25), (0.6, 0), (0.6, 1)], [(0.2, 1), (1, 1)]],
    ),
    "J": (
        [[(0.8, 0), *_arc((0.4, 0.72), (0.4, 0.28), 0, 180)]],
        [[(0.8, 0), *_arc((0.4, 0.72), (0.4, 0.28), 0, 180)], [(0.35, 0), (1, 0)]],
        [[(0.8, 0), *_arc((0.4, 0.72), (0.4, 0.28), 0, 180), (0.12, 0.6)], [(0.35, 0), (1, 0)]],
    ),
    "Q": (
        [_arc(*_WHOLE), [(0.6, 0.75), (1, 1.05)]],
        [_square(*_WHOLE), [(0.35, 1.08), (0.65, 0.94), (1, 1.08)]],
        [_arc(*_WHOLE), [(0.5, 0.7), (0.5, 1.1), (0.9, 1.1)]],
    ),
    "K": (
        [[(0, 0), (0, 1)], [(1, 0), (0, 0.5)], [(0.3, 0.35), (1, 1)]],
        [[(0, 0), (0, 1)], [(1, 0), (0, 0.62)], [(0.3, 0.47), (1, 1)]],
    ),
    "V": ([[(0, 0), (0.5, 1), (1, 0)]],),
    "D": ([[(0, 0), (0, 1), *_arc((0.4, 0.5), (0.6, 0.5), 90, -90), (0, 0)]],),
    "R": (
        [
            [(0, 1), (0, 0), *_arc((0.5, 0.27), (0.5, 0.27), -90, 90), (0, 0.54)],
            [(0.5, 0.54), (1, 1)],
        ],
    ),
    "B": (
        [
            [(0, 0), (0, 1), *_arc((0.5, 0.74), (0.5, 0.26), 90, -90), (0, 0.48)],
            [(0, 0), *_arc((0.45, 0.24), (0.42, 0.24), -90, 90), (0, 0.48)],
        ],
    ),
    "C": ([_arc((0.55, 0.5), (0.55, 0.5), 40, 320)],),
    "F": ([[(1, 0), (0, 0), (0, 1)], [(0, 0.48), (0.75, 0.48)]],),
    "T": ([[(0, 0), (1, 0)], [(0.5, 0), (0.5, 1)]],),
    "E": ([[(1, 0), (0, 0), (0, 1), (1, 1)], [(0, 0.5), (0.8, 0.5)]],),
    "H": ([[(0, 0), (0, 1)], [(1, 0), (1, 1)], [(0, 0.5), (1, 0.5)]],),
    "N": ([[(0, 1), (0, 0), (1, 1), (1, 0)]],),
}
"""Pen strokes of each sign in the unit square, y downwards: its shapes in different decks."""

FOREIGN_RANKS: Final = ("V", "D", "R", "B", "1", "C", "F", "T", "E", "H", "N", "11", "12", "13")
"""Ranks of other countries, and those of no deck: none of them is one of the thirteen."""

EMBLEMS: Final = ("gem", "star", "moon", "bell", "acorn", "leaf", "shield", "cup", "coin", "sword")
"""Emblems that other decks print in place of the four suits."""


class Deck(NamedTuple):
    """
    The look of a deck; lengths in parts of the card's width.

    Attributes:
        variants: A number for each sign: which of its shapes.
        pen: Thickness of a stroke, in parts of the figure's height.
        slant: Lean of the figures.
        serif: Figures have short bars at the ends of their strokes.
        figure: Width and height of a figure.
        left: Distance of the index from the left edge.
        top: Distance of the index from the upper edge.
        pip: Height of the small pip.
        gap: Between figure and pip.
        colours: Of spades, hearts, diamonds and clubs.
        paper: Its colour.
        four: The index is in all four corners.
        shape: From 0 to 1: how slender the suits are.
    """

    variants: dict[str, int]
    pen: float
    slant: float
    serif: bool
    figure: tuple[float, float]
    left: float
    top: float
    pip: float
    gap: float
    colours: dict[str, Colour]
    paper: Colour
    four: bool
    shape: float


def make_deck(chance: Chance, *, inset: bool = False, four_colours: bool = False) -> Deck:
    """
    Draw the look of a deck by chance.

    Args:
        chance: The random numbers.
        inset: A small index far from the edges.
        four_colours: Each suit has a colour of its own.
    """
    height = chance.uniform(0.14, 0.19) if inset else chance.uniform(0.18, 0.34)
    red = (chance.uniform(10, 60), chance.uniform(10, 50), chance.uniform(150, 230))
    black = (chance.uniform(0, 50),) * 3
    colours: dict[str, Colour] = {"S": black, "H": red, "D": red, "C": black}
    if four_colours:
        blue = (chance.uniform(140, 220), chance.uniform(50, 110), chance.uniform(0, 60))
        green = (chance.uniform(20, 80), chance.uniform(90, 140), chance.uniform(0, 50))
        colours |= {"D": blue, "C": green}
    grey = chance.uniform(225, 255)
    return Deck(
        variants={sign: int(chance.integers(6)) for sign in _SIGNS},
        pen=chance.uniform(0.09, 0.22),
        slant=chance.uniform(-0.08, 0.15),
        serif=bool(chance.random() < 0.4),
        figure=(height * chance.uniform(0.5, 0.8), height),
        left=chance.uniform(0.08, 0.13) if inset else chance.uniform(0.035, 0.075),
        top=chance.uniform(0.10, 0.16) if inset else chance.uniform(0.04, 0.09),
        pip=height * chance.uniform(0.55, 0.95),
        gap=chance.uniform(0.02, 0.05),
        colours=colours,
        paper=(grey * chance.uniform(0.9, 1), grey * chance.uniform(0.97, 1), grey),
        four=bool(chance.random() < 0.15),
        shape=chance.uniform(0, 1),
    )


def _fill(mask: Mask, outlines: Sequence[Stroke]) -> None:
    """Fill the area within outlines; what lies within two of them stays bare."""
    whole = [np.round(np.array(each) * 16).astype(np.int32) for each in outlines]
    cv2.fillPoly(mask, whole, 255, cv2.LINE_AA, 4)


def _line(mask: Mask, points: Stroke, pen: int) -> None:
    whole = np.round(np.array(points) * 16).astype(np.int32)
    cv2.polylines(mask, [whole], isClosed=False, color=255, thickness=pen, lineType=16, shift=4)


def _draw_sign(mask: Mask, sign: str, deck: Deck, box: tuple[float, float, float, float]) -> None:
    """Draw one sign into a mask; the box is x, y, width and height in pixels."""
    x, y, width, height = box
    pen = max(1, round(deck.pen * height))
    shapes = _SIGNS[sign]
    for stroke in shapes[deck.variants[sign] % len(shapes)]:
        points = [(x + width * (px + deck.slant * (1 - py)), y + height * py) for px, py in stroke]
        _line(mask, points, pen)
        if deck.serif:
            bar = max(2.0, 0.16 * width)
            for px, py in (points[0], points[-1]):
                _line(mask, [(px - bar, py), (px + bar, py)], max(1, pen // 2))


def _draw_rank(mask: Mask, rank: str, deck: Deck, box: tuple[float, float, float, float]) -> None:
    x, y, width, height = box
    if len(rank) == 1:
        _draw_sign(mask, rank, deck, box)
        return
    one = width * 0.3
    _draw_sign(mask, rank[0], deck, (x - 0.12 * width, y, one, height))
    _draw_sign(mask, rank[1], deck, (x + 0.42 * width, y, width - one, height))


def _disc(x: float, y: float, radius: float) -> list[tuple[float, float]]:
    return _arc((x, y), (radius, radius))


def _ring(count: int, *radii: float) -> list[tuple[float, float]]:
    angles = np.radians(np.arange(count) * 360 / count - 90)
    return [
        (radii[n % len(radii)] * math.cos(angle), radii[n % len(radii)] * math.sin(angle))
        for n, angle in enumerate(angles)
    ]


def _suit(suit: str, shape: float) -> list[Stroke]:
    lean, waist = 0.7 + 0.25 * shape, 0.06 * shape
    side = 0.36 * lean - waist
    foot = [(-0.35, 1), (0.35, 1), (0.07, 0.1), (-0.07, 0.1)]
    match suit:
        case "H":
            point = [(-0.92 * lean, -0.25), (0.92 * lean, -0.25), (0, 1)]
            return [
                _disc(-0.45 * lean, -0.42, 0.5 * lean),
                _disc(0.45 * lean, -0.42, 0.5 * lean),
                point,
            ]
        case "S":
            point = [(-0.88 * lean, 0.15), (0.88 * lean, 0.15), (0, -1)]
            return [
                _disc(-0.45 * lean, 0.28, 0.46 * lean),
                _disc(0.45 * lean, 0.28, 0.46 * lean),
                point,
                foot,
            ]
        case "D":
            right = [(0, -1), (side, -0.45), (0.75 * lean, 0), (side, 0.45)]
            return [[*right, *((-x, -y) for x, y in right)]]
        case _:
            return [
                _disc(0, -0.5, 0.45),
                _disc(-0.5 * lean, 0.2, 0.45),
                _disc(0.5 * lean, 0.2, 0.45),
                foot,
            ]


_EMBLEM_OUTLINES: Final[dict[str, list[list[Stroke]]]] = {
    "gem": [[_ring(6, 1.0)]],
    "star": [[_ring(10, 1.0, 0.42)]],
    "moon": [[[*_arc((0, 0), (0.95, 0.95), 60, 300), *_arc((0.3, 0), (0.7, 0.75), 290, 70)]]],
    "bell": [
        [[*_arc((0, -0.2), (0.6, 0.75), 180, 360), (0.9, 0.7), (-0.9, 0.7)]],
        [_disc(0, 0.82, 0.18)],
    ],
    "acorn": [
        [[(-0.55, -0.2), (0.55, -0.2), (0.4, 0.6), (0, 1), (-0.4, 0.6)]],
        [_arc((0, -0.3), (0.75, 0.42), 180, 360)],
        [[(-0.08, -0.6), (0.08, -0.6), (0.08, -1), (-0.08, -1)]],
    ],
    "leaf": [
        [[*_arc((0, -0.1), (0.7, 0.8), 200, 340), (0.3, 0.5), (-0.3, 0.5)]],
        [[(-0.06, 0.5), (0.06, 0.5), (0.06, 1), (-0.06, 1)]],
    ],
    "shield": [[[(-0.8, -0.9), (0.8, -0.9), (0.8, 0.1), (0, 1), (-0.8, 0.1)]]],
    "cup": [
        [[(-0.7, -0.9), (0.7, -0.9), (0.35, 0.1), (0.1, 0.3), (-0.1, 0.3), (-0.35, 0.1)]],
        [[(-0.1, 0.3), (0.1, 0.3), (0.1, 0.75), (0.5, 0.95), (-0.5, 0.95), (-0.1, 0.75)]],
    ],
    "coin": [[_disc(0, 0, 0.95), _disc(0, 0, 0.65)], [_disc(0, 0, 0.45)]],
    "sword": [
        [[(-0.1, -1), (0.1, -1), (0.12, 0.5), (-0.12, 0.5)]],
        [[(-0.5, 0.4), (0.5, 0.4), (0.5, 0.58), (-0.5, 0.58)]],
        [_disc(0, 0.85, 0.15)],
    ],
}
"""Areas of each emblem, within -1 to 1; each has one outline or, with a hole, two."""


def _draw_pip(mask: Mask, deck: Deck, pip: str, middle: tuple[float, float], size: float) -> None:
    """Draw a suit or an emblem, `size` pixels high, round a middle."""
    x, y = middle
    areas = _EMBLEM_OUTLINES.get(pip) or [[each] for each in _suit(pip, deck.shape)]
    for outlines in areas:
        _fill(
            mask,
            [[(x + px * size / 2, y + py * size / 2) for px, py in each] for each in outlines],
        )


_COLOUR_OF_EMBLEM: Final = dict(zip(EMBLEMS, "DSSHCCSHDS", strict=True))


def draw_card(chance: Chance, deck: Deck, rank: str, pip: str) -> Image:
    """
    Draw the face of a card, upright.

    Args:
        chance: Chooses the court's picture.
        deck: Its look.
        rank: One of the thirteen ranks, or of `FOREIGN_RANKS`.
        pip: A suit's letter, or one of `EMBLEMS`.
    """
    half = np.zeros((_HEIGHT, _WIDTH), np.uint8)
    width, height = (side * _WIDTH for side in deck.figure)
    left, top = deck.left * _WIDTH, deck.top * _WIDTH
    places = [left, _WIDTH - left - width] if deck.four else [left]
    for x in places:
        _draw_rank(half, rank, deck, (x, top, width, height))
        middle = (x + width / 2, top + height + (deck.gap + deck.pip / 2) * _WIDTH)
        _draw_pip(half, deck, pip, middle, deck.pip * _WIDTH)
    ink = np.maximum(half, half[::-1, ::-1])
    rows = np.linspace(0.2, 0.8, 3 + int(chance.integers(2)))
    left_column = max(0.36, deck.left + deck.figure[0] + 0.1)
    if rank in {"J", "Q", "K", "V", "D", "R", "B", "11", "12", "13"}:
        _draw_court(chance, ink, left_column)
    else:
        for row in rows:
            for column in (left_column, 1 - left_column):
                middle = (column * _WIDTH, row * _HEIGHT)
                _draw_pip(ink, deck, pip, middle, 0.16 * _WIDTH)
    colour = deck.colours[_COLOUR_OF_EMBLEM.get(pip, pip)]
    paper = np.full((_HEIGHT, _WIDTH, 3), deck.paper, np.float32)
    share = ink.astype(np.float32)[..., None] / 255
    return np.asarray(paper * (1 - share) + np.array(colour, np.float32) * share, np.uint8)


def _draw_court(chance: Chance, ink: Mask, left: float) -> None:
    """Draw lines and patches in a frame: every maker has other kings."""
    low = (round(left * 0.8 * _WIDTH), round(0.12 * _HEIGHT))
    high = (_WIDTH - low[0], _HEIGHT - low[1])
    cv2.rectangle(ink, low, high, 255, 2)
    for _ in range(int(chance.integers(6, 16))):
        corners = chance.uniform(low, high, (int(chance.integers(3, 6)), 2))
        _fill(ink, [[(float(x), float(y)) for x, y in corners]])
        # Every second patch is bare again.
        corners = chance.uniform(low, high, (3, 2))
        cv2.fillPoly(ink, [np.round(corners).astype(np.int32)], 0, cv2.LINE_AA)


def cover_halves(chance: Chance, face: Image, deck: Deck, *, other_end: bool) -> Image:
    """
    Cover the left half of an index with white paper at both ends, or at one where the other end
    is hidden.
    """
    covered = face.copy()
    width = round((deck.left + deck.figure[0] * chance.uniform(0.4, 0.6)) * _WIDTH)
    bottom = round(0.62 * _WIDTH)
    covered[:bottom, :width] = deck.paper
    if other_end:
        covered[_HEIGHT - bottom :, _WIDTH - width :] = deck.paper
    else:
        covered[_HEIGHT - bottom :, _WIDTH // 2 :] = chance.integers(60, 200, 3)
    return covered


def overlap(chance: Chance, lower: Image, upper: Image) -> Image:
    """
    Lay one card over another, so that parts of the lower card's index remain visible.

    The truth is the lower card: nothing else lies in its corners.
    """
    shown = lower.copy()
    right = int(chance.uniform(0.08, 0.4) * _WIDTH)
    down = int(chance.uniform(-0.1, 0.35) * _WIDTH)
    top, first = max(0, down), max(0, -down)
    rows = min(_HEIGHT - top, _HEIGHT - first)
    shown[top : top + rows, right:] = upper[first : first + rows, : _WIDTH - right]
    cv2.line(shown, (right, top), (right, top + rows), (120, 120, 120), 1)
    return shown


class Photo(NamedTuple):
    """A photograph of a card, and its corners in reading order, slightly inexact."""

    image: Image
    quad: Quad


class Arrangement(NamedTuple):
    """
    A card before a camera.

    Attributes:
        image: What the lens shows, without the sensor's noise.
        quad: The card's corners in reading order, slightly inexact.
        grain: Grey values by which noise moves a pixel (sigma).
        quality: Of the JPEG.
    """

    image: NDArray[np.float64]
    quad: Quad
    grain: float
    quality: int

    def photograph(self, noise: Chance) -> Photo:
        """Photograph it; another photograph differs by its noise alone."""
        sensor = noise.normal(0, self.grain, self.image.shape)
        exposed = np.clip(self.image + sensor, 0, 255).astype(np.uint8)
        packed = cv2.imencode(".jpg", exposed, [cv2.IMWRITE_JPEG_QUALITY, self.quality])[1]
        return Photo(np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8), self.quad)


def arrange(chance: Chance, face: Image, *, grain: float = 4.0) -> Arrangement:
    """
    Lay a card on a felt before a camera, within the limits stated for the recogniser.

    A fifth of the cards are smaller than these limits: index windows of 38 to 46 pixels.

    Args:
        chance: The random numbers.
        face: The card.
        grain: The most grey values by which noise moves a pixel (sigma).
    """
    width = chance.uniform(64, 140)
    side = round(width * 2.1)
    corners = np.array([(0, 0), (1, 0), (1, RATIO), (0, RATIO)]) - (0.5, RATIO / 2)
    angle = chance.uniform(0, 2 * math.pi)
    turn = np.array([(math.cos(angle), -math.sin(angle)), (math.sin(angle), math.cos(angle))])
    tilt = 1 + chance.uniform(-0.08, 0.08, (4, 1))
    quad = (corners * tilt @ turn.T) * width + side / 2
    felt = np.array([chance.uniform(20, 120), chance.uniform(40, 130), chance.uniform(20, 110)])
    image = np.clip(felt + chance.normal(0, 4, (side, side, 1)), 0, 255).astype(np.float32)
    plane = cv2.getPerspectiveTransform(
        np.array([(0, 0), (_WIDTH, 0), (_WIDTH, _HEIGHT), (0, _HEIGHT)], np.float32),
        quad.astype(np.float32),
    )
    shrink = max(1.0, _WIDTH / width / 1.3)
    soft = cv2.GaussianBlur(face, (0, 0), 0.45 * shrink)
    card = cv2.warpPerspective(soft, plane, (side, side), flags=cv2.INTER_LINEAR)
    there = cv2.warpPerspective(
        np.ones((_HEIGHT, _WIDTH), np.float32), plane, (side, side), flags=cv2.INTER_LINEAR
    )[..., None]
    image = image * (1 - there) + card * there
    inexact = np.asarray(quad + chance.normal(0, 0.012 * width, (4, 2)), np.float32)
    lit = _lit(chance, image, width)
    return Arrangement(lit, inexact, chance.uniform(0.5, grain), int(chance.integers(70, 98)))


def _lit(chance: Chance, image: NDArray[np.float32], width: float) -> NDArray[np.float64]:
    """Apply the blur of lens and motion, and the light."""
    sigma = chance.uniform(0.3, 0.3 + 0.01 * width)
    blurred = cv2.GaussianBlur(image, (0, 0), sigma)
    length = max(1, round(chance.uniform(0, 0.03) * width))
    if length > 1:
        kernel = np.zeros((length, length), np.float32)
        way = chance.integers(3)
        kernel[length // 2, :] = 1 if way == 0 else 0
        if way:
            np.fill_diagonal(kernel if way == 1 else kernel[::-1], 1)
        blurred = cv2.filter2D(blurred, -1, kernel / kernel.sum())
    side = len(image)
    slope = np.linspace(chance.uniform(0.75, 1), chance.uniform(0.75, 1), side)[None, :, None]
    cast = chance.uniform(0.85, 1.0, 3)
    light = chance.uniform(0.35, 1.0)
    return np.asarray(blurred * slope * cast * light, np.float64)

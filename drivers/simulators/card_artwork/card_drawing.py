"""Drawing of whole cards: faces with indices, pips or court, and frame; patterned backs."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np

from drivers.simulators.card_artwork.court_cards import court
from drivers.simulators.card_artwork.deck_style import ASPECT, Layout, Style
from drivers.simulators.card_artwork.drawing_tools import Colour, Image, Mask, blank, stamp
from drivers.simulators.card_artwork.shapes import pip_mask, rank_mask
from shoe_daemon.game import SUITS, Card

IndexMasks = tuple[Mask, Mask]
"""Figure and pip of an index."""
Place = tuple[tuple[float, float], tuple[float, float]]
"""Position of a printed part: centre, and size."""

_TOP, _UPPER, _MIDDLE = 0.2, 0.305, 0.5
# Pips of the upper half and of the middle line: column (left or centre), and y.
_LEFT, _CENTRE = 1, 0
_PIPS: Final[dict[str, tuple[tuple[int, float], ...]]] = {
    "2": ((_CENTRE, _TOP),),
    "3": ((_CENTRE, _TOP), (_CENTRE, _MIDDLE)),
    "4": ((_LEFT, _TOP),),
    "5": ((_LEFT, _TOP), (_CENTRE, _MIDDLE)),
    "6": ((_LEFT, _TOP), (_LEFT, _MIDDLE)),
    "7": ((_LEFT, _TOP), (_LEFT, _MIDDLE), (_CENTRE, 0.35)),
    "8": ((_LEFT, _TOP), (_LEFT, _MIDDLE), (_CENTRE, 0.35)),
    "9": ((_LEFT, _TOP), (_LEFT, 0.4), (_CENTRE, _MIDDLE)),
    "10": ((_LEFT, _TOP), (_LEFT, 0.4), (_CENTRE, _UPPER)),
}
_COURTS: Final = frozenset("JQK")


def face(
    card: Card,
    style: Style,
    width: int = 320,
    index: IndexMasks | None = None,
    pip: Mask | None = None,
) -> Image:
    """
    Draw a card's face in a given width, with square corners (see `outline`).

    `index` replaces the style's own figure and small pip, `pip` the style's own large pip.
    """
    index = index or (rank_mask(card.rank, style.figures), pip_mask(card.suit, style.seed))
    canvas: Image = blank(round(width * ASPECT), width, style.paper)
    _frame(canvas, style)
    if card.rank in _COURTS:
        _court(canvas, card, style)
    else:
        _pips(canvas, card, style, pip_mask(card.suit, style.seed + 1) if pip is None else pip)
    for side in (canvas, canvas[::-1, ::-1]):
        _index(side, card, style, index)
    return canvas


@lru_cache(maxsize=64)
def outline(style: Style, width: int = 320) -> Mask:
    """Return the mask of the card with rounded corners."""
    mask: Mask = blank(round(width * ASPECT), width)
    height, radius = mask.shape[0], max(1, round(style.radius * width))
    mask[radius : height - radius] = 255
    mask[:, radius : width - radius] = 255
    for x in (radius, width - 1 - radius):
        for y in (radius, height - 1 - radius):
            cv2.circle(mask, (x, y), radius, (255,), -1, cv2.LINE_AA)
    return mask


def _ink(card: Card, style: Style) -> Colour:
    return style.ink[SUITS.index(card.suit)]


def index_places(
    card: Card, style: Style, index: IndexMasks, size: tuple[float, float] = (1.0, ASPECT)
) -> tuple[Place, Place]:
    """Return the places of figure and pip of the upper left index, for a card size."""
    (width, height), (figure, pip) = size, index
    tall = style.rank_height * height
    widest = style.rank_width * (1.15 if card.rank == "10" else 1.0) * width
    wide = min(tall * figure.shape[1] / figure.shape[0], widest)
    small = tall * style.pip_height if style.layout is not Layout.CASINO else wide * 0.95
    across = small * pip.shape[1] / pip.shape[0]
    x = style.left * width + max(wide, across * 0.9, style.rank_width * width * 0.7) / 2
    y = style.top * height + tall / 2
    below = (x, y + tall / 2 + style.gap * height + small / 2)
    if style.layout is Layout.BESIDE:
        below = (x + wide / 2 + across * 0.65, y)
    return ((x, y), (wide, tall)), (below, (across, small))


def _index(canvas: Image, card: Card, style: Style, index: IndexMasks) -> None:
    """Print the upper left index, and the upper right one if the deck has four."""
    height, width = canvas.shape[:2]
    printed = tuple(zip(index, index_places(card, style, index, (width, height)), strict=True))
    for right in (False, True) if style.layout is Layout.FOUR else (False,):
        for mask, ((x, y), size) in printed:
            stamp(canvas, mask, (width - x if right else x, y), size, _ink(card, style))


def _pips(canvas: Image, card: Card, style: Style, pip: Mask) -> None:
    height, width = canvas.shape[:2]
    if card.rank == "A":
        size = height * (0.34 if card.suit == "S" else 0.2)
        stamp(canvas, pip, (width / 2, height / 2), _sized(pip, size), _ink(card, style))
        return
    size = height * (0.13 if style.layout in {Layout.JUMBO, Layout.CASINO} else 0.145)
    turned = np.ascontiguousarray(pip[::-1])
    spread = 0.15 if style.layout in {Layout.JUMBO, Layout.CASINO, Layout.LARGE} else 0.19
    for column, y in _PIPS[card.rank]:
        for x in {0.5 - column * spread, 0.5 + column * spread}:
            stamp(canvas, pip, (x * width, y * height), _sized(pip, size), _ink(card, style))
            # The seven has a single pip between the columns, above; all others have a counterpart
            # below.
            if y != _MIDDLE and not (card.rank == "7" and column == _CENTRE):
                place = (x * width, (1 - y) * height)
                stamp(canvas, turned, place, _sized(pip, size), _ink(card, style))


def _sized(pip: Mask, height: float) -> tuple[float, float]:
    return height * pip.shape[1] / pip.shape[0], height


def _court(canvas: Image, card: Card, style: Style) -> None:
    height, width = canvas.shape[:2]
    margin = 0.24 if style.layout in {Layout.JUMBO, Layout.CASINO, Layout.FOUR} else 0.19
    left, top = round(margin * width), round(0.085 * height)
    size = (width - 2 * left, height - 2 * top)
    picture = cv2.resize(court(card, style), size, interpolation=cv2.INTER_AREA)
    canvas[top : top + size[1], left : left + size[0]] = picture


def _frame(canvas: Image, style: Style) -> None:
    if style.frame is None:
        return
    height, width = canvas.shape[:2]
    thick = max(1, width // 160)
    edge = round(0.025 * width)
    if style.layout is Layout.COLUMN:
        for x in (round(0.2 * width), width - 1 - round(0.2 * width)):
            cv2.line(canvas, (x, edge), (x, height - 1 - edge), style.frame, thick)
        return
    cv2.rectangle(canvas, (edge, edge), (width - 1 - edge, height - 1 - edge), style.frame, thick)


@lru_cache(maxsize=64)
def back(style: Style, width: int = 320) -> Image:
    """Draw a deck's back in a given width. The result is cached: do not modify it."""
    chance = np.random.default_rng([style.seed, 99])
    dark, light = style.back
    field: Image = blank(round(320 * ASPECT), 320, dark)
    _pattern(field, chance, light)
    border = int(chance.choice([0, 14, 22]))
    if border:
        height, across = field.shape[:2]
        cv2.rectangle(field, (0, 0), (across - 1, height - 1), style.paper, 2 * border)
        cv2.rectangle(
            field, (border + 4,) * 2, (across - border - 5, height - border - 5), light, 2
        )
    size = (width, round(width * ASPECT))
    return np.asarray(cv2.resize(field, size, interpolation=cv2.INTER_AREA), np.uint8)


def _pattern(field: Image, chance: np.random.Generator, light: tuple[int, int, int]) -> None:
    kind, step = int(chance.integers(6)), int(chance.integers(14, 40))
    height, width = field.shape[:2]
    thick = int(chance.integers(1, 5))
    for at in range(-height, width + height, step):
        if kind <= 1:
            cv2.line(field, (at, 0), (at + height, height), light, thick, cv2.LINE_AA)
        if kind == 0:
            cv2.line(field, (at + height, 0), (at, height), light, thick, cv2.LINE_AA)
        if kind == 2 and at > 0:  # noqa: PLR2004 - rings
            cv2.circle(field, (width // 2, height // 2), at, light, thick, cv2.LINE_AA)
        if kind == 3 and 0 < at < height // 2:  # noqa: PLR2004 - boxes in boxes
            cv2.rectangle(field, (at, at), (width - at, height - at), light, thick)
    if kind >= 4:  # noqa: PLR2004 - dots or stars
        _sown(field, kind, step, light)


def _sown(field: Image, kind: int, step: int, light: tuple[int, int, int]) -> None:
    for row, y in enumerate(range(0, field.shape[0] + step, step)):
        for x in range((row % 2) * step // 2, field.shape[1] + step, step):
            if kind == 4:  # noqa: PLR2004 - dots
                cv2.circle(field, (x, y), step // 4, light, -1, cv2.LINE_AA)
            else:
                cv2.drawMarker(field, (x, y), light, cv2.MARKER_STAR, step // 2, 2)

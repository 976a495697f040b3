"""Print of a card: the figure of its index, the pattern of its face, and the colour of its ink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.recognition.table_projection import Floats
from drivers.camera.sources.video_frame import Image

__all__ = ["CardPrint", "figure_likeness", "ink_distance", "pattern_likeness", "print_of"]

Single = NDArray[np.float32]

CARD_SIZE_PX: Final = (160, 224)
"""Width and height to which a card's image is scaled."""

_INDEX_SIZE_PX: Final = (round(CARD_SIZE_PX[0] * 0.25), round(CARD_SIZE_PX[1] * 0.43))
"""Size of the index area, from the card's corner."""

_MIN_INK: Final = 0.5
_PURE_INK: Final = 0.8
"""Shares of the darkest print: above the first a pixel is print, above the second only ink."""

_MIN_FIGURE_ROWS: Final = 3
_FIGURE_MARGIN_PX: Final = 4
"""Minimum height of a figure, and the margin around it."""

_COARSE_BLUR_PX: Final = 2.5
_MAX_OFFSET_PX: Final = 5
"""Blur of whole faces before their comparison, and their maximum offset."""

_MIN_INK_PIXELS: Final = 8
"""Pixels of pure ink without which its colour is unknown."""

_GREY_OFFSET: Final = 8.0
"""Added to ink and paper, so that black is not infinitely far from grey."""

_MIN_RED_RATIO: Final = 1.35
"""Minimum brightness of red ink in the red channel, as a multiple of the blue channel's."""


class CardPrint(NamedTuple):
    """
    Print of an upright card, seen from either end.

    Attributes:
        ends: Amount of ink at each pixel, from 0 to 1.
        colour: Blue, green and red of the ink, as shares of the paper's; None where there is
            too little ink.
    """

    ends: tuple[Single, Single]
    colour: Floats | None

    @property
    def is_red(self) -> bool:
        """True if the ink is red."""
        return self.colour is not None and bool(self.colour[2] > _MIN_RED_RATIO * self.colour[0])


def print_of(flat: Image) -> CardPrint:
    """Return the print of an upright card, independent of the light."""
    card = np.asarray(cv2.resize(flat, CARD_SIZE_PX, interpolation=cv2.INTER_CUBIC), np.uint8)
    turned = np.ascontiguousarray(card[::-1, ::-1])
    upper, lower = _ink(card), _ink(turned)
    colours = [each for each in (_colour(card, upper), _colour(turned, lower)) if each is not None]
    return CardPrint((upper, lower), np.median(colours, axis=0) if colours else None)


def _ink(card: Image) -> Single:
    dark = cv2.GaussianBlur(card, (0, 0), 1.0).min(axis=2).astype(np.float32)
    paper = max(float(np.percentile(dark, 85)), 1.0)
    ink = np.clip((paper - dark) / paper, 0, 1)
    darkest = float(np.percentile(ink[: _INDEX_SIZE_PX[1], : _INDEX_SIZE_PX[0]], 99))
    return np.asarray(np.clip(ink / max(darkest, 0.15), 0, 1), np.float32)


def _colour(card: Image, ink: Single) -> Floats | None:
    paper = np.percentile(card.reshape(-1, 3), 85, axis=0)
    corner = card[: _INDEX_SIZE_PX[1], : _INDEX_SIZE_PX[0]]
    printed = ink[: _INDEX_SIZE_PX[1], : _INDEX_SIZE_PX[0]] > _PURE_INK
    if printed.sum() < _MIN_INK_PIXELS:
        return None
    return np.asarray(
        (corner[printed].mean(axis=0) + _GREY_OFFSET) / (paper + _GREY_OFFSET), np.float64
    )


def figure_likeness(now: CardPrint, before: CardPrint) -> float:
    """
    Return the likeness of two indexes' figures and of their positions, at the best ends; 1 for the
    same.
    """
    found = [0.0]
    for end in before.ends:
        figure = _figure(end)
        if figure is None:
            continue
        left, top, right, bottom = figure
        wanted = np.ascontiguousarray(end[top:bottom, left:right])
        rows = slice(top - _FIGURE_MARGIN_PX, bottom + _FIGURE_MARGIN_PX)
        columns = slice(left - _FIGURE_MARGIN_PX, right + _FIGURE_MARGIN_PX)
        found += [_best_match(each[rows, columns], wanted) for each in now.ends]
    return max(found)


def _figure(ink: Single) -> tuple[int, int, int, int] | None:
    """Find the figure: the uppermost print in the index, with a margin."""
    printed = ink[2 : _INDEX_SIZE_PX[1], 2 : _INDEX_SIZE_PX[0]] > _MIN_INK
    top, bottom = _first_run(np.asarray(printed.any(axis=1)), _MIN_FIGURE_ROWS, 0)
    if top == bottom:
        return None
    left, right = _first_run(np.asarray(printed[top:bottom].any(axis=0)), 1, _MIN_FIGURE_ROWS)
    x, y = (
        max(_FIGURE_MARGIN_PX, left + 2 - _FIGURE_MARGIN_PX),
        max(_FIGURE_MARGIN_PX, top + 2 - _FIGURE_MARGIN_PX),
    )
    return x, y, right + 2 + _FIGURE_MARGIN_PX, bottom + 4


def _first_run(printed: NDArray[Any], least: int, gap: int) -> tuple[int, int]:
    """Find the first run of a minimum length, which may have gaps; (0, 0) where there is none."""
    first = last = -1
    for place, value in enumerate(printed):
        if value:
            first = place if first < 0 else first
            last = place
        elif first >= 0 and place - last > gap:
            if last + 1 - first >= least:
                break
            first = -1
    return (first, last + 1) if first >= 0 else (0, 0)


def _best_match(where: Single, wanted: Single) -> float:
    found = cv2.matchTemplate(np.ascontiguousarray(where), wanted, cv2.TM_CCOEFF_NORMED)
    return float(found.max())


def pattern_likeness(now: CardPrint, before: CardPrint) -> float:
    """Return the approximate likeness of the faces of two cards of one rank; 1 for the same."""
    wanted = np.ascontiguousarray(
        _coarse(before.ends[0])[_MAX_OFFSET_PX:-_MAX_OFFSET_PX, _MAX_OFFSET_PX:-_MAX_OFFSET_PX]
    )
    return max(_best_match(_coarse(each), wanted) for each in now.ends)


def _coarse(ink: Single) -> Single:
    return np.asarray(cv2.GaussianBlur(ink, (0, 0), _COARSE_BLUR_PX), np.float32)


def ink_distance(now: CardPrint, others: Iterable[CardPrint]) -> float:
    """
    Return the distance of an ink from that of the other cards of its colour: 0 for the same, 0.7
    for twice the brightness in one channel.
    """
    colours = [
        each.colour for each in others if each.colour is not None and each.is_red is now.is_red
    ]
    if now.colour is None or not colours:
        return 0.1
    apart = np.log(now.colour) - np.log(np.median(colours, axis=0))
    return min(4.0, float(np.abs(apart).max()))

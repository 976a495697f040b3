"""Card backs: patterns in a border, the same for all cards of a deck."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from drivers.simulators.card_artwork.deck_style import ASPECT, Style
from drivers.simulators.card_artwork.drawing_tools import Image, blank

__all__ = ["back"]

_KINDS = 6


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
    kind, step = int(chance.integers(_KINDS)), int(chance.integers(14, 40))
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

"""Image of the table's felt with its printed layout, and of chips and marker buttons."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.camera.sprites import Pixels, Sprite, sprite
from drivers.simulators.camera.table_layout import EXTENT, PLACES, Point

Colour = tuple[int, int, int]

SCALE: Final = 2.0
"""Pixels per millimetre."""

CHIP: Final = 39.0
MARKER: Final = 56.0
"""Diameter in millimetres."""

_CLOTHS: Final[tuple[Colour, ...]] = ((62, 96, 22), (96, 58, 20), (44, 30, 92), (78, 82, 18))
_LINES: Final[tuple[Colour, ...]] = ((120, 205, 232), (225, 228, 228))
_CHIPS: Final[tuple[Colour, ...]] = (
    (40, 40, 190),
    (60, 130, 40),
    (35, 32, 32),
    (150, 60, 110),
    (40, 140, 230),
)
_BAND_ROWS: Final = 32
"""Rows of the felt that are computed together: as many as fit into the processor's cache."""

_TRAY: Final = (-225.0, -330.0, 225.0, -178.0)
_TEXT: Final = cv2.FONT_HERSHEY_TRIPLEX


@lru_cache(maxsize=2)
def felt_image(seed: int) -> Pixels:
    """Draw the felt."""
    chance = np.random.default_rng([seed & 0xFFFFFFFF, 2])
    left, top, right, bottom = EXTENT
    size = (round((bottom - top) * SCALE), round((right - left) * SCALE))
    field = _fibres(size, chance, _CLOTHS[int(chance.integers(len(_CLOTHS)))])
    gold, white = _LINES
    _places(field, white, gold)
    _bets(field, white, gold)
    _tray(field, chance)
    return np.asarray(cv2.GaussianBlur(field, (0, 0), 0.9), np.uint8)


def _fibres(size: tuple[int, int], chance: np.random.Generator, colour: Colour) -> Pixels:
    fine: NDArray[np.float32] = np.empty(size, np.float32)
    bands = [slice(top, top + _BAND_ROWS) for top in range(0, size[0], _BAND_ROWS)]
    for band in bands:
        fine[band] = chance.normal(0, 1, fine[band].shape)
    sharp, soft = (cv2.GaussianBlur(fine, (0, 0), sigma) for sigma in (0.8, 3))
    coarse = cv2.resize(
        chance.normal(0, 1, (24, 36)).astype(np.float32), size[::-1], interpolation=cv2.INTER_CUBIC
    )
    field: Pixels = np.empty((*size, 3), np.uint8)
    for band in bands:
        uneven = sharp[band] * 9 + soft[band] * 9 + coarse[band] * 2.5
        for channel, each in enumerate(colour):
            field[band, :, channel] = np.clip(uneven + np.float32(each), 0, 255)
    return field


def _at(x: float, y: float) -> tuple[int, int]:
    return round((x - EXTENT[0]) * SCALE), round((y - EXTENT[1]) * SCALE)


def _places(field: Pixels, white: Colour, gold: Colour) -> None:
    for slot, box in PLACES.items():
        corners = np.array([_at(*corner) for corner in box.corners], np.int32)
        cv2.polylines(field, [corners], True, white, 3, cv2.LINE_AA)  # noqa: FBT003 - OpenCV knows it by position
        if slot[1] == "3":
            _write(field, "3", (box.x, box.y), 24, gold)
    for name, x in (("PLAYER", -150.0), ("BANKER", 150.0)):
        _write(field, name, (x, -92), 30, gold, thick=4)


def _bets(field: Pixels, white: Colour, gold: Colour) -> None:
    for radius in (0, 52, 104):
        _arc(field, (0, -760), (900, 885 + radius), white)
    _write(field, "TIE  PAYS  8  TO  1", (0, 148), 22, gold)
    _write(field, "BANKER", (0, 200), 24, white)
    for seat in range(5):
        x = (seat - 2) * 170.0
        y = 262.0 - abs(seat - 2) ** 2 * 11
        cv2.circle(field, _at(x, y), round(30 * SCALE), white, 3, cv2.LINE_AA)
        _write(field, str(seat + 1), (x, y), 20, gold)


def _arc(field: Pixels, middle: Point, radii: Point, colour: Colour) -> None:
    turn = np.radians(np.linspace(35, 145, 120))
    x = (middle[0] + radii[0] * np.cos(turn) - EXTENT[0]) * SCALE
    y = (middle[1] + radii[1] * np.sin(turn) - EXTENT[1]) * SCALE
    path = np.round(np.stack([x, y], axis=1) * 16).astype(np.int32)
    cv2.polylines(field, [path], False, colour, 3, cv2.LINE_AA, 4)  # noqa: FBT003 - OpenCV knows it by position


def _tray(field: Pixels, chance: np.random.Generator) -> None:
    """Draw the dealer's tray: tubes of chips standing on edge."""
    left, top, right, bottom = _TRAY
    cv2.rectangle(field, _at(left, top), _at(right, bottom), (34, 36, 40), -1)
    cv2.rectangle(field, _at(left, top), _at(right, bottom), (58, 62, 66), 4)
    tubes = 11
    wide = (right - left - 10) / tubes
    for tube in range(tubes):
        x = left + 5 + wide * tube
        colour = _CHIPS[min(abs(tube - tubes // 2), len(_CHIPS) - 1)]
        begin = bottom - 6 - float(chance.uniform(55, 110))
        cv2.rectangle(field, _at(x + 1, top + 4), _at(x + wide - 1, bottom - 4), (24, 25, 27), -1)
        for number, y in enumerate(np.arange(begin, bottom - 6, 3.3)):
            _edge_of_chip(field, (x + wide / 2, float(y)), wide - 4, colour, number)


def _edge_of_chip(field: Pixels, at: Point, wide: float, colour: Colour, number: int) -> None:
    for part in range(12):
        x = -1 + (part + 0.5) / 6
        lit = 0.45 + 0.6 * (1 - x * x) ** 0.5
        pale = (part + number // 5) % 6 == 1
        shown = tuple(min(255, round(c * lit)) for c in ((226, 228, 230) if pale else colour))
        a = _at(at[0] + (x - 1 / 12) * wide / 2, at[1])
        b = _at(at[0] + (x + 1 / 12) * wide / 2, at[1] + 2.7)
        cv2.rectangle(field, a, b, shown, -1)


def _write(  # noqa: PLR0913 - what a word is written with
    field: Pixels, text: str, at: Point, tall: float, colour: Colour, *, thick: int = 3
) -> None:
    (_, height), _ = cv2.getTextSize(text, _TEXT, 1.0, thick)
    _print(field, text, _at(*at), tall * SCALE / height, colour, thick=thick)


def _print(  # noqa: PLR0913 - as above
    image: Pixels, text: str, at: tuple[int, int], scale: float, colour: Colour, *, thick: int = 2
) -> None:
    """Print a text round a point."""
    (width, height), _ = cv2.getTextSize(text, _TEXT, scale, thick)
    where = (at[0] - width // 2, at[1] + height // 2)
    cv2.putText(image, text, where, _TEXT, scale, colour, thick, cv2.LINE_AA)


@lru_cache(maxsize=16)
def chip(number: int) -> Sprite:
    """Draw a chip; its corners are those of the enclosing square."""
    size = 110
    colour = _CHIPS[number % len(_CHIPS)]
    face: Pixels = np.zeros((size, size, 3), np.uint8)
    middle, radius = (size // 2, size // 2), size // 2 - 1
    cv2.circle(face, middle, radius, colour, -1, cv2.LINE_AA)
    for spot in range(6):
        cv2.ellipse(
            face, middle, (radius, radius), spot * 60, -11, 11, (230, 232, 235), -1, cv2.LINE_AA
        )
    cv2.circle(face, middle, round(radius * 0.72), colour, -1, cv2.LINE_AA)
    cv2.circle(face, middle, round(radius * 0.68), (225, 228, 232), 2, cv2.LINE_AA)
    value = ("5", "25", "100", "500", "1000")[number % len(_CHIPS)]
    _print(face, value, middle, 0.75, (235, 238, 240))
    return sprite(_rounded(face), _disc(size), gloss=0.5)


@lru_cache
def marker() -> Sprite:
    """Draw a marker button, as placed beside the winning hand."""
    size = 120
    face: Pixels = np.full((size, size, 3), (228, 232, 234), np.uint8)
    middle = (size // 2, size // 2)
    cv2.circle(face, middle, size // 2 - 7, (40, 40, 45), 3, cv2.LINE_AA)
    _print(face, "BANKER", middle, 0.62, (40, 40, 45))
    return sprite(_rounded(face), _disc(size), gloss=0.6)


def _disc(size: int) -> Pixels:
    mask: Pixels = np.zeros((size, size), np.uint8)
    cv2.circle(mask, (size // 2, size // 2), size // 2 - 1, (255,), -1, cv2.LINE_AA)
    return mask


def _rounded(face: Pixels) -> Pixels:
    """Lighten the upper edge and darken the lower edge."""
    high = face.shape[0]
    down = np.linspace(1.08, 0.88, high, dtype=np.float32)[:, None, None]
    return np.asarray(np.clip(face * down, 0, 255), np.uint8)

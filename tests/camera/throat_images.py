"""A shoe's throat: cards that pass behind a window, usually short side first and to the right."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import cv2
import numpy as np

from drivers.camera.image import Image
from drivers.camera.profile.file import load_profile, write_profile
from drivers.camera.profile.sections import Camera, Profile, Table, Throat
from tests.camera.overhead_scene import card_face

SCALE = 5.0
WIDTH, HEIGHT = 640, 360
HALF = 52.0, 34.5
"""Millimetres from the middle of the window to its ends."""


class Ahead(NamedTuple):
    """
    Orientation of the cards.

    Attributes:
        turn: 0 where a short side leads, 90 where a long one does.
        scale: Pixels per millimetre.
        half: Millimetres from the middle of the window to its ends.
        corners: Three corners of a card, from the upper left on, in millimetres from its middle.
    """

    turn: Literal[0, 90]
    scale: float
    half: tuple[float, float]
    corners: tuple[tuple[float, float], ...]


SHORT = Ahead(0, SCALE, HALF, ((-44, 31.5), (-44, -31.5), (44, -31.5)))
"""The upper end of the card trails."""

LONG = Ahead(90, 3.6, (40.0, 47.5), ((-31.5, -44), (31.5, -44), (31.5, 44)))

WAYS = ((1, 0), (0, -1), (-1, 0), (0, 1))
"""Direction of the cards in an image turned by a number of quarters, counterclockwise."""

FPS = 25.0
OUT = 110.0
"""Position at which a card is no longer visible; the shoe is on the other side."""

_SPARE = 61
_NOISE = np.random.default_rng(1).normal(0, 2, (HEIGHT + _SPARE, WIDTH + _SPARE)).round()
_GRAIN = np.repeat(_NOISE.astype(np.int16)[..., None], 3, axis=2)
"""Drawn once; each picture has another part of it."""

Card = tuple[str | None, float]
"""A card, and the position of its middle; None for a finger."""


def drawn(*cards: Card, number: int = 0, light: float = 1.0, ahead: Ahead = SHORT) -> Image:
    """Draw cards, the first below all others; seen from below, the first hides the rest."""
    image = _noiseless(cards, ahead)
    down, right = (number * 37) % _SPARE, (number * 53) % _SPARE
    if light != 1:
        image = np.asarray(cv2.convertScaleAbs(image, alpha=light), np.uint8)
    grain = _GRAIN[down : down + HEIGHT, right : right + WIDTH]
    return np.asarray(cv2.add(image, grain, dtype=cv2.CV_8U), np.uint8)


@lru_cache(maxsize=64)
def _noiseless(cards: tuple[Card, ...], ahead: Ahead) -> Image:
    image = _plates(ahead).copy()
    (x, y), inside = ahead.half, np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.rectangle(inside, _pixel(-x, -y, ahead), _pixel(x, y, ahead), (255,), -1)
    layer = image.copy()
    for name, x in reversed(cards):
        if name is None:
            ends = _pixel(x - 60, -9, ahead), _pixel(x + 60, 9, ahead)
            cv2.rectangle(layer, *ends, (120, 150, 200), -1)
        else:
            _lay(layer, name, x, ahead)
    cv2.copyTo(layer, inside, image)
    return image


def passing(name: str, seconds: float = 0.36, lag: float = 0.0) -> list[Card]:
    """Return the positions of a card in consecutive frames, slow at the begin and the end."""
    steps = np.arange(-lag, seconds, 1 / FPS) / seconds
    smooth = np.clip(steps, 0, 1)
    return [(name, float(x)) for x in (smooth * smooth * (3 - 2 * smooth) * 2 - 1) * OUT]


def profile(folder: Path, ahead: Ahead = SHORT, quarters: int = 0) -> Profile:
    """Write the profile of this throat, turned by a number of quarters."""
    pictures = [turned(drawn(number=n, ahead=ahead), quarters) for n in range(90, 94)]
    empty = np.mean(pictures, axis=0).round().astype(np.uint8)
    cv2.imwrite(str(folder / "mouth.png"), empty)
    high, wide = empty.shape[:2]
    x, y = ahead.half[:: -1 if quarters % 2 else 1]
    rows = ((ahead.scale, 0.0, wide / 2), (0.0, ahead.scale, high / 2), (0.0, 0.0, 1.0))
    window = ((-x, -y), (x, -y), (x, y), (-x, y))
    path = folder / "mouth.toml"
    made = Profile(
        version=1,
        station="throat",
        camera=Camera(width=wide, height=high),
        table=Table(homography=rows, reference="mouth.png"),
        throat=Throat(window=window, direction=WAYS[quarters], turn=ahead.turn),
    )
    write_profile(made, path)
    return load_profile(path)


def turned(image: Image, quarters: int) -> Image:
    """Turn an image by a number of quarters, counterclockwise."""
    return np.ascontiguousarray(np.rot90(image, quarters))


@lru_cache(maxsize=2)
def _plates(ahead: Ahead) -> Image:
    grain = np.random.default_rng(3).normal(0, 9, (HEIGHT // 2, WIDTH // 2))
    plates = cv2.resize(np.clip(45 + grain, 0, 255).astype(np.uint8), (WIDTH, HEIGHT))
    image = np.repeat(plates[..., None], 3, axis=2)
    x, y = ahead.half
    cv2.rectangle(image, _pixel(-x, -y, ahead), _pixel(x, y, ahead), (38, 42, 46), -1)
    return np.asarray(image, np.uint8)


def _pixel(x: float, y: float, ahead: Ahead) -> tuple[int, int]:
    return round(x * ahead.scale + WIDTH / 2), round(y * ahead.scale + HEIGHT / 2)


def _lay(image: Image, name: str, x: float, ahead: Ahead) -> None:
    face, mask = card_face(name, 0)
    high, wide = face.shape[:2]
    source = np.array([(0, 0), (wide, 0), (wide, high)], np.float32)
    corners = np.add(ahead.corners, (x, 0))
    target = corners * ahead.scale + (WIDTH / 2, HEIGHT / 2)
    turn = cv2.getAffineTransform(source, target.astype(np.float32))
    there = cv2.warpAffine(face, turn, (WIDTH, HEIGHT), flags=cv2.INTER_AREA)
    cover = cv2.warpAffine(mask, turn, (WIDTH, HEIGHT))
    cv2.copyTo(there, cover, image)

"""
A shoe's mouth to look at: cards that pass behind a window, short side ahead, to the right.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from drivers.camera.frames import Image
from drivers.camera.profile import Camera, Profile, Table, Throat, load_profile, write_profile
from tests.camera.scenes import card_face

SCALE = 5.0
WIDTH, HEIGHT = 640, 360
HALF = 52.0, 34.5
"""Millimetres from the middle of the window to its ends."""

FPS = 25.0
OUT = 110.0
"""Where a card cannot be seen any more; the shoe is on the other side."""

Card = tuple[str | None, float]
"""Which, and where its middle is; None for a finger."""


def drawn(*cards: Card, number: int = 0, light: float = 1.0) -> Image:
    """
    Draw cards, the first below all others, as seen from below: the first hides the rest.
    """
    image = _plates().copy()
    inside = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.rectangle(inside, _pixel(-HALF[0], -HALF[1]), _pixel(*HALF), (255,), -1)
    layer = image.copy()
    for name, x in reversed(cards):
        if name is None:
            cv2.rectangle(layer, _pixel(x - 60, -9), _pixel(x + 60, 9), (120, 150, 200), -1)
        else:
            _lay(layer, name, x)
    cv2.copyTo(layer, inside, image)
    grain = np.random.default_rng(number).normal(0, 2, (HEIGHT, WIDTH, 1))
    return np.clip(image * light + grain, 0, 255).astype(np.uint8)


def passing(name: str, seconds: float = 0.36, lag: float = 0.0) -> list[Card]:
    """
    Give where a card is in picture after picture, slow at first and last.
    """
    steps = np.arange(-lag, seconds, 1 / FPS) / seconds
    smooth = np.clip(steps, 0, 1)
    return [(name, float(x)) for x in (smooth * smooth * (3 - 2 * smooth) * 2 - 1) * OUT]


def profile(folder: Path) -> Profile:
    """
    Write the profile of this mouth.
    """
    empty = np.mean([drawn(number=n) for n in range(90, 94)], axis=0).round().astype(np.uint8)
    cv2.imwrite(str(folder / "mouth.png"), empty)
    (x, y), path = HALF, folder / "mouth.toml"
    rows = ((SCALE, 0.0, WIDTH / 2), (0.0, SCALE, HEIGHT / 2), (0.0, 0.0, 1.0))
    made = Profile(
        version=1,
        station="throat",
        camera=Camera(width=WIDTH, height=HEIGHT),
        table=Table(homography=rows, reference="mouth.png"),
        throat=Throat(window=((-x, -y), (x, -y), (x, y), (-x, y)), direction=(1, 0)),
    )
    write_profile(made, path)
    return load_profile(path)


@lru_cache(maxsize=1)
def _plates() -> Image:
    grain = np.random.default_rng(3).normal(0, 9, (HEIGHT // 2, WIDTH // 2))
    plates = cv2.resize(np.clip(45 + grain, 0, 255).astype(np.uint8), (WIDTH, HEIGHT))
    image = np.repeat(plates[..., None], 3, axis=2)
    cv2.rectangle(image, _pixel(-HALF[0], -HALF[1]), _pixel(*HALF), (38, 42, 46), -1)
    return np.asarray(image, np.uint8)


def _pixel(x: float, y: float) -> tuple[int, int]:
    return round(x * SCALE + WIDTH / 2), round(y * SCALE + HEIGHT / 2)


def _lay(image: Image, name: str, x: float) -> None:
    face, mask = card_face(name, 0)
    high, wide = face.shape[:2]
    # The upper end of the card trails.
    source = np.array([(0, 0), (wide, 0), (wide, high)], np.float32)
    corners = [(x - 44, 31.5), (x - 44, -31.5), (x + 44, -31.5)]
    target = np.array(corners) * SCALE + (WIDTH / 2, HEIGHT / 2)
    turn = cv2.getAffineTransform(source, target.astype(np.float32))
    there = cv2.warpAffine(face, turn, (WIDTH, HEIGHT), flags=cv2.INTER_AREA)
    cover = cv2.warpAffine(mask, turn, (WIDTH, HEIGHT))
    cv2.copyTo(there, cover, image)

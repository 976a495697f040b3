"""Photos of rendered cards for the recogniser's tests, of decks that were not trained."""

from __future__ import annotations

from itertools import islice

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.card_artwork import ASPECT, Style, outline, styles

Image = NDArray[np.uint8]
Quad = NDArray[np.float32]

DECKS = tuple(islice(styles(1_200_000), 16))
_HEIGHT, _WIDTH, _SPARE = 360, 420, 60
_NOISE = (
    np.random.default_rng(1)
    .normal(0, 1, (_HEIGHT + _SPARE, _WIDTH + _SPARE, 3))
    .astype(np.float32)
)
_UNIT = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)


def photo(
    side: Image, deck: Style, seed: int, *, width: float = 110, blur: float = 0.4
) -> tuple[Image, Quad]:
    """Draw a card on felt, randomly turned, seen at an angle; return its corners too."""
    chance = np.random.default_rng(seed)
    scene = np.full((_HEIGHT, _WIDTH, 3), (60, 105, 25), np.float32)
    scene += _noise(chance) * 4
    corners = (_UNIT - 0.5) * np.array([1, ASPECT]) * width
    turn = chance.uniform(0, 2 * np.pi)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    quad = np.asarray((corners @ spin.T) * [1, 0.85] + [210, 180], np.float32)
    corner = np.asarray(_UNIT * side.shape[1::-1], np.float32)
    plane = cv2.getPerspectiveTransform(corner, quad)
    size = (scene.shape[1], scene.shape[0])
    mask = cv2.warpPerspective(outline(deck, side.shape[1]), plane, size) / 255
    laid = cv2.warpPerspective(side, plane, size)
    scene += (laid - scene) * mask[..., None].astype(np.float32)
    scene *= chance.uniform(0.5, 1.0)
    soft = cv2.GaussianBlur(scene, (0, 0), blur)
    return np.clip(soft + _noise(chance) * 2.5, 0, 255).astype(np.uint8), quad


def _noise(chance: np.random.Generator) -> NDArray[np.float32]:
    """Choose a part of the noise, which is drawn once."""
    y, x = chance.integers(_SPARE, size=2)
    return _NOISE[y : y + _HEIGHT, x : x + _WIDTH]

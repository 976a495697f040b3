"""
`python -m bench.vision.pale_tables`: cards found and read on tables nearly as pale as they are, by
the contrast of paper and table in grey values; plain and wooden tables, with a shadow of the card.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import islice
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.recognition.card_outline_search import CardBounds, find_card
from drivers.camera.recognition.corner_index_reader import Recogniser
from drivers.camera.sources.frame_capture_and_checks import Image
from drivers.simulators.card_artwork import face, outline, styles
from shoe_daemon.game import DECK, Card

_SCALE: Final = 1.7
"""Pixels per millimetre."""

_SIDE_PX: Final = 255
_CARD_MM: Final = (63.0, 88.0)
_UNIT: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_TINT: Final = np.array([1.25, 1.0, 0.8])
"""Of the contrast, in blue, green and red: wood and pale felt are yellowish."""

_CONTRASTS: Final = (60, 40, 30, 22, 18, 15, 12, 8)
_DECKS: Final = tuple(islice(styles(1_400_000), 8))

Floats = NDArray[np.float64]


class Scene(NamedTuple):
    """A table with a card and without, the card, and its corners."""

    image: Image
    empty: Image
    card: Card
    quad: Floats


def draw(seed: int, contrast: float, *, wooden: bool) -> Scene:
    """Lay a card on a pale table."""
    chance = np.random.default_rng(seed)
    deck, card = _DECKS[seed % len(_DECKS)], DECK[int(chance.integers(len(DECK)))]
    light = chance.uniform(0.8, 0.95)
    empty = _table(chance, np.array(deck.paper) * light - contrast * _TINT, wooden=wooden)
    turn = chance.normal(0, 0.09)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    quad = ((_UNIT - 0.5) * np.array(_CARD_MM) * _SCALE) @ spin.T + _SIDE_PX / 2
    quad += chance.normal(0, 6, 2)
    drawn = face(card, deck, 200).astype(np.float32) * np.float32(light)
    corners = _UNIT * np.array(drawn.shape[1::-1], np.float32)
    plane = cv2.getPerspectiveTransform(corners, quad.astype(np.float32))
    size = (_SIDE_PX, _SIDE_PX)
    laid = cv2.warpPerspective(cv2.GaussianBlur(drawn, (0, 0), 0.7), plane, size)
    there = np.asarray(cv2.warpPerspective(outline(deck, 200), plane, size), np.float64) / 255
    shadow = np.asarray(cv2.GaussianBlur(np.roll(there, (2, 2), (0, 1)), (0, 0), 2))
    mask = there[..., None]
    image = empty * (1 - 0.15 * shadow[..., None]) * (1 - mask) + laid * mask
    return Scene(_sensed(chance, image), _sensed(chance, empty), card, quad)


def _table(chance: np.random.Generator, tone: Floats, *, wooden: bool) -> Floats:
    if wooden:
        down = np.linspace(0, 30, _SIDE_PX)[:, None]
        across = np.linspace(0, 3, _SIDE_PX)[None]
        rings = np.sin(down * 2 + np.sin(across * 2 + chance.uniform(0, 6)) * 2)
        grain = rings + 0.5 * np.sin(down * 7 + across)
        return np.asarray(tone * (1 + 0.04 * grain[..., None]))
    coarse = chance.normal(0, 4, (_SIDE_PX // 5, _SIDE_PX // 5))
    return np.asarray(tone + cv2.resize(coarse, (_SIDE_PX, _SIDE_PX))[..., None])


def _sensed(chance: np.random.Generator, scene: Floats) -> Image:
    soft = cv2.GaussianBlur(scene, (0, 0), 0.7) + chance.normal(0, 2, scene.shape)
    return np.clip(soft, 0, 255).astype(np.uint8)


def find_and_read(recogniser: Recogniser, scene: Scene) -> tuple[str, float]:
    """Return what became of the card, and the error of its corners in card widths."""
    found = find_card(scene.image, scene.empty, CardBounds(_SCALE, _CARD_MM))
    if found is None:
        return "missed", 0.0
    error = min(float(np.abs(np.roll(found.quad, turn, 0) - scene.quad).max()) for turn in (0, 2))
    read = recogniser.read(scene.image, np.asarray(found.quad, np.float32)).card
    kind = "unread" if read is None else "right" if read is scene.card else "wrong"
    return kind, error / (_CARD_MM[0] * _SCALE)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[2])
    parser.add_argument("--cards", type=int, default=40, help="for each line")
    given = parser.parse_args()
    cv2.setNumThreads(1)
    recogniser = Recogniser()
    kinds = ("right", "unread", "missed", "wrong")
    print("table   contrast  " + "  ".join(kinds) + "  largest error of a corner, in card widths")
    for name in ("plain", "wooden"):
        for contrast in _CONTRASTS:
            scenes = (draw(n, contrast, wooden=name == "wooden") for n in range(given.cards))
            results = [find_and_read(recogniser, each) for each in scenes]
            counts = Counter(kind for kind, _ in results)
            numbers = "  ".join(f"{counts[kind]:{len(kind)}}" for kind in kinds)
            print(f"{name:6}  {contrast:8}  {numbers}  {max(error for _, error in results):.3f}")


if __name__ == "__main__":
    main()

"""
A recogniser that knows the drawn decks by heart: for tests that are not about reading.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from shoe_daemon.game.cards import DECK, Card
from tests.camera.scenes import card_face


class Known(NamedTuple):
    card: Card | None
    best: Card
    confidence: float


class ByHeart:
    """
    Compares a card with all of its deck, at either end, as template matchers do.
    """

    def __init__(self, style: int = 0, least: float = 0.75) -> None:
        self._style = style
        self._least = least
        self.reads = 0

    def read(self, image: NDArray[np.uint8], quad: NDArray[np.float32]) -> Known:
        self.reads += 1
        names, deck = _templates(self._style)
        scores = np.maximum(*(deck @ _flat(image, quad, turn) for turn in (0, 2)))
        first, second = np.argsort(scores)[::-1][:2]
        score = float(scores[first])
        sure = score > self._least and score - scores[second] > 0.004
        best = Card(names[int(first)])
        return Known(best if sure else None, best, max(0.0, score))


@lru_cache(maxsize=4)
def _templates(style: int) -> tuple[list[str], NDArray[np.float32]]:
    names = [card.value for card in DECK]
    height = 88 / 63
    rows: list[Any] = []
    for name in names:
        drawn, _ = card_face(name, style)
        tall, wide = drawn.shape[:2]
        corners = np.array([(0, 0), (wide, 0), (wide, tall), (0, tall)], np.float32)
        rows.append(_flat(drawn, corners, 0))
        assert abs(tall / wide - height) < 0.05
    return names, np.stack(rows)


def _flat(image: NDArray[np.uint8], quad: NDArray[np.float32], turn: int) -> NDArray[np.float32]:
    size = (60, 84)
    target = np.array([(0, 0), (60, 0), (60, 84), (0, 84)], np.float32)
    matrix = cv2.getPerspectiveTransform(np.roll(quad, -turn, 0).astype(np.float32), target)
    flat = cv2.warpPerspective(image, matrix, size, flags=cv2.INTER_AREA).astype(np.float32)
    index = cv2.GaussianBlur(flat[2:36, 2:20], (3, 3), 0)
    whole = np.concatenate([index.ravel() * 2.5, flat[4:80:2, 4:56:2].ravel()])
    whole -= whole.mean()
    return np.asarray(whole / (np.linalg.norm(whole) + 1e-6), np.float32)

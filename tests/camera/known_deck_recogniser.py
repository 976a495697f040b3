"""A recogniser that knows the drawn decks, for tests that are not about recognition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.recogniser import window_quads
from shoe_daemon.game.cards import DECK, Card
from tests.camera.overhead_scene import card_face


class Known(Struct, frozen=True):
    card: Card | None
    best: Card
    confidence: float
    ends: tuple[Any, ...] = ()
    is_clear: bool = False  # it has no probabilities


class ByHeart:
    """Compares the indexes of a card with all of its deck, as template matchers do."""

    threshold = 0.0

    def __init__(self, style: int = 0, least: float = 0.7) -> None:
        self._style = style
        self.least = least
        self.reads = 0

    def read(self, image: NDArray[np.uint8], quad: NDArray[np.float32]) -> Known:
        self.reads += 1
        windows = window_quads(quad, IndexWindow())
        return max(
            (self.read_window(image, window) for window in windows),
            key=lambda known: known.confidence,
        )

    def read_window(self, image: NDArray[np.uint8], window: NDArray[np.float32]) -> Known:
        names, deck = _indices(self._style)
        scores = deck @ _index(image, window)
        first, second = np.argsort(scores)[::-1][:2]
        score = float(scores[first])
        best = Card(names[int(first)])
        sure = score > self.least and score - scores[second] > 0.001
        return Known(best if sure else None, best, max(0.0, score), (best,))

    def combined(self, readings: Sequence[Known]) -> Known:
        ends = Counter(end for each in readings for end in each.ends)
        (best, count), *_ = ends.most_common(1)
        most = count >= ends.total() * 2 / 3
        return Known(best if most else None, best, count / ends.total(), readings[0].ends)


def _index(image: NDArray[np.uint8], window: NDArray[np.float32]) -> NDArray[np.float32]:
    target = np.array([(0, 0), (30, 0), (30, 60), (0, 60)], np.float32)
    matrix = cv2.getPerspectiveTransform(window.astype(np.float32), target)
    flat = cv2.warpPerspective(image, matrix, (30, 60), flags=cv2.INTER_AREA).astype(np.float32)
    whole = cv2.GaussianBlur(flat, (3, 3), 0).ravel()
    whole -= whole.mean()
    return np.asarray(whole / (np.linalg.norm(whole) + 1e-6), np.float32)


@lru_cache(maxsize=4)
def _indices(style: int) -> tuple[list[str], NDArray[np.float32]]:
    names = [card.value for card in DECK]
    rows = []
    for name in names:
        drawn, _ = card_face(name, style)
        tall, wide = drawn.shape[:2]
        right, low = 0.30 * wide, 0.42 * tall
        rows.append(
            _index(drawn, np.array([(0, 0), (right, 0), (right, low), (0, low)], np.float32))
        )
    return names, np.stack(rows)

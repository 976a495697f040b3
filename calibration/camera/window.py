"""
Fits the index window to a deck from some of its cards; nothing is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from calibration.camera.cards import Shown
from drivers.camera.confidence import agreed, belief
from drivers.camera.recogniser import SHIPPED, Recogniser
from drivers.camera.windows import CropWindow, Quad, cut, normalised, window_quads
from shoe_daemon.game.cards import RANKS, SUITS

__all__ = ["Fit", "fit_window"]

_SCALES: Final = (0.7, 0.8, 0.9, 1.0, 1.12, 1.25, 1.4)
_PLAIN: Final = 0.004
"""A window other than the usual one has to be better by so much."""

_FLOOR: Final = 1e-4


class Fit(Struct, frozen=True):
    """
    A window that fits a deck.

    Attributes:
        window: The best.
        across, along: By how much it is wider and higher than the usual one.
        usual: The cards' mean confidence with the usual one.
        fitted: Likewise with the best.
    """

    window: CropWindow
    across: float
    along: float
    usual: float
    fitted: float


def fit_window(recogniser: Recogniser, shown: Sequence[Shown]) -> Fit:
    """
    Try wider, narrower, higher and lower windows on cards that are known.

    The best is that in which the worse of the cards are read best.
    """
    usual = CropWindow()
    trust = {
        (x, y): _trust(recogniser, shown, usual.scaled(x, y)) for x in _SCALES for y in _SCALES
    }
    score = {scales: _score(values) for scales, values in trust.items()}
    best = max(score, key=lambda scales: (score[scales], -abs(scales[0] - 1) - abs(scales[1] - 1)))
    if score[best] - score[1.0, 1.0] < _PLAIN:
        best = (1.0, 1.0)
    return Fit(
        usual.scaled(*best),
        *best,
        round(float(trust[1.0, 1.0].mean()), 4),
        round(float(trust[best].mean()), 4),
    )


def _score(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    # Mean of logarithms: one card that is not read weighs more than many read a little better.
    return float(np.log(np.maximum(values, _FLOOR)).mean())


def _trust(
    recogniser: Recogniser, shown: Sequence[Shown], window: CropWindow
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """
    Return how much is believed of each card what it is.
    """
    patches = []
    for each in shown:
        quad: Quad = np.asarray(each.quad, np.float32)
        patches += [normalised(cut(each.image, end)) for end in window_quads(quad, window)]
    answers = recogniser.answers(np.stack(patches))
    found = [belief(answer, SHIPPED.temperature) for answer in answers]
    whole = []
    for number, each in enumerate(shown):
        both = agreed(found[2 * number : 2 * number + 2])
        row, column = RANKS.index(each.card.rank), SUITS.index(each.card.suit)
        whole.append(float(both.cards[row, column]))
    return np.array(whole)

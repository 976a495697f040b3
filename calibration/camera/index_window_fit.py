"""
Fits the index window to a deck from some of its cards; nothing is trained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from calibration.camera.shown_cards import Shown
from drivers.camera.recognition.confidence import agreed
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.recognition.recogniser import Recogniser
from shoe_daemon.game.cards import RANKS, SUITS

__all__ = ["Fit", "fit_window"]

_SCALES: Final = (0.72, 0.85, 1.0, 1.18, 1.4)
"""Parts of the usual window's width and height that are tried."""

_PLAIN: Final = 0.004
"""A window other than the usual one has to be better by so much."""

_FLOOR: Final = 1e-4
"""Belief below which a card that is not read counts no more."""


class Fit(Struct, frozen=True):
    """
    A window that fits a deck.

    Attributes:
        window: The best.
        across, along: By how much it is wider and higher than the usual one.
        usual: The cards' mean confidence with the usual one, a geometric mean.
        fitted: Likewise with the best.
    """

    window: CropWindow
    across: float
    along: float
    usual: float
    fitted: float

    @property
    def told(self) -> str:
        """
        The fit for people.
        """
        if (self.across, self.along) == (1, 1):
            return f"the usual one fits this deck (confidence {self.fitted:.3f})"
        size = f"{self.across:g} times the usual width, {self.along:g} the height"
        return f"{size} fit this deck (confidence {self.usual:.3f}, now {self.fitted:.3f})"


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
        round(math.exp(score[1.0, 1.0]), 4),
        round(math.exp(score[best]), 4),
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
    recogniser.window = window
    found = []
    for each in shown:
        reading = recogniser.read(each.image, np.asarray(each.quad, np.float32))
        both = agreed([end.believed for end in reading.ends])
        row, column = RANKS.index(each.card.rank), SUITS.index(each.card.suit)
        found.append(float(both.cards[row, column]))
    return np.array(found)

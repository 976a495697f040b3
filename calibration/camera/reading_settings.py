"""
Settings of a reading: minimum pixels and threshold, as measured with the package's weights, and
the index window that fits a deck.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from calibration.camera.shown_cards import ShownCard
from drivers.camera.recognition.confidence import (
    CURVE_FILE,
    CurvePoint,
    combine_ends,
    load_curve,
    threshold_for,
)
from drivers.camera.recognition.corner_index_reader import WEIGHTS_FILE, WEIGHTS_INFO, Recogniser
from drivers.camera.recognition.index_window import CropWindow
from shoe_daemon.game import RANKS, SUITS

__all__ = [
    "Threshold",
    "WindowFit",
    "best_proven_point",
    "choose_threshold",
    "fit_window",
    "good_index_pixels",
    "min_index_pixels",
    "risk_curve",
]

_DEFAULT_GOOD_PX: Final = 36.0
"""Pixels from which nearly all cards are read, where the weights state no value."""


def min_index_pixels() -> float:
    """Return the minimum height of an index window in the image."""
    return float(WEIGHTS_INFO.pixels)


def good_index_pixels() -> float:
    """Return the height from which nearly all cards of the test were read."""
    known = json.loads(WEIGHTS_FILE.with_name("index.json").read_text())
    risk_curve = known.get("test", {}).get("limits", {}).get("pixels", _DEFAULT_GOOD_PX)
    return max(float(risk_curve), min_index_pixels())


def risk_curve() -> tuple[CurvePoint, ...]:
    """Return the measured curve of the weights; empty where there is none."""
    return load_curve() if CURVE_FILE.is_file() else ()


class Threshold(Struct, frozen=True):
    """
    A threshold, and its measured risk.

    Attributes:
        value: Minimum confidence of an accepted card.
        stated: Requested share of wrong cards; None for the threshold of the weights.
        risk: Upper limit of the share of wrong cards, at 95 per cent; None where it was not
            measured.
        accepted: Share of readable cards that it accepts; None where it was not measured.
    """

    value: float
    stated: float | None
    risk: float | None = None
    accepted: float | None = None

    @property
    def is_proven(self) -> bool:
        """True if the measurement proves the requested risk."""
        return self.stated is None or (self.risk is not None and self.risk <= self.stated)

    @property
    def summary(self) -> str:
        """Description for people."""
        head = f"{self.value:g}, that of the weights"
        if self.stated is not None:
            head = f"{self.value:g} for at most one wrong card in {1 / self.stated:,.0f}"
        if self.risk is None or self.accepted is None:
            return f"{head}; no curve was measured with these weights"
        found = (
            f"at most one in {1 / self.risk:,.0f} wrong (95% sure), {self.accepted:.1%} accepted"
        )
        return f"{head}; measured: {found}" + ("" if self.is_proven else "; NOT proven")


def best_proven_point() -> CurvePoint | None:
    """Return the point of the curve with the smallest proven risk."""
    return min(risk_curve(), key=lambda point: point.risk, default=None)


def choose_threshold(risk: float | None) -> Threshold:
    """
    Choose the lowest threshold whose measured risk is at most the requested one.

    Without a request, that of the weights is used; where the measurement is too small to
    prove the requested risk, the strictest.
    """
    if not CURVE_FILE.is_file():
        return Threshold(WEIGHTS_INFO.threshold, risk)
    value = WEIGHTS_INFO.threshold if risk is None else threshold_for(risk)
    for point in load_curve():
        if point.threshold == value:
            return Threshold(value, risk, point.risk, point.accepted)
    return Threshold(value, risk)


_SCALES: Final = (0.72, 0.85, 1.0, 1.18, 1.4)
"""Multiples of the default window's width and height that are tried."""

_MIN_GAIN: Final = 0.004
"""Minimum gain of a window over the default one."""

_MIN_BELIEF: Final = 1e-4
"""Probability below which a card that is not read counts no less."""


class WindowFit(Struct, frozen=True):
    """
    A window that fits a deck.

    Attributes:
        window: The best window.
        across, along: Its width and height, as multiples of the default ones.
        usual: Geometric mean of the cards' confidences with the default window.
        fitted: The same with the best window.
    """

    window: CropWindow
    across: float
    along: float
    usual: float
    fitted: float

    @property
    def summary(self) -> str:
        """Description for people."""
        if (self.across, self.along) == (1, 1):
            return f"the usual one fits this deck (confidence {self.fitted:.3f})"
        size = f"{self.across:g} times the usual width, {self.along:g} the height"
        return f"{size} fit this deck (confidence {self.usual:.3f}, now {self.fitted:.3f})"


def fit_window(recogniser: Recogniser, shown: Sequence[ShownCard]) -> WindowFit:
    """
    Try windows of several widths and heights on known cards.

    The best window is the one in which the worst cards are read best.
    """
    usual = CropWindow()
    probabilities = {
        (x, y): _believed(recogniser, shown, usual.scaled(x, y)) for x in _SCALES for y in _SCALES
    }
    score = {scales: _score(values) for scales, values in probabilities.items()}
    best = max(score, key=lambda scales: (score[scales], -abs(scales[0] - 1) - abs(scales[1] - 1)))
    if score[best] - score[1.0, 1.0] < _MIN_GAIN:
        best = (1.0, 1.0)
    return WindowFit(
        usual.scaled(*best),
        *best,
        round(math.exp(score[1.0, 1.0]), 4),
        round(math.exp(score[best]), 4),
    )


def _score(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    # Mean of logarithms: a card that is not read outweighs small gains of many others.
    return float(np.log(np.maximum(values, _MIN_BELIEF)).mean())


def _believed(
    recogniser: Recogniser, shown: Sequence[ShownCard], window: CropWindow
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the probability of each card's true value."""
    recogniser.window = window
    found = []
    for each in shown:
        reading = recogniser.read(each.image, np.asarray(each.quad, np.float32))
        both = combine_ends([end.believed for end in reading.ends])
        row, column = RANKS.index(each.card.rank), SUITS.index(each.card.suit)
        found.append(float(both.cards[row, column]))
    return np.array(found)

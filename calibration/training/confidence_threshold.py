"""The confidence threshold and its curve, chosen from the test's results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from calibration.training.readable_conditions import LIMITS, Limits
from calibration.training.rendered_test import Results
from drivers.camera.recognition.confidence_and_blur import CurvePoint
from drivers.camera.recognition.corner_index_reader import WEIGHTS_INFO

__all__ = [
    "LEAST_THRESHOLD",
    "accepted",
    "at_most",
    "curve_of",
    "readable",
    "shipped_threshold",
]

_THRESHOLDS: Final = (
    0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99,
)  # fmt: skip
LEAST_THRESHOLD: Final = 0.96
"""
Lowest shipped threshold. Below it, cards of strange decks get wrong names
(`bench.vision.strange_decks`): neither set of rendered cards has such decks.
"""
_SURE: Final = 0.95
"""Confidence level of the stated risk."""


def readable(results: Results, limits: Limits = LIMITS) -> NDArray[np.bool_]:
    """Return for each card whether its conditions are within the limits."""
    how = results.conditions
    return np.asarray(
        (results.pixels >= limits.pixels)
        & (how["blur"] <= limits.blur)
        & (how["motion"] <= limits.motion)
        & (how["light"] >= limits.light)
    )


def accepted(results: Results, threshold: float) -> NDArray[np.bool_]:
    """Return for each card whether it is accepted at a threshold."""
    clear = (results.sharpness >= WEIGHTS_INFO.sharpness) & (results.pixels >= WEIGHTS_INFO.pixels)
    return np.asarray(clear & (results.accepted_up_to >= threshold))


def curve_of(results: Results) -> list[CurvePoint]:
    """
    Return for each threshold the share of readable cards accepted, and the wrong cards of all.
    """
    within = readable(results)
    points = []
    for threshold in _THRESHOLDS:
        taken = accepted(results, threshold)
        wrong, cards = int((taken & ~results.right).sum()), int(taken.sum())
        share = float(taken[within].mean())
        risk = at_most(wrong) / max(cards, 1)
        points.append(CurvePoint(threshold, round(share, 5), wrong, cards, round(risk, 7)))
    return points


def at_most(wrong: int) -> float:
    """Return the upper bound (95 %) of a Poisson mean, given the observed count."""
    low, high = 0.0, 20.0 + 3 * wrong
    for _ in range(60):
        mean = (low + high) / 2
        seen = sum(
            math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(wrong + 1)
        )
        low, high = (mean, high) if seen > 1 - _SURE else (low, mean)
    return high


def shipped_threshold(points: Sequence[CurvePoint], one_in: int) -> float:
    """Return the lowest threshold from which on at most one accepted card in `one_in` is wrong."""
    for place, point in enumerate(points):
        if all(each.wrong * one_in <= each.cards for each in points[place:]):
            return point.threshold
    return points[-1].threshold

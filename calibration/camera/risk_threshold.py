"""
What was measured with the weights of this package: the least pixels, and the threshold for a risk.
"""

from __future__ import annotations

import json
from typing import Final

from msgspec import Struct

from drivers.camera.recognition.confidence import CURVE, CurvePoint, curve, threshold_for
from drivers.camera.recognition.recogniser import SHIPPED, WEIGHTS

__all__ = ["Threshold", "choose", "good_pixels", "least_pixels", "measured", "proven"]

_USUAL: Final = 36.0
"""Pixels from which on nearly all cards are read, where no test of the weights says it."""


def least_pixels() -> float:
    """
    Give the least height of an index window, in the picture's pixels, that is read at all.
    """
    return float(SHIPPED.pixels)


def good_pixels() -> float:
    """
    Give the height from which on nearly all cards of the test were read.
    """
    known = json.loads(WEIGHTS.with_name("index.json").read_text())
    measured = known.get("test", {}).get("limits", {}).get("pixels", _USUAL)
    return max(float(measured), least_pixels())


def measured() -> tuple[CurvePoint, ...]:
    """
    Give the measured curve of these weights; nothing where there is none.
    """
    return curve() if CURVE.is_file() else ()


class Threshold(Struct, frozen=True):
    """
    A threshold, and what it was measured to do.

    Attributes:
        value: The least confidence of a card that is named.
        stated: The risk that was asked for: wrong cards in one card read; None for the
            threshold that comes with the weights.
        risk: What is not exceeded at it, at 95 per cent; None where nothing was measured.
        accepted: The share of readable cards that it accepts, likewise.
    """

    value: float
    stated: float | None
    risk: float | None = None
    accepted: float | None = None

    @property
    def kept(self) -> bool:
        """
        Whether what was measured proves the stated risk.
        """
        return self.stated is None or (self.risk is not None and self.risk <= self.stated)

    @property
    def told(self) -> str:
        """
        The threshold for people.
        """
        head = f"{self.value:g}, that of the weights"
        if self.stated is not None:
            head = f"{self.value:g} for at most one wrong card in {1 / self.stated:,.0f}"
        if self.risk is None or self.accepted is None:
            return f"{head}; no curve was measured with these weights"
        found = (
            f"at most one in {1 / self.risk:,.0f} wrong (95% sure), {self.accepted:.1%} accepted"
        )
        return f"{head}; measured: {found}" + ("" if self.kept else "; NOT proven")


def proven() -> CurvePoint | None:
    """
    Give the point of the curve at which the least risk is proven.
    """
    return min(measured(), key=lambda point: point.risk, default=None)


def choose(risk: float | None) -> Threshold:
    """
    Choose the lowest threshold whose measured risk is at most so high.

    Where no risk is stated, that of the weights is taken; where the measurement was
    too small to prove a stated one, the strictest.
    """
    if not CURVE.is_file():
        return Threshold(SHIPPED.threshold, risk)
    value = SHIPPED.threshold if risk is None else threshold_for(risk)
    for point in curve():
        if point.threshold == value:
            return Threshold(value, risk, point.risk, point.accepted)
    return Threshold(value, risk)

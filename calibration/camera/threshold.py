"""
What was measured with the weights of this package: the least pixels, and the threshold for a risk.
"""

from __future__ import annotations

import json
from typing import Final

from msgspec import Struct

from drivers.camera.confidence import CURVE, curve, threshold_for
from drivers.camera.recogniser import SHIPPED, WEIGHTS

__all__ = ["Threshold", "choose", "least_pixels"]

_USUAL: Final = 36.0


def least_pixels() -> float:
    """
    Give the least height of an index window, in the picture's pixels, that reads safely.
    """
    known = json.loads(WEIGHTS.with_name("index.json").read_text())
    measured = known.get("test", {}).get("limits", {}).get("pixels", _USUAL)
    return max(float(measured), float(known.get("pixels", 0.0)))


class Threshold(Struct, frozen=True):
    """
    A threshold, and what it was measured to do.

    Attributes:
        value: The least confidence of a card that is named.
        stated: The risk that was asked for: wrong cards in one card read.
        risk: What is not exceeded at it, at 95 per cent; None where nothing was measured.
        accepted: The share of readable cards that it accepts, likewise.
    """

    value: float
    stated: float
    risk: float | None = None
    accepted: float | None = None

    @property
    def kept(self) -> bool:
        """
        Whether what was measured proves the stated risk.
        """
        return self.risk is not None and self.risk <= self.stated


def choose(risk: float) -> Threshold:
    """
    Choose the lowest threshold whose measured risk is at most so high.

    Where the measurement was too small to prove it, the strictest one is taken.
    """
    if not CURVE.is_file():
        return Threshold(SHIPPED.threshold, risk)
    value = threshold_for(risk)
    point = next(each for each in curve() if each.threshold == value)
    return Threshold(value, risk, point.risk, point.accepted)

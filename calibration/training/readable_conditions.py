"""The conditions in which a card should be read; beyond them it may be rejected."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from calibration.training.photo_effects import Conditions, chosen
from calibration.training.training_card_faces import Chance

__all__ = ["LIMITS", "Limits", "within"]

_WIDTH: Final = 84.0
"""Card width in pixels at which the index window is usually high enough."""


class Limits(Struct, frozen=True, kw_only=True):
    """
    The conditions in which a card should be read.

    Attributes:
        pixels: Minimum height of the index window in pixels.
        blur: Maximum lens blur (sigma), in parts of the card's width.
        motion: Maximum motion blur, in parts of the card's width.
        light: Minimum light; 1 is a well-lit table.
    """

    pixels: float = 46
    blur: float = 0.01
    motion: float = 0.03
    light: float = 0.3


LIMITS: Final = Limits()


def within(chance: Chance, limits: Limits = LIMITS) -> Conditions:
    """Choose conditions within the limits; only the index's height may fall short."""
    while True:
        how = chosen(chance, _WIDTH)
        lit = how.light >= limits.light
        if lit and how.blur <= limits.blur and how.motion <= limits.motion:
            return how

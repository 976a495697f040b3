"""Random choices of the lessons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Chance = np.random.Generator
_Value = TypeVar("_Value")


def happens(chance: Chance, share: float) -> bool:
    """Return True in a share of all calls."""
    return bool(chance.random() < share)


def one_of(chance: Chance, values: Sequence[_Value]) -> _Value:
    """Choose one of some values, each as often."""
    return values[int(chance.integers(len(values)))]


def near(chance: Chance, value: float, spread: float) -> float:
    """Choose a number at most `spread` from a value."""
    return float(value + chance.uniform(-spread, spread))

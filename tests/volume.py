"""
How much the tests try: a sample in `make test`, the full volume in `make test-all`.

A test whose promise holds for many cases takes its count or its cases from here, so that the
same test runs in both tiers. Hypothesis takes its number of examples from here, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

__all__ = ["sample", "volume"]

_FULL = os.environ.get("TEST_VOLUME") == "full"
"""True when the full volume is wanted: ``TEST_VOLUME=full``, as `make test-all` sets it."""

_Case = TypeVar("_Case")


def volume(sample: int, full: int) -> int:
    """Return how many cases to try."""
    return full if _FULL else sample


def sample(cases: Iterable[_Case], step: int) -> list[_Case]:
    """Return all cases at full volume, and each `step`-th one otherwise, from the first on."""
    return list(cases)[:: 1 if _FULL else step]

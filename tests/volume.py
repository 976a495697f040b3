"""
How much the tests try: a sample in `make test`, the full volume in `make test-all`.

A test whose promise holds for many cases takes its count from here, so that the same test
runs in both tiers. A test that makes sense only at full volume is marked `volume`.
"""

from __future__ import annotations

import os

__all__ = ["FULL", "volume"]

FULL = os.environ.get("TEST_VOLUME") == "full"
"""Whether the full volume is wanted: ``TEST_VOLUME=full``, as `make test-all` sets it."""


def volume(sample: int, full: int) -> int:
    """
    Return how many cases to try.
    """
    return full if FULL else sample

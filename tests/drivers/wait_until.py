"""Waits for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds after which something that must happen counts as not happening."""


def until(condition: Callable[[], object], what: str = "") -> None:
    """Return as soon as the condition holds; fail after `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"it never happened: {what or condition}")
        time.sleep(0.005)

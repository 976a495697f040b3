"""Tests that are coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

__all__ = ["in_event_loop"]


def in_event_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run

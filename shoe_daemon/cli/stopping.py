"""
Commands that go on until somebody stops them.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from threading import Event

__all__ = ["stopped_by_signals"]


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[Event]:
    """
    Give an event that Ctrl-C, or a service manager's stop, sets.
    """
    stopping = Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopping.set()) for number in signals]
    try:
        yield stopping
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

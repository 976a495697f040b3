"""
Programs that go on until somebody stops them.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
from collections.abc import Iterator
from threading import Event
from typing import Final

__all__ = ["stopped_by_signals"]

_ENDS: Final = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stopped_by_signals(*numbers: signal.Signals) -> Iterator[Event]:
    """
    Give an event that these signals set: by default Ctrl-C, and a service manager's stop.
    """
    stopping = Event()
    numbers = numbers or _ENDS

    def stop(*_: object) -> None:
        # The thread that a signal interrupts may be within a wait and hold the event's lock,
        # so another one sets it; to begin one takes no lock.
        _thread.start_new_thread(stopping.set, ())

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield stopping
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)

"""
Programs that go on until somebody stops them.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import select
import signal
from collections.abc import Iterator
from threading import Event
from typing import Final

__all__ = ["let_go", "stopped_by_signals"]

_ENDS: Final = (signal.SIGINT, signal.SIGTERM)

_STDOUT: Final = 1
_PATIENCE: Final = 1.0
"""Seconds within which whoever reads what a program says has to take some of it, before the
program may end without that."""


@contextlib.contextmanager
def stopped_by_signals(*numbers: signal.Signals) -> Iterator[Event]:
    """
    Give an event that these signals set: by default Ctrl-C, and a service manager's stop.

    What nobody takes any more of what is said, such as a terminal that was stopped, is let go.
    """
    stopping = Event()
    numbers = numbers or _ENDS

    def stop(*_: object) -> None:
        # The thread that a signal interrupts may be within a wait and hold the event's lock,
        # so another one sets it; to begin one takes no lock.
        _thread.start_new_thread(stopping.set, ())
        if _is_stuck():
            let_go(_STDOUT)

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield stopping
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _is_stuck() -> bool:
    poll = select.poll()
    poll.register(_STDOUT, select.POLLOUT)
    return not poll.poll(_PATIENCE * 1000)


def let_go(output: int) -> None:
    """
    Lead an output nowhere, also for a write that waits and was interrupted by a signal.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)

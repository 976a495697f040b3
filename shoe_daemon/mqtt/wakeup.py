"""
A bell that wakes a thread out of its wait for a socket.
"""

from __future__ import annotations

import os
from threading import Lock

__all__ = ["Bell"]


class Bell:
    """
    Rung by any thread, as often as it likes; heard once by the one that waits.

    Attributes:
        descriptor: Readable while the bell was rung and not yet heard.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = Lock()
        self._rung = False
        self._closed = False

    def ring(self) -> None:
        """
        Wake the thread; does nothing when it is already called, or has left.
        """
        if not self._rung:
            self._ring_once()

    def _ring_once(self) -> None:
        with self._lock:
            # Another thread may have rung it by now.
            if not (self._rung or self._closed):
                self._rung = True
                os.eventfd_write(self.descriptor, 1)

    def hear(self) -> None:
        """
        Be ready for the next ring; look at what it may be about after this, not before.

        Without the lock: who rings holds it while the thread that hears wakes up, and
        would be waited for.
        """
        if self._rung:
            try:
                os.eventfd_read(self.descriptor)
            except BlockingIOError:
                return  # it is about to be rung: the next wait ends at once
            self._rung = False

    def close(self) -> None:
        """
        Take the bell down.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                self._rung = False
                os.close(self.descriptor)

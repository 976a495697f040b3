"""Wakes a thread that waits for descriptors: sockets and ports."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from threading import Event, Lock, Thread
from typing import Generic, TypeVar


class Wakeup:
    """
    Wakes a thread that waits for its descriptor among others; `wake` is for any thread.

    Attributes:
        descriptor: Readable after `wake`, until `clear`.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = Lock()
        self._is_set = False
        self._closed = False

    def wake(self) -> None:
        """Wake the thread; does nothing if that is under way, or after `close`."""
        if not self._is_set:
            self._set()

    def _set(self) -> None:
        with self._lock:
            # Another thread may have set it in the meantime.
            if not (self._is_set or self._closed):
                self._is_set = True
                os.eventfd_write(self.descriptor, 1)

    def clear(self) -> None:
        """
        Get ready for the next `wake`; look for work after this call, not before.

        Takes no lock: the thread in `wake` holds it while the waiting thread starts to run.
        """
        if self._is_set:
            try:
                os.eventfd_read(self.descriptor)
            except BlockingIOError:
                return  # about to be written: the next wait ends at once
            self._is_set = False

    def close(self) -> None:
        """Close the descriptor."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._is_set = False
                os.close(self.descriptor)


class WakeableThread(ABC):
    """
    A background thread that waits for descriptors, and ends soon after `stop`.

    Attributes:
        name: The id of its device.
    """

    def __init__(self, kind: str, name: str) -> None:
        self.name = name
        self._wakeup = Wakeup()
        self._stopping = Event()
        self._thread = Thread(target=self.run, name=f"{kind}-{name}", daemon=True)

    @abstractmethod
    def run(self) -> None:
        """Work until `_stopping` is set: the body of the thread."""

    @property
    @abstractmethod
    def alert(self) -> str | None:
        """One sentence for people while its device does not work; None otherwise."""

    def start(self) -> None:
        """Start the thread; once."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopping.set()
        self._wakeup.wake()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread; one that hangs in its device is abandoned."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        if not self._thread.is_alive():
            self._wakeup.close()


AThread = TypeVar("AThread", bound=WakeableThread)


class ThreadGroup(Generic[AThread]):
    """
    The threads of all devices of one kind.

    Args:
        threads: They are not started yet.
        stop_timeout_s: Seconds that `stop` waits at most for all of them.
    """

    def __init__(self, threads: Iterable[AThread], stop_timeout_s: float) -> None:
        self._threads = tuple(threads)
        self._stop_timeout_s = stop_timeout_s

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    @property
    def alerts(self) -> list[str]:
        """One sentence for each device that does not work."""
        return [alert for each in self._threads if (alert := each.alert) is not None]

    @property
    def working(self) -> dict[str, bool]:
        """Devices by id: True for one that works."""
        return {each.name: each.alert is None for each in self._threads}

    def stop(self) -> None:
        """End the threads."""
        for thread in self._threads:
            thread.stop()
        until = time.monotonic() + self._stop_timeout_s
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

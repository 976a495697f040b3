"""
What readers and operators have for the core: bounded, and quick where it is empty.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

_LOOK_FOR_ROOM: Final = 0.005


class Inbox(Generic[Item]):
    """
    Any thread puts, the core gets.

    Nearly always it is empty and the core waits for the one frame that comes:
    for that the queue of the standard library that knows no bounds takes half
    the time. Who finds it full looks again until there is room.
    """

    def __init__(self, size: int) -> None:
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._size = size
        self._counting = threading.Lock()
        self._owed = 0

    def put(self, item: Item, timeout: float = 0.0) -> None:
        """
        Lay something in; threads that do so at the same moment may each find the
        last place.

        Raises:
            queue.Full: There was no room for `timeout` seconds.
        """
        until = time.monotonic() + timeout if self.full else 0.0
        while self.full:
            if time.monotonic() >= until:
                raise queue.Full
            time.sleep(_LOOK_FOR_ROOM)
        with self._counting:
            self._owed += 1
        self._queue.put(item)

    def get(self, timeout: float) -> Item | None:
        """
        Take the next, waiting for it at most so many seconds; None where none came,
        or where somebody called `wake`.
        """
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def wake(self) -> None:
        """
        Let who waits go on, from any thread or a signal's handler.

        A handler has to: where the time is over before a signal has been handled,
        Python's queue waits for ever.
        """
        self._queue.put(None)

    def done(self, count: int) -> None:
        """
        So many of those that were taken are dealt with.
        """
        with self._counting:
            self._owed -= count

    @property
    def settled(self) -> bool:
        """
        Whether all that ever lay in it is dealt with.
        """
        return not self._owed

    @property
    def full(self) -> bool:
        """
        Whether there is no room.
        """
        return self._queue.qsize() >= self._size

    def __len__(self) -> int:
        """
        How much lies in it.
        """
        return self._queue.qsize()

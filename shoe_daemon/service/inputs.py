"""The queue between the threads that receive inputs and the one that processes them."""

from __future__ import annotations

import queue
import threading
import time
from typing import Final, Generic, TypeVar

_FULL_POLL_S: Final = 0.005

Item = TypeVar("Item")


class InputQueue(Generic[Item]):
    """
    A bounded queue of inputs: any thread puts items, the core gets them.

    The queue is nearly always empty, and the core waits for the next frame. The
    standard library's unbounded queue takes half the time of the bounded one
    for that; a thread that finds it full polls until there is room.
    """

    def __init__(self, max_items: int) -> None:
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._max_items = max_items
        self._count_lock = threading.Lock()
        self._unprocessed = 0

    def put(self, item: Item, timeout_s: float = 0.0) -> None:
        """
        Queue an item; threads that do so at the same moment may each get the last
        free place.

        Raises:
            queue.Full: There was no room for `timeout_s`.
        """
        until = time.monotonic() + timeout_s if self.is_full else 0.0
        while self.is_full:
            if time.monotonic() >= until:
                raise queue.Full
            time.sleep(_FULL_POLL_S)
        with self._count_lock:
            self._unprocessed += 1
        self._queue.put(item)

    def get(self, timeout_s: float) -> Item | None:
        """Return the next item; None after `timeout_s`, or after `wake`."""
        try:
            return self._queue.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def wake(self) -> None:
        """
        End the wait in `get`, from any thread or a signal handler.

        A signal handler must: if the timeout passes before a signal was handled,
        Python's queue waits for ever.
        """
        self._queue.put(None)

    def mark_processed(self, count: int) -> None:
        """Note that so many of the items from `get` were processed."""
        with self._count_lock:
            self._unprocessed -= count

    @property
    def is_processed(self) -> bool:
        """True if all items were processed."""
        return not self._unprocessed

    @property
    def is_full(self) -> bool:
        """True if there is no room."""
        return self._queue.qsize() >= self._max_items

    def __len__(self) -> int:
        """Number of items in the queue."""
        return self._queue.qsize()

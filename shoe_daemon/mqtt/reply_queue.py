"""
What is sent once to whoever asked: answers to orders, and events that were asked
for again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, NamedTuple

from shoe_daemon.mqtt.event_queue import Outbox, Trouble

__all__ = ["Letter", "Letters", "Rerun"]

_ROOM: Final = 200
"""Answers that may wait; nobody waits any more for one that is older."""

_BATCH: Final = 64


class Letter(NamedTuple):
    """
    One message, not retained.

    Attributes:
        seq: It goes after the events up to this one.
        correlation: What the asker knows the answer by (MQTT 5).
    """

    topic: str
    payload: bytes
    seq: int
    correlation: bytes | None = None


class Letters:
    """
    Answers on their way; filled by any thread, emptied by the publisher's.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: deque[Letter] = deque(maxlen=_ROOM)

    def __len__(self) -> int:
        """
        How many are not sent.
        """
        return len(self._waiting)

    def put(self, letter: Letter) -> None:
        """
        Lay a letter down behind the others; where there is no room the oldest goes.
        """
        with self._lock:
            self._waiting.append(letter)

    def again(self, letters: Iterable[Letter]) -> None:
        """
        Lay letters down before the others: they were sent, and perhaps lost.
        """
        with self._lock:
            self._waiting.extendleft(reversed(list(letters)))

    def next(self, last_sent: int, *, at_once: bool) -> Letter | None:
        """
        Return the next letter whose events were sent before it; `at_once`: any.
        """
        if not self._waiting:
            return None
        with self._lock:
            if not self._waiting or not (at_once or self._waiting[0].seq <= last_sent):
                return None
            return self._waiting.popleft()


class Rerun:
    """
    Events that are published again, as they are in the journal, in order.

    They go when there is nothing else to send, and move no cursor.
    """

    def __init__(self, outbox: Outbox, topic_of: Callable[[str], str], trouble: Trouble) -> None:
        self._outbox = outbox
        self._topic_of = topic_of
        self._trouble = trouble
        self._ready: deque[Letter] = deque()
        self._fetched = self._until = 0

    @property
    def under_way(self) -> bool:
        """
        Whether there is more to send.
        """
        return bool(self._ready) or self._fetched < self._until

    def ask(self, from_seq: int, until: int) -> None:
        """
        Begin anew; for any thread, while none is under way.
        """
        self._fetched = from_seq - 1
        self._until = until

    def next(self) -> Letter | None:
        """
        Return the next event; for the publisher's thread.
        """
        if not self._ready and self._fetched < self._until:
            self._fetch()
        return self._ready.popleft() if self._ready else None

    def _fetch(self) -> None:
        most = min(_BATCH, self._until - self._fetched)
        try:
            batch = self._outbox.events(self._fetched, most)
        except Exception as error:  # noqa: BLE001 - whatever it is, live events go on
            self._trouble("the journal cannot be read for a replay", error)
            batch = ()
        self._ready.extend(Letter(self._topic_of(e.type), e.body, e.seq) for e in batch)
        self._fetched = batch[-1].seq if batch else self._until

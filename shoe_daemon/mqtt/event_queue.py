"""
The events on their way from the journal to the broker: in order, and the cursor
follows the acknowledgements without a hole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from shoe_daemon.mqtt.timeouts import Pace, Refusals

__all__ = ["Lane", "Outbox", "Sent", "StoredEvent", "Trouble"]

_BATCH: Final = 64

Trouble = Callable[[str, Exception], None]
"""Told what went wrong on our own side."""


class StoredEvent(Protocol):
    """
    An event as the journal has it.
    """

    @property
    def seq(self) -> int:
        """
        Its place in the sequence.
        """

    @property
    def type(self) -> str:
        """
        The name of its type.
        """

    @property
    def body(self) -> bytes:
        """
        Its one and only JSON.
        """


class Outbox(Protocol):
    """
    The journal, as the publisher sees it.
    """

    def events(self, after_seq: int, limit: int) -> Sequence[StoredEvent]:
        """
        Return the events that follow, in order, at most `limit`.
        """


class Sent:
    """
    An event in the window.
    """

    __slots__ = ("acknowledged", "seq")

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.acknowledged = False


class Lane:
    """
    Takes events out of the journal, and starts again at the cursor when it must.

    Attributes:
        cursor: All events up to this one are acknowledged.
        head: The last event that is known to be in the journal; set by any thread.
        last_sent: The last event that is on its way.
    """

    def __init__(self, outbox: Outbox, cursor: int, pace: Pace, trouble: Trouble) -> None:
        self.cursor = cursor
        self.head = cursor
        self._outbox = outbox
        self._trouble = trouble
        self._refusals = Refusals(pace)
        self.begin()

    def begin(self) -> None:
        """
        What is not acknowledged counts as not sent.
        """
        self.last_sent = self.cursor
        self._fetched = self.cursor
        self._ready: deque[StoredEvent] = deque()
        self._window: deque[Sent] = deque()
        self._open = 0
        self._more = True
        self._broken = False
        self._look_again = 0.0
        self._held = False
        # After a refusal one event alone asks whether the broker has changed its mind.
        self._probing = self._refusals.count > 0

    @property
    def queued(self) -> int:
        """
        How many events the broker has not acknowledged, sent or not.
        """
        return max(self.head, self._fetched) - self.cursor

    @property
    def backlog(self) -> int:
        """
        How many events are not sent.
        """
        return self.head - self.last_sent

    @property
    def refused(self) -> bool:
        """
        Whether the broker has refused an event and not taken it since.
        """
        return self._refusals.count > 0

    @property
    def blocked(self) -> bool:
        """
        Whether events cannot flow at present, on either side.
        """
        return self._broken or self.refused

    @property
    def wake_at(self) -> float:
        """
        When to ask again though nothing has happened.
        """
        return max(self._look_again, self._refusals.until if self._held else 0.0)

    def next(self, now: float) -> StoredEvent | None:
        """
        Return the event to send now, or None.
        """
        if self._held and not self._may_retry(now):
            return None
        if self._probing and self._window:
            return None
        if not self._ready and not self._fetch(now):
            return None
        return self._ready.popleft()

    def sent(self, seq: int) -> Sent:
        """
        An event is on its way.
        """
        entry = Sent(seq)
        self._window.append(entry)
        self._open += 1
        self.last_sent = seq
        return entry

    def acknowledged(self, entry: Sent) -> None:
        """
        The broker has taken an event.
        """
        self._open -= 1
        entry.acknowledged = True
        while self._window and self._window[0].acknowledged:
            self.cursor = self._window.popleft().seq
        # That it took one which was sent behind a refused one proves nothing.
        if not self._held:
            self._refusals.forget()
            self._probing = False

    def refuse(self, now: float) -> None:
        """
        The broker has refused an event: after a while all begins again at the cursor.
        """
        self._open -= 1
        if not self._held:
            self._held = True
            self._refusals.note(now)

    def _may_retry(self, now: float) -> bool:
        """
        After a refusal: once the wait is over and all answers are in.
        """
        if now < self._refusals.until or self._open:
            return False
        self.begin()
        return True

    def _fetch(self, now: float) -> bool:
        if now < self._look_again or not (self._more or self.head > self._fetched):
            return False
        # A journal that fails, or has not what was announced, is asked again in a second.
        self._look_again = now + 1
        self._broken = True
        try:
            batch = self._outbox.events(self._fetched, _BATCH)
        except Exception as error:  # noqa: BLE001 - whatever it is, the displays are still served
            self._trouble("the journal cannot be read", error)
            return False
        self._broken = False
        if batch:
            self._ready.extend(batch)
            self._fetched = batch[-1].seq
        if batch or self.head <= self._fetched:
            self._look_again = 0.0
        self._more = len(batch) >= _BATCH
        return bool(batch)

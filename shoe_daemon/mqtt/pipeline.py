"""
What is to be sent next, and what the broker has taken: the publisher's memory.

No thread, no socket, no clock: moments come in. Events go in their order, up to
a window of unacknowledged ones; the cursor follows the acknowledgements without
a hole. A retained document of seq N goes after the events up to N, the newest
version wins. `online` goes after all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from shoe_daemon.mqtt.pace import Pace
from shoe_daemon.mqtt.shelf import Shelf
from shoe_daemon.mqtt.topics import STATUS, Topics

__all__ = ["REFUSED", "Outbox", "Outgoing", "Pipeline", "StoredEvent"]

WINDOW: Final = 20
_BATCH: Final = 64
_BACKLOG: Final = 1000
"""With more events than this to catch up on, displays are served first."""

REFUSED: Final = 0x80
"""Answers from this on are refusals."""

_NOBODY: Final = 16


class StoredEvent(Protocol):
    """
    An event as the journal has it; `body` is its one and only JSON.
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
        Its JSON.
        """


class Outbox(Protocol):
    """
    The journal, as the publisher sees it.
    """

    def events(self, after_seq: int, limit: int) -> Sequence[StoredEvent]:
        """
        Return the events that follow, in order, at most `limit`.
        """


class Outgoing(NamedTuple):
    """
    One message to send; `suffix` is None for an event.
    """

    topic: str
    payload: bytes
    seq: int
    suffix: str | None


class _Sent:
    """
    An event in the window.
    """

    __slots__ = ("acknowledged", "seq")

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.acknowledged = False


class Pipeline:
    """
    Decides what goes next; used by the publisher's thread alone, but for `head`.

    Attributes:
        cursor: All events up to this one are acknowledged.
        head: The last event that is known to be in the outbox.
        listened: Whether anybody listens to our events; None where the broker
            does not tell.
        status_first: A stop is near: `status` overtakes everything.
        status_only: A stop is here: nothing but `status` is sent.
    """

    def __init__(  # noqa: PLR0913 - what it works with is told once, by name
        self,
        topics: Topics,
        outbox: Outbox,
        shelf: Shelf,
        *,
        cursor: int,
        pace: Pace,
        moment: Callable[[], str],
        trouble: Callable[[str, Exception], None],
    ) -> None:
        self.cursor = cursor
        self.head = cursor
        self.listened: bool | None = None
        self.status_first = False
        self.status_only = False
        self._topics = topics
        self._outbox = outbox
        self._shelf = shelf
        self._pace = pace
        self._moment = moment
        self._trouble = trouble
        self._limit = WINDOW
        self._refusals = 0
        self._begin_events()
        self._flight: dict[int, tuple[Outgoing, _Sent | None]] = {}
        self._held_documents: dict[str, float] = {}

    def begin(self, receive_maximum: int | None) -> None:
        """
        A new session: what was in flight in the old one counts as not sent.
        """
        self._limit = min(WINDOW, receive_maximum or WINDOW)
        self._flight.clear()
        self._held_documents.clear()
        self._begin_events()

    def _begin_events(self) -> None:
        self._ready: deque[StoredEvent] = deque()
        self._window: deque[_Sent] = deque()
        self._fetched = self._sent = self.cursor
        self._more = True
        self._look_again = 0.0
        self._held_until: float | None = None
        # After a refusal one event alone asks whether the broker has changed its mind.
        self._probing = self._refusals > 0

    @property
    def in_flight(self) -> int:
        """
        How many messages the broker has not acknowledged.
        """
        return len(self._flight)

    @property
    def queued(self) -> int:
        """
        How many events the broker has not acknowledged, sent or not.
        """
        return max(self.head, self._fetched) - self.cursor

    @property
    def drained(self) -> bool:
        """
        Whether everything was sent and acknowledged.
        """
        return not self._flight and not self._ready and not self.queued and not len(self._shelf)

    @property
    def refused(self) -> bool:
        """
        Whether the broker has refused something and not taken it since.
        """
        return bool(self._probing or self._held_until or self._held_documents)

    def served(self, now: float) -> bool:
        """
        Whether every document was sent that the broker will take.
        """
        return all(self._held_documents.get(name, 0) > now for name, _ in self._shelf.fresh())

    def next(self, now: float) -> Outgoing | None:
        """
        Return the message to send now, or None.
        """
        if len(self._flight) >= self._limit:
            return None
        if self.status_first and (status := self._build(STATUS)):
            return status
        if self.status_only:
            return None
        return self._next_event(now) or self._next_document(now)

    def wake_at(self, now: float) -> float:
        """
        Return when to ask again though nothing has happened.
        """
        moments = [self._look_again, self._held_until or 0, *self._held_documents.values()]
        return min((moment for moment in moments if moment > now), default=now + 60)

    def sent(self, message: Outgoing, mid: int) -> None:
        """
        The message is on its way under this number.
        """
        entry = None
        if message.suffix is None:
            entry = _Sent(message.seq)
            self._window.append(entry)
            self._sent = message.seq
        self._flight[mid] = (message, entry)

    def acknowledged(self, mid: int, reason: int, now: float) -> Outgoing | None:
        """
        The broker has answered; return the message that it answered.
        """
        message, entry = self._flight.pop(mid, (None, None))
        if message is None:
            return None
        if reason >= REFUSED:
            self._refuse(message, now)
        elif entry is not None:
            self._take(entry, reason)
        return message

    def _take(self, entry: _Sent, reason: int) -> None:
        self.listened = reason != _NOBODY
        self._refusals = 0
        self._probing = False
        entry.acknowledged = True
        while self._window and self._window[0].acknowledged:
            self.cursor = self._window.popleft().seq

    def _refuse(self, message: Outgoing, now: float) -> None:
        delay = min(self._pace.refused * 2.0 ** min(self._refusals, 16), self._pace.refused_most)
        self._refusals += 1
        if message.suffix is None:
            self._held_until = now + delay
        else:
            self._held_documents[message.suffix] = now + delay
            self._shelf.again(message.suffix)

    def _next_event(self, now: float) -> Outgoing | None:
        if self._held_until is not None and not self._may_retry(self._held_until, now):
            return None
        if self._probing and self._window:
            return None
        if not self._ready and not self._fetch(now):
            return None
        event = self._ready.popleft()
        return Outgoing(self._topics.event(event.type), event.body, event.seq, None)

    def _may_retry(self, held_until: float, now: float) -> bool:
        """
        After a refusal: start again from the cursor, once all answers are in.
        """
        if now < held_until or any(entry for _, entry in self._flight.values()):
            return False
        self._begin_events()
        return True

    def _fetch(self, now: float) -> bool:
        if now < self._look_again or not (self._more or self.head > self._fetched):
            return False
        # An outbox that fails, or has not what was announced, is asked again in a second.
        self._look_again = now + 1
        try:
            batch = self._outbox.events(self._fetched, _BATCH)
        except Exception as error:  # noqa: BLE001 - whatever it is, the displays are still served
            self._trouble("the journal cannot be read", error)
            return False
        if batch or self.head <= self._fetched:
            self._look_again = 0.0
        self._more = len(batch) >= _BATCH
        if batch:
            self._ready.extend(batch)
            self._fetched = batch[-1].seq
        return bool(batch)

    def _next_document(self, now: float) -> Outgoing | None:
        if not len(self._shelf):
            return None
        # Displays must not wait for a refused event, nor for days of history.
        any_seq = (
            self._held_until is not None or self._probing or self.head - self._sent > _BACKLOG
        )
        for suffix, seq in self._shelf.fresh():
            ready = any_seq or seq <= self._sent
            if ready and self._held_documents.get(suffix, 0) <= now:
                self._held_documents.pop(suffix, None)
                message = self._build(suffix)
                if message is not None:
                    return message
        return None

    def _build(self, suffix: str) -> Outgoing | None:
        waiting = self._shelf.take(suffix)
        if waiting is None:
            return None
        document, seq = waiting
        try:
            payload = document if isinstance(document, bytes) else document(self._moment())
        except Exception as error:  # noqa: BLE001 - one bad document must not stop the others
            self._trouble(f"{suffix} cannot be built", error)
            return None
        return Outgoing(self._topics.retained(suffix), payload, seq, suffix)

"""
The order of all messages: which one is sent next, and which are unacknowledged.

No thread, no socket, no clock: times are arguments. Up to a window of messages is
unacknowledged. A reply or a retained document of seq N follows the events up to
N; where events cannot be sent, or too many are queued, it does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shoe_daemon.mqtt.connection import NO_SUBSCRIBERS, REFUSED
from shoe_daemon.mqtt.document_queues import ReplyQueue, RetainedQueue
from shoe_daemon.mqtt.journal_event_queue import (
    ErrorHandler,
    EventQueue,
    EventReplay,
    QueuedMessage,
    SentEvent,
)
from shoe_daemon.mqtt.timeouts import RefusalDelay, Timeouts
from shoe_daemon.mqtt.topics import STATUS, Topics

__all__ = ["OutgoingMessage", "OutgoingQueue"]

_WINDOW: Final = 20
"""Messages that may be unacknowledged."""

_REPLAY_WINDOW: Final = 10
"""Of these, replayed events: the rest is kept for new messages."""

_MAX_UNSENT_EVENTS: Final = 1000
"""With more events than this to send, documents are sent first."""

_NO_RETRY_S: Final = 60.0


class OutgoingMessage(NamedTuple):
    """
    A message to send.

    Attributes:
        suffix: The document's name; None for events and replies.
        queued: The reply or replayed event; None for events and documents.
    """

    topic: str
    payload: bytes
    seq: int
    suffix: str | None
    queued: QueuedMessage | None = None


class OutgoingQueue:
    """
    Chooses the next message; for the publisher's thread only.

    Attributes:
        has_subscribers: Whether a client receives the events; None where the broker
            does not tell.
        skip_events: A stop has little time left: replies and documents do not wait
            for events, which are left to the next start.
        status_first: A stop has begun: `status` is sent before everything else.
        status_only: A stop ends: only `status` is sent.
    """

    def __init__(  # noqa: PLR0913 - its queues, by name
        self,
        topics: Topics,
        events: EventQueue,
        documents: RetainedQueue,
        *,
        replies: ReplyQueue,
        replay: EventReplay,
        timeouts: Timeouts,
        now_text: Callable[[], str],
        on_error: ErrorHandler,
    ) -> None:
        self.has_subscribers: bool | None = None
        self.skip_events = False
        self.status_first = False
        self.status_only = False
        self._topics = topics
        self._events = events
        self._documents = documents
        self._replies = replies
        self._replay = replay
        self._timeouts = timeouts
        self._now_text = now_text
        self._on_error = on_error
        self._window = _WINDOW
        self._in_flight: dict[int, tuple[OutgoingMessage, SentEvent | None]] = {}
        self._refusals: dict[str, RefusalDelay] = {}

    def restart(self, receive_maximum: int | None) -> None:
        """Begin a session: unacknowledged messages of the last one count as not sent."""
        self._window = min(_WINDOW, receive_maximum or _WINDOW)
        messages = [message for message, _ in self._in_flight.values()]
        self._replies.requeue_first(each.queued for each in messages if each.queued is not None)
        self._in_flight.clear()
        self._refusals.clear()
        self._events.restart()

    @property
    def in_flight(self) -> int:
        """Number of sent messages that the broker has not acknowledged."""
        return len(self._in_flight)

    @property
    def is_drained(self) -> bool:
        """Whether everything was sent and acknowledged."""
        return not (
            self._in_flight
            or self._events.unacknowledged
            or len(self._documents)
            or len(self._replies)
        )

    @property
    def is_refused(self) -> bool:
        """Whether the broker has refused a message and not accepted it since."""
        return self._events.is_refused or bool(self._refusals)

    def documents_sent(self, now: float) -> bool:
        """Whether every document was sent that the broker accepts."""
        return not any(self._may_send(suffix, now) for suffix, _ in self._documents.unsent())

    def next(self, now: float) -> OutgoingMessage | None:
        """Return the message to send now, or None."""
        if len(self._in_flight) >= self._window:
            return None
        if self.status_first and self._may_send(STATUS, now) and (status := self._take(STATUS)):
            return status
        if self.status_only:
            return None
        if self._documents_first and (message := self._next_reply_or_document(now)):
            return message
        if self.skip_events:
            return None
        return self._next_event(now) or self._next_reply_or_document(now) or self._next_replayed()

    def retry_at(self, now: float) -> float:
        """Return when to call `next` again without any other cause."""
        times = [self._events.retry_at, *(each.retry_at for each in self._refusals.values())]
        return min((each for each in times if each > now), default=now + _NO_RETRY_S)

    def mark_sent(self, message: OutgoingMessage, mid: int) -> None:
        """Note that a message was sent with this packet identifier."""
        is_event = message.suffix is None and message.queued is None
        entry = self._events.mark_sent(message.seq) if is_event else None
        self._in_flight[mid] = (message, entry)

    def acknowledge(self, mid: int, reason: int, now: float) -> OutgoingMessage | None:
        """Note the broker's answer; return the message that was answered."""
        message, entry = self._in_flight.pop(mid, (None, None))
        if message is None:
            return None
        if message.suffix is not None:
            self._acknowledge_document(message.suffix, reason, now)
        elif entry is not None:
            self._acknowledge_event(entry, reason, now)
        return message

    def _acknowledge_event(self, entry: SentEvent, reason: int, now: float) -> None:
        if reason >= REFUSED:
            self._events.refuse(now)
        else:
            self.has_subscribers = reason != NO_SUBSCRIBERS
            self._events.acknowledge(entry)

    def _acknowledge_document(self, suffix: str, reason: int, now: float) -> None:
        if reason >= REFUSED:
            self._refusals.setdefault(suffix, RefusalDelay(self._timeouts)).refused(now)
            self._documents.requeue(suffix)
        else:
            self._refusals.pop(suffix, None)

    def _next_event(self, now: float) -> OutgoingMessage | None:
        event = self._events.next(now)
        if event is None:
            return None
        return OutgoingMessage(self._topics.event(event.type), event.body, event.seq, None)

    @property
    def _documents_first(self) -> bool:
        """Whether replies and documents would wait too long for the queued events."""
        return self.skip_events or self._events.unsent > _MAX_UNSENT_EVENTS

    def _next_reply_or_document(self, now: float) -> OutgoingMessage | None:
        at_once = self._events.is_blocked or self._documents_first
        reply = self._replies.next(self._events.last_sent, at_once=at_once)
        return _outgoing(reply) or self._next_document(now, at_once=at_once)

    def _next_replayed(self) -> OutgoingMessage | None:
        if len(self._in_flight) >= min(_REPLAY_WINDOW, self._window) or self.status_first:
            return None
        return _outgoing(self._replay.next())

    def _next_document(self, now: float, *, at_once: bool) -> OutgoingMessage | None:
        if not len(self._documents):
            return None
        for suffix, seq in self._documents.unsent():
            if (at_once or seq <= self._events.last_sent) and self._may_send(suffix, now):
                message = self._take(suffix)
                if message is not None:
                    return message
        return None

    def _may_send(self, suffix: str, now: float) -> bool:
        refusals = self._refusals.get(suffix)
        return refusals is None or refusals.retry_at <= now

    def _take(self, suffix: str) -> OutgoingMessage | None:
        entry = self._documents.take(suffix)
        if entry is None:
            return None
        document, seq = entry
        try:
            payload = document if isinstance(document, bytes) else document(self._now_text())
        except Exception as error:  # noqa: BLE001 - other documents are sent in any case
            self._on_error("document_not_built", error, document=suffix)
            return None
        return OutgoingMessage(self._topics.retained(suffix), payload, seq, suffix)


def _outgoing(queued: QueuedMessage | None) -> OutgoingMessage | None:
    if queued is None:
        return None
    return OutgoingMessage(queued.topic, queued.payload, queued.seq, None, queued)

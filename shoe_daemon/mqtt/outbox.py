"""
The outbox: the order of all messages; for the publisher's thread only.

No thread, no socket, no clock: times are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shoe_daemon.limits import RetryDelay
from shoe_daemon.mqtt.connection import NO_SUBSCRIBERS, REFUSED
from shoe_daemon.mqtt.queues import (
    ErrorHandler,
    EventQueue,
    EventReplay,
    EventSource,
    Message,
    ReplyQueue,
    RetainedQueue,
    SentEvent,
)
from shoe_daemon.mqtt.settings import Timeouts
from shoe_daemon.mqtt.topics import STATUS, Topics

_WINDOW: Final = 20
"""Messages that may be unacknowledged."""

_REPLAY_WINDOW: Final = 10
"""Of these, replayed events: the rest is kept for new messages."""

_MAX_UNSENT_EVENTS: Final = 1000
"""With more events than this to send, documents are sent first."""

_NO_RETRY_S: Final = 60.0


class Outbox:
    """
    Chooses the next message.

    Up to a window of messages is unacknowledged. A reply or a retained document of seq N
    follows the events up to N; where events cannot be sent, or too many are queued, it does
    not wait for them.

    Attributes:
        events: Events from the journal.
        documents: The retained documents.
        replies: Replies to commands.
        replay: Events that are published again.
        has_subscribers: Whether a client receives the events; None if unknown.
        skip_events: A stop has little time left: replies and documents do not wait
            for events, which are left to the next start.
        status_first: A stop has begun: `status` is sent before everything else.
        status_only: A stop ends: only `status` is sent.
    """

    def __init__(  # noqa: PLR0913 - what its queues need, too
        self,
        topics: Topics,
        source: EventSource,
        cursor: int,
        *,
        timeouts: Timeouts,
        now_text: Callable[[], str],
        on_error: ErrorHandler,
    ) -> None:
        self.events = EventQueue(source, cursor, timeouts, on_error)
        self.documents = RetainedQueue()
        self.replies = ReplyQueue()
        self.replay = EventReplay(source, topics.event, on_error)
        self.has_subscribers: bool | None = None
        self.skip_events = False
        self.status_first = False
        self.status_only = False
        self._topics = topics
        self._timeouts = timeouts
        self._now_text = now_text
        self._on_error = on_error
        self._window = _WINDOW
        self._in_flight: dict[int, tuple[Message, SentEvent | None]] = {}
        self._refusals: dict[str, RetryDelay] = {}

    def restart(self, receive_maximum: int | None) -> None:
        """Begin a session: unacknowledged messages of the last one count as not sent."""
        self._window = min(_WINDOW, receive_maximum or _WINDOW)
        messages = [message for message, _ in self._in_flight.values()]
        self.replies.requeue_first(each for each in messages if each.is_answer)
        self._in_flight.clear()
        self._refusals.clear()
        self.events.restart()

    @property
    def in_flight(self) -> int:
        """Number of sent messages that the broker has not acknowledged."""
        return len(self._in_flight)

    @property
    def largest_in_flight(self) -> Message | None:
        """The largest message that was sent and is not acknowledged; None without one."""
        messages = (message for message, _ in self._in_flight.values())
        return max(messages, key=lambda each: len(each.payload), default=None)

    @property
    def is_drained(self) -> bool:
        """True if everything was acknowledged, except messages that the broker refuses."""
        events_left = self.events.unacknowledged and not self.events.is_refused
        return not (
            self._in_flight
            or events_left
            or len(self.replies)
            or any(suffix not in self._refusals for suffix, _ in self.documents.unsent())
        )

    @property
    def is_refused(self) -> bool:
        """True if the broker has refused an event or a document and not accepted it since."""
        return self.events.is_refused or bool(self._refusals)

    def documents_sent(self, now: float) -> bool:
        """True if every document was sent that the broker accepts."""
        return not any(self._may_send(suffix, now) for suffix, _ in self.documents.unsent())

    def next(self, now: float) -> Message | None:
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
        times = [self.events.retry_at, *(each.retry_at for each in self._refusals.values())]
        return min((each for each in times if each > now), default=now + _NO_RETRY_S)

    def mark_sent(self, message: Message, mid: int) -> None:
        """Note that a message was sent with this packet identifier."""
        entry = self.events.mark_sent(message.seq) if message.is_event else None
        self._in_flight[mid] = (message, entry)

    def acknowledge(self, mid: int, reason: int, now: float) -> Message | None:
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
            self.events.refuse(now)
        else:
            self.has_subscribers = reason != NO_SUBSCRIBERS
            self.events.acknowledge(entry)

    def _acknowledge_document(self, suffix: str, reason: int, now: float) -> None:
        if reason >= REFUSED:
            self._refusals.setdefault(suffix, self._timeouts.refusal_delay()).failed(now)
            self.documents.requeue(suffix)
        else:
            self._refusals.pop(suffix, None)

    def _next_event(self, now: float) -> Message | None:
        event = self.events.next(now)
        if event is None:
            return None
        return Message(self._topics.event(event.type), event.body, event.seq)

    @property
    def _documents_first(self) -> bool:
        """True if replies and documents would wait too long for the queued events."""
        return self.skip_events or self.events.unsent > _MAX_UNSENT_EVENTS

    def _next_reply_or_document(self, now: float) -> Message | None:
        at_once = self.events.is_blocked or self._documents_first
        reply = self.replies.next(self.events.last_sent, at_once=at_once)
        return reply or self._next_document(now, at_once=at_once)

    def _next_replayed(self) -> Message | None:
        if len(self._in_flight) >= min(_REPLAY_WINDOW, self._window) or self.status_first:
            return None
        return self.replay.next()

    def _next_document(self, now: float, *, at_once: bool) -> Message | None:
        if not len(self.documents):
            return None
        for suffix, seq in self.documents.unsent():
            if (at_once or seq <= self.events.last_sent) and self._may_send(suffix, now):
                message = self._take(suffix)
                if message is not None:
                    return message
        return None

    def _may_send(self, suffix: str, now: float) -> bool:
        refusals = self._refusals.get(suffix)
        return refusals is None or refusals.retry_at <= now

    def _take(self, suffix: str) -> Message | None:
        entry = self.documents.take(suffix)
        if entry is None:
            return None
        document, seq = entry
        try:
            payload = document if isinstance(document, bytes) else document(self._now_text())
        except Exception as error:  # noqa: BLE001 - other documents are sent in any case
            self._on_error("document_not_built", error, document=suffix)
            return None
        return Message(self._topics.retained(suffix), payload, seq, suffix)

"""
Events from the journal, and the order of all messages; for the publisher's thread only.

No thread, no socket, no clock: times are arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from shoe_daemon.mqtt.connection import NO_SUBSCRIBERS, REFUSED
from shoe_daemon.mqtt.document_and_reply_queues import (
    BATCH_SIZE,
    ErrorHandler,
    EventReplay,
    EventSource,
    QueuedMessage,
    ReplyQueue,
    RetainedQueue,
    StoredEvent,
)
from shoe_daemon.mqtt.mqtt_settings import Timeouts
from shoe_daemon.mqtt.topics import STATUS, Topics
from shoe_daemon.retry_and_log_limits import RetryDelay

_WINDOW: Final = 20
"""Messages that may be unacknowledged."""

_REPLAY_WINDOW: Final = 10
"""Of these, replayed events: the rest is kept for new messages."""

_MAX_UNSENT_EVENTS: Final = 1000
"""With more events than this to send, documents are sent first."""

_NO_RETRY_S: Final = 60.0
_JOURNAL_RETRY_S: Final = 1.0


class SentEvent:
    """An event that was sent, in the window of unacknowledged ones."""

    __slots__ = ("acknowledged", "seq")

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.acknowledged = False


class EventQueue:
    """
    Events on their way from the journal to the broker: in order, with a cursor that moves on
    acknowledgement and skips none; restarts at the cursor after a loss or a refusal.

    Attributes:
        cursor: All events up to this one are acknowledged.
        head: The last event known to be in the journal; set by any thread.
        last_sent: The last event that was sent.
    """

    def __init__(
        self, source: EventSource, cursor: int, timeouts: Timeouts, on_error: ErrorHandler
    ) -> None:
        self.cursor = cursor
        self.head = cursor
        self._source = source
        self._on_error = on_error
        self._refusals = timeouts.refusal_delay()
        self.restart()

    def skip_to(self, seq: int) -> None:
        """Never send the events up to `seq`, which are on disk."""
        self.cursor = max(self.cursor, seq)
        self.head = max(self.head, seq)
        self.restart()

    def restart(self) -> None:
        """Restart at the cursor: unacknowledged events count as not sent."""
        self.last_sent = self.cursor
        self._last_read = self.cursor
        self._ready: deque[StoredEvent] = deque()
        self._window: deque[SentEvent] = deque()
        self._in_flight = 0
        self._more = True
        self._journal_failed = False
        self._read_again_at = 0.0
        self._held = False
        # After a refusal a single event tests whether the broker accepts again.
        self._probing = self._refusals.failures > 0

    @property
    def unacknowledged(self) -> int:
        """Number of events that the broker has not acknowledged, sent or not."""
        return max(self.head, self._last_read) - self.cursor

    @property
    def unsent(self) -> int:
        """Number of events that were not sent."""
        return self.head - self.last_sent

    @property
    def is_refused(self) -> bool:
        """True if the broker has refused an event and accepted none since."""
        return self._refusals.failures > 0

    @property
    def is_blocked(self) -> bool:
        """True if no event can be sent at present: the journal fails, or the broker refuses."""
        return self._journal_failed or self.is_refused

    @property
    def retry_at(self) -> float:
        """When to call `next` again without any other cause (monotonic)."""
        return max(self._read_again_at, self._refusals.retry_at if self._held else 0.0)

    def next(self, now: float) -> StoredEvent | None:
        """Return the event to send now, or None."""
        if self._held and not self._retry(now):
            return None
        if self._probing and self._window:
            return None
        if not self._ready and not self._read(now):
            return None
        return self._ready.popleft()

    def mark_sent(self, seq: int) -> SentEvent:
        """Note that an event was sent; return its entry for `acknowledge`."""
        entry = SentEvent(seq)
        self._window.append(entry)
        self._in_flight += 1
        self.last_sent = seq
        return entry

    def acknowledge(self, entry: SentEvent) -> None:
        """Note that the broker has accepted an event."""
        self._in_flight -= 1
        entry.acknowledged = True
        while self._window and self._window[0].acknowledged:
            self.cursor = self._window.popleft().seq
        # An event that was sent after a refused one proves nothing.
        if not self._held:
            self._refusals.reset()
            self._probing = False

    def refuse(self, now: float) -> None:
        """Note that the broker has refused an event: restart at the cursor after a wait."""
        self._in_flight -= 1
        if not self._held:
            self._held = True
            self._refusals.failed(now)

    def _retry(self, now: float) -> bool:
        """Restart once the wait is over and all events are answered."""
        if now < self._refusals.retry_at or self._in_flight:
            return False
        self.restart()
        return True

    def _read(self, now: float) -> bool:
        if now < self._read_again_at or not (self._more or self.head > self._last_read):
            return False
        # A journal that fails, or lacks an announced event, is read again later.
        self._read_again_at = now + _JOURNAL_RETRY_S
        self._journal_failed = True
        try:
            batch = self._source.events(self._last_read, BATCH_SIZE)
        except Exception as error:  # noqa: BLE001 - displays are served in any case
            self._on_error("journal_not_readable", error)
            return False
        # After a restore, the numbers up to the announced one may be unused.
        self._journal_failed = not batch and self.head > self._last_read
        if batch:
            self._ready.extend(batch)
            self._last_read = batch[-1].seq
        if batch or self.head <= self._last_read:
            self._read_again_at = 0.0
        self._more = len(batch) >= BATCH_SIZE
        return bool(batch)


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
        self._in_flight: dict[int, tuple[OutgoingMessage, SentEvent | None]] = {}
        self._refusals: dict[str, RetryDelay] = {}

    def restart(self, receive_maximum: int | None) -> None:
        """Begin a session: unacknowledged messages of the last one count as not sent."""
        self._window = min(_WINDOW, receive_maximum or _WINDOW)
        messages = [message for message, _ in self._in_flight.values()]
        self.replies.requeue_first(each.queued for each in messages if each.queued is not None)
        self._in_flight.clear()
        self._refusals.clear()
        self.events.restart()

    @property
    def in_flight(self) -> int:
        """Number of sent messages that the broker has not acknowledged."""
        return len(self._in_flight)

    @property
    def largest_in_flight(self) -> OutgoingMessage | None:
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
        times = [self.events.retry_at, *(each.retry_at for each in self._refusals.values())]
        return min((each for each in times if each > now), default=now + _NO_RETRY_S)

    def mark_sent(self, message: OutgoingMessage, mid: int) -> None:
        """Note that a message was sent with this packet identifier."""
        is_event = message.suffix is None and message.queued is None
        entry = self.events.mark_sent(message.seq) if is_event else None
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

    def _next_event(self, now: float) -> OutgoingMessage | None:
        event = self.events.next(now)
        if event is None:
            return None
        return OutgoingMessage(self._topics.event(event.type), event.body, event.seq, None)

    @property
    def _documents_first(self) -> bool:
        """True if replies and documents would wait too long for the queued events."""
        return self.skip_events or self.events.unsent > _MAX_UNSENT_EVENTS

    def _next_reply_or_document(self, now: float) -> OutgoingMessage | None:
        at_once = self.events.is_blocked or self._documents_first
        reply = self.replies.next(self.events.last_sent, at_once=at_once)
        return _outgoing(reply) or self._next_document(now, at_once=at_once)

    def _next_replayed(self) -> OutgoingMessage | None:
        if len(self._in_flight) >= min(_REPLAY_WINDOW, self._window) or self.status_first:
            return None
        return _outgoing(self.replay.next())

    def _next_document(self, now: float, *, at_once: bool) -> OutgoingMessage | None:
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

    def _take(self, suffix: str) -> OutgoingMessage | None:
        entry = self.documents.take(suffix)
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

"""
The queues of the outbox: events from the journal, retained documents, replies, and events that are
published again. Any thread fills them; the publisher's empties them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, NamedTuple, Protocol

from shoe_daemon.mqtt.settings import Timeouts

BATCH_SIZE: Final = 64
"""Events that are read from the journal at once."""

_JOURNAL_RETRY_S: Final = 1.0

MAX_REPLIES: Final = 200
"""Replies that may be queued; the oldest is dropped, its sender has given up."""

Document = bytes | Callable[[str], bytes]
"""A payload, or a function that makes it for a moment of publication (RFC 3339)."""


class ErrorHandler(Protocol):
    """Logs an error of our own code; the publisher goes on."""

    def __call__(self, event: str, error: Exception, **facts: str) -> None:
        """Log an error under the name of an event."""


class StoredEvent(Protocol):
    """An event as it is in the journal."""

    @property
    def seq(self) -> int:
        """Its number in the sequence."""

    @property
    def type(self) -> str:
        """The name of its type."""

    @property
    def body(self) -> bytes:
        """Its JSON."""


class EventSource(Protocol):
    """The journal, as the publisher reads it."""

    def events(self, after_seq: int, limit: int) -> Sequence[StoredEvent]:
        """Return the events after `after_seq`, in order, at most `limit`."""


class Message(NamedTuple):
    """
    A message to publish.

    Attributes:
        seq: It follows the events up to this one; of an event, its number.
        suffix: The name of a retained document; None for events and answers.
        correlation: Correlation data for the receiver (MQTT 5).
        is_answer: It answers a command: a reply, or an event that is published again.
    """

    topic: str
    payload: bytes
    seq: int
    suffix: str | None = None
    correlation: bytes | None = None
    is_answer: bool = False

    @property
    def is_event(self) -> bool:
        """True for an event that is published for the first time."""
        return self.suffix is None and not self.is_answer


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


class RetainedQueue:
    """The newest version of each retained document, and which of them are not sent."""

    def __init__(self) -> None:
        self._lock = Lock()
        # Each document with its seq.
        self._documents: dict[str, tuple[Document, int]] = {}
        self._unsent: dict[str, None] = {}

    def __len__(self) -> int:
        """Number of documents that are not sent."""
        return len(self._unsent)

    def put(self, suffix: str, document: Document, seq: int) -> None:
        """Queue a document; it replaces the one of the same name."""
        with self._lock:
            self._documents[suffix] = document, seq
            self._unsent[suffix] = None

    def requeue(self, suffix: str | None = None) -> None:
        """Mark one document, or all of them, as not sent."""
        with self._lock:
            known = self._documents
            names = known if suffix is None else [name for name in (suffix,) if name in known]
            self._unsent.update(dict.fromkeys(names))

    def remove(self, suffix: str) -> None:
        """Remove a document; the broker's copy stays."""
        with self._lock:
            self._documents.pop(suffix, None)
            self._unsent.pop(suffix, None)

    def unsent(self) -> list[tuple[str, int]]:
        """Return name and seq of the documents that are not sent."""
        with self._lock:
            return [(name, self._documents[name][1]) for name in self._unsent]

    def take(self, suffix: str) -> tuple[Document, int] | None:
        """Return a document and its seq and mark it as sent; None if it is not queued."""
        with self._lock:
            if suffix not in self._unsent:
                return None
            del self._unsent[suffix]
            return self._documents[suffix]


class ReplyQueue:
    """Replies to commands, in order."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._replies: deque[Message] = deque(maxlen=MAX_REPLIES)

    def __len__(self) -> int:
        """Number of replies that are not sent."""
        return len(self._replies)

    def put(self, reply: Message) -> None:
        """Queue a reply; where the queue is full the oldest is dropped."""
        with self._lock:
            self._replies.append(reply)

    def requeue_first(self, replies: Iterable[Message]) -> None:
        """Queue replies before the others: they were sent and perhaps lost."""
        with self._lock:
            self._replies.extendleft(reversed(list(replies)))

    def next(self, last_sent: int, *, at_once: bool) -> Message | None:
        """Return the next reply whose events were sent before it; with `at_once`, any."""
        if not self._replies:
            return None
        with self._lock:
            if not self._replies or not (at_once or self._replies[0].seq <= last_sent):
                return None
            return self._replies.popleft()


class EventReplay:
    """
    Events that are published again, in order and with the same bytes.

    They are sent when nothing else is left to send, and move no cursor.
    """

    def __init__(
        self, source: EventSource, topic_of: Callable[[str], str], on_error: ErrorHandler
    ) -> None:
        self._source = source
        self._topic_of = topic_of
        self._on_error = on_error
        self._ready: deque[Message] = deque()
        self._last_read = self._until = 0

    @property
    def is_running(self) -> bool:
        """True if there are events left to send."""
        return bool(self._ready) or self._last_read < self._until

    def start(self, from_seq: int, until: int) -> None:
        """Start a replay; for any thread, while none is running."""
        self._last_read = from_seq - 1
        self._until = until

    def next(self) -> Message | None:
        """Return the next event; for the publisher's thread."""
        if not self._ready and self._last_read < self._until:
            self._read()
        return self._ready.popleft() if self._ready else None

    def _read(self) -> None:
        limit = min(BATCH_SIZE, self._until - self._last_read)
        try:
            found = self._source.events(self._last_read, limit)
            # Numbers may be unused: the next event may lie beyond the end.
            batch = [each for each in found if each.seq <= self._until]
        except Exception as error:  # noqa: BLE001 - live events are sent in any case
            self._on_error("journal_not_readable_for_replay", error)
            batch = []
        self._ready.extend(
            Message(self._topic_of(each.type), each.body, each.seq, is_answer=True)
            for each in batch
        )
        self._last_read = batch[-1].seq if batch else self._until

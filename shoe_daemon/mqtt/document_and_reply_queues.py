"""
Queues of retained documents, replies and replayed events: filled by any thread, emptied by the
publisher's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, NamedTuple, Protocol

BATCH_SIZE: Final = 64
"""Events that are read from the journal at once."""

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


class QueuedMessage(NamedTuple):
    """
    A message that is neither retained nor a live event: a reply, or a replayed event.

    Attributes:
        seq: It follows the events up to this one.
        correlation: Correlation data for the receiver (MQTT 5).
    """

    topic: str
    payload: bytes
    seq: int
    correlation: bytes | None = None


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
        self._replies: deque[QueuedMessage] = deque(maxlen=MAX_REPLIES)

    def __len__(self) -> int:
        """Number of replies that are not sent."""
        return len(self._replies)

    def put(self, reply: QueuedMessage) -> None:
        """Queue a reply; where the queue is full the oldest is dropped."""
        with self._lock:
            self._replies.append(reply)

    def requeue_first(self, replies: Iterable[QueuedMessage]) -> None:
        """Queue replies before the others: they were sent and perhaps lost."""
        with self._lock:
            self._replies.extendleft(reversed(list(replies)))

    def next(self, last_sent: int, *, at_once: bool) -> QueuedMessage | None:
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
        self._ready: deque[QueuedMessage] = deque()
        self._last_read = self._until = 0

    @property
    def is_running(self) -> bool:
        """True if there are events left to send."""
        return bool(self._ready) or self._last_read < self._until

    def start(self, from_seq: int, until: int) -> None:
        """Start a replay; for any thread, while none is running."""
        self._last_read = from_seq - 1
        self._until = until

    def next(self) -> QueuedMessage | None:
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
            QueuedMessage(self._topic_of(each.type), each.body, each.seq) for each in batch
        )
        self._last_read = batch[-1].seq if batch else self._until

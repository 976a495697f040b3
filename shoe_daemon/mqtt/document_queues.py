"""
Queues of retained documents and of replies: filled by any thread, emptied by the
publisher's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, NamedTuple

from shoe_daemon.mqtt.journal_event_queue import QueuedMessage

__all__ = ["Document", "ReplyQueue", "RetainedQueue"]

MAX_REPLIES: Final = 200
"""Replies that may be queued; the oldest is dropped, its sender has given up."""

Document = bytes | Callable[[str], bytes]
"""A payload, or a function that makes it for a moment of publication (RFC 3339)."""


class _Entry(NamedTuple):
    document: Document
    seq: int


class RetainedQueue:
    """The newest version of each retained document, and which of them are not sent."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._documents: dict[str, _Entry] = {}
        self._unsent: dict[str, None] = {}

    def __len__(self) -> int:
        """Number of documents that are not sent."""
        return len(self._unsent)

    def put(self, suffix: str, document: Document, seq: int) -> None:
        """Queue a document; it replaces the one of the same name."""
        with self._lock:
            self._documents[suffix] = _Entry(document, seq)
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
            return [(name, self._documents[name].seq) for name in self._unsent]

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

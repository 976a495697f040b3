"""
Between the thread that listens and the loop that serves.

The newest of each retained topic wins where the loop is behind; events may then be
dropped, and it is counted. So it never grows beyond its limits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Final, NamedTuple

from shoe_daemon.display.freshness import Link
from shoe_daemon.display.message_validation import SIZE_LIMIT
from shoe_daemon.display.table_model import Message

__all__ = ["Mail", "Mailbox"]

_EVENTS: Final = 5_000
_DOCUMENTS: Final = 20_000
_BYTES: Final = 64_000_000
_AT_ONCE: Final = 500
"""So many messages are taken out in one go, lest browsers wait for all of them."""

_MARK: Final = Message("", b"")
"""Lies among the documents where `there` was put in; no topic is empty."""


class Mail(NamedTuple):
    """
    All that was in the box.

    Attributes:
        link: The connection, where something has changed about it.
        messages: Events first, as the contract has them come before documents.
        dropped: How many messages found no room.
        more: There are others still in the box.
        there: All tables of which the broker has anything, where that was found out
            just after these messages.
    """

    link: Link | None
    messages: list[Message]
    dropped: int
    more: bool
    there: frozenset[str] | None = None


class Mailbox:
    """
    Filled by one thread, emptied by another.

    Args:
        ring: Called, on the filling thread, when there is something where nothing was.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = Lock()
        self._events: deque[Message] = deque()
        self._documents: dict[str, Message] = {}
        self._bytes = 0
        self._dropped = 0
        self._there: frozenset[str] | None = None
        self._link: Link | None = None
        self._last = Link()
        self._rung = False

    def put(self, message: Message) -> None:
        """
        Lay a message in.
        """
        if len(message.payload) > SIZE_LIMIT:
            # It is a fault whatever it says: so much of it shows how long it is.
            message = message._replace(payload=message.payload[: SIZE_LIMIT + 1])
        with self._lock:
            if "/event/" in message.topic:
                self._put_event(message)
            else:
                self._put_document(message)
            self._wake()

    def _put_event(self, message: Message) -> None:
        if len(self._events) >= _EVENTS or self._bytes > _BYTES:
            self._dropped += 1
            return
        self._events.append(message)
        self._bytes += len(message.payload)

    def _put_document(self, message: Message) -> None:
        before = self._documents.pop(message.topic, None)
        if before is not None:
            self._bytes -= len(before.payload)
        elif len(self._documents) >= _DOCUMENTS or self._bytes > _BYTES:
            self._dropped += 1
            return
        self._documents[message.topic] = message
        self._bytes += len(message.payload)

    def put_link(self, link: Link) -> None:
        """
        Say how the connection is.
        """
        with self._lock:
            self._link = self._last = link
            self._wake()

    def lose_link(self, at: str | None, reason: str) -> None:
        """
        Say that there is none: since when, None where there was none before.
        """
        since = at if at is not None else self._last.since
        self.put_link(Link(connected=False, since=since, detail=reason))

    def put_there(self, there: frozenset[str]) -> None:
        """
        Say of which tables the broker has anything, after all that came before.
        """
        with self._lock:
            self._there = there
            self._documents.pop(_MARK.topic, None)
            self._documents[_MARK.topic] = _MARK
            self._wake()

    def _wake(self) -> None:
        if not self._rung:
            self._rung = True
            self._ring()

    def empty(self) -> Mail:
        """
        Take out what is to be dealt with now; the bell is not rung for the rest.
        """
        with self._lock:
            messages, there = list(self._taken()), None
            if messages and messages[-1] is _MARK:
                messages.pop()
                there, self._there = self._there, None
            self._bytes -= sum(len(each.payload) for each in messages)
            self._rung = bool(self._events or self._documents)
            mail = Mail(self._link, messages, self._dropped, self._rung, there)
            self._dropped, self._link = 0, None
        return mail

    def _taken(self) -> Iterator[Message]:
        for _ in range(_AT_ONCE):
            if self._events:
                yield self._events.popleft()
            elif self._documents:
                message = self._documents.pop(next(iter(self._documents)))
                yield message
                if message is _MARK:
                    return

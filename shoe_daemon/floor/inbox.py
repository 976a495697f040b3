"""
Queue between the MQTT thread and the thread that serves browsers or draws the terminal.

Of each retained topic only the latest message is kept. Events are dropped and counted when the
queue is full, so its memory has a limit.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import Final, NamedTuple, Protocol, TypeVar

import structlog

from shoe_daemon.floor.messages import MAX_PAYLOAD_BYTES
from shoe_daemon.floor.table import FaultLog, Link, Message, Moment
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.table import from_microseconds

_log = structlog.get_logger(__name__)

MAX_EVENTS: Final = 5_000
MAX_DOCUMENTS: Final = 20_000
MAX_BYTES: Final = 64_000_000
BATCH_SIZE: Final = 500
"""Messages returned by one `take`; between two batches browsers are served."""

_TABLES_MARKER: Final = Message("", b"")
"""Position of `put_known_tables` among the documents; real topics are never empty."""


class QueuedMessages(NamedTuple):
    """
    One batch taken from the queue.

    Attributes:
        link: The latest connection state, if it has changed.
        messages: Events first, then documents, as the MQTT contract orders them.
        dropped: Messages dropped since the last batch.
        more: The queue contains more messages.
        known_tables: Keys of all tables with retained messages, if the discovery ended directly
            after these messages.
    """

    link: Link | None
    messages: list[Message]
    dropped: int
    more: bool
    known_tables: frozenset[str] | None = None


T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Subscriber(Protocol[T_co]):
    """Applies what an inbox delivers; `receive` and its like return what has changed."""

    @property
    def faults(self) -> FaultLog:
        """The invalid messages."""

    def set_link(self, link: Link, now: float) -> T_co:
        """Set the state of the connection to the broker."""

    def receive(self, message: Message, moment: Moment) -> T_co:
        """Apply a message, or count it as a fault."""

    def expire_missing(self, known_tables: frozenset[str], now: float) -> object:
        """Forget all tables but the known ones."""

    def count_fault(self, topic: str, what: str, moment: Moment) -> T_co:
        """Count and record an invalid message."""


def now_rfc3339() -> str:
    """Return the time of this computer, RFC 3339, with milliseconds."""
    return from_microseconds(time.time_ns() // 1_000_000 * 1000)


class Inbox:
    """
    Queue with one writing and one reading thread.

    Args:
        notify: Called on the writing thread when an empty queue receives something.
    """

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._lock = Lock()
        self._events: deque[Message] = deque()
        self._documents: dict[str, Message] = {}
        self._bytes = 0
        self._dropped = 0
        self._known_tables: frozenset[str] | None = None
        self._new_link: Link | None = None
        self._notified = False
        self._may_log = LogRateLimit()

    def put(self, message: Message) -> None:
        """Add a message."""
        if len(message.payload) > MAX_PAYLOAD_BYTES:
            # Invalid in any case; one byte too many is enough to report it.
            message = message._replace(payload=message.payload[: MAX_PAYLOAD_BYTES + 1])
        with self._lock:
            if "/event/" in message.topic:
                self._put_event(message)
            else:
                self._put_document(message)
            self._notify_once()

    def _put_event(self, message: Message) -> None:
        if len(self._events) >= MAX_EVENTS or self._bytes > MAX_BYTES:
            self._dropped += 1
            return
        self._events.append(message)
        self._bytes += len(message.payload)

    def _put_document(self, message: Message) -> None:
        before = self._documents.pop(message.topic, None)
        if before is not None:
            self._bytes -= len(before.payload)
        elif len(self._documents) >= MAX_DOCUMENTS or self._bytes > MAX_BYTES:
            self._dropped += 1
            return
        self._documents[message.topic] = message
        self._bytes += len(message.payload)

    def put_link(self, link: Link) -> None:
        """Set the state of the connection."""
        with self._lock:
            self._new_link = link
            self._notify_once()

    def put_known_tables(self, keys: frozenset[str]) -> None:
        """Add the result of the table discovery, after all messages received before it."""
        with self._lock:
            self._known_tables = keys
            self._documents.pop(_TABLES_MARKER.topic, None)
            self._documents[_TABLES_MARKER.topic] = _TABLES_MARKER
            self._notify_once()

    def _notify_once(self) -> None:
        if not self._notified:
            self._notified = True
            self._notify()

    def deliver(
        self, to: Subscriber[T], publish: Callable[[T], object] = lambda _changes: None
    ) -> bool:
        """
        Pass the next batch on; return whether the inbox contains more.

        No message keeps the others away: an error of the program counts as a fault of the message.

        Args:
            to: The subscriber.
            publish: Receives what each message has changed.
        """
        batch, moment = self.take(), Moment(time.monotonic(), now_rfc3339())
        faults = to.faults.total
        steps = [(each.topic, partial(to.receive, each, moment)) for each in batch.messages]
        if batch.link is not None:
            steps.insert(0, ("", partial(to.set_link, batch.link, moment.monotonic)))
        for topic, step in steps:
            try:
                publish(step())
            except Exception as error:  # noqa: BLE001 - one message must not block the others
                cause = f"message_failed {type(error).__name__}"
                if messages := self._may_log(cause, moment.monotonic):
                    facts = {"topic": topic[:200], "messages": messages}
                    _log.error("message_failed", **facts, exc_info=error)
                what = "an error of the program itself: its log says more"
                publish(to.count_fault(topic, what, moment))
        if batch.known_tables is not None:
            to.expire_missing(batch.known_tables, moment.monotonic)
        if batch.dropped:
            what = f"{batch.dropped} messages dropped: they came faster than they could be read"
            publish(to.count_fault("", what, moment))
        if to.faults.total != faults and self._may_log("message_invalid", moment.monotonic):
            last = to.faults.last[-1]
            total = to.faults.total
            _log.warning("message_invalid", topic=last.topic, what=last.what, total=total)
        return batch.more

    def take(self) -> QueuedMessages:
        """Remove and return the next batch; `notify` is not called again for the rest."""
        with self._lock:
            messages, known_tables = list(self._next_messages()), None
            if messages and messages[-1] is _TABLES_MARKER:
                messages.pop()
                known_tables, self._known_tables = self._known_tables, None
            self._bytes -= sum(len(each.payload) for each in messages)
            more = self._notified = bool(self._events or self._documents)
            batch = QueuedMessages(self._new_link, messages, self._dropped, more, known_tables)
            self._dropped, self._new_link = 0, None
        return batch

    def _next_messages(self) -> Iterator[Message]:
        for _ in range(BATCH_SIZE):
            if self._events:
                yield self._events.popleft()
            elif self._documents:
                message = self._documents.pop(next(iter(self._documents)))
                yield message
                if message is _TABLES_MARKER:
                    return

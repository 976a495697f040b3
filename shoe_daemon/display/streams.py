"""
Server-sent events: one stream for each listening browser, and the registry of all streams.

A stream holds the names of the documents that its browser has not received yet; each document is
encoded when it is sent. A slow browser therefore gets the latest documents, later, and uses no
memory. Everything here runs on the thread of the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from typing import Final, NamedTuple

from shoe_daemon.display.views import JSON_NULL, JsonViews
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Change

HEARTBEAT_S: Final = 5.0
"""A page counts as disconnected after three missing heartbeats."""

PIT: Final = "pit"

MAX_QUEUED_EVENTS: Final = 200
_RETRY: Final = b"retry: 2000\n\n"


def encode_event(name: str, data: bytes) -> bytes:
    """Encode one server-sent event; the JSON in it must not contain line breaks."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class Subscription(NamedTuple):
    """
    The documents that a page receives.

    Attributes:
        names: Names of documents of tables.
        table: Key or id of the table; None for all tables.
        events: Include every single event of the table.
        pit: Include the document about all tables.
    """

    names: tuple[str, ...]
    table: str | None
    events: bool = False
    pit: bool = False


class BrowserStream:
    """
    The stream of one browser. It counts, and receives documents, from its creation to `close`.

    Attributes:
        key: Key of the table; None for all tables, or while the table is unknown.
    """

    def __init__(
        self,
        registry: StreamRegistry,
        subscription: Subscription,
        *,
        heartbeat: float = HEARTBEAT_S,
    ) -> None:
        self._registry, self.subscription, self._heartbeat = registry, subscription, heartbeat
        self.key: str | None = None
        self._pending: dict[tuple[str | None, str], None] = {}
        self._events: deque[bytes] = deque(maxlen=MAX_QUEUED_EVENTS)
        self._wakeup = asyncio.Event()
        registry.add(self)

    def queue(self, key: str | None, *names: str) -> None:
        """Queue documents of a table, except those that are not subscribed to."""
        wanted = [name for name in names if name in self.subscription.names or name == "gone"]
        self._pending.update(dict.fromkeys((key, name) for name in wanted))
        if wanted:
            self._wakeup.set()

    def queue_pit(self) -> None:
        """Queue the document about all tables, if subscribed to."""
        if self.subscription.pit:
            self._pending[None, PIT] = None
            self._wakeup.set()

    def queue_event(self, event: bytes) -> None:
        """Queue an event, if subscribed to; the oldest queued events are dropped."""
        if self.subscription.events:
            self._events.append(event)
            self._wakeup.set()

    def wake(self) -> None:
        """Let the stream check whether the display is stopping."""
        self._wakeup.set()

    def _queue_all(self) -> None:
        self.queue_pit()
        keys: Iterable[str | None] = [self.key]
        if self.subscription.table is None:
            keys = self._registry.views.order()
        for key in keys:
            self.queue(key, *self.subscription.names)

    async def run(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the stream until the browser disconnects or the display stops."""
        try:
            self._queue_all()
            yield _RETRY + self._take_queued() + self._encode_heartbeat()
            while not self._registry.closing:
                yield await self._next_chunk()
        finally:
            self.close()

    def close(self) -> None:
        """Receive no more documents; also for a stream that has not begun to run."""
        self._registry.remove(self)

    async def _next_chunk(self) -> bytes:
        try:
            async with asyncio.timeout(self._heartbeat):
                await self._wakeup.wait()
        except TimeoutError:
            return self._encode_heartbeat()
        return self._take_queued()

    def _encode_heartbeat(self) -> bytes:
        return encode_event("beat", self._registry.heartbeat())

    def _take_queued(self) -> bytes:
        self._wakeup.clear()
        pending, self._pending = self._pending, {}
        events = list(self._events)
        self._events.clear()
        parts = [self._encode_document(key, name) for key, name in pending]
        if (self.key, "events") not in pending:  # that document contains the single events too
            parts += [encode_event("event", b'{"event":%s}' % event) for event in events]
        return b"".join(parts)

    def _encode_document(self, key: str | None, name: str) -> bytes:
        views = self._registry.views
        if name == PIT:
            return encode_event(PIT, views.pit())
        table = None if key is None else self._registry.tables.get(key)
        if table is not None:
            return b"" if name == "gone" else encode_event(name, views.table(name, table))
        if self.subscription.table is None:
            return self._encode_missing_row(key or "")
        return self._encode_missing_table(name)

    def _encode_missing_row(self, key: str) -> bytes:
        row = self._registry.views.missing_row(key)
        if row is None:
            return encode_event("gone", b'{"key":"%s"}' % key.encode())
        return encode_event("row", row)

    def _encode_missing_table(self, name: str) -> bytes:
        views, table = self._registry.views, self.subscription.table or ""
        match name:
            case "board":
                return encode_event(name, views.unknown(table))
            case "gone":
                return encode_event(name, b'{"key":"%s"}' % (self.key or table).encode())
            case "roads" | "history":
                return encode_event(name, JSON_NULL)
        return b""


class StreamRegistry:
    """
    All streams, grouped by the table that they show.

    Attributes:
        closing: The display is stopping; all streams end.

    Args:
        now: Returns the current time, RFC 3339.
        version: Version of the pages.
    """

    def __init__(
        self, tables: Floor, views: JsonViews, now: Callable[[], str], version: str = ""
    ) -> None:
        self.tables, self.views = tables, views
        self.closing = False
        self._now, self._version = now, version.encode()
        self._for_all_tables: set[BrowserStream] = set()
        self._by_key: dict[str, set[BrowserStream]] = {}
        self._by_unknown_name: dict[str, set[BrowserStream]] = {}
        self._delayed: dict[Change, None] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self._streams())

    def _streams(self) -> Iterator[BrowserStream]:
        yield from self._for_all_tables
        for group in (*self._by_key.values(), *self._by_unknown_name.values()):
            yield from group

    def heartbeat(self) -> bytes:
        """Return the heartbeat; by its version a page knows if it is outdated."""
        return b'{"now":"%s","version":"%s"}' % (self._now().encode(), self._version)

    def publish(self, changes: Iterable[Change]) -> None:
        """Queue changes on the streams; changes that are not urgent wait for `publish_delayed`."""
        for change in changes:
            if change.urgent:
                self._publish(change)
            else:
                self._delayed[change] = None

    def publish_delayed(self) -> None:
        """Queue the changes that are not urgent; to be called every second."""
        delayed, self._delayed = self._delayed, {}
        for change in delayed:
            self._publish(change)

    def _publish(self, change: Change) -> None:
        key = change.key
        if key is None:
            self._publish_to_all(change.what)
        elif change.event is not None:
            for stream in self._by_key.get(key, ()):
                stream.queue_event(change.event)
        elif change.what == "new":
            self._add_table(key)
        elif change.what == "gone":
            self._remove_table(key)
        else:
            self._publish_document(key, change.what)

    def _publish_to_all(self, what: str) -> None:
        if what == "link":
            for group in self._by_unknown_name.values():
                for stream in group:
                    stream.queue(None, "board")
            for stream in self._for_all_tables:
                for key in self.views.missing():
                    stream.queue(key, "row")
            return
        for stream in self._streams():
            stream.queue_pit()

    def _publish_document(self, key: str, name: str) -> None:
        if name == "device":  # only the page of the table shows the ages of its readers
            for stream in self._by_key.get(key, ()):
                stream.queue(key, "row")
            return
        for stream in (*self._for_all_tables, *self._by_key.get(key, ())):
            stream.queue(key, name)

    def _add_table(self, key: str) -> None:
        """Connect the streams that waited for a table by its name."""
        for name in (key, key.partition(".")[2]):
            for stream in self._by_unknown_name.pop(name, ()):
                stream.key = key
                self._by_key.setdefault(key, set()).add(stream)
        for stream in (*self._for_all_tables, *self._by_key.get(key, ())):
            stream.queue(key, *stream.subscription.names)
            stream.queue_pit()
        configured = self.views.configured_name(key)
        for stream in self._for_all_tables if configured not in {None, key} else ():
            stream.queue(configured, "gone")

    def _remove_table(self, key: str) -> None:
        for stream in self._by_key.get(key, ()):
            stream.queue(key, "gone", *stream.subscription.names)
        configured = self.views.configured_name(key)
        for stream in self._for_all_tables:
            stream.queue(key, "gone")
            if configured is not None:
                stream.queue(configured, "row")

    def add(self, stream: BrowserStream) -> None:
        """Add the stream of a browser that has connected."""
        name = stream.subscription.table
        found = self.tables.named(name) if name else []
        stream.key = found[0].key if found else None
        self._group(stream).add(stream)

    def remove(self, stream: BrowserStream) -> None:
        """Remove the stream of a browser that has disconnected."""
        group = self._group(stream)
        group.discard(stream)
        if not group and stream.subscription.table is not None:
            groups = self._by_unknown_name if stream.key is None else self._by_key
            groups.pop(stream.key or stream.subscription.table, None)

    def _group(self, stream: BrowserStream) -> set[BrowserStream]:
        if stream.subscription.table is None:
            return self._for_all_tables
        if stream.key is not None:
            return self._by_key.setdefault(stream.key, set())
        return self._by_unknown_name.setdefault(stream.subscription.table, set())

    def close(self) -> None:
        """End all streams."""
        self.closing = True
        for stream in self._streams():
            stream.wake()

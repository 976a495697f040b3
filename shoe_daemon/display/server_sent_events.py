"""
One browser that listens: server-sent events, whole documents, at once.

It is a set of names of what the browser has not seen yet; what they say is made
when it is sent. So a slow browser gets the latest, later, and never grows memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from typing import Final, NamedTuple, Protocol

from shoe_daemon.display.floor_model import Tables
from shoe_daemon.display.json_views import NOTHING, Views

__all__ = ["BEAT", "PIT", "Source", "Stream", "Watched", "sse"]

BEAT: Final = 5.0
"""Seconds between two signs of life; a page gives itself up for lost after three."""

PIT: Final = "pit"

_EVENTS: Final = 200
_RETRY: Final = b"retry: 2000\n\n"


def sse(name: str, data: bytes) -> bytes:
    """
    Return one event of a stream; JSON has no line breaks of its own.
    """
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class Watched(NamedTuple):
    """
    What a page wants.

    Attributes:
        names: Of which documents.
        table: Of which table, by key or id; None for all.
        events: Every single event too.
        pit: What concerns all tables too.
    """

    names: tuple[str, ...]
    table: str | None
    events: bool = False
    pit: bool = False


class Source(Protocol):
    """
    Where a stream takes from what it sends, and where it is told of changes.
    """

    closing: bool
    tables: Tables
    views: Views

    def beat(self) -> bytes:
        """
        Return the sign of life.
        """

    def add(self, stream: Stream) -> None:
        """
        A browser has come.
        """

    def remove(self, stream: Stream) -> None:
        """
        It has gone.
        """


class Stream:
    """
    One browser that listens.

    Attributes:
        watched: What it wants.
        key: The table; None for all, or while there is none of that name.
    """

    def __init__(self, source: Source, watched: Watched, *, beat: float = BEAT) -> None:
        self._source, self.watched, self._beat = source, watched, beat
        self.key: str | None = None
        self._dirty: dict[tuple[str | None, str], None] = {}
        self._events: deque[bytes] = deque(maxlen=_EVENTS)
        self._woken = asyncio.Event()

    def note(self, key: str | None, *what: str) -> None:
        """
        Remember that documents are to be sent, if they are wanted at all.
        """
        wanted = [each for each in what if each in self.watched.names or each == "gone"]
        self._dirty.update(dict.fromkeys((key, each) for each in wanted))
        if wanted:
            self._woken.set()

    def note_pit(self) -> None:
        """
        Remember that what concerns all tables is to be sent, if it is wanted.
        """
        if self.watched.pit:
            self._dirty[None, PIT] = None
            self._woken.set()

    def note_event(self, event: bytes) -> None:
        """
        Remember an event; of those that the browser does not take, the latest stay.
        """
        if self.watched.events:
            self._events.append(event)
            self._woken.set()

    def wake(self) -> None:
        """
        Look whether all is closing.
        """
        self._woken.set()

    def _begin(self) -> None:
        self.note_pit()
        keys: Iterable[str | None] = [self.key]
        if self.watched.table is None:
            keys = self._source.views.order()
        for key in keys:
            self.note(key, *self.watched.names)

    async def run(self) -> AsyncGenerator[bytes, None]:
        """
        Give the stream's bytes until the browser leaves or the display stops.
        """
        self._source.add(self)
        try:
            self._begin()
            yield _RETRY + self._news() + self._beaten()
            while not self._source.closing:
                yield await self._next()
        finally:
            self._source.remove(self)

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(self._beat):
                await self._woken.wait()
        except TimeoutError:
            return self._beaten()
        return self._news()

    def _beaten(self) -> bytes:
        return sse("beat", self._source.beat())

    def _news(self) -> bytes:
        self._woken.clear()
        dirty, self._dirty = self._dirty, {}
        events = list(self._events)
        self._events.clear()
        parts = [self._document(key, what) for key, what in dirty]
        if (self.key, "events") not in dirty:  # they hold the single ones too
            parts += [sse("event", b'{"event":%s}' % each) for each in events]
        return b"".join(parts)

    def _document(self, key: str | None, what: str) -> bytes:
        views = self._source.views
        if what == PIT:
            return sse(PIT, views.pit())
        table = None if key is None else self._source.tables.get(key)
        if table is not None:
            return b"" if what == "gone" else sse(what, views.table(what, table))
        if self.watched.table is None:
            return self._missing_row(key or "")
        return self._missing(what)

    def _missing_row(self, key: str) -> bytes:
        waiting = self._source.views.waiting(key)
        if waiting is None:
            return sse("gone", b'{"key":"%s"}' % key.encode())
        return sse("row", waiting)

    def _missing(self, what: str) -> bytes:
        """
        Say that there is no such table, or no more.
        """
        views, name = self._source.views, self.watched.table or ""
        match what:
            case "board":
                return sse(what, views.unknown(name))
            case "gone":
                return sse(what, b'{"key":"%s"}' % (self.key or name).encode())
            case "roads" | "history":
                return sse(what, NOTHING)
        return b""

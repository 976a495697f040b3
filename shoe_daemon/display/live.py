"""
Server-sent events: every browser learns what has changed, whole documents, at once.

A client is a set of names of what it has not seen yet; what they say is made when
it is sent. So a slow browser gets the latest, later, and never grows memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from shoe_daemon.display.known import Change
from shoe_daemon.display.tables import Tables
from shoe_daemon.display.views import NOTHING, Views

__all__ = ["Hub", "Stream", "Watched", "sse"]

_BEAT: Final = 5.0
_EVENTS: Final = 200
_RETRY: Final = b"retry: 2000\n\n"
_GONE: Final = "gone"
_PIT: Final = "pit"


def sse(name: str, data: bytes) -> bytes:
    """
    Return one event of a stream; JSON has no line breaks of its own.
    """
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class Watched:
    """
    What a page wants: documents of one table, or of all.

    Args:
        names: Of which documents.
        table: By key or id; None for all tables.
        events: Single events too.
        pit: What concerns all tables too.
    """

    def __init__(
        self, names: tuple[str, ...], table: str | None, *, events: bool = False, pit: bool = False
    ) -> None:
        self.names, self.table, self.events, self.pit = names, table, events, pit


class Hub:
    """
    Tells streams what has changed, on the loop's thread.
    """

    def __init__(self, tables: Tables, views: Views, now: Callable[[], str]) -> None:
        self.tables, self.views, self.now = tables, views, now
        self.closing = False
        self._all: set[Stream] = set()
        self._by_key: dict[str, set[Stream]] = {}
        self._waiting: dict[str, set[Stream]] = {}

    def __len__(self) -> int:
        return (
            len(self._all)
            + sum(map(len, self._by_key.values()))
            + sum(map(len, self._waiting.values()))
        )

    def tell(self, changes: Iterable[Change]) -> None:
        """
        Tell every stream what concerns it.
        """
        for change in changes:
            if change.what == "new" and change.key is not None:
                self._settle(change.key)
            for stream in self._concerned(change.key):
                stream.note(change)

    def _concerned(self, key: str | None) -> Iterable[Stream]:
        if key is None:
            streams = [each for group in self._by_key.values() for each in group if each.pit]
            return [*self._all, *streams]
        return [*self._all, *self._by_key.get(key, ())]

    def _settle(self, key: str) -> None:
        """
        A table has appeared: who waited for it by name now has it.
        """
        for name in (key, key.partition(".")[2]):
            for stream in self._waiting.pop(name, ()):
                self._by_key.setdefault(key, set()).add(stream)
                stream.found(key)

    def beat(self) -> bytes:
        """
        Return the sign of life.
        """
        return b'{"now":"%s"}' % self.now().encode()

    def add(self, stream: Stream) -> None:
        """
        A browser has come.
        """
        self._group(stream).add(stream)

    def _group(self, stream: Stream) -> set[Stream]:
        if stream.wants_all:
            return self._all
        if stream.key is not None:
            return self._by_key.setdefault(stream.key, set())
        return self._waiting.setdefault(stream.name, set())

    def remove(self, stream: Stream) -> None:
        """
        It has gone.
        """
        group = self._group(stream)
        group.discard(stream)
        if not group and not stream.wants_all:
            groups = self._waiting if stream.key is None else self._by_key
            groups.pop(stream.name if stream.key is None else stream.key, None)

    def close(self) -> None:
        """
        End every stream at once.
        """
        self.closing = True
        groups = (self._all, *self._by_key.values(), *self._waiting.values())
        for stream in [each for group in groups for each in group]:
            stream.wake()


class Stream:
    """
    One browser that listens.

    Attributes:
        name: The table's name in the address.
        key: The table; None for all, or while there is none of that name.
    """

    def __init__(self, hub: Hub, watched: Watched, *, beat: float = _BEAT) -> None:
        self._hub, self._watched, self._beat = hub, watched, beat
        self.name = watched.table or ""
        self.key = self._find()
        self._dirty: dict[tuple[str | None, str], None] = {}
        self._events: deque[bytes] = deque(maxlen=_EVENTS)
        self._woken = asyncio.Event()

    def _find(self) -> str | None:
        found = self._hub.tables.named(self.name) if self.name else []
        return found[0].key if found else None

    @property
    def wants_all(self) -> bool:
        """
        Whether it watches all tables.
        """
        return self._watched.table is None

    @property
    def pit(self) -> bool:
        """
        Whether it is told what concerns all tables.
        """
        return self._watched.pit

    def note(self, change: Change) -> None:
        """
        Remember that something is to be sent.
        """
        if change.event is not None:
            if self._watched.events:
                self._events.append(change.event)
                self._woken.set()
        elif change.what == "new":
            self._note_all(change.key)
        elif change.what == "device":
            if self._watched.events:
                self._dirty[change.key, "row"] = None
                self._woken.set()
        elif change.what in self._watched.names or change.what in {_GONE, _PIT}:
            if change.what == _PIT and not self.pit:
                return
            self._dirty[change.key, change.what] = None
            self._woken.set()

    def found(self, key: str) -> None:
        """
        The table that was waited for is here.
        """
        self.key = key

    def wake(self) -> None:
        """
        Look whether the hub is closing.
        """
        self._woken.set()

    def _note_all(self, key: str | None) -> None:
        for name in self._watched.names:
            self._dirty[key, name] = None
        if self.pit:
            self._dirty[None, _PIT] = None
        self._woken.set()

    def _begin(self) -> None:
        if self.pit:
            self._dirty[None, _PIT] = None
        keys = (
            [self.key] if not self.wants_all else [each.key for each in self._hub.views.in_order()]
        )
        for key in keys:
            for name in self._watched.names:
                self._dirty[key, name] = None
        if self._watched.events:
            self._dirty[self.key, "events"] = None

    async def run(self) -> AsyncIterator[bytes]:
        """
        Give the stream's bytes until the browser leaves or the display stops.
        """
        self._begin()
        self._hub.add(self)
        try:
            yield _RETRY + self._news() + self._beaten()
            while not self._hub.closing:
                yield await self._next()
        finally:
            self._hub.remove(self)

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(self._beat):
                await self._woken.wait()
        except TimeoutError:
            return self._beaten()
        return self._news()

    def _beaten(self) -> bytes:
        return sse("beat", self._hub.beat())

    def _news(self) -> bytes:
        self._woken.clear()
        dirty, self._dirty = self._dirty, {}
        events = list(self._events)
        self._events.clear()
        parts = [self._document(key, what) for key, what in dirty]
        parts += [sse("event", b'{"event":%s}' % each) for each in events]
        return b"".join(parts)

    def _document(self, key: str | None, what: str) -> bytes:
        views = self._hub.views
        if what == _PIT:
            return sse(_PIT, views.pit())
        table = None if key is None else self._hub.tables.get(key)
        if table is not None:
            return b"" if what == _GONE else sse(what, views.table(what, table))
        return self._without_table(key, what)

    def _without_table(self, key: str | None, what: str) -> bytes:
        """
        Say that there is no such table, or no more.
        """
        if self.wants_all:
            return sse(_GONE, b'{"key":"%s"}' % (key or "").encode())
        if what in {"board", _GONE}:
            return sse("board", self._hub.views.unknown(self.name))
        return sse(what, NOTHING) if what in {"roads", "history"} else b""

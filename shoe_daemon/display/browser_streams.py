"""
Tells every browser that listens what has changed, on the loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shoe_daemon.display.floor_model import Tables
from shoe_daemon.display.json_views import Views
from shoe_daemon.display.server_sent_events import Stream
from shoe_daemon.display.table_model import Change

__all__ = ["Hub"]


class Hub:
    """
    All streams, by what they watch.

    Attributes:
        closing: Streams are to end.
    """

    def __init__(
        self, tables: Tables, views: Views, now: Callable[[], str], version: str = ""
    ) -> None:
        """
        Args:
            tables: The model.
            views: What is told of it.
            now: The time of day, RFC 3339.
            version: Which display this is.
        """
        self.tables, self.views = tables, views
        self.closing = False
        self._now, self._version = now, version.encode()
        self._all: set[Stream] = set()
        self._by_key: dict[str, set[Stream]] = {}
        self._waiting: dict[str, set[Stream]] = {}
        self._later: dict[Change, None] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self._streams())

    def _streams(self) -> Iterator[Stream]:
        yield from self._all
        for group in (*self._by_key.values(), *self._waiting.values()):
            yield from group

    def beat(self) -> bytes:
        """
        Return the sign of life, by which a page also learns that it has become old.
        """
        return b'{"now":"%s","version":"%s"}' % (self._now().encode(), self._version)

    def tell(self, changes: Iterable[Change]) -> None:
        """
        Tell every stream what concerns it; what is not urgent waits for `settle`.
        """
        for change in changes:
            if change.urgent:
                self._tell(change)
            else:
                self._later[change] = None

    def settle(self) -> None:
        """
        Tell what was not urgent: to be called every second.
        """
        later, self._later = self._later, {}
        for change in later:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        key = change.key
        if key is None:
            self._tell_all(change.what)
        elif change.event is not None:
            for stream in self._by_key.get(key, ()):
                stream.note_event(change.event)
        elif change.what == "new":
            self._appeared(key)
        elif change.what == "gone":
            self._vanished(key)
        else:
            self._tell_of(key, change.what)

    def _tell_all(self, what: str) -> None:
        if what == "link":
            for group in self._waiting.values():
                for stream in group:
                    stream.note(None, "board")
            for stream in self._all:
                for key in self.views.missing():
                    stream.note(key, "row")
            return
        for stream in self._streams():
            stream.note_pit()

    def _tell_of(self, key: str, what: str) -> None:
        if what == "device":  # its ages are of interest where this one table is looked at
            for stream in self._by_key.get(key, ()):
                stream.note(key, "row")
            return
        for stream in (*self._all, *self._by_key.get(key, ())):
            stream.note(key, what)

    def _appeared(self, key: str) -> None:
        """
        A table is here: who waited for it by name now has it.
        """
        for name in (key, key.partition(".")[2]):
            for stream in self._waiting.pop(name, ()):
                stream.key = key
                self._by_key.setdefault(key, set()).add(stream)
        for stream in (*self._all, *self._by_key.get(key, ())):
            stream.note(key, *stream.watched.names)
            stream.note_pit()
        waited = self.views.waited(key)
        for stream in self._all if waited not in {None, key} else ():
            stream.note(waited, "gone")

    def _vanished(self, key: str) -> None:
        for stream in self._by_key.get(key, ()):
            stream.note(key, "gone", *stream.watched.names)
        waited = self.views.waited(key)
        for stream in self._all:
            stream.note(key, "gone")
            if waited is not None:
                stream.note(waited, "row")

    def add(self, stream: Stream) -> None:
        """
        A browser has come.
        """
        name = stream.watched.table
        found = self.tables.named(name) if name else []
        stream.key = found[0].key if found else None
        self._group(stream).add(stream)

    def remove(self, stream: Stream) -> None:
        """
        It has gone.
        """
        group = self._group(stream)
        group.discard(stream)
        if not group and stream.watched.table is not None:
            groups = self._waiting if stream.key is None else self._by_key
            groups.pop(stream.key or stream.watched.table, None)

    def _group(self, stream: Stream) -> set[Stream]:
        if stream.watched.table is None:
            return self._all
        if stream.key is not None:
            return self._by_key.setdefault(stream.key, set())
        return self._waiting.setdefault(stream.watched.table, set())

    def close(self) -> None:
        """
        End every stream at once.
        """
        self.closing = True
        for stream in self._streams():
            stream.wake()

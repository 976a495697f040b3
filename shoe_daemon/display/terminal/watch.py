"""`shoe-daemon watch`: receive a table's documents over MQTT, and redraw its board in a loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Self

import msgspec
from msgspec.structs import replace
from rich.text import Text

from shoe_daemon.display.terminal.appearance import Symbols
from shoe_daemon.display.terminal.board import TableView, board, connection_error, headline
from shoe_daemon.display.terminal.screen import Screen, print_rows, render_rows
from shoe_daemon.display.terminal.text import MIN_SIZE, clean
from shoe_daemon.errors import UserError
from shoe_daemon.floor.feed import Feed
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.messages import Document, topic_filters
from shoe_daemon.floor.table import Table
from shoe_daemon.mqtt.documents import History, RoadsNow, State
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import HISTORY, ROADS, STATE, STATUS
from shoe_daemon.table import to_microseconds

_REFRESH_S: Final = 0.25
_MAX_LISTED: Final = 8
"""Tables that an error message lists."""

_DISCOVERY_S: Final = 1.0
"""Seconds without a new table after which all tables of the broker are known."""

_RECENT_RESULT_S: Final = 8.0
"""Seconds for which a result is shown, even if its cards are gone."""

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600


class TableFeed:
    """
    Subscribes from `__enter__` to `__exit__`.

    Attributes:
        tables: Everything that was received.
    """

    def __init__(
        self, settings: MqttSettings, site: str | None = None, *, stale_after: float | None = None
    ) -> None:
        self.tables = Floor(settings.prefix, stale_after=stale_after)
        self._broker = settings.name
        self._wakeup = threading.Event()
        filters = topic_filters(settings.prefix, site)
        self._feed = Feed(settings, filters, self._wakeup.set)
        self._news_at = time.monotonic()
        self._last_result: tuple[str, int] | None = None
        self._result_at = -_RECENT_RESULT_S

    def __enter__(self) -> Self:
        self._feed.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.stop()

    def receive(self, timeout: float) -> None:
        """Wait for messages, and process all that came."""
        self._wakeup.wait(timeout)
        self._wakeup.clear()
        known, link = len(self.tables), self.tables.link
        while self._feed.inbox.deliver(self.tables):
            pass
        self.tables.advance_time(time.monotonic())
        if len(self.tables) != known or self.tables.link is not link:
            self._news_at = time.monotonic()

    @property
    def discovered(self) -> bool:
        """True when all tables of the broker are known."""
        return self.tables.link.connected and time.monotonic() - self._news_at > _DISCOVERY_S

    def is_complete(self, name: str) -> bool:
        """Tell whether all documents of a table have been received."""
        found = self.tables.named(name)
        return len(found) == 1 and all(
            found[0].body(kind) is not None for kind in (STATUS, STATE, ROADS, HISTORY)
        )

    def view(self, name: str) -> TableView:
        """Return the content of a table's board at this moment."""
        found = self.tables.named(name)
        table = found[0] if len(found) == 1 else None
        fresh = self.tables.freshness(table, time.monotonic())
        view = TableView(
            name=name,
            broker=self._broker,
            link=self.tables.link,
            fresh=fresh,
            since="" if fresh.since is None else _local_time(fresh.since, time.time()),
        )
        if table is None:
            return view
        return replace(
            view,
            state=table.body(STATE),
            roads=_decoded(table.documents.get(ROADS), RoadsNow),
            history=_decoded(table.documents.get(HISTORY), History),
            recent_result=self._has_recent_result(table),
        )

    def _has_recent_result(self, table: Table) -> bool:
        """Tell whether the last result was received a few seconds ago, not before the start."""
        state = table.body(STATE)
        if state is None or state.last_result is None:
            return False
        now, result = time.monotonic(), (state.session, state.last_result.seq)
        if self._last_result is not None and self._last_result != result:
            self._result_at = now
        self._last_result = result
        return now - self._result_at < _RECENT_RESULT_S


# The model keeps long documents as JSON; most of the time they have not changed.
@lru_cache(maxsize=2)
def _decoded(document: Document | None, kind: type) -> Any:  # noqa: ANN401 - of this type, or None
    return None if document is None else msgspec.json.decode(document.json, type=kind)


def _local_time(at: str, now: float) -> str:
    """Write a moment in local time, and how long ago it was."""
    seconds = to_microseconds(at) / 1e6
    try:
        clock = f"{datetime.fromtimestamp(seconds).astimezone():%H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # beyond the years that datetime knows
        return at
    return f"{clock}, {_duration(max(now - seconds, 0))}"


def _duration(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{int(seconds)} s"
    if seconds < _HOUR_S:
        return f"{int(seconds // _MINUTE_S)} min"
    return f"{int(seconds // _HOUR_S)} h {int(seconds % _HOUR_S // _MINUTE_S)} min"


def watch(
    feed: TableFeed,
    name: str | None,
    symbols: Symbols,
    going: Callable[[], bool],
    notes: Callable[[State | None, int], tuple[Text, ...]] = lambda _state, _width: (),
) -> list[str]:
    """
    Show a table while `going`; without a name, the only table.

    Args:
        feed: What the broker publishes.
        name: The table.
        symbols: The characters of the roads.
        going: Called for each picture.
        notes: Returns rows for the board of a table, for a number of columns.

    Returns:
        The list of tables, if there are several and none was named.

    Raises:
        UserError: Several sites have a table of this name.
    """
    with feed, Screen() as screen:
        shown = None
        while going():
            feed.receive(_REFRESH_S)
            if name is None and feed.discovered and len(feed.tables):
                name = _only_table(feed)
                if name is None:
                    return _table_list(feed)
            _check_unique(feed, name)
            size = screen.size
            view = feed.view(name or "any table")
            view = replace(view, notes=notes(view.state, size[0] - 2))
            if (view, size) != shown:
                shown = view, size
                screen.show(board(view, *size, symbols))
    return []


def watch_once(feed: TableFeed, name: str | None, symbols: Symbols, timeout: float) -> list[str]:
    """
    Print a table as soon as it is complete, at the latest after `timeout` seconds.

    Returns:
        As `watch`.

    Raises:
        UserError: Nothing was received.
    """
    until = time.monotonic() + timeout
    with feed:
        while time.monotonic() < until:
            feed.receive(min(_REFRESH_S, max(until - time.monotonic(), 0)))
            if name is None and feed.discovered and len(feed.tables):
                name = _only_table(feed)
                if name is None:
                    return _table_list(feed)
            _check_unique(feed, name)
            if name is not None and feed.is_complete(name):
                break
        _print(feed, name, symbols, timeout)
    return []


def _print(feed: TableFeed, name: str | None, symbols: Symbols, timeout: float) -> None:
    view = feed.view(name or "")
    if view.state is None:
        raise UserError(_nothing_received(feed, name, timeout), exit_status=1)
    view = replace(view, hint=f"seen at {datetime.now().astimezone():%H:%M:%S}")
    columns, rows = Screen().size
    size = max(columns, MIN_SIZE[0]), max(rows - 1, MIN_SIZE[1])
    print_rows(render_rows(board(view, *size, symbols), *size))


def _nothing_received(feed: TableFeed, name: str | None, timeout: float) -> str:
    view = feed.view(name or "")
    if not view.link.connected:
        return f"watch: no broker at {view.broker}: {connection_error(view.link)}"
    what = "of any table" if name is None else f"of the table {name!r}"
    keys = sorted(feed.tables.keys())
    others = ", ".join(keys[:_MAX_LISTED]) + (" …" if len(keys) > _MAX_LISTED else "")
    there = f"; there are {others}" if keys else ""
    return f"watch: nothing was heard {what} within {timeout:g} s at {view.broker}{there}"


def _only_table(feed: TableFeed) -> str | None:
    keys = list(feed.tables.keys())
    return keys[0] if len(keys) == 1 else None


def _check_unique(feed: TableFeed, name: str | None) -> None:
    found = [] if name is None else feed.tables.named(name)
    if len(found) > 1:
        keys = ", ".join(sorted(table.key for table in found))
        raise UserError(f"watch: several sites have a table {name!r}; expected one of {keys}")


def _table_list(feed: TableFeed) -> list[str]:
    """Write a line for each table."""
    tables = sorted(feed.tables, key=lambda table: table.key)
    wide = max(len(table.key) for table in tables)
    return [f"{table.key:<{wide}}  {_summary(feed, table)}" for table in tables]


def _summary(feed: TableFeed, table: Table) -> str:
    state = table.body(STATE)
    fresh = feed.tables.freshness(table, time.monotonic()).state.replace("_", " ")
    if state is None:
        return fresh
    return clean(f"{fresh:<8}  {state.name or state.table} · {headline(state)}")

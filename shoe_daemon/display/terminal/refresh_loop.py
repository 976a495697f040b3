"""Loop of `shoe-daemon watch`: redraws the board until a signal, or prints it once."""

from __future__ import annotations

import signal
import time
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from shoe_daemon.display.table_model import Table
from shoe_daemon.display.terminal.appearance import Symbols
from shoe_daemon.display.terminal.board import board
from shoe_daemon.display.terminal.board_texts import connection_error, headline
from shoe_daemon.display.terminal.layout_helpers import MIN_SIZE, clean
from shoe_daemon.display.terminal.screen import Screen, print_rows, render_rows
from shoe_daemon.display.terminal.table_feed import TableFeed
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.topics import STATE
from shoe_daemon.shutdown_signals import stop_on_signals

__all__ = ["watch", "watch_once"]

_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a service stop, and a closed terminal."""

_REFRESH_S: Final = 0.25
_MAX_LISTED: Final = 8
"""Tables that an error message lists."""


def watch(feed: TableFeed, name: str | None, symbols: Symbols) -> list[str]:
    """
    Show a table until Ctrl-C; without a name, the only table.

    Returns:
        The list of tables, if there are several and none was named.

    Raises:
        UserError: Several sites have a table of this name.
    """
    with stop_on_signals(*_ENDS) as stopping, feed, Screen() as screen:
        shown = None
        while not stopping.is_set():
            feed.receive(_REFRESH_S)
            if name is None and feed.discovered and len(feed.tables):
                name = _only_table(feed)
                if name is None:
                    break
            _check_unique(feed, name)
            current = feed.view(name or "any table"), screen.size
            if current != shown:
                view, size = shown = current
                screen.show(board(view, *size, symbols))
    return _table_list(feed) if name is None and not stopping.is_set() else []


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
    print_rows(render_rows(board(view, *size, symbols), size[0]))


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

"""
Keeps a terminal as a table is, until somebody ends it; or prints one picture.
"""

from __future__ import annotations

import signal
import time
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from shoe_daemon.display.table_model import Table
from shoe_daemon.display.terminal.board import LEAST, draw_board
from shoe_daemon.display.terminal.canvas import clean
from shoe_daemon.display.terminal.screen import Screen, print_canvas
from shoe_daemon.display.terminal.symbols import Signs
from shoe_daemon.display.terminal.table_feed import Watcher
from shoe_daemon.display.terminal.view_model import headline, why
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.topics import STATE
from shoe_daemon.shutdown_signals import stop_on_signals

__all__ = ["watch", "watch_once"]

_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a stop, and a terminal that goes away."""

_TURN: Final = 0.25
_NAMED: Final = 8
"""Tables that an error names."""


def watch(watcher: Watcher, name: str | None, signs: Signs) -> list[str]:
    """
    Show a table until Ctrl-C, the only one where none is named.

    Returns:
        The tables, a line each, where there are several and none was named.

    Raises:
        UserError: Several sites have a table of this name.
    """
    with stop_on_signals(*_ENDS) as stopping, watcher, Screen() as screen:
        while not stopping.is_set():
            watcher.turn(_TURN)
            if name is None and watcher.settled and len(watcher.tables):
                name = _only(watcher)
                if name is None:
                    break
            _check(watcher, name)
            screen.show(draw_board(watcher.seen(name or "any table"), *screen.size, signs))
    return _list(watcher) if name is None and not stopping.is_set() else []


def watch_once(watcher: Watcher, name: str | None, signs: Signs, patience: float) -> list[str]:
    """
    Print a table as it is, as soon as all of it is known, or so much as is by then.

    Returns:
        As `watch`.

    Raises:
        UserError: Nothing is known of it.
    """
    until = time.monotonic() + patience
    with watcher:
        while time.monotonic() < until:
            watcher.turn(min(_TURN, max(until - time.monotonic(), 0)))
            if name is None and watcher.settled and len(watcher.tables):
                name = _only(watcher)
                if name is None:
                    return _list(watcher)
            _check(watcher, name)
            if name is not None and watcher.is_whole(name):
                break
        _print(watcher, name, signs, patience)
    return []


def _print(watcher: Watcher, name: str | None, signs: Signs, patience: float) -> None:
    seen = watcher.seen(name or "")
    if seen.state is None:
        raise UserError(_unknown(watcher, name, patience), exit_status=1)
    width, height = Screen().size
    seen = replace(seen, hint=f"seen at {datetime.now().astimezone():%H:%M:%S}")
    print_canvas(draw_board(seen, max(width, LEAST[0]), max(height - 1, LEAST[1]), signs))


def _unknown(watcher: Watcher, name: str | None, patience: float) -> str:
    seen = watcher.seen(name or "")
    if not seen.link.connected:
        return f"watch: no broker at {seen.broker}: {why(seen.link)}"
    what = "of any table" if name is None else f"of the table {name!r}"
    keys = sorted(watcher.tables.keys())
    others = ", ".join(keys[:_NAMED]) + (" …" if len(keys) > _NAMED else "")
    there = f"; there are {others}" if keys else ""
    return f"watch: nothing was heard {what} within {patience:g} s at {seen.broker}{there}"


def _only(watcher: Watcher) -> str | None:
    keys = list(watcher.tables.keys())
    return keys[0] if len(keys) == 1 else None


def _check(watcher: Watcher, name: str | None) -> None:
    found = [] if name is None else watcher.tables.named(name)
    if len(found) > 1:
        keys = ", ".join(sorted(table.key for table in found))
        raise UserError(f"watch: several sites have a table {name!r}; expected one of {keys}")


def _list(watcher: Watcher) -> list[str]:
    """
    Write down which tables there are.
    """
    tables = sorted(watcher.tables, key=lambda table: table.key)
    wide = max(len(table.key) for table in tables)
    return [f"{table.key:<{wide}}  {_told(watcher, table)}" for table in tables]


def _told(watcher: Watcher, table: Table) -> str:
    state = table.body(STATE)
    fresh = watcher.tables.freshness(table, time.monotonic()).state.replace("_", " ")
    if state is None:
        return fresh
    return clean(f"{fresh:<8}  {state.name or state.table} · {headline(state)}")

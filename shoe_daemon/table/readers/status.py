"""
The state of each reader: link, lock, errors, and whether cards may have been missed.

A change that shows in `reader_status` publishes that event.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.context import TableContext
from shoe_daemon.table.events import ReaderStatus
from shoe_daemon.table.facts import Phase
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker
from shoe_daemon.table.state import ReaderState

MAX_READERS: Final = 8
"""Readers of which a table keeps the state."""


def get_reader(context: TableContext, source: str | None) -> ReaderState:
    """Return the state of a reader; a new one beyond `MAX_READERS` is not stored."""
    readers = context.state.readers
    key = source or ""
    if key not in readers:
        if len(readers) >= MAX_READERS:
            return ReaderState()
        readers[key] = ReaderState(partial=context.state.unsynced)
    return readers[key]


def reader_status(source: str | None, reader: ReaderState) -> ReaderStatus:
    """Return the `reader_status` event of a reader."""
    states = {"fault": reader.errors, "locked": reader.locked, "partial": reader.partial}
    state = next((name for name, applies in states.items() if applies), "ok")
    return ReaderStatus(reader.link, source or None, state)  # type: ignore[arg-type]


def update_reader(context: TableContext, source: str | None, **fields: object) -> None:
    """Set fields of the state of a reader; publish its status if that changed."""
    reader = get_reader(context, source)
    before = reader_status(source, reader)
    for name, value in fields.items():
        setattr(reader, name, value)
    # A reader beyond `MAX_READERS` is a new one here, too: its status is not published.
    status = reader_status(source, get_reader(context, source))
    if status != before:
        context.emit(status)


def resync_readers(context: TableContext, *, drawing: bool = False) -> None:
    """Resynchronise at a boundary that all readers can see; `drawing` as for the checkers."""
    checker.resync_at_boundary(context, drawing=drawing)
    mark_readers_in_sync(context)


def mark_readers_in_sync(context: TableContext) -> None:
    """Record a clean boundary: the next round is seen from its first card."""
    context.state.unsynced = context.state.unread_pending = False
    round_ = context.state.round
    if round_ is not None and round_.phase == Phase.REST:
        round_.phase = Phase.ENDED
        if context.state.betting == "closed":
            context.state.betting = "open"
    for key, reader in context.state.readers.items():
        if reader.partial:
            update_reader(context, key, partial=False)


def mark_readers_restarted(context: TableContext) -> None:
    """Reset all readers after a restart of the daemon: link unknown, ``partial``, no errors."""
    for source in context.state.readers:
        update_reader(
            context,
            source,
            link="unknown",
            locked=False,
            partial=True,
            errors=[],
            sees_cards=False,
        )
    context.state.unsynced = True


def start_quiet_timer(context: TableContext) -> None:
    """Start the quiet gap now, if rounds end by a quiet gap."""
    if context.mode is RoundEnd.QUIET:
        gap = int(context.options.quiet_gap * 1_000_000)
        context.state.quiet_at = context.now_us() + gap

"""
The state of each reader: link, lock, errors, and whether cards may have been missed.

A change that shows in `reader_status` publishes that event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.table.events import ReaderStatus
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker_comparison
from shoe_daemon.table.table_state import ReaderState

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table.table_context import TableContext

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
    state = (
        "fault"
        if reader.errors
        else "locked"
        if reader.locked
        else "partial"
        if reader.partial
        else "ok"
    )
    return ReaderStatus(reader.link, source or None, state)  # type: ignore[arg-type]


def update_reader(
    context: TableContext, source: str | None, update: Callable[[ReaderState], object]
) -> None:
    """Update the state of a reader; publish its status if that changed."""
    reader = get_reader(context, source)
    before = reader_status(source, reader)
    update(reader)
    _publish_status(context, source, before)


def _publish_status(context: TableContext, source: str | None, before: ReaderStatus) -> None:
    status = reader_status(source, get_reader(context, source))
    if status != before:
        context.emit(status)


def set_reader_link(context: TableContext, source: str | None, *, up: bool) -> None:
    """Record that the connection to a reader was made or lost."""
    update_reader(context, source, lambda reader: setattr(reader, "link", "up" if up else "down"))


def set_reader_lock(context: TableContext, source: str | None, *, is_locked: bool) -> None:
    """Record that a reader's key was turned."""
    update_reader(context, source, lambda reader: setattr(reader, "locked", is_locked))


def mark_reader_partial(context: TableContext, source: str | None) -> None:
    """Record that a reader missed something: ``partial`` until a clean boundary."""
    update_reader(context, source, lambda reader: setattr(reader, "partial", True))
    context.state.unsynced = True


def resync_readers(context: TableContext, *, drawing: bool = False) -> None:
    """
    Resynchronise at a boundary that all readers can see.

    Args:
        context: The table.
        drawing: The first card of the next round may have left the shoe already.
    """
    checker_comparison.resync_at_boundary(context, drawing=drawing)
    mark_readers_in_sync(context)


def mark_readers_in_sync(context: TableContext) -> None:
    """Record a clean boundary: the next round is seen from its first card."""
    context.state.unsynced = context.state.unread_pending = False
    round_ = context.state.round
    if round_ is not None and round_.owns_rest:
        round_.owns_rest = False
        if context.state.betting == "closed":
            context.state.betting = "open"
    for key, reader in context.state.readers.items():
        if reader.partial:
            update_reader(context, key, lambda each: setattr(each, "partial", False))


def mark_readers_restarted(context: TableContext) -> None:
    """Reset all readers after a restart of the daemon: link unknown, ``partial``, no errors."""
    for source, reader in context.state.readers.items():
        before = reader_status(source, reader)
        reader.link, reader.locked, reader.partial = "unknown", False, True
        reader.errors.clear()
        _publish_status(context, source, before)
    context.state.unsynced = True


def start_quiet_timer(context: TableContext) -> None:
    """Start the quiet gap now, if rounds end by a quiet gap."""
    if context.mode is RoundEnd.QUIET:
        gap = int(context.options.quiet_gap * 1_000_000)
        context.state.quiet_at = context.now_us() + gap

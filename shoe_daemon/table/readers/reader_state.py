"""
What the table knows of its readers: link, lock, and whether anything was
missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import second_reader
from shoe_daemon.table.table_context import reader_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table.table_context import TableContext
    from shoe_daemon.table.table_state import ReaderState


def update_reader(
    context: TableContext, source: str | None, how: Callable[[ReaderState], object]
) -> None:
    """
    Change what is known of a reader, and say so if it makes a difference.
    """
    reader = context.reader(source)
    before = reader_status(source, reader)
    how(reader)
    context.publish_reader_status(source, before)


def set_reader_link(context: TableContext, source: str | None, *, up: bool) -> None:
    """
    The connection to a reader came up, or went.
    """
    update_reader(context, source, lambda reader: setattr(reader, "link", "up" if up else "down"))


def set_reader_lock(context: TableContext, source: str | None, *, is_locked: bool) -> None:
    """
    A reader's key was turned.
    """
    update_reader(context, source, lambda reader: setattr(reader, "locked", is_locked))


def mark_reader_partial(context: TableContext, source: str | None) -> None:
    """
    Something of a reader was missed: it is ``partial`` until a clean boundary.
    """
    update_reader(context, source, lambda reader: setattr(reader, "partial", True))
    context.state.unsynced = True


def resync_readers(context: TableContext, *, drawing: bool = False) -> None:
    """
    Take a boundary that all readers can see.

    Args:
        context: The table.
        drawing: The first card of the next round may have left the shoe already.
    """
    second_reader.resync_at_boundary(context, drawing=drawing)
    mark_readers_in_sync(context)


def mark_readers_in_sync(context: TableContext) -> None:
    """
    A clean boundary: whatever comes now is seen from its beginning.
    """
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
    """
    The daemon was away: what it knew of links, locks and errors is old, and
    all its readers are ``partial``.
    """
    for source, reader in context.state.readers.items():
        before = reader_status(source, reader)
        reader.link, reader.locked, reader.partial = "unknown", False, True
        reader.errors.clear()
        context.publish_reader_status(source, before)
    context.state.unsynced = True


def start_quiet_timer(context: TableContext) -> None:
    """
    Where only silence tells rounds apart, let it end what is not known.
    """
    if context.mode is RoundEnd.QUIET:
        context.state.quiet_at = context.now_us() + int(context.options.quiet_gap * 1_000_000)

"""
What the table knows of its readers: link, lock, and whether anything was
missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import second_reader
from shoe_daemon.table.table_context import status_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import ReaderState


def change(fold: Fold, source: str | None, how: Callable[[ReaderState], object]) -> None:
    """
    Change what is known of a reader, and say so if it makes a difference.
    """
    reader = fold.reader(source)
    before = status_of(source, reader)
    how(reader)
    fold.say_reader(source, before)


def linked(fold: Fold, source: str | None, *, up: bool) -> None:
    """
    The connection to a reader came up, or went.
    """
    change(fold, source, lambda reader: setattr(reader, "link", "up" if up else "down"))


def locked(fold: Fold, source: str | None, *, is_locked: bool) -> None:
    """
    A reader's key was turned.
    """
    change(fold, source, lambda reader: setattr(reader, "locked", is_locked))


def missed(fold: Fold, source: str | None) -> None:
    """
    Something of a reader was missed: it is ``partial`` until a clean boundary.
    """
    change(fold, source, lambda reader: setattr(reader, "partial", True))
    fold.state.unsynced = True


def synced(fold: Fold, *, drawing: bool = False) -> None:
    """
    Take a boundary that all readers can see.

    Args:
        fold: The table.
        drawing: The first card of the next round may have left the shoe already.
    """
    second_reader.boundary(fold, drawing=drawing)
    whole(fold)


def whole(fold: Fold) -> None:
    """
    A clean boundary: whatever comes now is seen from its beginning.
    """
    fold.state.unsynced = fold.state.unread_pending = False
    round_ = fold.state.round
    if round_ is not None and round_.owns_rest:
        round_.owns_rest = False
        if fold.state.betting == "closed":
            fold.state.betting = "open"
    for key, reader in fold.state.readers.items():
        if reader.partial:
            change(fold, key, lambda each: setattr(each, "partial", False))


def restarted(fold: Fold) -> None:
    """
    The daemon was away: what it knew of links, locks and errors is old, and
    all its readers are ``partial``.
    """
    for source, reader in fold.state.readers.items():
        before = status_of(source, reader)
        reader.link, reader.locked, reader.partial = "unknown", False, True
        reader.errors.clear()
        fold.say_reader(source, before)
    fold.state.unsynced = True


def await_quiet(fold: Fold) -> None:
    """
    Where only silence tells rounds apart, let it end what is not known.
    """
    if fold.mode is RoundEnd.QUIET:
        fold.state.quiet_at = fold.microseconds() + int(fold.options.quiet_gap * 1_000_000)

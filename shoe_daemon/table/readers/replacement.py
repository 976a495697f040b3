"""The replacement of the main reader: while it is down, a checking reader deals the cards."""

from __future__ import annotations

from shoe_daemon.game import Card
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.state import CheckerState


def skip_dealt_card(context: TableContext, source: str | None, face: Card | None) -> bool:
    """Return whether the main reader has dealt this card of a replacement out of step; drop it."""
    check = context.state.checks.get(source or "")
    if check is None or check.in_step or face is None or face not in check.behind:
        return False
    del check.behind[: check.behind.index(face) + 1]
    check.ahead.clear()
    return True


def is_replacement_out_of_step(context: TableContext, source: str | None) -> bool:
    """Return whether the main reader is down and its replacement is out of step."""
    check = context.state.checks.get(replacement_reader(context) or "")
    return check is not None and not check.in_step and source not in context.options.checkers


def replace_main_reader(context: TableContext, source: str | None, face: Card | None) -> bool:
    """
    Let the replacement of the main reader deal this card.

    Return whether it was out of step: cards may be missing before this one.
    """
    if source is None or source not in context.options.checkers:
        return False
    if context.state.checks[source].in_step:
        return False
    hidden = context.state.checks[source].hidden
    context.state.checks[source] = CheckerState(ahead=[face], hidden=hidden)
    return True


def undealt_cards(context: TableContext) -> list[Card | None]:
    """Return the cards that only the replacement of the main reader has read."""
    check = context.state.checks.get(replacement_reader(context) or "")
    if check is None:
        return []
    if check.ahead and (check.unproven or context.now_us() < check.late_until):
        check.in_step = False  # the cards may be late cards of a round that has ended
    return list(check.ahead) if check.in_step else []


def is_only_checking(context: TableContext, source: str | None) -> bool:
    """Return whether a reader is a checking reader and replaces no other reader now."""
    return source in context.options.checkers and source != replacement_reader(context)


def replacement_reader(context: TableContext) -> str | None:
    """Return the checking reader that deals while the main reader is away; None if none does."""
    checkers, known = context.options.checkers, context.state.readers
    dealing = [
        reader
        for name, reader in known.items()
        if name not in checkers and not reader.places and (name or reader.link != "unknown")
    ]
    if not dealing or any(reader.link != "down" for reader in dealing):
        return None
    up = (name for name in checkers if name not in known or known[name].link != "down")
    return next(up, None)


def is_only_reader_up(context: TableContext, source: str | None) -> bool:
    """Return whether all readers but this one are down."""
    others = [each for name, each in context.state.readers.items() if name != (source or "")]
    return bool(others) and all(reader.link == "down" for reader in others)

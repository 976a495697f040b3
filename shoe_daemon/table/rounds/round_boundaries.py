"""
Ends and starts of rounds without a card: results, betting signals, quiet gaps, boots, commands.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import FOUR_CARDS, IrregularityKind
from shoe_daemon.table import alerts, events
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.observations import Result
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker_comparison, reader_status
from shoe_daemon.table.rounds import lifecycle, next_card, placement, round_result
from shoe_daemon.table.rounds.card_draw import place_unread_card
from shoe_daemon.table.shoe_state import RoundState
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.table_context import TableContext

_ENDS_AT_RESULT: Final = frozenset({RoundEnd.DEVICE, RoundEnd.BUTTON})


def apply_result(context: TableContext, obs: Result) -> None:
    """Apply a result from the reader, or from the dealer's button."""
    context.resolve_mode_at_result()
    round_ = context.state.round
    if round_ is None or (round_.ended and round_.declared):
        reader_status.resync_readers(context)
    elif obs.forced or obs.outcome == "forced":
        _apply_forced_end(context, round_)
    elif round_.ended:
        round_result.record_declared_result(context, round_, obs)
    else:
        _apply_declared_result(context, round_, obs)


def _apply_forced_end(context: TableContext, round_: RoundState) -> None:
    if round_.ended:
        return
    reader_status.resync_readers(context)
    if not round_.finished:
        lifecycle.abort_round(context, round_, "forced")
        return
    round_.declared = True
    detail = make_detail("forced_after_result")
    alerts.raise_alert(context, IrregularityKind.RESULT_MISMATCH, detail, evidence="device")
    lifecycle.end_round(context, round_)


def _apply_declared_result(context: TableContext, round_: RoundState, obs: Result) -> None:
    lifecycle.reveal_faces(context, round_)
    place_unread_card(context, round_)
    due = next_card.known_due(round_)
    if not round_.partial and due.known and due.spot is not None:
        # Compared if a correction shows that no card is missing.
        round_result.store_declared_result(context, round_, obs)
        checker_comparison.resync_at_boundary(context)
        lifecycle.raise_missing_draw(context, round_, "missing_at_result")
        placement.publish_due(context, round_, repeat=False)
        return
    round_result.record_declared_result(context, round_, obs)
    if context.mode in _ENDS_AT_RESULT or round_.partial or not due.known:
        lifecycle.end_round(context, round_, round_result.declared_winner(obs))
        reader_status.resync_readers(context)
    else:
        lifecycle.advance_round(context, round_, repeat=False)


def open_betting(context: TableContext) -> None:
    """Open betting: the previous round is over."""
    _apply_boundary(context, "missing_at_betting")
    context.state.betting = "open"


def clear_table(context: TableContext, source: str | None) -> None:
    """
    Record that the cards were taken off the table: the round is over.

    Each of several cameras may see only some of the places: the last one to report it counts.
    """
    camera = context.state.readers.get(source or "")
    if camera is not None and camera.places:
        camera.sees_cards = False
        if any(reader.sees_cards for reader in context.state.readers.values()):
            return
    round_ = next_card.round_in_progress(context)
    if round_ is not None and not round_.partial and _is_unpublished(context, round_):
        lifecycle.reveal_faces(context, round_)
        alerts.raise_alert(
            context, IrregularityKind.PREMATURE_COLLECT, make_detail("collected_early")
        )
    _apply_boundary(context, "missing_at_clearing")
    if context.state.round is not None:
        context.state.round.cleared = True


def _is_unpublished(context: TableContext, round_: RoundState) -> bool:
    if any(held.number == round_.number for held in context.state.held):
        return True
    return next_card.is_complete(round_) and next_card.awaits_faces(round_)


def close_betting(context: TableContext) -> None:
    """Close betting for the round that begins."""
    round_ = next_card.round_in_progress(context)
    if round_ is not None and (
        round_.partial
        or next_card.is_complete(round_)
        # Its bets were closed before its first card, and its draws have begun.
        or (round_.bets_closed and len(round_.cards) >= FOUR_CARDS)
    ):
        _apply_boundary(context, "missing_at_closed_betting", drawing=True)
    round_ = next_card.round_in_progress(context)
    if round_ is None:
        reader_status.resync_readers(context, drawing=True)
    closed = context.state.betting == "closed"
    if round_ is not None and not round_.missing:
        return
    if round_ is not None:
        # The table proceeds to the next round without the due card.
        closed, round_.next_closed = round_.next_closed, True
    if not closed:
        context.state.betting = "closed"
        context.emit(events.BettingClosed("no_more_bets"))


def _apply_boundary(context: TableContext, code: str, *, drawing: bool = False) -> None:
    round_ = next_card.round_in_progress(context)
    if round_ is not None:
        place_unread_card(context, round_)
        due = next_card.known_due(round_)
        if due.known and due.spot is not None and not round_.partial:
            lifecycle.reveal_faces(context, round_)
            checker_comparison.resync_at_boundary(context, drawing=drawing)
            lifecycle.raise_missing_draw(context, round_, code)
            placement.publish_due(context, round_, repeat=False)
            return
        lifecycle.end_or_abort_round(context, round_)
    reader_status.resync_readers(context, drawing=drawing)


def confirm_result(context: TableContext) -> None:
    """End the round by the dealer's button, with the known cards."""
    round_ = next_card.round_in_progress(context)
    if round_ is not None and (round_.partial or not next_card.known_due(round_).known):
        lifecycle.end_round(context, round_)
    _apply_boundary(context, "missing_at_confirmation")


def apply_quiet_deadline(context: TableContext) -> None:
    """End the round after the quiet gap."""
    round_ = next_card.round_in_progress(context)
    if round_ is not None:
        if next_card.awaits_faces(round_) and not round_.partial:
            round_.over = True
        elif next_card.is_due_unreadable(round_) and not round_.partial:
            lifecycle.end_round(context, round_)
        else:
            lifecycle.end_or_abort_round(context, round_)
    reader_status.resync_readers(context, drawing=True)


def apply_reveal(context: TableContext) -> None:
    """Make the face-down cards public, and advance the round."""
    round_ = next_card.round_in_progress(context)
    if round_ is not None:
        lifecycle.reveal_faces(context, round_)
        lifecycle.advance_round(context, round_, repeat=False)


def apply_boot(context: TableContext) -> None:
    """Abort the round in progress after a reader's boot; after the cut card start a new shoe."""
    round_ = next_card.round_in_progress(context)
    if round_ is not None:
        betting, aborted = (
            context.state.betting,
            not (round_.finished or _is_publicly_over(round_)),
        )
        _end_or_reset(context, round_, whole=not round_.hidden and next_card.is_complete(round_))
        if aborted and context.state.round is round_ and not round_.finished:
            context.state.betting = betting  # its bets were closed before its first card
        if _may_continue(round_):
            round_.interrupted = context.state.unsynced = True
    last, shoe = context.state.round, context.state.shoe
    if last is not None and last.interrupted and context.state.unsynced:
        reader_status.start_quiet_timer(context)
    else:
        reader_status.resync_readers(context)
    if context.state.cut_card or (shoe is not None and shoe.cut_card):
        shoe_lifecycle.start_shoe(context, announced=True)


def _is_publicly_over(round_: RoundState) -> bool:
    # An end that only hidden faces show stays secret.
    return round_.over and not round_.hidden


def _may_continue(round_: RoundState) -> bool:
    # Without slots, the rest of this coup cannot be distinguished from another round.
    if _is_publicly_over(round_) or next_card.is_publicly_complete(round_):
        return False
    return all(card.declared is None for card in round_.cards)


def _end_or_reset(context: TableContext, round_: RoundState, *, whole: bool) -> None:
    if round_.finished or (whole and not round_.partial):
        lifecycle.end_round(context, round_)
    else:
        lifecycle.abort_round(context, round_, "reset")


def apply_new_shoe(context: TableContext, left: int | None = None) -> None:
    """Put a new shoe on the table; `left` cards were counted in the previous one."""
    round_ = next_card.round_in_progress(context)
    if round_ is not None:
        _end_or_reset(context, round_, whole=next_card.is_complete(round_))
    reader_status.resync_readers(context)
    shoe_lifecycle.start_shoe(context, announced=True, left=left)


def apply_cut_card(context: TableContext) -> None:
    """Apply the cut card; between two rounds it replaces the first card of the next one."""
    shoe = context.state.shoe
    if shoe is None:
        if not context.state.cut_card:
            context.state.cut_card = True
            context.emit(events.CutCard(0, 0, 0, 0))
        return
    round_ = next_card.round_in_progress(context)
    # Rounds are counted by the public faces: hidden faces leave a round in progress.
    over = round_ is None or round_.finished or next_card.is_publicly_complete(round_)
    shoe_lifecycle.apply_cut_card(context, shoe, mid_round=not over)

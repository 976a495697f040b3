"""
Ends and starts of rounds without a card: results, betting signals, quiet gaps, boots, commands.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import FOUR_CARDS, IrregularityKind
from shoe_daemon.table import attribute, events, ledger, publish
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.facts import DECLARED, Doubt, Round
from shoe_daemon.table.observations import Result
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker, status
from shoe_daemon.table.rounds import lifecycle, results
from shoe_daemon.table.shoe_state import DeclaredResult
from shoe_daemon.table.shoes import shoe_lifecycle

_ENDS_AT_RESULT: Final = frozenset({RoundEnd.DEVICE, RoundEnd.BUTTON})


def apply_result(context: TableContext, obs: Result) -> None:
    """Apply a result from the reader, or from the dealer's button."""
    context.resolve_mode_at_result()
    round_ = context.state.round
    if round_ is None or (round_.phase and round_.said):
        status.resync_readers(context)
    elif obs.forced or obs.outcome == "forced":
        _apply_forced_end(context, round_)
    elif round_.phase:
        round_.said = True
        _store_declared_result(context, round_, obs)
        publish.commit(context, round_)
    else:
        _apply_declared_result(context, round_, obs)


def _apply_forced_end(context: TableContext, round_: Round) -> None:
    if round_.phase:
        return
    status.resync_readers(context)
    if not round_.finished:
        lifecycle.abort_round(context, round_, "forced")
        return
    round_.said = True
    detail = make_detail("forced_after_result")
    ledger.raise_alert(context, IrregularityKind.RESULT_MISMATCH, detail, evidence="device")
    lifecycle.end_round(context, round_)


def _apply_declared_result(context: TableContext, round_: Round, obs: Result) -> None:
    lifecycle.reveal_faces(context, round_)
    if round_.unread_pending:
        publish.commit(context, round_, cards_only=True)
        attribute.place_unread_card(context, round_)
    due = round_.known.due
    if not round_.doubts and due.needs_card:
        # Compared if a correction shows that no card is missing.
        publish.commit(context, round_, cards_only=True)
        checker.resync_at_boundary(context)
        _store_declared_result(context, round_, obs)
        lifecycle.declare_missing(context, round_, "missing_at_result")
        return
    round_.said = True
    _store_declared_result(context, round_, obs)
    if context.mode in _ENDS_AT_RESULT or round_.doubts or not due.known:
        lifecycle.end_round(context, round_, results.declared_winner(obs))
        status.resync_readers(context)
    else:
        publish.commit(context, round_)
        lifecycle.end_if_over(context, round_)


def _store_declared_result(context: TableContext, round_: Round, obs: Result) -> None:
    """Store the declared result of a round; not if its cards may be those of two rounds."""
    if context.state.shoe is not None and not round_.doubts & Doubt.TORN:
        said = DeclaredResult(results.declared_winner(obs), obs.player_pair, obs.banker_pair)
        context.state.shoe.declared[round_.number] = said


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
    round_ = lifecycle.in_progress(context)
    if round_ is not None and not round_.doubts and _is_unpublished(context, round_):
        lifecycle.reveal_faces(context, round_)
        publish.commit(context, round_, cards_only=True)
        ledger.raise_alert(
            context, IrregularityKind.PREMATURE_COLLECT, make_detail("collected_early")
        )
    _apply_boundary(context, "missing_at_clearing")
    if context.state.round is not None:
        context.state.round.cleared = True


def _is_unpublished(context: TableContext, round_: Round) -> bool:
    if any(held.number == round_.number for held in context.state.held):
        return True
    return round_.may_end and round_.awaits_faces


def close_betting(context: TableContext) -> None:
    """Close betting for the round that begins."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None and (
        round_.doubts
        or round_.is_complete
        # Its bets were closed before its first card, and its draws have begun.
        or (round_.bets_closed and len(round_.cards) >= FOUR_CARDS)
    ):
        _apply_boundary(context, "missing_at_closed_betting", drawing=True)
    round_ = lifecycle.in_progress(context)
    if round_ is None:
        status.resync_readers(context, drawing=True)
    closed = context.state.betting == "closed"
    if round_ is not None and not round_.is_missing:
        return
    if round_ is not None:
        # The table proceeds to the next round without the due card.
        closed, round_.next_closed = round_.next_closed, True
    if not closed:
        context.state.betting = "closed"
        context.emit(events.BettingClosed("no_more_bets"))


def _apply_boundary(context: TableContext, code: str, *, drawing: bool = False) -> None:
    round_ = lifecycle.in_progress(context)
    if round_ is not None:
        attribute.place_unread_card(context, round_)
        if not round_.doubts and round_.known.due.needs_card:
            lifecycle.reveal_faces(context, round_)
            publish.commit(context, round_, cards_only=True)
            checker.resync_at_boundary(context, drawing=drawing)
            lifecycle.declare_missing(context, round_, code)
            return
        lifecycle.end_or_abort_round(context, round_)
    status.resync_readers(context, drawing=drawing)


def confirm_result(context: TableContext) -> None:
    """End the round by the dealer's button, with the known cards."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None and round_.known.due.choice:
        attribute.place_unread_card(context, round_)
    if round_ is not None and (
        round_.doubts or not (round_.known.due.known or round_.known.due.needs_card)
    ):
        lifecycle.end_round(context, round_)
    _apply_boundary(context, "missing_at_confirmation")


def apply_quiet_deadline(context: TableContext) -> None:
    """End the round after the quiet gap."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None:
        if round_.awaits_faces and not round_.doubts:
            round_.end = round_.end or DECLARED
        elif round_.is_due_unreadable and not round_.doubts:
            lifecycle.end_round(context, round_)
        else:
            lifecycle.end_or_abort_round(context, round_)
    status.resync_readers(context, drawing=True)


def apply_reveal(context: TableContext) -> None:
    """Make the face-down cards public, and advance the round."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None:
        lifecycle.reveal_faces(context, round_)
        publish.commit(context, round_)
        lifecycle.end_if_over(context, round_)


def apply_boot(context: TableContext) -> None:
    """Abort the round in progress after a reader's boot; after the cut card start a new shoe."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None:
        betting, aborted = (
            context.state.betting,
            not (round_.finished or _is_publicly_over(round_)),
        )
        _end_or_reset(context, round_, whole=not round_.view.hidden and round_.is_complete)
        if aborted and context.state.round is round_ and not round_.finished:
            context.state.betting = betting  # its bets were closed before its first card
        if _may_continue(round_):
            round_.interrupted = context.state.unsynced = True
    last, shoe = context.state.round, context.state.shoe
    if last is not None and last.interrupted and context.state.unsynced:
        status.start_quiet_timer(context)
    else:
        status.resync_readers(context)
    if context.state.cut_card or (shoe is not None and shoe.cut_card):
        shoe_lifecycle.start_shoe(context, announced=True)


def _is_publicly_over(round_: Round) -> bool:
    # An end that only hidden faces show stays secret.
    return round_.over and not round_.view.hidden


def _may_continue(round_: Round) -> bool:
    # Without slots, the rest of this coup cannot be distinguished from another round.
    if _is_publicly_over(round_) or round_.view.complete:
        return False
    return all(card.declared is None for card in round_.cards)


def _end_or_reset(context: TableContext, round_: Round, *, whole: bool) -> None:
    if round_.finished or (whole and not round_.doubts):
        lifecycle.end_round(context, round_)
    else:
        lifecycle.abort_round(context, round_, "reset")


def apply_new_shoe(context: TableContext, left: int | None = None) -> None:
    """Put a new shoe on the table; `left` cards were counted in the previous one."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None:
        _end_or_reset(context, round_, whole=round_.may_end)
    status.resync_readers(context)
    shoe_lifecycle.start_shoe(context, announced=True, left=left)


def apply_cut_card(context: TableContext) -> None:
    """Apply the cut card; between two rounds it replaces the first card of the next one."""
    shoe = context.state.shoe
    if shoe is None:
        if not context.state.cut_card:
            context.state.cut_card = True
            context.emit(events.CutCard(0, 0, 0, 0))
        return
    round_ = lifecycle.in_progress(context)
    # Rounds are counted by the public faces: hidden faces leave a round in progress.
    over = round_ is None or round_.finished or round_.view.complete
    shoe_lifecycle.apply_cut_card(context, shoe, mid_round=not over)

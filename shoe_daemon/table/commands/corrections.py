"""Corrections by a person: a card that was read wrongly, on the table or of a past round."""

from __future__ import annotations

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Slot
from shoe_daemon.table import ledger, publish
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import DECLARED, Round
from shoe_daemon.table.observations import Command
from shoe_daemon.table.rounds import lifecycle, results


def round_on_table(context: TableContext, number: int | None) -> Round | None:
    """Return the round of this number, or any, if its cards are still on the table."""
    round_ = context.state.round
    return round_ if round_ is not None and number in {None, round_.number} else None


def correction_refusal(context: TableContext, command: Command) -> Detail | None:
    """Return the reason why a card cannot be corrected; None if it can."""
    if command.card is None or command.slot is None:
        return make_detail("refused_which_place")
    _round, card = _find_card(context, command.round, command.slot)
    if card is None or card.face is None:
        return make_detail("refused_no_card_there", slot=command.slot)
    # The answer must not reveal whether a hidden face is this card.
    is_same = card.face is command.card and card.public
    return make_detail("refused_same_card") if is_same else None


def _find_card(
    context: TableContext, number: int | None, slot: Slot
) -> tuple[Round | None, DrawnCard | None]:
    """Return the card on a slot, and its round: on the table, or past with a result."""
    round_ = round_on_table(context, number)
    if round_ is None and number is not None:
        has_result = results.find_result(context, number) or results.find_lost_round(
            context, number
        )
        round_ = ledger.find_round(context, number) if has_result else None
    if round_ is None:
        return None, None
    return round_, round_.view.spots[DEALING_ORDER.index(slot)]


def correct_card(context: TableContext, command: Command) -> None:
    """Replace a card that was read wrongly; all that follows is the difference."""
    if command.slot is None or command.card is None:
        return
    round_, card = _find_card(context, command.round, command.slot)
    if round_ is None or card is None:
        return
    _edit_face(context, round_, card, command.card)
    ledger.keep_round(context, round_)
    _close_conflict(context, round_.number, command.slot)


def _close_conflict(context: TableContext, number: int, slot: Slot) -> None:
    # Readers differed, and a person was to name the card: that is done.
    for alert in list(context.state.alerts):
        conflict = alert.data.kind == IrregularityKind.SOURCE_CONFLICT
        conflict = conflict and alert.data.slot in {None, slot}
        if conflict and alert.chosen is not None and alert.after == number:
            ledger.close_alert(
                context, alert, alert.chosen, context.reason or "a person said what it is"
            )


def _edit_face(context: TableContext, round_: Round, card: DrawnCard, face: Card) -> None:
    card.face = face
    round_.changed()
    _take_up_excess_cards(context, round_)
    if round_.is_missing and not round_.doubts and round_.may_end:
        round_.end = DECLARED if round_.over else None
    publish.commit(context, round_, edited=card)
    if round_.phase:
        return
    _update_quiet_end(context, round_)
    if not round_.finished:
        lifecycle.end_if_over(context, round_)


def _take_up_excess_cards(context: TableContext, round_: Round) -> None:
    """
    Take the cards drawn outside the game for those that are due by the corrected faces.

    Not the cards on which a person has decided, and not before the end of the round was
    declared: until then the due card comes out of the shoe.
    """
    if not (round_.phase or round_.over) or round_.doubts:
        return
    open_keys = {alert.key for alert in context.state.alerts}
    outside = [each for each in round_.drawn if each.out and each.key in open_keys]
    for card in outside:
        if round_.view.due.spot is None:
            return
        card.out = False
        round_.drawn = [*(each for each in round_.drawn if each is not card), card]
        round_.changed()


def _update_quiet_end(context: TableContext, round_: Round) -> None:
    """Decide again, by the faces known now, whether the quiet gap ends the round."""
    if round_.hides_faces:
        if round_.over:
            round_.end = None
        context.state.quiet_at = None
        lifecycle.await_quiet_end(context, round_)
    elif context.state.quiet_at is None or not (round_.doubts or round_.is_complete):
        lifecycle.await_quiet_end(context, round_)

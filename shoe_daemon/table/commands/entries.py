"""Enter by hand the face of an unread card, or the result of a round."""

from __future__ import annotations

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, IrregularityKind, Slot
from shoe_daemon.table import attribute, ledger
from shoe_daemon.table.commands import corrections
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Doubt, Phase, Round
from shoe_daemon.table.observations import Command
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.rounds import faces, lifecycle, rest


def result_entry_refusal(context: TableContext, command: Command) -> Detail | None:
    """Return the reason why a result cannot be entered; None if it can."""
    if command.outcome is None:
        return make_detail("refused_which_outcome")
    round_, shoe = lifecycle.in_progress(context), context.state.shoe
    if round_ is None:
        is_over = shoe is not None and shoe.finished
        return make_detail("refused_shoe_finished") if is_over else None
    if round_.finished:
        return make_detail("refused_has_result")
    return None if round_.partial else _cards_refusal(round_)


def _cards_refusal(round_: Round) -> Detail | None:
    if len(round_.cards) < FOUR_CARDS:
        return None
    if round_.hides_faces:
        # A refusal must not reveal whether the hidden cards complete the round.
        return make_detail("refused_reveal_first")
    if round_.is_complete:
        return make_detail("refused_cards_decide")
    return None


def enter_result(context: TableContext, command: Command) -> None:
    """Enter the result of a round that no reader has observed completely."""
    last = context.state.round
    # With `rules` only the cards of a coup show its end, and those of a void one are kept apart.
    in_rest = last is not None and last.phase == Phase.REST and context.mode is not RoundEnd.RULES
    round_ = lifecycle.in_progress(context) or lifecycle.begin_round(context, Doubt.JOINED)
    whole = not round_.doubts
    round_.doubt(Doubt.ENTERED)
    context.state.seed = None  # a carried card lies among the unobserved cards
    round_.entered = (command.outcome, command.player_pair, command.banker_pair)
    attribute.forget_early_result(context, round_)
    round_.said = True
    follows = in_rest or rest.may_cards_follow(context, round_, whole=whole)
    lifecycle.close_round(context, round_, rest=follows)


def _unread_card(context: TableContext, command: Command) -> DrawnCard | None:
    round_ = corrections.round_on_table(context, command.round)
    found = [
        card
        for card in (round_.cards if round_ is not None else ())
        if card.face is None and card.unread and command.slot in {None, card.slot}
    ]
    return found[0] if len(found) == 1 or (found and command.slot) else None


def _pending_spot(context: TableContext, command: Command) -> int | None:
    """Return the due spot, if the reader has just reported an unread card: the card lies there."""
    round_ = corrections.round_on_table(context, command.round)
    if round_ is None or round_.phase or round_.partial or not round_.unread_pending:
        return None
    due, spot = round_.view.due, None
    if due.known:
        spot = due.spot
    elif command.slot in {Slot.P3, Slot.B3}:
        spot = DEALING_ORDER.index(command.slot)  # only the person knows the slot
    if spot is None or round_.view.spots[spot] is not None:
        return None
    if due.choice and spot not in due.choice:
        return None
    return spot if command.slot in {None, DEALING_ORDER[spot]} else None


def _begins_round(context: TableContext, command: Command) -> bool:
    """Return whether an unread card reported between two rounds is the first of the next."""
    alert = ledger.find_open_alert(context, IrregularityKind.UNREADABLE_CARD)
    if alert is None or alert.round is not None or "card" in alert.evidence:
        return False
    is_next = command.round in {None, context.latest_round + 1}
    between = lifecycle.in_progress(context) is None
    return is_next and between and command.slot in {None, Slot.P1}


def card_entry_refusal(context: TableContext, command: Command) -> Detail | None:
    """Return the reason why a card cannot be entered; None if it can."""
    if command.card is None:
        return make_detail("refused_which_card")
    if _begins_round(context, command):
        return None
    if _unread_card(context, command) is None and _pending_spot(context, command) is None:
        return make_detail("refused_no_unread_card", slot=command.slot)
    return None


def enter_card(context: TableContext, command: Command) -> None:
    """Enter the face of an unread card."""
    if _begins_round(context, command):
        first = Slot.P1 if context.mode is RoundEnd.DEVICE else None
        attribute.apply_drawn_card(context, DrawnCard(declared=first, unread=True))
    round_, spot = (
        corrections.round_on_table(context, command.round),
        _pending_spot(context, command),
    )
    if round_ is not None and spot is not None:
        attribute.place_unread_card(context, round_, spot)
    card = _unread_card(context, command)
    if round_ is None or card is None or command.card is None:
        return
    # A later reading by the reader means the same card.
    card.declared = card.declared or card.slot
    alert = ledger.find_open_alert(context, IrregularityKind.UNREADABLE_CARD, card.slot, None)
    if alert is not None:
        alert.chosen = "manual_entry"
    faces.set_unread_face(context, round_, card, command.card, by_person=True)

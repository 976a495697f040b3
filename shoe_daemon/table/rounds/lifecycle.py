"""
The life cycle of a round: begin, reveal, finish, end, abort, void.

A round is finished when its result is published or held, and ended when the next card belongs
to another round.
"""

from __future__ import annotations

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, Hand, IrregularityKind, Kind, Outcome, Slot
from shoe_daemon.table import alerts, events
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.options import ResultOn, RoundEnd
from shoe_daemon.table.readers import checker_comparison, reader_status
from shoe_daemon.table.rounds import (
    cards_after_early_end,
    checks_under_hidden_faces,
    next_card,
    placement,
    result_publication,
    round_result,
)
from shoe_daemon.table.shoe_state import DrawnCard, RoundState
from shoe_daemon.table.shoes import (
    card_count_and_order_checks,
    player_holding_shoe,
    shoe_lifecycle,
)
from shoe_daemon.table.table_context import TableContext

# Constants, as in `card_draw`.
_QUIET_MODE = RoundEnd.QUIET
_RULES_MODE = RoundEnd.RULES
_ON_COMPLETE = ResultOn.COMPLETE
_NORMAL_KIND = Kind.NORMAL


def begin_round(context: TableContext, *, partial: bool) -> RoundState:
    """Begin a round, and a shoe if there is none; its first card follows."""
    state = context.state
    shoe = state.shoe
    if shoe is None or shoe.finished:
        shoe = shoe_lifecycle.start_shoe(
            context, announced=shoe is not None, overrun=shoe is not None
        )
    if state.round is not None:
        result_publication.store_cards(context, state.round)
    round_ = RoundState(shoe.begun + 1, state.next_kind, partial=partial)
    state.round, state.quiet_at, state.next_kind = round_, None, _NORMAL_KIND
    state.unread_pending = False
    context.in_round = True
    round_.bets_closed = state.betting == "closed"
    if state.betting != "closed":
        context.emit(events.BettingClosed("first_card"))
    context.emit(events.RoundStarted())
    shoe_lifecycle.register_round(context, shoe, round_)
    round_.out_before, round_.holder = shoe.out, state.rotation.holder
    return round_


def check_first_card(context: TableContext) -> None:
    """Check betting, burn and cut card at the first card of a round."""
    state = context.state
    if state.betting == "open":
        alerts.raise_alert(
            context, IrregularityKind.PREMATURE_DRAW, make_detail("drawn_while_betting")
        )
    if state.betting != "unknown":
        state.betting = "closed"
    if state.shoe is not None and not state.shoe.burn_checked:
        state.shoe.burn_checked = True
        shoe_lifecycle.check_burn(context, state.shoe)
    shoe_lifecycle.check_ordered_burn(context)
    if state.shoe is not None:
        card_count_and_order_checks.check_cut_card_due(context, state.shoe)


def set_card_deadlines(context: TableContext, round_: RoundState) -> None:
    """Start the deadlines that run from a card: the quiet gap and the reveal."""
    round_.card_at = context.now_us()
    if context.mode is _QUIET_MODE:
        await_quiet_end(context, round_)
    after = context.options.reveal_after
    if after is None or not context.banker_tucked:
        return
    if context.options.timeless:
        if round_.hidden and next_card.is_complete(round_):
            reveal_faces(context, round_)
    elif len(round_.cards) == FOUR_CARDS or (round_.partial and len(round_.cards) > FOUR_CARDS):
        # In a partial round the fourth card is unknown: this one is the earliest possible.
        context.state.reveal_at = context.now_us() + int(after * 1_000_000)


def await_quiet_end(context: TableContext, round_: RoundState) -> None:
    """Start the quiet gap if it would end this round; stop it while a card is due."""
    if context.mode is not _QUIET_MODE:
        return
    if round_.partial or next_card.is_complete(round_) or next_card.is_due_unreadable(round_):
        reader_status.start_quiet_timer(context)
    elif not context.state.unsynced:
        context.state.quiet_at = None


def reveal_faces(context: TableContext, round_: RoundState) -> None:
    """Make every known face of a round public."""
    context.state.reveal_at = None
    if not next_card.has_known_hidden_face(round_):
        return
    # The first four cards decide the slots of the others.
    _show_cards(context, round_, round_.cards[:FOUR_CARDS])
    checks_under_hidden_faces.place_third_cards(context, round_)
    for card in round_.cards[FOUR_CARDS:]:
        # The Player's third card decides whether the next card belongs to the round.
        if any(each is card for each in round_.cards):
            _show_cards(context, round_, [card])
            checks_under_hidden_faces.place_third_cards(context, round_)
    checks_under_hidden_faces.publish_staff_alerts(context, round_)
    if round_.relaid:
        checks_under_hidden_faces.restore_excess_cards(context, round_)
        reveal_faces(context, round_)  # of the cards that are due after all
        if not round_.missing:
            round_result.compare_with_cards(context, round_)
        if context.state.quiet_at is None:
            await_quiet_end(context, round_)


def _show_cards(context: TableContext, round_: RoundState, cards: list[DrawnCard]) -> None:
    for card in cards:
        if not card.public and card.face is not None:
            show_card(context, round_, card, revealed=True)


def show_card(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    *,
    counted: bool = True,
    revealed: bool = False,
) -> None:
    """
    Make one known face public, and publish it.

    `counted`: the shoe counted it before. `revealed`: with all other known faces.
    """
    if card.face is None:
        return
    card.public = True
    if counted:
        shoe_lifecycle.mark_card_public(context, card)
    round_.hidden -= 1
    lay = next_card.spots_by_known_faces if revealed else next_card.spots_by_public_faces
    player, banker = next_card.public_totals(lay(round_))
    context.emit(events.CardDisclosed(banker, card.face, player, card.slot))


def advance_round(context: TableContext, round_: RoundState, *, repeat: bool) -> None:
    """Publish the due card; finish and end the round as soon as rules and options permit."""
    due = next_card.known_due(round_)
    placement.publish_due_card(context, round_, due, repeat=repeat)
    if due.known and due.spot is None and not round_.partial:
        _finish_if_ready(context, round_)
    elif round_.partial and context.mode is _RULES_MODE:
        end_partial_round(context, round_)


def end_partial_round(context: TableContext, round_: RoundState) -> None:
    """End a round by the rules after a gap, once each of its cards has its slot."""
    if next_card.is_complete(round_) and all(card.slot for card in round_.cards):
        end_or_abort_round(context, round_)
        reader_status.resync_readers(context, drawing=True)


def _finish_if_ready(context: TableContext, round_: RoundState) -> None:
    if context.mode is _RULES_MODE:
        round_.over = True
    if next_card.awaits_faces(round_):
        return
    if not (round_.finished or round_.hidden) and context.options.result_on is _ON_COMPLETE:
        _publish_result(context, round_, round_result.result_from_cards(context, round_))
    if round_.over:
        end_round(context, round_)


def finish_round(
    context: TableContext, round_: RoundState, declared: Outcome | None = None
) -> None:
    """
    Publish the result: from the cards if they suffice, else as declared.

    In a partial round the cards before and after the gap may belong to two rounds: they count
    only if the declared outcome agrees.
    """
    data = (
        round_result.result_from_cards(context, round_)
        if not round_.hidden and next_card.is_complete(round_)
        else None
    )
    if data is None or (round_.partial and data.outcome is not declared):
        data = round_result.result_as_declared(round_, declared)
        round_.unread_result = not round_.partial
        round_.partial = True
    _publish_result(context, round_, data)


def _publish_result(context: TableContext, round_: RoundState, data: events.RoundFinished) -> None:
    round_.finished = True
    result_publication.publish_or_hold(context, round_.number, data)


def end_round(context: TableContext, round_: RoundState, declared: Outcome | None = None) -> None:
    """End a round whose cards are complete, or whose result was declared."""
    reveal_faces(context, round_)
    placement.publish_due(context, round_, repeat=False)
    if not round_.finished:
        finish_round(context, round_, declared)
    _close_round(context, round_)


def enter_round_result(
    context: TableContext,
    round_: RoundState,
    data: events.RoundFinished,
    *,
    whole: bool,
    in_rest: bool,
) -> None:
    """
    End a round with a result entered by a person; `whole` as in `may_cards_follow`.

    `in_rest`: cards of a coup whose round was made void may still follow.
    """
    round_result.forget_early_result(context, round_)
    round_.finished = round_.declared = True
    result_publication.publish_or_hold(context, round_.number, data, entered=True)
    round_.owns_rest = in_rest or cards_after_early_end.may_cards_follow(
        context, round_, whole=whole
    )
    _close_round(context, round_)


def abort_round(context: TableContext, round_: RoundState, cause: events.AbortCause) -> None:
    """
    Abort a round: its number is used up, its cards stay counted.

    A `missing_draw` of the round stays open until a person closes it.
    """
    context.emit(events.RoundAborted(cause))
    result_publication.store_unfinished_round(context, round_.number, cause)
    round_.declared = True  # a later result concerns another round
    _close_round(context, round_)
    player_holding_shoe.pass_after_round(context, None)


def void_round(context: TableContext, round_: RoundState) -> None:
    """Void the round in progress: no wager is settled, its cards stay counted."""
    for alert in [each for each in context.state.alerts if each.round == round_.number]:
        alerts.close_alert(context, alert, "void_round", "the round is void")
    context.emit(events.RoundVoided(None, None, context.operator, context.reason))
    result_publication.store_unfinished_round(context, round_.number, None)
    round_.declared = True  # a later result concerns another round
    round_.owns_rest = cards_after_early_end.may_cards_follow(
        context, round_, whole=not round_.partial
    )
    _close_round(context, round_)
    player_holding_shoe.pass_after_round(context, None)


def give_up_round(context: TableContext, round_: RoundState) -> None:
    """End a round without its missing card, by a ruling of `continue`."""
    round_.owns_rest = cards_after_early_end.may_cards_follow(
        context, round_, whole=not round_.partial
    )
    abort_round(context, round_, "new_round")


def _close_round(context: TableContext, round_: RoundState) -> None:
    state = context.state
    round_.ended = True
    checker_comparison.record_hidden_cards(context, round_)
    if round_.excess:
        result_publication.store_excess_cards(context, round_)
    context.in_round = False
    state.quiet_at = state.reveal_at = None
    if round_.owns_rest:
        if next_card.has_known_hidden_face(round_):
            round_.over = False  # hidden faces alone end no coup
        reader_status.start_quiet_timer(context)
    elif state.betting == "closed" and not round_.next_closed:
        state.betting = "open"
    if state.shoe is not None:
        shoe_lifecycle.check_last_round(context, state.shoe)
    if state.next_session is not None:
        context.apply_session(state.next_session)


def end_or_abort_round(context: TableContext, round_: RoundState) -> None:
    """End a round because another begins; abort it if it has no result."""
    if round_.finished or (not round_.partial and next_card.is_complete(round_)):
        end_round(context, round_)
    else:
        abort_round(context, round_, "restart" if round_.restarted else "new_round")


def raise_missing_draw(context: TableContext, round_: RoundState, code: str) -> None:
    """Raise a missing draw with the sentence of a code; the round stays open."""
    round_.over = True
    if round_.missing:
        return
    round_.missing = True
    due = next_card.known_due(round_)
    slot = DEALING_ORDER[due.spot or 0]
    hand = Hand.PLAYER if slot.value.startswith("P") else Hand.BANKER
    detail = make_detail(code, hand=hand, slot=slot)
    alerts.raise_alert(context, IrregularityKind.MISSING_DRAW, detail, slot=Slot(slot))

"""
The rulings of a supervisor: the action chosen for an irregularity.

Some actions take effect at once. Others wait for a card that is to be read, entered or drawn;
the irregularity stays open until then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from shoe_daemon.game import IRREGULARITIES, Action, Card, IrregularityKind, Kind
from shoe_daemon.table import events, ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import Proposal
from shoe_daemon.table.facts import VOID, Round
from shoe_daemon.table.public_document_types import Alert
from shoe_daemon.table.readers import tags
from shoe_daemon.table.rounds import lifecycle, rest, results
from shoe_daemon.table.shoes import copies, shoe_lifecycle
from shoe_daemon.table.state import OpenAlert

_FOR_ALL_KINDS: Final = {Action.CONTINUE, Action.VOID_ROUND, Action.STOP_SHOE, Action.SUPERVISOR}

ACTION_KINDS: Final[dict[Action, set[IrregularityKind] | None]] = {
    action: None
    if action in _FOR_ALL_KINDS
    else {kind for kind, facts in IRREGULARITIES.items() if action in facts.actions}
    for action in Action
}
"""The irregularities for which an action can be chosen; None for all."""

_MOOT_KINDS: Final = {IrregularityKind.RESULT_MISMATCH, IrregularityKind.MISSING_DRAW}
"""The irregularities that end with the result of their round, before it is published as void."""

_CARRY_ACTIONS: Final = {Action.CARRY_TO_NEXT_HAND, Action.CARRY_AS_DUMMY_HAND}
_BURN_ACTIONS: Final = {Action.BURN_CARD, Action.BURN_CARD_PLUS_VALUE}
_VALUE_UNKNOWN: Final = "refused_value_unknown"
_PENDING_ACTIONS: Final = {Action.DRAW_NOW, Action.RESCAN, Action.MANUAL_ENTRY}


def open_alerts(context: TableContext, *, staff_only: bool) -> tuple[Alert, ...]:
    """
    Return the open irregularities: the public ones, or those for staff only.

    Their proposals are those that can be carried out now.
    """
    return tuple(
        Alert(
            at=each.at,
            data=replace(each.data, proposals=_possible_proposals(context, each)),
            ordered=each.ordered or UNSET,
            round=each.round,
            shoe=each.shoe,
        )
        for each in context.state.alerts
        if each.staff_only is staff_only
    )


def _possible_proposals(context: TableContext, alert: OpenAlert) -> tuple[Proposal, ...]:
    found = []
    for each in alert.data.proposals:
        refused = ruling_refusal(context, alert, Action(each.action))
        if refused is not None and refused.code == _VALUE_UNKNOWN:
            found.append(replace(each, needs=("card",)))
        elif refused is None:
            found.append(each)
    return tuple(found)


def ruling_refusal(
    context: TableContext, alert: OpenAlert, action: Action, card: Card | None = None
) -> Detail | None:
    """
    Return the reason why an action cannot be chosen now; None if it can.

    `card` is the face of an excess card, if the person gives it.
    """
    kinds = ACTION_KINDS[action]
    if kinds is not None and alert.data.kind not in kinds:
        return make_detail("refused_no_answer", action=action, kind=alert.data.kind)
    if action is Action.VOID_ROUND and _alert_round(alert) is None:
        return make_detail("refused_belongs_to_no_round")
    if action is Action.DRAW_NOW and _round_of_missing_draw(context, alert) is None:
        return make_detail("refused_round_over")
    if action in _BURN_ACTIONS:
        return _burn_refusal(context, alert, action, card)
    return _carry_refusal(context, alert) if action in _CARRY_ACTIONS else None


def _burn_refusal(
    context: TableContext, alert: OpenAlert, action: Action, card: Card | None
) -> Detail | None:
    # The reader may report an excess card that it has not read.
    is_excess = alert.data.kind == IrregularityKind.EXCESS_CARD
    if not (is_excess or _excess_card(context, alert) or _is_in_shoe(context, alert)):
        return make_detail("refused_card_in_hand")
    if action is Action.BURN_CARD or _face_to_burn(context, alert, card) is not None:
        return None
    return make_detail(_VALUE_UNKNOWN)


def _face_to_burn(context: TableContext, alert: OpenAlert, card: Card | None) -> Card | None:
    """Return the face of an excess card: as it was read, or else as the person gives it."""
    excess = _excess_card(context, alert)
    return card if excess is None or excess.face is None else excess.face


def _is_in_shoe(context: TableContext, alert: OpenAlert) -> bool:
    """Return whether the card that an irregularity is about is the next one out of the shoe."""
    is_seen = alert.data.kind == IrregularityKind.FACE_UP_IN_SHOE
    return is_seen and lifecycle.in_progress(context) is None


def _carry_refusal(context: TableContext, alert: OpenAlert) -> Detail | None:
    card, shoe = _excess_card(context, alert), context.state.shoe
    if card is None or shoe is None:
        return make_detail("refused_excess_not_seen")
    if context.state.seed is not None:
        return make_detail("refused_another_carried")
    return make_detail("refused_last_hand") if shoe_lifecycle.is_last_round(shoe) else None


def is_excess_card_hidden(context: TableContext, alert: OpenAlert) -> bool:
    """Return whether the excess card that an irregularity is about lies face down."""
    card = _excess_card(context, alert)
    return card is not None and not card.public


def apply_ruling(
    context: TableContext, alert: OpenAlert, action: Action, card: Card | None = None
) -> None:
    """Apply the chosen action, and close the irregularity unless the action is pending."""
    if action in _PENDING_ACTIONS:
        ledger.order_ruling(context, alert, action)
    else:
        alert.chosen, alert.operator, alert.ordered_at = action, context.operator, None
    act = _RULING_ACTIONS.get(action)
    if action is Action.BURN_CARD_PLUS_VALUE:
        _burn_plus_value(context, alert, card)
    elif act is not None:
        act(context, alert)
    if action not in _PENDING_ACTIONS and alert in context.state.alerts:
        decide(context, alert, action, context.reason or "a supervisor decided")


def decide(context: TableContext, alert: OpenAlert, action: str, reason: str) -> None:
    """Close an irregularity by the decision of a person: its card stays as it was decided."""
    if not alert.staff_only:
        ledger.put_aside(context, alert)
    ledger.close_alert(context, alert, action, reason)


def _excess_card(context: TableContext, alert: OpenAlert) -> DrawnCard | None:
    """Return the excess card that an irregularity is about."""
    round_ = context.state.round
    if round_ is None or alert.after != round_.number:
        return None
    mine = [card for card in round_.view.excess if card.key == alert.key]
    if not mine and alert.data.kind != IrregularityKind.EXCESS_CARD:
        mine = round_.view.excess[-1:]
    return mine[0] if mine else None


def _alert_round(alert: OpenAlert) -> int | None:
    # An excess card after the end of a round belongs to that round.
    late = alert.data.kind == IrregularityKind.EXCESS_CARD and alert.after
    return alert.round or late or None


def _carry_card(context: TableContext, alert: OpenAlert) -> None:
    round_, card = context.state.round, _excess_card(context, alert)
    if round_ is not None and card is not None:
        round_.take_away(card)
        context.state.seed = card
        tags.carry_card(context, card)


def _carry_as_dummy(context: TableContext, alert: OpenAlert) -> None:
    _carry_card(context, alert)
    context.state.next_kind = Kind.DUMMY


def _burn(context: TableContext, alert: OpenAlert) -> None:
    if _is_in_shoe(context, alert):
        context.state.burn_due += 1


def _burn_plus_value(context: TableContext, alert: OpenAlert, given: Card | None) -> None:
    card, face = _excess_card(context, alert), _face_to_burn(context, alert, given)
    if face is None:
        return
    if card is not None and card.face is not None and not card.public:
        card.public = card.counted_public = True  # the card is turned over to see its value
        copies.mark_card_public(context, card)
        context.emit(events.CardDisclosed(None, card.face, None, None))
    if card is None:
        _burn(context, alert)
    context.state.burn_due += face.points or context.house.burn.face_value


def _void_alert_round(context: TableContext, alert: OpenAlert) -> None:
    number = _alert_round(alert)
    if number is not None:
        void_round(context, number)


def void_round(context: TableContext, number: int) -> None:
    """Void a round, in progress, published or held, and close its irregularities."""
    round_, state = lifecycle.in_progress(context), context.state
    if round_ is not None and round_.number == number and not round_.finished:
        for alert in [each for each in state.alerts if each.round == number]:
            ledger.close_alert(context, alert, "void_round", "the round is void")
        follows = rest.may_cards_follow(context, round_, whole=not round_.doubts)
        lifecycle.abort_round(context, round_, VOID, rest=follows)
        return
    _close_moot_alerts(context, number)
    for held in [each for each in state.held if each.number == number]:
        state.held.remove(held)
        results.void_held_result(context, held)
    played = results.find_played_round(context, number)
    if played is not None:
        results.void_played_round(context, played)
    elif results.find_lost_round(context, number) is not None:
        results.void_lost_round(context, number)
    for alert in list(state.alerts):
        # The one that was ruled on is closed with its ruling.
        if _alert_round(alert) == number and alert.chosen != Action.VOID_ROUND:
            reason = context.reason or "the round is void"
            ledger.close_alert(context, alert, "void_round", reason)


def _round_of_missing_draw(context: TableContext, alert: OpenAlert) -> Round | None:
    """Return the round in progress if it lacks the card that an irregularity is about."""
    round_ = lifecycle.in_progress(context)
    if round_ is None or not round_.is_missing or alert.round != round_.number:
        return None
    return round_ if alert.data.kind == IrregularityKind.MISSING_DRAW else None


def _close_moot_alerts(context: TableContext, number: int) -> None:
    # A void round has no result that a declared one could differ from, and lacks no card.
    for alert in list(context.state.alerts):
        if alert.round == number and alert.data.kind in _MOOT_KINDS:
            ledger.close_alert(context, alert, "void_round", "the round is void")


def _continue_play(context: TableContext, alert: OpenAlert) -> None:
    round_ = _round_of_missing_draw(context, alert)
    if round_ is not None:
        follows = rest.may_cards_follow(context, round_, whole=not round_.doubts)
        lifecycle.abort_round(context, round_, "new_round", rest=follows)


def _order_draw(context: TableContext, alert: OpenAlert) -> None:
    round_ = _round_of_missing_draw(context, alert)
    if round_ is not None:
        round_.draw_ordered = True


def _restore_order(context: TableContext, alert: OpenAlert) -> None:
    """Record that the cards with the wrong hand were put right."""
    round_ = lifecycle.in_progress(context)
    if round_ is None or alert.round != round_.number:
        return
    for card in round_.cards:
        if card.declared not in {None, card.slot}:
            round_.dismissed[card.key] = IrregularityKind.WRONG_HAND
            card.declared = card.lies = card.slot
    round_.changed()


def _stop_shoe(context: TableContext, _alert: OpenAlert) -> None:
    shoe = context.state.shoe
    if shoe is None or shoe.finished:
        return
    shoe.rounds_left = 0
    if lifecycle.in_progress(context) is None:
        shoe_lifecycle.check_last_round(context, shoe)


_RULING_ACTIONS: Final[dict[Action, Callable[[TableContext, OpenAlert], None]]] = {
    Action.CONTINUE: _continue_play,
    Action.DRAW_NOW: _order_draw,
    Action.BURN_CARD: _burn,
    Action.CARRY_TO_NEXT_HAND: _carry_card,
    Action.CARRY_AS_DUMMY_HAND: _carry_as_dummy,
    Action.RESTORE_ORDER: _restore_order,
    Action.VOID_ROUND: _void_alert_round,
    Action.STOP_SHOE: _stop_shoe,
}

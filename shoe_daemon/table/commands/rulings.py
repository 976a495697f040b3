"""
A supervisor has chosen what is to be done about an irregularity: the table
follows.

Some actions are done by being chosen. Others wait for the thing itself, a card
read, entered, drawn, and the irregularity stays open until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game import Action, IrregularityKind, Kind
from shoe_daemon.table import events
from shoe_daemon.table.rounds import lifecycle, results
from shoe_daemon.table.shoes import shoe_lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn, OpenAlert

_EXCESS: Final = {
    IrregularityKind.EXCESS_CARD,
    IrregularityKind.PREMATURE_DRAW,
    IrregularityKind.FACE_UP_IN_SHOE,
    IrregularityKind.DOUBLE_FEED,
}
_UNREAD: Final = {
    IrregularityKind.UNREADABLE_CARD,
    IrregularityKind.SOURCE_CONFLICT,
    IrregularityKind.DEVICE_FAULT,
}
_MISLAID: Final = {
    IrregularityKind.PLAYER_THIRD_UNAUTHORISED,
    IrregularityKind.EXCESS_CARD,
    IrregularityKind.WRONG_HAND,
    IrregularityKind.PREMATURE_COLLECT,
    IrregularityKind.DOUBLE_FEED,
}

FITS: Final[dict[Action, set[IrregularityKind] | None]] = {
    Action.CONTINUE: None,
    Action.REASSIGN_TO_BANKER: {IrregularityKind.PLAYER_THIRD_UNAUTHORISED},
    Action.CARRY_TO_NEXT_HAND: _EXCESS,
    Action.CARRY_AS_DUMMY_HAND: _EXCESS,
    Action.BURN_CARD: _EXCESS,
    Action.BURN_CARD_PLUS_VALUE: _EXCESS,
    Action.DRAW_NOW: {IrregularityKind.MISSING_DRAW},
    Action.RESTORE_ORDER: _MISLAID,
    Action.RESCAN: _UNREAD,
    Action.MANUAL_ENTRY: _UNREAD,
    Action.VOID_ROUND: None,
    Action.STOP_SHOE: None,
    Action.SUPERVISOR: None,
}
"""The irregularities that an action can be chosen for; None for all."""

_MOVES: Final = {
    Action.CARRY_TO_NEXT_HAND,
    Action.CARRY_AS_DUMMY_HAND,
    Action.BURN_CARD_PLUS_VALUE,
}
_WAITS: Final = {Action.DRAW_NOW, Action.RESCAN, Action.MANUAL_ENTRY}


def misfit(fold: Fold, alert: OpenAlert, action: Action) -> str | None:
    """
    Say why an action cannot be chosen now; None where it can.
    """
    kinds = FITS[action]
    if kinds is not None and alert.data.kind not in kinds:
        return f"{action} is no answer to {alert.data.kind}"
    if action is Action.VOID_ROUND and _round_of(alert) is None:
        return "it belongs to no round"
    return _no_card(fold, alert, action) if action in _MOVES else None


def _no_card(fold: Fold, alert: OpenAlert, action: Action) -> str | None:
    card, shoe = _excess(fold, alert), fold.state.shoe
    if card is None or shoe is None:
        return "the card too many has not been seen by the reader, or is in play already"
    if action is Action.BURN_CARD_PLUS_VALUE:
        return "the value of the card is not known" if card.face is None else None
    if fold.state.seed is not None:
        return "another card is carried to the next hand already"
    return "no other hand is dealt from this shoe" if shoe_lifecycle.is_last(shoe) else None


def choose(fold: Fold, alert: OpenAlert, action: Action) -> None:
    """
    Do what was chosen, and close the irregularity unless it waits for more.
    """
    alert.chosen, alert.operator = action, fold.operator
    act = _ACTS.get(action)
    if act is not None:
        act(fold, alert)
    if action not in _WAITS and alert in fold.state.alerts:
        fold.close_alert(alert, action, fold.reason or "a supervisor decided")


def _excess(fold: Fold, alert: OpenAlert) -> Drawn | None:
    """
    Return the card too many that an irregularity is about.
    """
    round_ = fold.state.round
    if round_ is None or alert.after != round_.number:
        return None
    mine = [card for card in round_.excess if card.alert == alert.data.id]
    if not mine and alert.data.kind != IrregularityKind.EXCESS_CARD:
        mine = round_.excess[-1:]
    return mine[0] if mine else None


def _round_of(alert: OpenAlert) -> int | None:
    # A card too many that came after a round's end is one of that round.
    late = alert.data.kind == IrregularityKind.EXCESS_CARD and alert.after
    return alert.round or late or None


def _carry(fold: Fold, alert: OpenAlert) -> None:
    round_, card = fold.state.round, _excess(fold, alert)
    if round_ is not None and card is not None:
        round_.excess.remove(card)
        fold.state.seed = card


def _carry_as_dummy(fold: Fold, alert: OpenAlert) -> None:
    _carry(fold, alert)
    fold.state.next_kind = Kind.DUMMY


def _burn_plus_value(fold: Fold, alert: OpenAlert) -> None:
    card = _excess(fold, alert)
    if card is not None and card.face is not None:
        if not card.public:  # it is turned over, to see its value
            card.public = True
            shoe_lifecycle.now_seen(fold, card)
            fold.emit(events.CardDisclosed(None, card.face, None, None))
        fold.state.burn_due += card.face.points or fold.house.burn.face_value


def _void(fold: Fold, alert: OpenAlert) -> None:
    number = _round_of(alert)
    if number is not None:
        void(fold, number)


def void(fold: Fold, number: int) -> None:
    """
    Make a round void: the one in progress, or one whose result is published or held back.
    """
    round_, state = lifecycle.in_progress(fold), fold.state
    if round_ is not None and round_.number == number and not round_.finished:
        lifecycle.void(fold, round_)
        return
    for held in [each for each in state.held if each.number == number]:
        state.held.remove(held)
        results.void_held(fold, held)
    played = results.find(fold, number)
    if played is not None:
        results.void(fold, played)


def _continue(fold: Fold, alert: OpenAlert) -> None:
    round_ = lifecycle.in_progress(fold)
    if alert.data.kind == IrregularityKind.MISSING_DRAW and round_ is not None and round_.missing:
        lifecycle.give_up(fold, round_)


def _draw_now(fold: Fold, _alert: OpenAlert) -> None:
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        round_.draw_ordered = round_.missing


def _stop_shoe(fold: Fold, _alert: OpenAlert) -> None:
    shoe = fold.state.shoe
    if shoe is None or shoe.finished:
        return
    shoe.rounds_left = 0
    if lifecycle.in_progress(fold) is None:
        shoe_lifecycle.round_ended(fold, shoe)


_ACTS: Final[dict[Action, Callable[[Fold, OpenAlert], None]]] = {
    Action.CONTINUE: _continue,
    Action.DRAW_NOW: _draw_now,
    Action.CARRY_TO_NEXT_HAND: _carry,
    Action.CARRY_AS_DUMMY_HAND: _carry_as_dummy,
    Action.BURN_CARD_PLUS_VALUE: _burn_plus_value,
    Action.VOID_ROUND: _void,
    Action.STOP_SHOE: _stop_shoe,
}

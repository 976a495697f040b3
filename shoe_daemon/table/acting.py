"""
A supervisor has chosen what is to be done about an irregularity: the table
follows.

Some actions are done by being chosen. Others wait for the thing itself, a card
read, entered, drawn, and the irregularity stays open until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game.irregularities import IrregularityKind
from shoe_daemon.game.round import Kind
from shoe_daemon.game.situations import Action
from shoe_daemon.table import results, rounds, shoes

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.state import Drawn, OpenAlert

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

_WAITS: Final = {Action.DRAW_NOW, Action.RESCAN, Action.MANUAL_ENTRY}


def misfit(fold: Fold, alert: OpenAlert, action: Action) -> str | None:
    """
    Say why an action cannot be chosen now; None where it can.
    """
    kinds = FITS[action]
    if kinds is not None and alert.data.kind not in kinds:
        return f"{action} is no answer to {alert.data.kind}"
    carries = action in {Action.CARRY_TO_NEXT_HAND, Action.CARRY_AS_DUMMY_HAND}
    if (carries or action is Action.BURN_CARD_PLUS_VALUE) and _excess(fold) is None:
        return "the card too many has not been seen by the reader, or is in play already"
    if action is Action.BURN_CARD_PLUS_VALUE and (card := _excess(fold)) and card.face is None:
        return "the value of the card is not known"
    if action is Action.VOID_ROUND and alert.round is None:
        return "it belongs to no round"
    return None


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


def _excess(fold: Fold) -> Drawn | None:
    round_ = fold.state.round
    return round_.excess[-1] if round_ is not None and round_.excess else None


def _carry(fold: Fold, _alert: OpenAlert) -> None:
    round_ = fold.state.round
    if round_ is not None and round_.excess:
        fold.state.seed = round_.excess.pop()


def _carry_as_dummy(fold: Fold, alert: OpenAlert) -> None:
    _carry(fold, alert)
    fold.state.seed_kind = Kind.DUMMY


def _burn_plus_value(fold: Fold, _alert: OpenAlert) -> None:
    card = _excess(fold)
    if card is not None and card.face is not None:
        fold.state.burn_due += card.face.points or fold.house.burn.face_value


def _void(fold: Fold, alert: OpenAlert) -> None:
    round_ = rounds.in_progress(fold)
    if round_ is not None and round_.number == alert.round and not round_.finished:
        rounds.void(fold, round_)
    elif alert.round is not None:
        void_number(fold, alert.round)


def void_number(fold: Fold, number: int) -> None:
    """
    Make a round void whose result is published, or held back.
    """
    state = fold.state
    for held in [each for each in state.held if each.number == number]:
        state.held.remove(held)
        results.void_held(fold, held)
    played = results.find(fold, number)
    if played is not None:
        results.void(fold, played)


def _stop_shoe(fold: Fold, _alert: OpenAlert) -> None:
    shoe = fold.state.shoe
    if shoe is None or shoe.finished:
        return
    shoe.rounds_left = 0
    if rounds.in_progress(fold) is None:
        shoes.round_ended(fold, shoe)


_ACTS: Final[dict[Action, Callable[[Fold, OpenAlert], None]]] = {
    Action.CARRY_TO_NEXT_HAND: _carry,
    Action.CARRY_AS_DUMMY_HAND: _carry_as_dummy,
    Action.BURN_CARD_PLUS_VALUE: _burn_plus_value,
    Action.VOID_ROUND: _void,
    Action.STOP_SHOE: _stop_shoe,
}

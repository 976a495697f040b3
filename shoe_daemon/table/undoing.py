"""
The way back: the latest change that a person made in this shoe is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game.irregularities import IrregularityKind
from shoe_daemon.game.round import DEALING_ORDER
from shoe_daemon.table import correcting, dealing, results, rounds
from shoe_daemon.table.details import detail

if TYPE_CHECKING:
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.observations import Command
    from shoe_daemon.table.state import Change, Drawn, RoundState


def check_undo(fold: Fold, _order: Command) -> str | None:
    """
    Say why the latest change cannot be undone.
    """
    if not fold.state.changes:
        return "no correction of this shoe can be undone"
    change = fold.state.changes[-1]
    if _is_possible(fold, change):
        return None
    return f"the latest change, {change.verb} in round {change.round}, cannot be undone any more"


def _is_possible(fold: Fold, change: Change) -> bool:
    if change.verb == "void_round":
        return results.voided(fold, change.round) is not None
    if change.verb == "enter_result":
        return correcting.result_of(fold, change.round) is not None
    if change.verb == "enter_card":
        return _entered(fold, change) is not None
    slot = change.slot
    return slot is not None and correcting.face_on(fold, change.round, slot) is not None


def undo(fold: Fold, _order: Command) -> None:
    """
    Take the latest change of this shoe back.
    """
    change = fold.state.changes.pop()
    if change.verb == "correct_card" and change.slot is not None and change.before is not None:
        correcting.correct(fold, change.round, change.slot, change.before)
    elif change.verb == "enter_card":
        _forget_card(fold, change)
    elif change.verb == "enter_result":
        _forget_result(fold, change.round)
    elif change.verb == "void_round":
        played = results.voided(fold, change.round)
        if played is not None:
            results.restore(fold, played)


def _entered(fold: Fold, change: Change) -> Drawn | None:
    round_ = correcting.on_table(fold, change.round)
    if round_ is None or change.slot is None:
        return None
    card = round_.spots[DEALING_ORDER.index(change.slot)]
    return None if card is None or card.face is None else card


def _forget_card(fold: Fold, change: Change) -> None:
    round_, card = correcting.on_table(fold, change.round), _entered(fold, change)
    if round_ is None or card is None or card.face is None:
        return
    correcting.say_corrected(fold, round_, card, card.face, None)
    if fold.state.shoe is not None:
        fold.state.shoe.seen[card.face.index] -= 1
    round_.hidden += card.public
    card.face, card.public, card.unread = None, False, True
    fold.raise_alert(
        IrregularityKind.UNREADABLE_CARD,
        detail("entry_taken_back", slot=card.slot),
        slot=card.slot,
        number=round_.number,
    )
    _go_without(fold, round_, change)


def _go_without(fold: Fold, round_: RoundState, change: Change) -> None:
    result = correcting.result_of(fold, round_.number)
    if round_.finished and result is not None:
        round_.unread_result = round_.unread_result or not round_.partial
        round_.partial = True
        after = correcting.partly_known(round_, result, change.outcome)
        results.put(fold, result, after)
    points = dealing.public_points(round_.spots)
    round_.due = dealing.due(points, partial=round_.partial).say
    if not round_.ended:
        rounds.await_quiet(fold, round_)


def _forget_result(fold: Fold, number: int) -> None:
    for held in [each for each in fold.state.held if each.number == number]:
        fold.state.held.remove(held)
        results.void_held(fold, held)
    played = results.find(fold, number)
    if played is not None:
        results.revise(fold, played, None)

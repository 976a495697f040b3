"""
Who draws the cards, at a table where players do: see `game.curator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import shoe_rotation
from shoe_daemon.table import events

if TYPE_CHECKING:
    from shoe_daemon.game import IrregularityKind, Outcome, Rotation, Step
    from shoe_daemon.table.table_context import Fold


def _seated(fold: Fold) -> Rotation | None:
    # Without a word of who sits there, nobody knows who draws.
    if not (fold.house.curator.on and fold.options.seats):
        return None
    step = shoe_rotation.sit(fold.state.rotation, fold.house.curator, fold.options.seats)
    _take(fold, step)
    return step.rotation


def _take(fold: Fold, step: Step) -> None:
    fold.state.rotation = step.rotation
    if step.changed:
        fold.emit(events.ShoePassed(step.holder))


def after_shuffle(fold: Fold) -> None:
    """
    Offer a new shoe.
    """
    rotation = _seated(fold)
    if rotation is not None:
        _take(fold, shoe_rotation.after_shuffle(rotation, fold.house.curator))


def after_round(fold: Fold, outcome: Outcome | None) -> None:
    """
    Let the shoe pass where the rules say so; None for a round that came to nothing.
    """
    rotation = _seated(fold)
    if rotation is not None:
        _take(fold, shoe_rotation.after_round(rotation, fold.house.curator, outcome))


def irregular(fold: Fold, kind: IrregularityKind) -> None:
    """
    A false draw costs the holder the shoe where the policy says so: after the
    coup, and at once where that has its result and the shoe was kept.
    """
    rotation = _seated(fold)
    if rotation is None or not fold.policy.passes_shoe(kind):
        return
    round_ = fold.state.round
    held = {each.number for each in fold.state.held}
    if round_ is None or round_.ended or not round_.finished or round_.number in held:
        fold.state.rotation = shoe_rotation.false_draw(rotation)
    elif rotation.holder == round_.holder:
        rules = fold.house.curator
        _take(fold, shoe_rotation.after_round(shoe_rotation.false_draw(rotation), rules, None))


def passed(fold: Fold, seat: int | None) -> None:
    """
    The holder passes or refuses the shoe; or it is given to a seat.
    """
    rotation = _seated(fold)
    if rotation is None:
        return
    rules = fold.house.curator
    step = (
        shoe_rotation.pass_on(rotation, rules)
        if seat is None
        else shoe_rotation.give(rotation, seat)
    )
    _take(fold, step)

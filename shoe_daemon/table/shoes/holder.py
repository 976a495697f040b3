"""The player who holds the shoe and draws the cards, by the rules of `game.passing_the_shoe`."""

from __future__ import annotations

from shoe_daemon.game import IrregularityKind, Outcome, Rotation, passing_the_shoe
from shoe_daemon.table import events
from shoe_daemon.table.context import TableContext


def _seated_rotation(context: TableContext) -> Rotation | None:
    # Without configured seats the holder is unknown.
    rules, seats, rotation = context.house.curator, context.options.seats, context.state.rotation
    if not (rules.on and seats):
        return None
    _set_rotation(context, passing_the_shoe.update_seats(rotation, rules, seats))
    return context.state.rotation


def _set_rotation(context: TableContext, rotation: Rotation) -> None:
    before, context.state.rotation = context.state.rotation, rotation
    if rotation.holder != before.holder:
        context.emit(events.ShoePassed(rotation.holder))


def offer_new_shoe(context: TableContext) -> None:
    """Offer a new shoe to the first seat."""
    rotation = _seated_rotation(context)
    if rotation is not None:
        _set_rotation(context, passing_the_shoe.offer_new_shoe(rotation, context.house.curator))


def pass_after_round(context: TableContext, outcome: Outcome | None) -> None:
    """Pass the shoe if the rules require it; `outcome` is None for an aborted or void round."""
    rotation = _seated_rotation(context)
    if rotation is not None:
        _set_rotation(
            context, passing_the_shoe.pass_after_round(rotation, context.house.curator, outcome)
        )


def apply_false_draw(context: TableContext, kind: IrregularityKind) -> None:
    """
    Let a false draw cost the holder the shoe, if the policy says so.

    The shoe passes after the coup; at once if the coup has its result already.
    """
    rotation = _seated_rotation(context)
    if rotation is None or not context.policy.passes_shoe(kind):
        return
    round_ = context.state.round
    held = {each.number for each in context.state.held}
    if round_ is None or round_.phase or not round_.finished or round_.number in held:
        context.state.rotation = passing_the_shoe.record_false_draw(rotation)
    elif rotation.holder == round_.holder:
        after = passing_the_shoe.record_false_draw(rotation)
        _set_rotation(
            context, passing_the_shoe.pass_after_round(after, context.house.curator, None)
        )


def pass_shoe(context: TableContext, seat: int | None) -> None:
    """Pass the shoe to the next seat, or give it to a named seat."""
    rotation = _seated_rotation(context)
    if rotation is None:
        return
    if seat is None:
        _set_rotation(context, passing_the_shoe.pass_shoe(rotation, context.house.curator))
    else:
        _set_rotation(context, passing_the_shoe.give_shoe(rotation, seat))

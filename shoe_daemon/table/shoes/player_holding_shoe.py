"""The player who holds the shoe and draws the cards, by the rules of `game.passing_the_shoe`."""

from __future__ import annotations

from shoe_daemon.game import IrregularityKind, Outcome, Rotation, RotationStep, passing_the_shoe
from shoe_daemon.table import events
from shoe_daemon.table.table_context import TableContext


def _seated_rotation(context: TableContext) -> Rotation | None:
    # Without configured seats the holder is unknown.
    if not (context.house.curator.on and context.options.seats):
        return None
    step = passing_the_shoe.update_seats(
        context.state.rotation, context.house.curator, context.options.seats
    )
    _apply_step(context, step)
    return step.rotation


def _apply_step(context: TableContext, step: RotationStep) -> None:
    context.state.rotation = step.rotation
    if step.changed:
        context.emit(events.ShoePassed(step.holder))


def offer_new_shoe(context: TableContext) -> None:
    """Offer a new shoe to the first seat."""
    rotation = _seated_rotation(context)
    if rotation is not None:
        _apply_step(context, passing_the_shoe.offer_new_shoe(rotation, context.house.curator))


def pass_after_round(context: TableContext, outcome: Outcome | None) -> None:
    """Pass the shoe if the rules require it; `outcome` is None for an aborted or void round."""
    rotation = _seated_rotation(context)
    if rotation is not None:
        _apply_step(
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
    if round_ is None or round_.ended or not round_.finished or round_.number in held:
        context.state.rotation = passing_the_shoe.record_false_draw(rotation)
    elif rotation.holder == round_.holder:
        rules = context.house.curator
        _apply_step(
            context,
            passing_the_shoe.pass_after_round(
                passing_the_shoe.record_false_draw(rotation), rules, None
            ),
        )


def pass_shoe(context: TableContext, seat: int | None) -> None:
    """Pass the shoe to the next seat, or give it to a named seat."""
    rotation = _seated_rotation(context)
    if rotation is None:
        return
    rules = context.house.curator
    step = (
        passing_the_shoe.pass_shoe(rotation, rules)
        if seat is None
        else passing_the_shoe.give_shoe(rotation, seat)
    )
    _apply_step(context, step)

"""The slot of a card: place the card, publish it, and publish which card is due next."""

from __future__ import annotations

from bisect import insort
from typing import Final

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Slot
from shoe_daemon.table import alerts, events
from shoe_daemon.table.detail_texts import Detail, DetailValue, make_detail
from shoe_daemon.table.readers import checker_comparison
from shoe_daemon.table.rounds import next_card
from shoe_daemon.table.shoe_state import DrawnCard, RoundState
from shoe_daemon.table.shoes import card_count_and_order_checks, shoe_lifecycle
from shoe_daemon.table.table_context import TableContext

SPOT_OF_SLOT: Final = {slot: spot for spot, slot in enumerate(DEALING_ORDER)}
"""The index of each slot in dealing order."""

_MAX_EXCESS_CARDS: Final = 20
_TUCKED_SLOTS: Final = {Slot.B1, Slot.B2}
_EXCESS_CARD: Final = IrregularityKind.EXCESS_CARD


def publish_due(context: TableContext, round_: RoundState, *, repeat: bool) -> None:
    """Publish the due card by the public faces; `repeat` it even if unchanged, after a deal."""
    publish_due_card(context, round_, next_card.known_due(round_), repeat=repeat)


def publish_due_card(
    context: TableContext, round_: RoundState, due: next_card.CardDue, *, repeat: bool
) -> None:
    """Publish the card that is due, given the result of `known_due`."""
    if round_.hidden:
        due = next_card.card_due(next_card.public_points(round_.spots), partial=round_.partial)
    if due.spot is not None:
        card_count_and_order_checks.check_shoe_empty(context, round_)
    if repeat or (due.known and due.event != round_.due):
        context.emit(due.event)
    round_.due = due.event


def deal_card(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    *,
    counted_card: DrawnCard | None = None,
) -> None:
    """
    Publish a placed card, with its face only if the players see it.

    `counted_card` is the same card as an excess card of the previous round: it is not counted
    again.
    """
    face, shoe = card.face, context.state.shoe
    public = face is not None and is_public_at_draw(context, round_, card)
    card.public = public
    round_.cards.append(card)
    player, banker = next_card.public_totals(round_.spots)
    context.emit(events.CardDealt(banker, face if public else None, player, card.slot))
    if not public:
        round_.hidden += 1
        if face is not None:
            context.emit(events.StaffCardDealt(face, card.slot))
    if context.is_double_feed:
        card_count_and_order_checks.raise_double_feed(context)
    if shoe is None:
        return
    card.order = shoe.out
    if counted_card is None:
        shoe.out += 1
        if context.options.checkers:
            checker_comparison.compare_main_card(context, face, card)
    if counted_card is None or counted_card.face is None:
        shoe_lifecycle.count_card(context, shoe, card)
    elif public and not counted_card.public:
        shoe_lifecycle.mark_card_public(context, counted_card)


def is_public_at_draw(context: TableContext, round_: RoundState, card: DrawnCard) -> bool:
    """
    Return whether the players see the face of a placed card at the draw.

    A tucked card that is due to another slot lies face down where the reader reports it.
    """
    if context.face_up:
        return True
    if card.slot is None and round_.partial:
        return False  # the card may be one of the Banker's first two
    return context.banker_tucked and not {card.slot, card.declared} & _TUCKED_SLOTS


def place_card(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    """Place a card; return the irregularity that its slot or its number shows."""
    if round_.partial:
        return _place_as_declared(round_, card)
    due = next_card.public_due(round_)
    if not due.known:
        return _place_unchecked(round_, card)
    if due.spot is None:
        return _EXCESS_CARD
    put_on_spot(round_, card, due.spot)
    return compare_slots(round_, card)


def put_on_spot(round_: RoundState, card: DrawnCard, spot: int) -> None:
    """Put a card on a spot, the index of its slot in dealing order."""
    card.slot = DEALING_ORDER[spot]
    round_.spots[spot] = card


def compare_slots(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    """Compare the slot with the reported one; only the first difference is an irregularity."""
    if card.declared is card.slot:
        return None
    problem = slot_problem(round_, card, card.slot)
    round_.misplaced |= problem is IrregularityKind.WRONG_HAND
    return problem


def slot_problem(
    round_: RoundState, card: DrawnCard, slot: Slot | None
) -> IrregularityKind | None:
    """Return the irregularity of a card that was reported on another slot than this one."""
    if card.declared is None or card.declared is slot or round_.misplaced:
        return None
    player_third = round_.spots[next_card.P3_SPOT]
    if (
        slot is Slot.B3
        and card.declared is Slot.P3
        and (player_third is None or player_third is card)
    ):
        return IrregularityKind.PLAYER_THIRD_UNAUTHORISED
    return IrregularityKind.WRONG_HAND


def _place_as_declared(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    # Cards were missed: only the reader's report shows the slot.
    due = next_card.public_due(round_)
    if due.known and due.spot is None:
        return _EXCESS_CARD
    if card.declared is None:
        return None
    if due.spot == next_card.B3_SPOT:
        # The Player stands, so no card of the Player can be missing.
        put_on_spot(round_, card, next_card.B3_SPOT)
        return compare_slots(round_, card)
    spot = SPOT_OF_SLOT[card.declared]
    if round_.spots[spot] is None:
        put_on_spot(round_, card, spot)
    return None


def _place_unchecked(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    # The deciding faces are unknown: the reported slot stands until then.
    if len(round_.cards) >= len(DEALING_ORDER):
        return _EXCESS_CARD
    round_.unchecked = True
    if card.declared in {Slot.P3, Slot.B3}:
        spot = SPOT_OF_SLOT[card.declared]
        if round_.spots[spot] is not None:
            return _EXCESS_CARD
        put_on_spot(round_, card, spot)
        return None
    if round_.spots[next_card.P3_SPOT] is not None and round_.spots[next_card.B3_SPOT] is None:
        put_on_spot(round_, card, next_card.B3_SPOT)
    if card.declared is None or round_.misplaced:
        return None
    round_.misplaced = True
    return IrregularityKind.WRONG_HAND


def raise_misplaced_card(
    context: TableContext, card: DrawnCard, problem: IrregularityKind
) -> None:
    """Raise a card that was laid to the wrong hand."""
    detail = misplaced_detail(problem, card.declared, card.slot)
    _raise_card_alert(context, card, problem, detail)


def misplaced_detail(
    problem: IrregularityKind, declared: Slot | None, slot: Slot | None
) -> Detail:
    """Return the sentence for a card laid on another slot than the due one."""
    if problem is IrregularityKind.PLAYER_THIRD_UNAUTHORISED:
        return make_detail("player_third_unauthorised")
    if slot is None or slot is declared:
        return make_detail("second_card_on_place", slot=declared)
    return make_detail("laid_on_another_place", laid=declared, slot=slot)


def _raise_card_alert(
    context: TableContext, card: DrawnCard, kind: IrregularityKind, detail: Detail
) -> None:
    # Staff may have closed it before the players could know of it.
    public_face, slot = card.face if card.public else None, card.slot or card.declared
    number = None if context.state.round is None else context.state.round.number
    known = alerts.find_staff_alert(context, card)
    if known is not None and known.data.kind == kind:
        alerts.publish_alert(context, known, detail, slot=slot, card=public_face)
    elif known is not None or card.alert is None:
        card.alert = context.state.seq + 1
        alerts.raise_alert(context, kind, detail, slot=slot, card=public_face, number=number)
    if known is not None and known.staff_only:
        alerts.close_alert(context, known, "continue", "it is part of another irregularity")


def record_excess_card(
    context: TableContext, round_: RoundState | None, card: DrawnCard, *, moved: bool = False
) -> None:
    """
    Record a card that belongs to neither hand.

    `round_` is the round in or after which it was drawn; None before the first. `moved`: the
    card was dealt, and the faces have shown it to be an excess card.
    """
    if not moved and context.state.shoe is not None:
        card.order = context.state.shoe.out
    if round_ is not None and len(round_.excess) < _MAX_EXCESS_CARDS:
        insort(round_.excess, card, key=lambda each: each.order)
    card.slot = None
    if not moved:
        card.public = card.face is not None and context.face_up
    if card.face is not None and not (card.public or moved):
        context.emit(events.StaffCardDealt(card.face, None))
    if round_ is not None and round_.excess_decided and not moved:
        round_.excess_decided = False  # the card that the reader has reported before
    elif (alert := alerts.join_alert(context, IrregularityKind.EXCESS_CARD, "card")) is not None:
        known = alerts.find_staff_alert(context, card)
        if known is not None:
            alerts.close_alert(context, known, "continue", "it is part of another irregularity")
        card.alert = alert.data.id
    else:
        due = None if round_ is None else next_card.public_due(round_)
        detail = excess_detail(due, card.face if card.public else None)
        _raise_card_alert(context, card, IrregularityKind.EXCESS_CARD, detail)
    card_count_and_order_checks.raise_double_feed(context)
    if context.state.shoe is not None and not moved:
        context.state.shoe.out += 1
        checker_comparison.compare_main_card(context, card.face, card)
        shoe_lifecycle.count_card(context, context.state.shoe, card)


def excess_detail(due: next_card.CardDue | None, public_face: Card | None) -> Detail:
    """Return the sentence for an excess card; `due` is None before the first round."""
    values: dict[str, DetailValue] = {} if public_face is None else {"card": public_face}
    suffix = "_unseen" if public_face is None else ""
    if due is None:
        return make_detail(f"excess_before_any_round{suffix}", **values)
    if due.known and due.spot is None:
        event = due.event
        values |= {"because": event.detail_code, **event.detail_values}
        return make_detail(f"excess_after_end{suffix}", **values)
    return make_detail(f"excess_out_of_order{suffix}", **values)

"""A card drawn for play: its round, its slot, and whether it was due."""

from __future__ import annotations

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Slot
from shoe_daemon.table import alerts
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker_comparison
from shoe_daemon.table.readers.reader_status import mark_readers_in_sync
from shoe_daemon.table.rounds import (
    cards_after_early_end,
    checks_under_hidden_faces,
    lifecycle,
    next_card,
    placement,
    round_result,
)
from shoe_daemon.table.rounds.placement import SPOT_OF_SLOT
from shoe_daemon.table.shoe_state import DrawnCard, RoundState, ShoeState
from shoe_daemon.table.table_context import TableContext

# Constants for the checks of every card: in Python 3.11 looking up an enumeration's member
# takes longer than calling a function.
_P1 = Slot.P1
_AUTO_MODE = RoundEnd.AUTO
_DEVICE_MODE = RoundEnd.DEVICE
_EXCESS_CARD = IrregularityKind.EXCESS_CARD


def apply_drawn_card(
    context: TableContext,
    card: DrawnCard,
    *,
    carried: DrawnCard | bool = False,
    joined: bool = False,
) -> None:
    """
    Apply a card drawn for play, as the reader reported it.

    `carried`: it is an excess card of the previous round (this one, if it was seen) and begins
    another round. `joined`: the round had begun before the table observed it.
    """
    shoe = context.state.shoe
    _resolve_mode(context, card)
    round_ = context.state.round
    if (
        round_ is not None
        and round_.owns_rest
        and not carried
        and cards_after_early_end.is_rest_card(round_, card)
    ):
        if not cards_after_early_end.is_boundary_missed(context, round_, card):
            cards_after_early_end.count_rest_card(context, card)
            return
        context.state.unsynced = True
    round_ = next_card.round_in_progress(context)
    if round_ is not None:
        if _is_repeat(round_, card):
            return
        late = _is_late(context, round_, card)
        if late:
            lifecycle.raise_missing_draw(context, round_, "missing_before_late_card")
        if not carried and not _begins_next_round(context, round_, card):
            add_card(context, round_, card)
            return
        cut_off = round_.partial and not round_.over
        context.state.unsynced |= late or cut_off or next_card.is_due_unreadable(round_)
        lifecycle.end_or_abort_round(context, round_)
        _resolve_mode(context, card)  # a waiting session may be in force now
    _begin_round_with_card(context, card, shoe, carried=carried, joined=joined)


def _begin_round_with_card(
    context: TableContext,
    card: DrawnCard,
    shoe: ShoeState | None,
    *,
    carried: DrawnCard | bool,
    joined: bool,
) -> None:
    """Begin a round with a card that came while `shoe` was on the table; see the caller."""
    slot, counted_card = card.declared, carried if isinstance(carried, DrawnCard) else None
    seed = _take_carried_card(context, slot)
    at_start = seed is not None or (slot is _P1 and not joined)
    unsure = context.state.unsynced or (context.state.unread_pending and not card.unread)
    partial = not at_start and (slot is not None or unsure or joined)
    if at_start:
        mark_readers_in_sync(context)
    elif partial and not context.state.unsynced:
        checker_comparison.mark_cards_missed(context, None)
    round_ = lifecycle.begin_round(context, partial=partial)
    round_.seeded = seed is not None or counted_card is not None
    # In another shoe, or after a shuffle, a counted card is counted again.
    kept = context.state.shoe is shoe and context.house.reshuffle == "per_shoe"
    if round_.seeded and not kept:
        round_.out_before += 1
    if seed is not None:
        first = DrawnCard(seed.face, unread=seed.unread)
        add_card(context, round_, first, counted_card=seed if kept else None)
    add_card(context, round_, card, counted_card=counted_card if kept else None)


def _take_carried_card(context: TableContext, slot: Slot | None) -> DrawnCard | None:
    # A ruling had a card carried into this round. A reader that names its own
    # card P1 does not know that, and its report stands.
    seed, context.state.seed = context.state.seed, None
    shoe = context.state.shoe
    if seed is None or context.state.unsynced or shoe is None or shoe.finished:
        return None
    return seed if slot in {None, Slot.B1} else None


def _resolve_mode(context: TableContext, card: DrawnCard) -> None:
    # The first card shows whether this reader reports slots. An unread card may lack a slot
    # although the reader reports them.
    names = card.declared is not None
    if context.mode is _AUTO_MODE and (names or not card.unread):
        context.resolve_auto_mode(slot=names)


def _begins_next_round(context: TableContext, round_: RoundState, card: DrawnCard) -> bool:
    if round_.over and (next_card.is_complete(round_) or next_card.is_due_unreadable(round_)):
        return True
    if card.declared is _P1 and (round_.missing or context.mode is _DEVICE_MODE):
        return True
    # The end of the round was declared while a draw was missing. Without a slot from
    # the reader, the next card is the missing one only after the ruling `draw_now`.
    is_given_up = round_.missing and round_.over and not round_.draw_ordered
    if card.declared is None and is_given_up:
        return True
    if round_.missing and card.declared is not None and round_.spots[SPOT_OF_SLOT[card.declared]]:
        return True  # the first cards of the next round were missed
    if round_.partial and card.declared is not None:
        return any(round_.spots[SPOT_OF_SLOT[card.declared] :])
    # No round has seven cards.
    is_full = len(round_.cards) >= len(DEALING_ORDER)
    return is_full and (round_.partial or context.mode is RoundEnd.RULES)


def _is_late(context: TableContext, round_: RoundState, card: DrawnCard) -> bool:
    # With `quiet`, a late card may be the missing card or the
    # first of the next round.
    if context.mode is not RoundEnd.QUIET or card.declared is not None:
        return False
    if round_.partial or round_.over or round_.unread_pending:
        return False
    return next_card.known_due(round_).spot is not None and _is_long_ago(context, round_)


def begins_shoe(context: TableContext, round_: RoundState) -> bool:
    """
    Return whether the first card of a shoe, which comes now, ends the round in progress.

    It does so after `draw_within` even if a card is due, which is missing then.
    """
    if round_.partial or round_.over or next_card.is_complete(round_):
        return True
    if not _is_long_ago(context, round_):
        return False
    if next_card.known_due(round_).spot is not None:
        lifecycle.raise_missing_draw(context, round_, "missing_before_late_card")
    return True


def _is_long_ago(context: TableContext, round_: RoundState) -> bool:
    if round_.card_at is None or context.options.timeless:
        return False
    return context.now_us() - round_.card_at > context.draw_within_us


def _is_repeat(round_: RoundState, card: DrawnCard) -> bool:
    # The same card reported twice on the same slot is one card. A P1 later in the
    # round is not: the next round may well begin with an equal card.
    cards = round_.cards
    return not (card.declared is _P1 and len(cards) > 1) and next_card.is_repeat(card, cards)


def add_card(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    *,
    counted_card: DrawnCard | None = None,
) -> None:
    """Add a card to the round in progress, and publish all that follows from it."""
    if round_.unread_pending:
        _place_unread_before(context, round_, card.declared)
    problem = placement.place_card(round_, card)
    if problem is _EXCESS_CARD:
        placement.record_excess_card(context, round_, card)
        return
    placement.deal_card(context, round_, card, counted_card=counted_card)
    if problem is not None:
        placement.raise_misplaced_card(context, card, problem)
    if len(round_.cards) == 1:
        lifecycle.check_first_card(context)
    if card.unread:
        raise_unread_card(context, card)
    if round_.missing:
        _close_missing_draw(context, round_)
    if round_.unchecked:
        checks_under_hidden_faces.raise_staff_alerts(context, round_)
    lifecycle.set_card_deadlines(context, round_)
    lifecycle.advance_round(context, round_, repeat=True)


def _place_unread_before(context: TableContext, round_: RoundState, slot: Slot | None) -> None:
    if slot is None:
        # Unknown: the unread card, read again, or the card after it.
        round_.partial, round_.unread_pending = True, False
        return
    # A card on a slot after the due slot shows where the card lies that
    # the device reported as unread. While the faces are hidden,
    # a Banker's third card shows that it was the Player's.
    due, spots = next_card.public_due(round_), round_.spots
    if due.spot is not None and SPOT_OF_SLOT[slot] > due.spot:
        place_unread_card(context, round_, due.spot)
    elif next_card.known_due(round_).spot == next_card.B3_SPOT:
        pass  # by the known faces the Player stands: the second attempt read the card
    elif not due.known and slot is Slot.B3 and spots[3] and not spots[next_card.P3_SPOT]:
        place_unread_card(context, round_, next_card.P3_SPOT)
        round_.unchecked = True
    round_.unread_pending = False


def place_unread_card(context: TableContext, round_: RoundState, spot: int | None = None) -> None:
    """Place the card that the device reported as unread: on its spot, or else on the due one."""
    if not round_.unread_pending or round_.partial:
        return
    place = next_card.known_due(round_).spot if spot is None else spot
    if place is None:
        return
    round_.unread_pending = False
    card = DrawnCard(unread=True)
    placement.put_on_spot(round_, card, place)
    placement.deal_card(context, round_, card)
    placement.publish_due(context, round_, repeat=True)


def raise_unread_card(context: TableContext, card: DrawnCard) -> None:
    """Raise an unread card, or join the device's report of it."""
    alert = alerts.join_alert(context, IrregularityKind.UNREADABLE_CARD, "card")
    if alert is None:
        detail = make_detail("unread_card", slot=card.slot)
        alerts.raise_alert(context, IrregularityKind.UNREADABLE_CARD, detail, slot=card.slot)
    elif card.slot is not None:
        alert.data = replace(alert.data, slot=card.slot)


def _close_missing_draw(context: TableContext, round_: RoundState) -> None:
    round_.missing = round_.draw_ordered = False
    round_result.forget_early_result(context, round_)
    alert = alerts.find_open_alert(context, IrregularityKind.MISSING_DRAW)
    if alert is not None:
        alerts.close_alert(context, alert, "draw_now", "the missing card was drawn")

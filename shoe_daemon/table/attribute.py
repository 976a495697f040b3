"""
Which round a card belongs to: the only stateful step between an observation and the facts.

A card that is drawn for play is added to the round in progress, to the rest of a coup, or begins
a round. Where it lies, and whether it was due, follows from the facts.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import DEALING_ORDER, Slot
from shoe_daemon.table import ledger, publish
from shoe_daemon.table.checks import excess_card
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import DECLARED, Doubt, Phase, Round, is_repeat
from shoe_daemon.table.next_card import B3_SPOT, P3_SPOT
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker
from shoe_daemon.table.readers.status import mark_readers_in_sync
from shoe_daemon.table.rounds import lifecycle, rest
from shoe_daemon.table.shoe_state import ShoeState
from shoe_daemon.table.shoes import counts, shoe_lifecycle
from shoe_daemon.table.times import to_microseconds
from shoe_daemon.table.view import SPOTS

# Constants: in Python 3.11 looking up an enumeration's member takes longer than a call.
_P1, _B1, _B3 = Slot.P1, Slot.B1, Slot.B3
_AUTO_MODE: Final = RoundEnd.AUTO
_DEVICE_MODE: Final = RoundEnd.DEVICE
_QUIET_MODE: Final = RoundEnd.QUIET
_RULES_MODE: Final = RoundEnd.RULES
_MAX_EXCESS_CARDS: Final = 20
"""Excess cards of a round that are kept; more are only counted."""


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
        and round_.phase == Phase.REST
        and not carried
        and rest.is_rest_card(round_, card)
    ):
        if not rest.is_boundary_missed(context, round_, card):
            rest.count_rest_card(context, round_, card)
            return
        context.state.unsynced = True
    if round_ is not None and not round_.phase:
        if _is_repeat(round_, card):
            return
        late = _is_late(context, round_, card)
        if late:
            lifecycle.declare_missing(context, round_, "missing_before_late_card")
        if not carried and not _begins_next_round(context, round_, card):
            add_card(context, round_, card)
            return
        cut_off = round_.partial and not round_.over
        context.state.unsynced |= late or cut_off or round_.is_due_unreadable
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
    slot, counted = card.declared, carried if isinstance(carried, DrawnCard) else None
    seed = _take_seed(context, slot)
    at_start = seed is not None or (slot is _P1 and not joined)
    unsure = context.state.unsynced or (context.state.unread_pending and not card.unread)
    partial = not at_start and (slot is not None or unsure or joined)
    if at_start:
        mark_readers_in_sync(context)
    elif partial and not context.state.unsynced:
        checker.mark_cards_missed(context, None)
    round_ = lifecycle.begin_round(context, Doubt.JOINED if partial else Doubt.NONE)
    # In another shoe, or after a shuffle, a counted card is counted again.
    kept = context.state.shoe is shoe and context.house.reshuffle == "per_shoe"
    if (seed is not None or counted is not None) and not kept:
        round_.out_before += 1
    if seed is not None:
        first = DrawnCard(seed.face, unread=seed.unread)
        if kept:
            _count_as_before(first, seed)
        add_card(context, round_, first)
    if counted is not None and kept:
        _count_as_before(card, counted)
    add_card(context, round_, card)


def _count_as_before(card: DrawnCard, before: DrawnCard) -> None:
    card.seed, card.number = True, before.number
    card.counted, card.counted_public = before.counted, before.counted_public


def _take_seed(context: TableContext, slot: Slot | None) -> DrawnCard | None:
    # A ruling had a card carried into this round. A reader that names its own
    # card P1 does not know that, and its report stands.
    seed, context.state.seed = context.state.seed, None
    shoe = context.state.shoe
    if seed is None or context.state.unsynced or shoe is None or shoe.finished:
        return None
    return seed if slot is None or slot is _B1 else None


def _resolve_mode(context: TableContext, card: DrawnCard) -> None:
    # The first card shows whether this reader reports slots. An unread card may lack a slot
    # although the reader reports them.
    names = card.declared is not None
    if context.mode is _AUTO_MODE and (names or not card.unread):
        context.resolve_auto_mode(slot=names)


def _begins_next_round(context: TableContext, round_: Round, card: DrawnCard) -> bool:
    declared, is_missing = card.declared, False
    if round_.end is not None:
        is_missing = round_.is_missing
        if round_.over and (round_.is_complete or round_.is_due_unreadable):
            return True
    if declared is _P1 and (is_missing or context.mode is _DEVICE_MODE):
        return True
    spots = round_.view.spots
    if declared is None:
        # The end of the round was declared while a draw was missing. Without a slot from
        # the reader, the next card is the missing one only after the ruling `draw_now`.
        if is_missing and round_.over and not round_.draw_ordered:
            return True
    elif is_missing and spots[SPOTS[declared]]:
        return True  # the first cards of the next round were missed
    elif round_.doubts:
        return any(spots[SPOTS[declared] :])
    # No round has seven cards.
    is_full = len(round_.view.dealt) >= len(DEALING_ORDER)
    return is_full and (round_.doubts != 0 or context.mode is _RULES_MODE)


def _is_late(context: TableContext, round_: Round, card: DrawnCard) -> bool:
    # With `quiet`, a late card may be the missing card or the
    # first of the next round.
    if context.mode is not _QUIET_MODE or card.declared is not None:
        return False
    if round_.doubts or round_.over or round_.unread_pending:
        return False
    return round_.known.due.needs_card and _is_long_ago(context, round_)


def begins_shoe(context: TableContext, round_: Round) -> bool:
    """
    Return whether the first card of a shoe, which comes now, ends the round in progress.

    It does so after `draw_within` even if a card is due, which is missing then.
    """
    if round_.doubts or round_.over or round_.may_end:
        return True
    if not _is_long_ago(context, round_):
        return False
    if round_.known.due.needs_card:
        lifecycle.declare_missing(context, round_, "missing_before_late_card")
    return True


def _is_long_ago(context: TableContext, round_: Round) -> bool:
    if not round_.card_at or context.options.timeless:
        return False
    return context.now_us() - to_microseconds(round_.card_at) > context.draw_within_us


def _is_repeat(round_: Round, card: DrawnCard) -> bool:
    # The same card reported twice on the same slot is one card. A P1 later in the
    # round is not: the next round may well begin with an equal card.
    cards = round_.view.dealt
    return not (card.declared is _P1 and len(cards) > 1) and is_repeat(card, cards)


def add_card(context: TableContext, round_: Round, card: DrawnCard) -> None:
    """Add a card to the round in progress, and publish all that follows from it."""
    if round_.unread_pending:
        _place_unread_before(context, round_, card.declared)
    was_missing = round_.end is not None and round_.is_missing
    round_.add(card, context.style)
    dealt = round_.view.dealt
    if not dealt or dealt[-1] is not card:
        publish.commit(context, round_)
        _forget_surplus(round_)
        return
    if was_missing:
        round_.end, round_.draw_ordered = DECLARED, False
        forget_early_result(context, round_)
    round_.card_at = context.at
    if context.mode is _QUIET_MODE or context.banker_tucked:
        lifecycle.set_card_deadlines(context, round_)
    publish.commit(context, round_)
    if round_.view.due.spot is None:
        lifecycle.end_if_over(context, round_)


def _forget_surplus(round_: Round) -> None:
    if len(round_.view.excess) > _MAX_EXCESS_CARDS:
        surplus = round_.view.excess[-1]
        round_.drawn = [each for each in round_.drawn if each is not surplus]
        round_.changed()


def forget_early_result(context: TableContext, round_: Round) -> None:
    """Forget a result that was declared while a draw was missing."""
    if context.state.shoe is not None and not round_.said:
        context.state.shoe.declared.pop(round_.number, None)


def add_outside_card(context: TableContext, card: DrawnCard) -> None:
    """Add a card that was drawn outside the game: it belongs to neither hand."""
    if context.state.shoe is None:
        shoe_lifecycle.start_shoe(context, announced=False)
    round_ = context.state.round
    if round_ is not None:
        card.out = True
        round_.add(card, context.style)
        publish.commit(context, round_)
        _forget_surplus(round_)
        return
    # Before the first round of the shoe.
    card.public = card.face is not None and context.face_up
    shown = card.face if card.public else None
    publish.publish_excess_face(context, card)
    alert = ledger.join_alert(context, excess_card.KIND, "card")
    if alert is None:
        detail = excess_card.sentence(None, shown)
        ledger.raise_alert(context, excess_card.KIND, detail, slot=card.declared, card=shown)
    counts.raise_double_feed(context)
    publish.count_loose_card(context, card)


def split_round(context: TableContext, round_: Round, first: DrawnCard) -> None:
    """
    Begin a round with a card of a partial one: the reader shows only now that it lies on P1.

    The cards after it are of its coup, and those before it of another.
    """
    place = next(at for at, each in enumerate(round_.drawn) if each is first)
    moved = [each for each in round_.drawn[place:] if not each.out]
    round_.drawn = [*round_.drawn[:place], *(each for each in round_.drawn[place:] if each.out)]
    round_.changed()
    lifecycle.abort_round(context, round_, "new_round")
    mark_readers_in_sync(context)
    following, shoe = lifecycle.begin_round(context), context.state.shoe
    kept = context.house.reshuffle == "per_shoe"
    if shoe is not None and not kept:
        shoe.out += len(moved)
        following.out_before += len(moved)
    for each in moved:
        card = DrawnCard(each.face, each.declared, unread=each.unread, seed=True, tag=each.tag)
        card.checked, card.unsaid = each.checked, each.unsaid
        if kept:
            _count_as_before(card, each)
        add_card(context, following, card)


# Unread cards


def _place_unread_before(context: TableContext, round_: Round, slot: Slot | None) -> None:
    if slot is None:
        # Unknown: the unread card, read again, or the card after it.
        round_.doubt(Doubt.UNREAD)
        round_.unread_pending = False
        return
    # A card on a slot after the due slot shows where the card lies that
    # the device reported as unread. While the faces are hidden,
    # a Banker's third card shows that it was the Player's.
    due, spots = round_.view.due, round_.view.spots
    if slot is _B3 and round_.chooses and not due.known:
        # It may be the second attempt: then the Player, who may have 5, stood.
        round_.doubt(Doubt.UNREAD)
    elif due.spot is not None and SPOTS[slot] > due.spot:
        place_unread_card(context, round_, due.spot)
    elif round_.known.due.spot == B3_SPOT:
        pass  # by the known faces the Player stands: the second attempt read the card
    elif not due.known and slot is _B3 and spots[3] and not spots[P3_SPOT]:
        place_unread_card(context, round_, P3_SPOT)
    round_.unread_pending = False


def place_unread_card(context: TableContext, round_: Round, spot: int | None = None) -> None:
    """Place the card that the device reported as unread: on its spot, or else on the due one."""
    if not round_.unread_pending or round_.doubts:
        return
    place = round_.known.due.spot if spot is None else spot
    if place is None:
        if round_.known.due.choice:
            round_.unread_pending = False
            round_.doubt(Doubt.UNREAD)
        return
    round_.unread_pending = False
    card = DrawnCard(unread=True, laid=Slot(DEALING_ORDER[place]))
    round_.add(card, context.style)
    publish.commit(context, round_)

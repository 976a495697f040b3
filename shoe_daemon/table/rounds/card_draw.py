"""
A card has left the shoe: which place is its own, and was it due at all.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Slot
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import Detail, DetailValue, make_detail
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import second_reader
from shoe_daemon.table.readers.reader_state import mark_readers_in_sync
from shoe_daemon.table.rounds import coup_rest, hidden_faces, lifecycle, next_card
from shoe_daemon.table.shoes import inventory, shoe_lifecycle
from shoe_daemon.table.table_state import DrawnCard

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import TableContext
    from shoe_daemon.table.table_state import RoundState

# What every card is asked is looked up once: in Python 3.11 to find a member of an
# enumeration takes longer than to call a function.
_P1 = Slot.P1
_AUTO_MODE = RoundEnd.AUTO
_DEVICE_MODE = RoundEnd.DEVICE
_EXCESS_CARD = IrregularityKind.EXCESS_CARD

SPOT_OF_SLOT = {slot: spot for spot, slot in enumerate(DEALING_ORDER)}
_MAX_EXCESS_CARDS = 20


def apply_drawn_card(
    context: TableContext,
    card: DrawnCard,
    *,
    carried: DrawnCard | bool = False,
    joined: bool = False,
) -> None:
    """
    Take a card that was drawn for play.

    Args:
        context: The table.
        card: The card as it came.
        carried: It is an excess card of the round before (this one, where it was
            seen), and begins another.
        joined: It was drawn before anybody looked.
    """
    slot, shoe = card.declared, context.state.shoe
    _resolve_mode(context, card)
    round_ = context.state.round
    if (
        round_ is not None
        and round_.owns_rest
        and not carried
        and coup_rest.is_rest_card(round_, card)
    ):
        coup_rest.count_rest_card(context, card)
        return
    round_ = lifecycle.round_in_progress(context)
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
        context.state.unsynced |= late or cut_off or lifecycle.is_due_unreadable(round_)
        lifecycle.end_or_abort_round(context, round_)
        _resolve_mode(context, card)  # a new session may have come into force
    seed = _take_carried_card(context, slot)
    at_start = seed is not None or (slot is _P1 and not joined)
    unsure = context.state.unsynced or (context.state.unread_pending and not card.unread)
    partial = not at_start and (slot is not None or unsure or joined)
    if at_start:
        mark_readers_in_sync(context)
    elif partial and not context.state.unsynced:
        second_reader.mark_cards_missed(context, None)
    round_ = lifecycle.begin_round(context, partial=partial)
    # In another shoe, or after a shuffle, a card that was counted counts anew.
    kept = context.state.shoe is shoe and context.house.reshuffle == "per_shoe"
    round_.seeded = seed is not None or isinstance(carried, DrawnCard)
    if round_.seeded and not kept:
        round_.out_before += 1
    if seed is not None:
        add_card(
            context, round_, DrawnCard(seed.face, unread=seed.unread), seen=seed if kept else None
        )
    add_card(
        context, round_, card, seen=carried if kept and isinstance(carried, DrawnCard) else None
    )


def _take_carried_card(context: TableContext, slot: Slot | None) -> DrawnCard | None:
    # A ruling had a card carried into this round. A reader that names its own
    # card the first one has not been told of that, and its word stands.
    seed, context.state.seed = context.state.seed, None
    shoe = context.state.shoe
    if seed is None or context.state.unsynced or shoe is None or shoe.finished:
        return None
    return seed if slot in {None, Slot.B1} else None


def _resolve_mode(context: TableContext, card: DrawnCard) -> None:
    # The first card tells whether this reader names the places; one that passed unread
    # may have none although it does.
    names = card.declared is not None
    if context.mode is _AUTO_MODE and (names or not card.unread):
        context.resolve_auto_mode(slot=names)


def _begins_next_round(context: TableContext, round_: RoundState, card: DrawnCard) -> bool:
    if round_.over and (lifecycle.is_complete(round_) or lifecycle.is_due_unreadable(round_)):
        return True
    if card.declared is _P1 and (round_.missing or context.mode is _DEVICE_MODE):
        return True
    if card.declared is None and _is_given_up(round_):
        return True
    if round_.missing and card.declared is not None and round_.spots[SPOT_OF_SLOT[card.declared]]:
        return True  # its own first cards were not seen
    if round_.partial and card.declared is not None:
        return any(round_.spots[SPOT_OF_SLOT[card.declared] :])
    # No round has seven cards; an excess card is one before an end that is seen.
    is_full = len(round_.cards) >= len(DEALING_ORDER)
    return is_full and (round_.partial or context.mode is RoundEnd.RULES)


def _is_given_up(round_: RoundState) -> bool:
    # The end of the round was declared while a draw was missing. Without a place named by
    # the reader, only an order to draw now makes the next card the missing one.
    return round_.missing and round_.over and not round_.draw_ordered


def _is_late(context: TableContext, round_: RoundState, card: DrawnCard) -> bool:
    # Where only silence ends rounds, a card that comes late may be the missing one, or the
    # first of the next round.
    if context.mode is not RoundEnd.QUIET or card.declared is not None or round_.card_at is None:
        return False
    if round_.partial or round_.over or round_.unread_pending:
        return False
    if lifecycle.known_due(round_).spot is None:
        return False
    return context.now_us() - round_.card_at > context.draw_within_us


def _is_repeat(round_: RoundState, card: DrawnCard) -> bool:
    # The same card said twice of the same place is one card. A P1 later in the
    # round is not: the next round may well begin with an equal card.
    if card.declared is None or card.face is None:
        return False
    if card.declared is _P1 and len(round_.cards) > 1:
        return False
    for lies in round_.cards:  # noqa: SIM110 - `any` takes three times as long
        if lies.declared is card.declared and lies.face is card.face:
            return True
    return False


def add_card(
    context: TableContext, round_: RoundState, card: DrawnCard, *, seen: DrawnCard | None = None
) -> None:
    """
    Lay a card into the round in progress, and say all that follows from it.
    """
    if round_.unread_pending:
        _place_unread_before(context, round_, card.declared)
    problem = place_card(round_, card)
    if problem is _EXCESS_CARD:
        record_excess_card(context, round_, card)
        return
    deal_card(context, round_, card, seen=seen)
    if problem is not None:
        raise_misplaced_card(context, card, problem)
    if len(round_.cards) == 1:
        lifecycle.check_first_card(context)
    if card.unread:
        raise_unread_card(context, card)
    if round_.missing:
        _close_missing_draw(context, round_)
    if round_.unchecked:
        hidden_faces.raise_staff_alerts(context, round_)
    lifecycle.set_card_deadlines(context, round_)
    lifecycle.advance_round(context, round_, repeat=True)


def deal_card(
    context: TableContext, round_: RoundState, card: DrawnCard, *, seen: DrawnCard | None = None
) -> None:
    """
    Say that a card lies on its place, showing no more than the players see.

    Args:
        context: The table.
        round_: The round in progress.
        card: The card, placed.
        seen: The same card as an excess card of the round before: what was
            counted of it then is not counted again.
    """
    face, shoe = card.face, context.state.shoe
    card.public = face is not None and is_public_at_draw(context, round_, card.slot)
    round_.cards.append(card)
    round_.hidden += not card.public
    player, banker = next_card.public_totals(round_.spots)
    context.emit(events.CardDealt(banker, face if card.public else None, player, card.slot))
    if face is not None and not card.public:
        context.emit(events.StaffCardDealt(face, card.slot))
    if context.is_double_feed:
        inventory.raise_double_feed(context)
    if shoe is None:
        return
    card.order = shoe.out
    shoe.out += seen is None
    if seen is None and context.options.checkers:
        second_reader.compare_main_card(context, face, card)
    if seen is None or seen.face is None:
        shoe_lifecycle.count_card(context, shoe, card)
    elif card.public and not seen.public:
        shoe_lifecycle.mark_card_public(context, seen)


def is_public_at_draw(context: TableContext, round_: RoundState, slot: Slot | None) -> bool:
    """
    Tell whether the players see a card when it is drawn.
    """
    if context.face_up:
        return True
    if slot is None and round_.partial:
        return False  # it may be one of the Banker's first two
    return context.banker_tucked and slot not in {Slot.B1, Slot.B2}


def place_card(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    """Place a card; return the irregularity that its place or its number shows, if any."""
    if round_.partial:
        return _place_as_declared(round_, card)
    verdict = lifecycle.public_due(round_)
    if not verdict.known:
        return _place_unchecked(round_, card)
    if verdict.spot is None:
        return _EXCESS_CARD
    put_on_spot(round_, card, verdict.spot)
    return compare_slots(round_, card)


def put_on_spot(round_: RoundState, card: DrawnCard, spot: int) -> None:
    """
    Lay a card on a place, by its index in dealing order.
    """
    card.slot = DEALING_ORDER[spot]
    round_.spots[spot] = card


def compare_slots(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    """
    Compare the place of a card with the one that was named; one wrong card puts
    others wrong, and is said once.
    """
    if card.declared is None or card.declared is card.slot or round_.misplaced:
        return None
    if card.slot is Slot.B3 and card.declared is Slot.P3:
        return IrregularityKind.PLAYER_THIRD_UNAUTHORISED
    round_.misplaced = True
    return IrregularityKind.WRONG_HAND


def _place_as_declared(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    # Something is missing here, so only the reader's word says where a card is.
    verdict = lifecycle.public_due(round_)
    if verdict.known and verdict.spot is None:
        return _EXCESS_CARD
    if card.declared is None:
        return None
    if verdict.spot == next_card.B3_SPOT:
        # The Player stands, so that no card of the Player's can be missing.
        put_on_spot(round_, card, next_card.B3_SPOT)
        return compare_slots(round_, card)
    spot = SPOT_OF_SLOT[card.declared]
    if round_.spots[spot] is None:
        put_on_spot(round_, card, spot)
    return None


def _mark_misplaced(round_: RoundState) -> IrregularityKind:
    round_.misplaced = True
    return IrregularityKind.WRONG_HAND


def _place_unchecked(round_: RoundState, card: DrawnCard) -> IrregularityKind | None:
    # The faces that decide are not known: the reader's word stands until then.
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
    return None if card.declared is None or round_.misplaced else _mark_misplaced(round_)


def raise_misplaced_card(
    context: TableContext, card: DrawnCard, problem: IrregularityKind
) -> None:
    """
    Say that a card lies with the wrong hand.
    """
    said = misplaced_detail(problem, card.declared, card.slot)
    _raise_card_alert(context, card, problem, said)


def misplaced_detail(
    problem: IrregularityKind, declared: Slot | None, slot: Slot | None
) -> Detail:
    """
    Return the sentence of a card that was laid on one place and is due on another.
    """
    if problem is IrregularityKind.PLAYER_THIRD_UNAUTHORISED:
        return make_detail("player_third_unauthorised")
    if slot is None or slot is declared:
        return make_detail("second_card_on_place", slot=declared)
    return make_detail("laid_on_another_place", laid=declared, slot=slot)


def _raise_card_alert(
    context: TableContext, card: DrawnCard, kind: IrregularityKind, said: Detail
) -> None:
    # Staff may have been told of it, and have closed it, before the players could know.
    shown, slot = card.face if card.public else None, card.slot or card.declared
    number = None if context.state.round is None else context.state.round.number
    known = hidden_faces.staff_alert_of(context, card)
    if known is not None and known.data.kind == kind:
        context.publish_alert(known, said, slot=slot, card=shown)
    elif known is not None or card.alert is None:
        card.alert = context.state.seq + 1
        context.raise_alert(kind, said, slot=slot, card=shown, number=number)
    if known is not None and known.staff_only:
        context.close_alert(known, "continue", "it is part of another irregularity")


def _place_unread_before(context: TableContext, round_: RoundState, slot: Slot | None) -> None:
    if slot is None:
        # The card that passed unread, read again, or the one after it: nobody can tell.
        round_.partial, round_.unread_pending = True, False
        return
    # A card on a place after the one that is due shows where the card lies of
    # which the device said that it passed unread. While the faces are hidden,
    # a Banker's third card shows that it was the Player's.
    verdict, spots = lifecycle.public_due(round_), round_.spots
    if verdict.spot is not None and SPOT_OF_SLOT[slot] > verdict.spot:
        place_unread_card(context, round_, verdict.spot)
    elif lifecycle.known_due(round_).spot == next_card.B3_SPOT:
        pass  # by the known faces the Player stands: the card was read on the second try
    elif not verdict.known and slot is Slot.B3 and spots[3] and not spots[next_card.P3_SPOT]:
        place_unread_card(context, round_, next_card.P3_SPOT)
        round_.unchecked = True
    round_.unread_pending = False


def place_unread_card(context: TableContext, round_: RoundState, spot: int | None = None) -> None:
    """
    Lay the card of which the device said that it passed unread on its spot, or
    else on the one that is due.
    """
    if not round_.unread_pending or round_.partial:
        return
    place = lifecycle.known_due(round_).spot if spot is None else spot
    if place is None:
        return
    round_.unread_pending = False
    card = DrawnCard(unread=True)
    put_on_spot(round_, card, place)
    deal_card(context, round_, card)
    lifecycle.publish_due(context, round_, repeat=True)


def raise_unread_card(context: TableContext, card: DrawnCard) -> None:
    """
    Say that a card passed unread, unless that is said already.
    """
    alert = context.join_alert(IrregularityKind.UNREADABLE_CARD, "card")
    if alert is None:
        said = make_detail("unread_card", slot=card.slot)
        context.raise_alert(IrregularityKind.UNREADABLE_CARD, said, slot=card.slot)
    elif card.slot is not None:
        alert.data = replace(alert.data, slot=card.slot)


def _close_missing_draw(context: TableContext, round_: RoundState) -> None:
    round_.missing = round_.draw_ordered = False
    alert = context.find_open_alert(IrregularityKind.MISSING_DRAW)
    if alert is not None:
        context.close_alert(alert, "draw_now", "the missing card was drawn")


def record_excess_card(
    context: TableContext, round_: RoundState | None, card: DrawnCard, *, moved: bool = False
) -> None:
    """
    Take a card that belongs to neither hand.

    Args:
        context: The table.
        round_: The round that it was drawn in or after; None before the first.
        card: The card.
        moved: It was dealt before, and found out when the faces came.
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
        round_.excess_decided = False  # the card that the reader spoke of before
    elif (alert := context.join_alert(IrregularityKind.EXCESS_CARD, "card")) is not None:
        known = hidden_faces.staff_alert_of(context, card)
        if known is not None:
            context.close_alert(known, "continue", "it is part of another irregularity")
        card.alert = alert.data.id
    else:
        verdict = None if round_ is None else lifecycle.public_due(round_)
        said = excess_detail(verdict, card.face if card.public else None)
        _raise_card_alert(context, card, IrregularityKind.EXCESS_CARD, said)
    inventory.raise_double_feed(context)
    if context.state.shoe is not None and not moved:
        context.state.shoe.out += 1
        second_reader.compare_main_card(context, card.face, card)
        shoe_lifecycle.count_card(context, context.state.shoe, card)


def excess_detail(verdict: next_card.CardDue | None, shown: Card | None) -> Detail:
    """
    Return the sentence of a card too many.

    Args:
        verdict: What was due in its round; None before the first round.
        shown: The card, where it may be named.
    """
    values: dict[str, DetailValue] = {} if shown is None else {"card": shown}
    suffix = "_unseen" if shown is None else ""
    if verdict is None:
        return make_detail(f"excess_before_any_round{suffix}", **values)
    if verdict.known and verdict.spot is None:
        say = verdict.say
        values |= {"because": say.detail_code, **say.detail_values}
        return make_detail(f"excess_after_end{suffix}", **values)
    return make_detail(f"excess_out_of_order{suffix}", **values)

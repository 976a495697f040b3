"""
Faces that become known after the draw: of cards dealt face down, read later, or seen by a
camera.
"""

from __future__ import annotations

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Slot
from shoe_daemon.table import alerts, events
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import (
    checker_comparison,
    main_reader_replacement,
    reader_status,
)
from shoe_daemon.table.rounds import (
    card_draw,
    cards_after_early_end,
    checks_under_hidden_faces,
    lifecycle,
    next_card,
    placement,
)
from shoe_daemon.table.shoe_state import DrawnCard, RoundState
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.table_context import TableContext

# A constant, as in `card_draw`.
_P1 = Slot.P1


def disclose_face(context: TableContext, slot: Slot, face: Card) -> RoundState | None:
    """
    Apply the face of a card that was drawn before.

    Return the round that has ended and has this face only now; its result may change.
    """
    round_ = next_card.round_in_progress(context)
    if round_ is None:
        return _disclose_after_round(context, slot, face)
    card = _card_on_slot(round_, slot, face)
    if card is None:
        if not _set_excess_face(context, round_, slot, face) and not _are_all_copies_out(
            context, face
        ):
            round_.partial = True
            card_draw.add_card(context, round_, DrawnCard(face, slot))
    elif card.face is not None and card.face is not face:
        _raise_conflict(context, slot)
    elif not card.public:
        _turn_card_over(context, round_, card, face)
    elif round_.partial and context.mode is RoundEnd.RULES:
        lifecycle.end_partial_round(context, round_)
    return None


def _turn_card_over(
    context: TableContext, round_: RoundState, card: DrawnCard, face: Card
) -> None:
    news = card.face is None
    card.face = face
    lifecycle.show_card(context, round_, card, counted=not news)
    if news:
        _count_disclosed_card(context, card)
    _advance_after_face(context, round_)


def _advance_after_face(context: TableContext, round_: RoundState) -> None:
    if context.state.checks:
        checker_comparison.compare_disclosed_faces(context, round_)
    checks_under_hidden_faces.place_third_cards(context, round_)
    checks_under_hidden_faces.publish_staff_alerts(context, round_)
    checks_under_hidden_faces.raise_staff_alerts(context, round_)
    if round_.relaid:
        checks_under_hidden_faces.restore_excess_cards(context, round_)
    lifecycle.await_quiet_end(context, round_)
    lifecycle.advance_round(context, round_, repeat=False)


def unread_card_on(round_: RoundState, slot: Slot | None) -> DrawnCard | None:
    """
    Return the unread card on a slot that the reader reports.

    A P1 later in the round is the first card of the next round.
    """
    if slot is None or (slot is _P1 and len(round_.cards) > 1):
        return None
    for card in round_.cards:
        if card.unread and slot is (card.declared or card.slot):
            return card
    return None


def apply_second_reading(context: TableContext, slot: Slot | None, face: Card | None) -> bool:
    """Apply a face read at the second attempt; return whether an unread card lies on that slot."""
    round_ = context.state.round
    if round_ is None or round_.ended or face is None:
        return False
    card = unread_card_on(round_, slot)
    if card is None:
        return False
    set_unread_face(context, round_, card, face)
    return True


def set_unread_face(
    context: TableContext, round_: RoundState, card: DrawnCard, face: Card
) -> None:
    """Set the face of an unread card, and advance the round."""
    if placement.is_public_at_draw(context, round_, card):
        _turn_card_over(context, round_, card, face)
        return
    card.face = face
    context.emit(events.StaffCardDealt(face, card.slot))
    _count_disclosed_card(context, card)
    _advance_after_face(context, round_)


def set_late_face(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    face: Card,
    *,
    disclosed: bool = False,
) -> None:
    """
    Set the face of a card of a round that is finished or has ended; `disclosed` by the reader.

    The cards of an aborted round may never have been public.
    """
    card.face = face
    card.public = (
        disclosed or round_.finished or placement.is_public_at_draw(context, round_, card)
    )
    round_.hidden -= card.public
    if disclosed and round_.finished:
        player, banker = next_card.public_totals(round_.spots)
        shown = events.CardDisclosed(banker, face, player, card.slot)
        context.emit(shown, round_.number)
    elif disclosed or not card.public:
        context.emit(events.StaffCardDealt(face, card.slot), round_.number)
    _count_disclosed_card(context, card)
    if context.state.checks:
        checker_comparison.compare_disclosed_faces(context, round_)
    checks_under_hidden_faces.publish_staff_alerts(context, round_)


def _disclose_after_round(context: TableContext, slot: Slot, face: Card) -> RoundState | None:
    # The card may still lie on the table. Otherwise a
    # round has begun unobserved.
    if cards_after_early_end.set_rest_face(context, slot, face):
        return None
    last = context.state.round
    card = None if last is None or context.state.unsynced else _card_on_slot(last, slot, face)
    if last is None or card is None or card.face not in {None, face}:
        if not _are_all_copies_out(context, face):
            card_draw.apply_drawn_card(context, DrawnCard(face, slot), joined=True)
    elif card.face is None:
        set_late_face(context, last, card, face, disclosed=True)
        return last
    return None


def _are_all_copies_out(context: TableContext, face: Card) -> bool:
    # After missed cards: if all copies of this face have left the shoe, the card belongs
    # to a round that has ended. Copies that lie face down count too: then the
    # disclosed card is one of these, and public.
    shoe = context.state.shoe
    if shoe is None or shoe.finished or not context.state.unsynced:
        return False
    return shoe.seen[face.index] >= shoe.decks


def _card_on_slot(round_: RoundState, slot: Slot, face: Card) -> DrawnCard | None:
    # The reader means the slot that it reported, wherever the rules placed the
    # card since; of two cards on one slot, the one that fits.
    here = [card for card in round_.cards if slot is (card.declared or card.slot)]
    for card in here:
        if card.face is None or card.face is face:
            return card
    if here:
        return here[0]
    unplaced = [card for card in round_.cards if card.slot is None and card.declared is None]
    same = [card for card in unplaced if card.face is face]
    for card in same or [card for card in unplaced if card.face is None]:
        placement.put_on_spot(round_, card, DEALING_ORDER.index(slot))
        return card
    return None


def _set_excess_face(context: TableContext, round_: RoundState, slot: Slot, face: Card) -> bool:
    # The face of an excess card is counted too.
    for card in round_.excess:
        if card.declared is slot and card.face in {None, face}:
            if card.face is None and context.state.shoe is not None:
                card.face = face
                context.emit(events.StaffCardDealt(face, None))
                shoe_lifecycle.count_card(context, context.state.shoe, card)
            return True
    return False


def _count_disclosed_card(context: TableContext, card: DrawnCard) -> None:
    if context.state.shoe is not None:
        shoe_lifecycle.count_card(context, context.state.shoe, card)
    if card.unread:
        card.unread = False
        kind = IrregularityKind.UNREADABLE_CARD
        alert = alerts.find_open_alert(context, kind, card.slot) or alerts.find_open_alert(
            context, kind, None
        )
        if alert is not None:
            by_hand = context.reason or "a person said what it is"
            reason = by_hand if context.operator else "the card was read after all"
            alerts.close_alert(context, alert, alert.chosen or "rescan", reason)


def _raise_conflict(context: TableContext, slot: Slot) -> None:
    round_ = next_card.round_in_progress(context)
    if context.state.unsynced or (round_ is not None and round_.partial):
        return  # either card may belong to another round
    if alerts.find_open_alert(context, IrregularityKind.SOURCE_CONFLICT, slot, None) is None:
        alerts.raise_alert(
            context,
            IrregularityKind.SOURCE_CONFLICT,
            make_detail("another_card_on_place", slot=slot),
            slot=slot,
        )


def apply_placed_card(
    context: TableContext, slot: Slot, face: Card, source: str | None = None
) -> None:
    """
    Apply a card that a camera sees on a slot.

    A camera that is the only source deals the card; else it confirms a card that another source
    has drawn.
    """
    if source is not None:
        reader = reader_status.get_reader(context, source)
        reader.places = reader.sees_cards = True
    alone = context.state.placing or main_reader_replacement.is_only_reader_up(context, source)
    round_ = next_card.round_in_progress(context)
    if alone and round_ is not None and round_.cleared:
        # The round lacks a card, but this card was laid after the table was cleared.
        lifecycle.end_or_abort_round(context, round_)
        round_ = None
    lying_card = None if round_ is None else _lying_card(round_, slot, face)
    if round_ is not None and lying_card is not None and lying_card.face in {None, face}:
        lying_card.declared = slot  # perhaps it was moved to its own place
        disclose_face(context, slot, face)
    elif alone and not _is_previous_card(context, slot, face):
        if round_ is not None and lying_card is not None and not _is_next_first_card(round_, slot):
            _raise_conflict(context, slot)
        else:
            card_draw.apply_drawn_card(context, DrawnCard(face, slot))
    elif round_ is not None:
        _compare_slot(context, round_, slot, face)


def _lying_card(round_: RoundState, slot: Slot, face: Card) -> DrawnCard | None:
    """
    Return the card that lies on a slot, or that has its own place there, if that is this face.

    A card that was laid on another place lies there until a person moves it.
    """
    own = round_.spots[DEALING_ORDER.index(slot)]
    lying = [card for card in round_.cards if slot is (card.declared or card.slot)]
    for card in lying:
        if card.face in {None, face}:
            return card
    if own is not None and (own.face is face or (own.face is None and not lying)):
        return own
    return lying[0] if lying else None


def _is_previous_card(context: TableContext, slot: Slot, face: Card) -> bool:
    # A card of the previous round that was not taken away.
    last = context.state.round
    if last is None or not last.ended or last.cleared:
        return False
    card = last.spots[DEALING_ORDER.index(slot)]
    return card is not None and card.face is face


def _is_next_first_card(round_: RoundState, slot: Slot) -> bool:
    # A first card that differs from the first card of a complete round.
    return slot is Slot.P1 and next_card.is_complete(round_)


def _compare_slot(context: TableContext, round_: RoundState, slot: Slot, face: Card) -> None:
    for card in round_.cards:
        if card.face is face:
            if slot is not (card.declared or card.slot):
                card.declared = slot
                problem = placement.compare_slots(round_, card)
                if problem is not None:
                    placement.raise_misplaced_card(context, card, problem)
            return
    if round_.spots[DEALING_ORDER.index(slot)] is not None:
        _raise_conflict(context, slot)

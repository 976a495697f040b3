"""
Faces that become known after the draw: of cards dealt face down, read later, or seen by a
camera.
"""

from __future__ import annotations

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Slot
from shoe_daemon.table import attribute, events, ledger, publish
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Doubt, Round
from shoe_daemon.table.readers import replacement, status
from shoe_daemon.table.rounds import lifecycle, rest
from shoe_daemon.table.shoes import copies
from shoe_daemon.table.view import is_seen_at_draw

# A constant: in Python 3.11 looking up an enumeration's member takes longer than a call.
_P1 = Slot.P1


def disclose_face(context: TableContext, slot: Slot, face: Card) -> None:
    """Apply the face of a card that was drawn before."""
    round_ = lifecycle.in_progress(context)
    if round_ is None:
        _disclose_after_round(context, slot, face)
        return
    if round_.doubts and slot is _P1 and (first := _later_first_card(round_, face)) is not None:
        attribute.split_round(context, round_, first)
        disclose_face(context, slot, face)
        return
    card = _card_on_slot(round_, slot, face)
    if card is None:
        if not set_excess_face(context, round_, face, slot) and not _are_all_copies_out(
            context, face
        ):
            round_.doubt(Doubt.STRANGE)
            attribute.add_card(context, round_, DrawnCard(face, slot, public=True))
    elif card.face is not None and card.face is not face:
        _raise_conflict(context, slot)
    elif not card.public:
        card.face, card.public = face, True
        _advance(context, round_)
    else:
        lifecycle.end_if_over(context, round_)


def _advance(context: TableContext, round_: Round, edited: DrawnCard | None = None) -> None:
    round_.changed()
    lifecycle.await_quiet_end(context, round_)
    publish.commit(context, round_, edited=edited)
    lifecycle.end_if_over(context, round_)


def _later_first_card(round_: Round, face: Card) -> DrawnCard | None:
    """
    Return the card that lies on P1 although another card of this partial round lies there.

    The other one is of a coup before. None if the face does not tell which card is meant.
    """
    first = round_.view.spots[0]
    if first is None or first.face in {None, face}:
        return None
    unplaced = (card for card in round_.cards if card.slot is None and card.declared is None)
    fitting = [card for card in unplaced if card.face is face]
    return fitting[0] if len(fitting) == 1 else None


def unread_card_on(round_: Round, slot: Slot | None) -> DrawnCard | None:
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
    if round_ is None or round_.phase or face is None:
        return False
    card = unread_card_on(round_, slot)
    if card is None:
        return False
    set_unread_face(context, round_, card, face)
    return True


def set_unread_face(
    context: TableContext, round_: Round, card: DrawnCard, face: Card, *, by_person: bool = False
) -> None:
    """
    Set the face of an unread card of a round on the table, and advance the round.

    `by_person`: a person has said what it is.
    """
    is_late = round_.phase or round_.finished
    seen = is_seen_at_draw(card, card.slot, context.style, partial=round_.partial)
    card.face, card.public = face, bool(round_.finished or seen)
    edited = card if by_person else None
    if is_late:
        round_.changed()
        publish.commit(context, round_, edited=edited)
    else:
        _advance(context, round_, edited)


def _disclose_after_round(context: TableContext, slot: Slot, face: Card) -> None:
    # The card may still lie on the table. Otherwise a
    # round has begun unobserved.
    if rest.set_rest_face(context, slot, face):
        return
    last = context.state.round
    card = None if last is None or context.state.unsynced else _card_on_slot(last, slot, face)
    if last is None or card is None or card.face not in {None, face}:
        if not _are_all_copies_out(context, face):
            card = DrawnCard(face, slot, public=True)
            attribute.apply_drawn_card(context, card, joined=True)
    else:
        if card.face is None:
            card.face, card.public = face, True
            last.changed()
        publish.commit(context, last, disclosed=True)


def _are_all_copies_out(context: TableContext, face: Card) -> bool:
    # After missed cards: if all copies of this face have left the shoe, the card belongs
    # to a round that has ended. Copies that lie face down count too: then the
    # disclosed card is one of these, and public.
    shoe = context.state.shoe
    if shoe is None or shoe.finished or not context.state.unsynced:
        return False
    return shoe.seen[face.index] >= shoe.decks


def _card_on_slot(round_: Round, slot: Slot, face: Card) -> DrawnCard | None:
    # The reader means the slot that it reported, wherever the rules placed the
    # card since; of two cards on one slot, the one that fits.
    here = [card for card in round_.cards if slot is card.place]
    for card in here:
        if card.face is None or card.face is face:
            return card
    if here:
        return here[0]
    unplaced = [card for card in round_.cards if card.slot is None and card.declared is None]
    same = [card for card in unplaced if card.face is face]
    for card in same or [card for card in unplaced if card.face is None]:
        card.declared = slot
        round_.changed()
        return card
    return None


def set_excess_face(
    context: TableContext, round_: Round, face: Card, slot: Slot | None = None
) -> bool:
    """
    Set the face of an excess card that could not be read, on this slot if one is given.

    Return whether there is such a card, or one of this face.
    """
    for card in round_.view.excess:
        if (slot is None or card.declared is slot) and card.face in {None, face}:
            if card.face is None and context.state.shoe is not None:
                card.face = card.counted = face
                context.emit(events.StaffCardDealt(face, None))
                copies.count_card(context, context.state.shoe, card)
            return True
    return False


def _raise_conflict(context: TableContext, slot: Slot) -> None:
    round_ = lifecycle.in_progress(context)
    if context.state.unsynced or (round_ is not None and round_.partial):
        return  # either card may belong to another round
    if ledger.find_open_alert(context, IrregularityKind.SOURCE_CONFLICT, slot, None) is None:
        ledger.raise_alert(
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
        reader = status.get_reader(context, source)
        reader.places = reader.sees_cards = True
    alone = context.state.placing or replacement.is_only_reader_up(context, source)
    round_ = lifecycle.in_progress(context)
    if alone and round_ is not None and round_.cleared:
        # The round lacks a card, but this card was laid after the table was cleared.
        lifecycle.end_or_abort_round(context, round_)
        round_ = None
    lying_card = None if round_ is None else _lying_card(round_, slot, face)
    if round_ is not None and lying_card is not None and lying_card.face in {None, face}:
        # Perhaps it was moved to its own place.
        lying_card.declared, lying_card.lies = lying_card.declared or slot, slot
        disclose_face(context, slot, face)
    elif alone and not _is_previous_card(context, slot, face):
        if round_ is not None and lying_card is not None and not _is_next_first_card(round_, slot):
            _raise_conflict(context, slot)
        else:
            attribute.apply_drawn_card(context, DrawnCard(face, slot))
    elif round_ is not None:
        _compare_slot(context, round_, slot, face)


def _lying_card(round_: Round, slot: Slot, face: Card) -> DrawnCard | None:
    """
    Return the card that lies on a slot, or that has its own place there, if that is this face.

    A card that was laid on another place lies there until a person moves it.
    """
    own = round_.view.spots[DEALING_ORDER.index(slot)]
    lying = [card for card in round_.cards if slot is card.place]
    for card in lying:
        if card.face in {None, face}:
            return card
    if own is not None and (own.face is face or (own.face is None and not lying)):
        return own
    return lying[0] if lying else None


def _is_previous_card(context: TableContext, slot: Slot, face: Card) -> bool:
    # A card of the previous round that was not taken away.
    last = context.state.round
    if last is None or not last.phase or last.cleared:
        return False
    card = last.view.spots[DEALING_ORDER.index(slot)]
    return card is not None and card.face is face


def _is_next_first_card(round_: Round, slot: Slot) -> bool:
    # A first card that differs from the first card of a complete round.
    return slot is Slot.P1 and round_.may_end


def _compare_slot(context: TableContext, round_: Round, slot: Slot, face: Card) -> None:
    for card in round_.cards:
        if card.face is face:
            if slot is not card.place:
                card.lies = slot
                # Only the first card with the wrong hand is an irregularity.
                if not round_.view.misplaced and card.declared in {None, card.slot}:
                    card.declared = slot
                _advance(context, round_)
            return
    if round_.view.spots[DEALING_ORDER.index(slot)] is not None:
        _raise_conflict(context, slot)

"""The copies of each face that have left the shoe, and the card that is one copy too many."""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import Card, IrregularityKind, Slot
from shoe_daemon.table import ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.shoe_state import ShoeState
from shoe_daemon.table.shoes import counts
from shoe_daemon.table.state import OpenAlert

_CORRECTED: Final = "by the corrected cards nothing is wrong"


def count_card(context: TableContext, shoe: ShoeState, card: DrawnCard) -> None:
    """Count a card that was drawn, or whose face became known."""
    if context.options.suspect_run is not None:
        counts.record_recent_card(context, shoe, card)
    if card.face is not None:
        count_face(context, shoe, card, card.face)


def count_face(context: TableContext, shoe: ShoeState, card: DrawnCard, face: Card) -> None:
    """
    Count the face of a card.

    One copy more than the shoe holds is a `duplicate_card`; for staff only until the players
    have seen this card, and as many others. After a time without observations another shoe is
    the likely cause, and only the first such card is raised.
    """
    index = face.index
    copies = shoe.seen[index] + 1
    shoe.seen[index] = copies
    if not card.public:
        shoe.unseen[index] += 1
    if copies <= shoe.decks or shoe.mixed:
        return
    public_count = public_copies(shoe, face)
    kind = IrregularityKind.DUPLICATE_CARD
    staff_only = not card.public or public_count <= shoe.decks
    if staff_only and shoe.unwatched and _is_open_for_staff(context, kind):
        return
    shoe.mixed = shoe.unwatched and not staff_only
    detail = duplicate_detail(shoe, copies if staff_only else public_count, face)
    ledger.raise_alert(context, kind, detail, slot=card.slot, card=face, staff_only=staff_only)


def _is_open_for_staff(context: TableContext, kind: IrregularityKind) -> bool:
    return any(each.staff_only and each.data.kind == kind for each in context.state.alerts)


def public_copies(shoe: ShoeState, face: Card) -> int:
    """Return the number of public copies of a face."""
    return shoe.seen[face.index] - shoe.unseen[face.index]


def mark_card_public(context: TableContext, drawn: DrawnCard) -> None:
    """Record that a counted card is public now."""
    shoe, face = context.state.shoe, drawn.face
    if shoe is None or face is None:
        return
    shoe.unseen[face.index] = max(0, shoe.unseen[face.index] - 1)
    if public_copies(shoe, face) > shoe.decks:
        _claim_duplicate(context, drawn, face)
    for card in reversed(shoe.recent):
        if card.number == drawn.number:
            card.seen = True
            return


def _claim_duplicate(context: TableContext, card: DrawnCard, face: Card) -> None:
    """Let a duplicate of this face that is for staff be published with a card now public."""
    round_ = context.state.round
    cards = [] if round_ is None else round_.drawn
    claimed = {number for each in cards for number in each.unsaid}
    found = [
        each
        for each in context.state.alerts
        if each.staff_only
        and (each.data.kind, each.data.card) == (IrregularityKind.DUPLICATE_CARD, face)
        and each.data.id not in claimed
    ]
    if found:
        card.unsaid.append(min(found, key=lambda each: each.data.slot is not card.slot).data.id)


def duplicate_detail(shoe: ShoeState, copies: int, face: Card) -> Detail:
    """Return the sentence for a duplicate card."""
    decks = shoe.decks
    if shoe.unwatched:
        return make_detail("duplicate_card_after_gap", card=face, times=copies)
    if decks == 1:
        return make_detail("duplicate_card_one_deck", card=face, times=copies)
    return make_detail("duplicate_card", card=face, times=copies, decks=decks)


def publish_duplicate(context: TableContext, alert: OpenAlert, slot: Slot | None) -> None:
    """Publish a duplicate that was for staff only; not if another shoe was published since."""
    shoe, face = context.state.shoe, alert.data.card
    if shoe is None or face is None:
        return
    if shoe.mixed:
        ledger.close_alert(context, alert, "continue", "the players know that the shoe is another")
        return
    shoe.mixed = shoe.unwatched
    detail = duplicate_detail(shoe, public_copies(shoe, face), face)
    ledger.publish_alert(context, alert, detail, slot=slot, card=face)


def close_wrong_duplicates(context: TableContext) -> None:
    """Close disproved duplicates after a correction; not if the shoe was probably changed."""
    shoe = context.state.shoe
    for alert in list(context.state.alerts):
        face = alert.data.card
        if alert.data.kind != IrregularityKind.DUPLICATE_CARD or face is None or shoe is None:
            continue
        if alert.staff_only:
            copies = shoe.seen[face.index]
        else:
            # The end of a public alert must not reveal hidden faces.
            copies = shoe.decks + 1 if shoe.mixed else public_copies(shoe, face)
        if copies <= shoe.decks:
            ledger.close_alert(context, alert, "continue", _CORRECTED)

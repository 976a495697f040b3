"""
Irregularities that follow from hidden faces.

While a hidden face decides which card is due, a third card is taken at the slot that the reader
reports, and no irregularity is published. Staff receive at once the irregularities that the
known faces show; the players receive them when the faces are public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, IrregularityKind, Slot
from shoe_daemon.table import alerts
from shoe_daemon.table.rounds import next_card, placement
from shoe_daemon.table.shoes import inventory, shoe_lifecycle

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.shoe_state import DrawnCard, RoundState
    from shoe_daemon.table.table_context import TableContext
    from shoe_daemon.table.table_state import OpenAlert

_EXCESS_CARD = IrregularityKind.EXCESS_CARD


def raise_staff_alerts(context: TableContext, round_: RoundState) -> None:
    """
    Raise for staff the third cards that the known faces show to be wrong; close those that the
    faces no longer show.
    """
    if not round_.unchecked:
        return
    for card, slot in _third_card_slots(round_):
        problem = _third_card_problem(round_, card, slot)
        alert = alerts.find_staff_alert(context, card)
        if alert is not None and alert.data.kind != problem:
            alerts.close_alert(
                context, alert, "continue", "by the faces as they are known nothing is wrong"
            )
            card.alert = alert = None
        if problem is not None and card.alert is None:
            _raise_staff_alert(context, round_, card, slot, problem)


def _third_card_slots(round_: RoundState) -> list[tuple[DrawnCard, Slot | None]]:
    """Return every third card with its slot by the known faces; None for an excess card."""
    places: dict[int, Slot] = {
        id(card): DEALING_ORDER[spot]
        for spot, card in enumerate(next_card.spots_by_known_faces(round_))
        if card is not None
    }
    if next_card.spots_by_known_faces(round_) is round_.spots:
        return []  # too few faces are known
    return [(card, places.get(id(card))) for card in round_.cards[FOUR_CARDS:]]


def _third_card_problem(
    round_: RoundState, card: DrawnCard, slot: Slot | None
) -> IrregularityKind | None:
    return _EXCESS_CARD if slot is None else placement.slot_problem(round_, card, slot)


def _raise_staff_alert(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    slot: Slot | None,
    problem: IrregularityKind,
) -> None:
    if problem is _EXCESS_CARD:
        detail = placement.excess_detail(next_card.known_due(round_), card.face)
    else:
        detail = placement.misplaced_detail(problem, card.declared, slot)
    card.alert = context.state.seq + 1
    # `place_third_cards` publishes it when the deciding faces are public.
    alerts.raise_alert(
        context, problem, detail, slot=slot or card.declared, card=card.face, staff_only=True
    )


def publish_staff_alerts(context: TableContext, round_: RoundState) -> None:
    """Publish every irregularity whose faces are public now."""
    published_faces: list[Card | None] = []
    for alert in [each for each in context.state.alerts if each.staff_only]:
        cards = [card for card in [*round_.cards, *round_.excess] if alert.data.id in card.unsaid]
        if cards and all(card.public for card in cards):
            alerts.publish_alert(context, alert)
        elif alert.data.card not in published_faces and _is_duplicate_public(context, alert):
            published_faces.append(alert.data.card)
            _publish_duplicate(context, alert)
    inventory.publish_suspect_sequences(context)


def _is_duplicate_public(context: TableContext, alert: OpenAlert) -> bool:
    shoe, face = context.state.shoe, alert.data.card
    if shoe is None or face is None or alert.data.kind != IrregularityKind.DUPLICATE_CARD:
        return False
    return shoe_lifecycle.public_copies(shoe, face) > shoe.decks


def _publish_duplicate(context: TableContext, alert: OpenAlert) -> None:
    shoe, face = context.state.shoe, alert.data.card
    if shoe is None or face is None:
        return
    if shoe.mixed:
        alerts.close_alert(context, alert, "continue", "the players know that the shoe is another")
        return
    shoe.mixed = shoe.unwatched
    detail = shoe_lifecycle.duplicate_detail(shoe, shoe_lifecycle.public_copies(shoe, face), face)
    alerts.publish_alert(context, alert, detail, slot=alert.data.slot, card=face)


def close_wrong_duplicates(context: TableContext) -> None:
    """Close the duplicates raised for staff that a correction has disproved."""
    shoe = context.state.shoe
    for alert in [each for each in context.state.alerts if each.staff_only]:
        face = alert.data.card
        if alert.data.kind != IrregularityKind.DUPLICATE_CARD or face is None or shoe is None:
            continue
        if shoe.seen[face.index] <= shoe.decks:
            alerts.close_alert(
                context, alert, "continue", "by the corrected cards nothing is wrong"
            )

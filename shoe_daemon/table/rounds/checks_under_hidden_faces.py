"""
Checks that wait for hidden faces: the slots of third cards, and irregularities for staff only.

While a hidden face decides which card is due, a third card is taken at the slot that the reader
reports, and no irregularity is published. Staff receive at once the irregularities that the
known faces show; the players receive them when the faces are public. Third cards are placed when
the deciding faces are public, and again after a correction.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, IrregularityKind, Slot
from shoe_daemon.table import alerts, events
from shoe_daemon.table.rounds import next_card, placement
from shoe_daemon.table.shoe_state import DrawnCard, RoundState
from shoe_daemon.table.shoes import card_count_and_order_checks, shoe_lifecycle
from shoe_daemon.table.table_context import TableContext
from shoe_daemon.table.table_state import OpenAlert

_EXCESS_CARD = IrregularityKind.EXCESS_CARD
_WRONG_SLOTS: Final = {
    IrregularityKind.WRONG_HAND,
    IrregularityKind.PLAYER_THIRD_UNAUTHORISED,
}


def raise_staff_alerts(context: TableContext, round_: RoundState) -> None:
    """Raise for staff the third cards that the known faces show to be wrong; close the others."""
    if not round_.unchecked:
        return
    for card, slot in _third_card_slots(round_):
        problem = _EXCESS_CARD if slot is None else placement.slot_problem(round_, card, slot)
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
    spots = next_card.spots_by_known_faces(round_)
    if spots is round_.spots:
        return []  # too few faces are known
    places: dict[int, Slot] = {id(card): DEALING_ORDER[spot] for spot, card in enumerate(spots)}
    return [(card, places.get(id(card))) for card in round_.cards[FOUR_CARDS:]]


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
    for alert in [each for each in context.state.alerts if each.staff_only]:
        cards = [card for card in [*round_.cards, *round_.excess] if alert.data.id in card.unsaid]
        if not cards or not all(card.public for card in cards):
            continue
        if alert.data.kind == IrregularityKind.DUPLICATE_CARD:
            _publish_duplicate(context, alert, cards[0].slot)
        else:
            alerts.publish_alert(context, alert)
    card_count_and_order_checks.publish_suspect_sequences(context)


def _publish_duplicate(context: TableContext, alert: OpenAlert, slot: Slot | None) -> None:
    shoe, face = context.state.shoe, alert.data.card
    if shoe is None or face is None:
        return
    if shoe.mixed:
        alerts.close_alert(context, alert, "continue", "the players know that the shoe is another")
        return
    shoe.mixed = shoe.unwatched
    detail = shoe_lifecycle.duplicate_detail(shoe, shoe_lifecycle.public_copies(shoe, face), face)
    alerts.publish_alert(context, alert, detail, slot=slot, card=face)


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
            copies = shoe.decks + 1 if shoe.mixed else shoe_lifecycle.public_copies(shoe, face)
        if copies <= shoe.decks:
            alerts.close_as_corrected(context, alert)


def correct_third_cards(context: TableContext, round_: RoundState) -> None:
    """Place the third cards again after a correction: any of them may be due, or in excess."""
    round_.unchecked = len(round_.cards) > FOUR_CARDS
    round_.relaid = True
    place_third_cards(context, round_, corrected=True)
    _close_wrong_slots(context, round_)
    raise_staff_alerts(context, round_)
    restore_excess_cards(context, round_)
    alert = alerts.find_open_alert(context, IrregularityKind.MISSING_DRAW)
    if not round_.partial and next_card.is_complete(round_):
        round_.missing = False
        if alert is not None:
            alerts.close_as_corrected(context, alert, "no card is due")


def _close_wrong_slots(context: TableContext, round_: RoundState) -> None:
    """Close the third cards with the wrong hand that lie on their slots by the corrected faces."""
    right = {card.alert for card in round_.cards[FOUR_CARDS:] if card.slot is card.declared}
    for alert in list(context.state.alerts):
        if alert.data.kind in _WRONG_SLOTS and alert.data.id in right and not alert.staff_only:
            round_.misplaced &= alert.data.kind != IrregularityKind.WRONG_HAND
            alerts.close_as_corrected(context, alert)


def _public_due_spot(round_: RoundState) -> int | None:
    due = next_card.public_due(round_)
    return due.spot if due.known and not round_.partial else None


def restore_excess_cards(context: TableContext, round_: RoundState) -> None:
    """Deal the excess cards that are due by the corrected faces."""
    laid = len(round_.cards)
    while (spot := _public_due_spot(round_)) is not None and _restore_excess_card(
        context, round_, spot
    ):
        pass
    if len(round_.cards) == laid:
        return
    if not round_.ended:
        placement.publish_due(context, round_, repeat=True)
    else:
        round_.due = next_card.known_due(round_).event
        context.emit(round_.due, round_.number)


def _restore_excess_card(context: TableContext, round_: RoundState, spot: int) -> bool:
    """Deal the first undecided excess card; return whether there was one."""
    found = _undecided_excess(context, round_)
    if found is None:
        return False
    card, alert = found
    alerts.close_as_corrected(context, alert, "the card was due")
    round_.excess.remove(card)
    card.alert = None
    if round_.finished and card.face is not None and not card.public:
        card.public = True
        shoe_lifecycle.mark_card_public(context, card)
    placement.put_on_spot(round_, card, spot)
    round_.cards.append(card)
    round_.hidden += not card.public
    player, banker = next_card.public_totals(round_.spots)
    public_face = card.face if card.public else None
    context.emit(events.CardDealt(banker, public_face, player, card.slot), round_.number)
    return True


def _undecided_excess(
    context: TableContext, round_: RoundState
) -> tuple[DrawnCard, OpenAlert] | None:
    for card in round_.excess:
        for alert in context.state.alerts:
            if alert.data.id == card.alert:
                return card, alert
    return None


def expel_hidden_excess(context: TableContext, round_: RoundState | None) -> None:
    """Remove the excess card that only staff know of: the reader reports its removal."""
    if round_ is None:
        return
    for card in round_.cards:
        alert = alerts.find_staff_alert(context, card)
        if alert is not None and alert.data.kind == _EXCESS_CARD:
            _expel_card(context, round_, card)
            return


def place_third_cards(
    context: TableContext, round_: RoundState, *, corrected: bool = False
) -> None:
    """
    Place third cards by the public faces, in the order out of the shoe; expel excess cards.

    `corrected`: a person has just changed a face.
    """
    if not round_.unchecked or round_.partial:
        return
    if next_card.HIDDEN_POINTS in next_card.public_points(round_.spots)[:FOUR_CARDS]:
        return
    thirds = round_.cards[FOUR_CARDS:]
    round_.spots[next_card.P3_SPOT] = round_.spots[next_card.B3_SPOT] = None
    round_.unchecked = False
    for card in thirds:
        due = next_card.card_due(next_card.public_points(round_.spots))
        if not due.known:  # the Player's third card lies face down
            round_.unchecked = True
            placement.put_on_spot(round_, card, next_card.B3_SPOT)
        elif due.spot is None:
            if corrected:
                _end_earlier_alert(context, card)
            _expel_card(context, round_, card)
        else:
            placement.put_on_spot(round_, card, due.spot)
            problem = placement.compare_slots(round_, card)
            if problem is not None:
                placement.raise_misplaced_card(context, card, problem)


def _end_earlier_alert(context: TableContext, card: DrawnCard) -> None:
    # It lay with the wrong hand; now it belongs to neither.
    alert = next((each for each in context.state.alerts if each.data.id == card.alert), None)
    if alert is not None and alert.data.kind in _WRONG_SLOTS and not alert.staff_only:
        alerts.close_as_corrected(context, alert, "the card belongs to no hand")
        alert = None
    if alert is None:
        card.alert = None


def _expel_card(context: TableContext, round_: RoundState, card: DrawnCard) -> None:
    round_.spots = [None if each is card else each for each in round_.spots]
    round_.cards = [each for each in round_.cards if each is not card]
    round_.hidden -= not card.public
    placement.record_excess_card(context, round_, card, moved=True)

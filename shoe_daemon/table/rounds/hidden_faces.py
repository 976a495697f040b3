"""
What follows from faces that the players have not seen.

While such a face decides whose card is next, a third card lies where the reader says, and
nothing is concluded publicly. Staff are told at once what the known faces show; the players
when the faces are public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, IrregularityKind, Slot
from shoe_daemon.table.rounds import card_draw, disclosure, lifecycle
from shoe_daemon.table.shoes import inventory, shoe_lifecycle

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import TableContext
    from shoe_daemon.table.table_state import DrawnCard, OpenAlert, RoundState

_EXCESS_CARD = IrregularityKind.EXCESS_CARD


def raise_staff_alerts(context: TableContext, round_: RoundState) -> None:
    """
    Tell staff what the known faces show of the third cards, and take back what they do not
    show any more.
    """
    if not round_.unchecked:
        return
    for card, slot in _third_card_slots(round_):
        problem = _third_card_problem(round_, card, slot)
        alert = staff_alert_of(context, card)
        if alert is not None and alert.data.kind != problem:
            context.close_alert(
                alert, "continue", "by the faces as they are known nothing is wrong"
            )
            card.alert = alert = None
        if problem is not None and card.alert is None:
            _raise_staff_alert(context, round_, card, slot, problem)


def _third_card_slots(round_: RoundState) -> list[tuple[DrawnCard, Slot | None]]:
    """
    Return every third card with its place by the known faces; None for one too many.
    """
    places: dict[int, Slot] = {
        id(card): DEALING_ORDER[spot]
        for spot, card in enumerate(lifecycle.spots_by_known_faces(round_))
        if card is not None
    }
    if lifecycle.spots_by_known_faces(round_) is round_.spots:
        return []  # too little is known
    return [(card, places.get(id(card))) for card in round_.cards[FOUR_CARDS:]]


def _third_card_problem(
    round_: RoundState, card: DrawnCard, slot: Slot | None
) -> IrregularityKind | None:
    if slot is None:
        return _EXCESS_CARD
    if card.declared is None or card.declared is slot or round_.misplaced:
        return None
    if slot is Slot.B3 and card.declared is Slot.P3:
        return IrregularityKind.PLAYER_THIRD_UNAUTHORISED
    return IrregularityKind.WRONG_HAND


def _raise_staff_alert(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    slot: Slot | None,
    problem: IrregularityKind,
) -> None:
    if problem is _EXCESS_CARD:
        said = card_draw.excess_detail(lifecycle.known_due(round_), card.face)
    else:
        said = card_draw.misplaced_detail(problem, card.declared, slot)
    card.alert = context.state.seq + 1
    # It is told publicly when the third cards are laid by the faces that decide.
    context.raise_alert(problem, said, slot=slot or card.declared, card=card.face, staff_only=True)


def staff_alert_of(context: TableContext, card: DrawnCard) -> OpenAlert | None:
    """
    Return the open irregularity of a card that only staff know of.
    """
    for alert in context.state.alerts:
        if alert.staff_only and alert.data.id == card.alert:
            return alert
    return None


def lay_thirds(context: TableContext, round_: RoundState) -> None:
    """
    Lay the third cards by the faces that the players have seen by now.
    """
    disclosure.place_third_cards(context, round_)


def publish_staff_alerts(context: TableContext, round_: RoundState) -> None:
    """
    Tell the players of every irregularity whose faces they have now seen.
    """
    told: list[Card | None] = []
    for alert in [each for each in context.state.alerts if each.staff_only]:
        cards = [card for card in [*round_.cards, *round_.excess] if alert.data.id in card.unsaid]
        if cards and all(card.public for card in cards):
            context.publish_alert(alert)
        elif alert.data.card not in told and _is_duplicate_public(context, alert):
            told.append(alert.data.card)
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
        context.close_alert(alert, "continue", "the players know that the shoe is another")
        return
    shoe.mixed = shoe.unwatched
    said = shoe_lifecycle.duplicate_detail(shoe, shoe_lifecycle.public_copies(shoe, face), face)
    context.publish_alert(alert, said, slot=alert.data.slot, card=face)


def close_wrong_duplicates(context: TableContext) -> None:
    """
    Close what only staff were told of a card that came too often, where a correction shows
    that it did not.
    """
    shoe = context.state.shoe
    for alert in [each for each in context.state.alerts if each.staff_only]:
        face = alert.data.card
        if alert.data.kind != IrregularityKind.DUPLICATE_CARD or face is None or shoe is None:
            continue
        if shoe.seen[face.index] <= shoe.decks:
            context.close_alert(alert, "continue", "by the corrected cards nothing is wrong")


def expel_hidden_excess(context: TableContext, round_: RoundState | None) -> None:
    """
    Take the card too many out of the round that only staff know of: the reader says now
    what became of it.
    """
    for card in [] if round_ is None else list(round_.cards):
        alert = staff_alert_of(context, card)
        if round_ is not None and alert is not None and alert.data.kind == _EXCESS_CARD:
            round_.spots = [None if each is card else each for each in round_.spots]
            round_.cards = [each for each in round_.cards if each is not card]
            round_.hidden -= not card.public
            card_draw.record_excess_card(context, round_, card, moved=True)
            return


def has_known_hidden_face(round_: RoundState) -> bool:
    """
    Tell whether a face is known that the players have not seen.
    """
    return bool(round_.hidden) and any(
        card.face is not None and not card.public for card in round_.cards
    )

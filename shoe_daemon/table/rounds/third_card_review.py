"""Third cards: checked when the deciding faces are public, and placed again after a correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import FOUR_CARDS, IrregularityKind
from shoe_daemon.table import alerts, events
from shoe_daemon.table.rounds import hidden_face_irregularities, next_card, placement
from shoe_daemon.table.shoe_state import DrawnCard, RoundState
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.table_context import TableContext
from shoe_daemon.table.table_state import OpenAlert

if TYPE_CHECKING:
    from shoe_daemon.table.shoe_state import DrawnCard, RoundState
    from shoe_daemon.table.table_context import TableContext
    from shoe_daemon.table.table_state import OpenAlert


def correct_third_cards(context: TableContext, round_: RoundState) -> None:
    """
    Place the third cards again after a correction; an excess card may be due, and a dealt card
    may be in excess.
    """
    round_.unchecked = len(round_.cards) > FOUR_CARDS
    round_.relaid = True
    place_third_cards(context, round_)
    hidden_face_irregularities.raise_staff_alerts(context, round_)
    restore_excess_cards(context, round_)
    alert = alerts.find_open_alert(context, IrregularityKind.MISSING_DRAW)
    if not round_.partial and next_card.is_complete(round_):
        round_.missing = False
        if alert is not None:
            _close_as_corrected(context, alert, "no card is due")


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
    _close_as_corrected(context, alert, "the card was due")
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


def _close_as_corrected(context: TableContext, alert: OpenAlert, why: str) -> None:
    alerts.close_alert(context, alert, "continue", f"by the corrected cards {why}")


def expel_hidden_excess(context: TableContext, round_: RoundState | None) -> None:
    """
    Remove from the round the excess card that only staff know of, because the reader reports
    its removal.
    """
    for card in [] if round_ is None else list(round_.cards):
        alert = alerts.find_staff_alert(context, card)
        if (
            round_ is not None
            and alert is not None
            and alert.data.kind == IrregularityKind.EXCESS_CARD
        ):
            round_.spots = [None if each is card else each for each in round_.spots]
            round_.cards = [each for each in round_.cards if each is not card]
            round_.hidden -= not card.public
            placement.record_excess_card(context, round_, card, moved=True)
            return


def place_third_cards(context: TableContext, round_: RoundState) -> None:
    """
    Place the third cards by the public faces, in the order out of the shoe; expel excess cards.
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
            _expel_third_card(context, round_, card)
        else:
            placement.put_on_spot(round_, card, due.spot)
            problem = placement.compare_slots(round_, card)
            if problem is not None:
                placement.raise_misplaced_card(context, card, problem)


def _expel_third_card(context: TableContext, round_: RoundState, card: DrawnCard) -> None:
    round_.cards.remove(card)
    round_.hidden -= not card.public
    placement.record_excess_card(context, round_, card, moved=True)

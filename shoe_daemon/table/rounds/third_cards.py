"""
A card turned out to be another one: which third cards were due is worked out
anew, by the order in which they left the shoe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import IrregularityKind
from shoe_daemon.table import events
from shoe_daemon.table.rounds import card_draw, disclosure, hidden_faces, lifecycle, next_card
from shoe_daemon.table.shoes import shoe_lifecycle

if TYPE_CHECKING:
    from shoe_daemon.table.table_context import TableContext
    from shoe_daemon.table.table_state import DrawnCard, OpenAlert, RoundState

_FIRST = 4


def correct_third_cards(context: TableContext, round_: RoundState) -> None:
    """
    Give each third card the place that it is due by the faces as they are known
    now; one that was too many may be due, and the other way round.
    """
    round_.unchecked = len(round_.cards) > _FIRST
    round_.relaid = True
    disclosure.place_third_cards(context, round_)
    hidden_faces.raise_staff_alerts(context, round_)
    restore_excess_cards(context, round_)
    alert = context.find_open_alert(IrregularityKind.MISSING_DRAW)
    if not round_.partial and lifecycle.is_complete(round_):
        round_.missing = False
        if alert is not None:
            _close_alert(context, alert, "no card is due")


def _public_due_spot(round_: RoundState) -> int | None:
    verdict = lifecycle.public_due(round_)
    return verdict.spot if verdict.known and not round_.partial else None


def restore_excess_cards(context: TableContext, round_: RoundState) -> None:
    """
    Lay those cards that were too many by a wrong face where they are due; some of
    them only when the face of one before has come.
    """
    laid = len(round_.cards)
    while (spot := _public_due_spot(round_)) is not None and _restore_excess_card(
        context, round_, spot
    ):
        pass
    if len(round_.cards) == laid:
        return
    if not round_.ended:
        lifecycle.publish_due(context, round_, repeat=True)
    else:
        round_.due = lifecycle.known_due(round_).say
        context.emit(round_.due, round_.number)


def _restore_excess_card(context: TableContext, round_: RoundState, spot: int) -> bool:
    """
    Lay the first card that was too many on a place, unless a person has decided
    what becomes of it.
    """
    found = _undecided_excess(context, round_)
    if found is None:
        return False
    card, alert = found
    _close_alert(context, alert, "the card was due")
    round_.excess.remove(card)
    card.alert = None
    if round_.finished and card.face is not None and not card.public:
        card.public = True
        shoe_lifecycle.mark_card_public(context, card)
    card_draw.put_on_spot(round_, card, spot)
    round_.cards.append(card)
    round_.hidden += not card.public
    player, banker = next_card.public_totals(round_.spots)
    shown = card.face if card.public else None
    context.emit(events.CardDealt(banker, shown, player, card.slot), round_.number)
    return True


def _undecided_excess(
    context: TableContext, round_: RoundState
) -> tuple[DrawnCard, OpenAlert] | None:
    for card in round_.excess:
        for alert in context.state.alerts:
            if alert.data.id == card.alert:
                return card, alert
    return None


def _close_alert(context: TableContext, alert: OpenAlert, why: str) -> None:
    context.close_alert(alert, "continue", f"by the corrected cards {why}")

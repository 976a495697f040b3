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
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn, OpenAlert, RoundState

_FIRST = 4


def lay_anew(fold: Fold, round_: RoundState) -> None:
    """
    Give each third card the place that it is due by the faces as they are known
    now; one that was too many may be due, and the other way round.
    """
    round_.unchecked = len(round_.cards) > _FIRST
    round_.relaid = True
    disclosure.check_thirds(fold, round_)
    hidden_faces.conclude(fold, round_)
    take_all_back(fold, round_)
    alert = fold.open_alert(IrregularityKind.MISSING_DRAW)
    if not round_.partial and lifecycle.is_complete(round_):
        round_.missing = False
        if alert is not None:
            _close(fold, alert, "no card is due")


def _due(round_: RoundState) -> int | None:
    verdict = lifecycle.told(round_)
    return verdict.spot if verdict.known and not round_.partial else None


def take_all_back(fold: Fold, round_: RoundState) -> None:
    """
    Lay those cards that were too many by a wrong face where they are due; some of
    them only when the face of one before has come.
    """
    laid = len(round_.cards)
    while (spot := _due(round_)) is not None and _take_back(fold, round_, spot):
        pass
    if len(round_.cards) == laid:
        return
    if not round_.ended:
        lifecycle.say_due(fold, round_, repeat=True)
    else:
        round_.due = lifecycle.truth(round_).say
        fold.emit(round_.due, round_.number)


def _take_back(fold: Fold, round_: RoundState, spot: int) -> bool:
    """
    Lay the first card that was too many on a place, unless a person has decided
    what becomes of it.
    """
    found = _undecided(fold, round_)
    if found is None:
        return False
    card, alert = found
    _close(fold, alert, "the card was due")
    round_.excess.remove(card)
    card.alert = None
    if round_.finished and card.face is not None and not card.public:
        card.public = True
        shoe_lifecycle.now_seen(fold, card)
    card_draw.put(round_, card, spot)
    round_.cards.append(card)
    round_.hidden += not card.public
    player, banker = next_card.public_totals(round_.spots)
    shown = card.face if card.public else None
    fold.emit(events.CardDealt(banker, shown, player, card.slot), round_.number)
    return True


def _undecided(fold: Fold, round_: RoundState) -> tuple[Drawn, OpenAlert] | None:
    for card in round_.excess:
        for alert in fold.state.alerts:
            if alert.data.id == card.alert:
                return card, alert
    return None


def _close(fold: Fold, alert: OpenAlert, why: str) -> None:
    fold.close_alert(alert, "continue", f"by the corrected cards {why}")

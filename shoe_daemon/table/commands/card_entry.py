"""
A person enters a card that passed unread: one that lies on the table, the one
that the reader waits over, or the first of the next round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Slot
from shoe_daemon.table.commands import corrections
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.rounds import card_draw, disclosure, lifecycle
from shoe_daemon.table.table_state import Drawn

if TYPE_CHECKING:
    from shoe_daemon.table.observations import Command
    from shoe_daemon.table.table_context import Fold


def _unread(fold: Fold, order: Command) -> Drawn | None:
    round_ = corrections.on_table(fold, order.round)
    found = [
        card
        for card in (round_.cards if round_ is not None else ())
        if card.face is None and card.unread and order.slot in {None, card.slot}
    ]
    return found[0] if len(found) == 1 or (found and order.slot) else None


def _pending(fold: Fold, order: Command) -> int | None:
    """
    Return the place that is due, where the reader has just said that a card passed
    unread: that card lies there.
    """
    round_ = corrections.on_table(fold, order.round)
    if round_ is None or round_.ended or round_.partial or not round_.unread_pending:
        return None
    verdict, spot = lifecycle.told(round_), None
    if verdict.known:
        spot = verdict.spot
    elif order.slot in {Slot.P3, Slot.B3}:
        spot = DEALING_ORDER.index(order.slot)  # nobody else can know where it lies
    if spot is None or round_.spots[spot] is not None:
        return None
    return spot if order.slot in {None, DEALING_ORDER[spot]} else None


def _begins_round(fold: Fold, order: Command) -> bool:
    """
    Tell whether the reader has said between two rounds that a card passed unread:
    it is the first of the next one.
    """
    alert = fold.open_alert(IrregularityKind.UNREADABLE_CARD)
    if alert is None or alert.round is not None or "card" in alert.evidence:
        return False
    return lifecycle.in_progress(fold) is None and order.slot in {None, Slot.P1}


def check_entry(fold: Fold, order: Command) -> str | None:
    """
    Say why a card cannot be entered.
    """
    if order.card is None:
        return "which card? give it as rank and suit, such as 10H"
    if _begins_round(fold, order):
        return None
    if _unread(fold, order) is None and _pending(fold, order) is None:
        where = f" on {order.slot}" if order.slot else ""
        return f"there is no single card{where} on the table that could not be read"
    return None


def enter_card(fold: Fold, order: Command) -> None:
    """
    Say what the card was that passed unread.
    """
    if _begins_round(fold, order):
        first = Slot.P1 if fold.mode is RoundEnd.DEVICE else None
        card_draw.play(fold, Drawn(declared=first, unread=True))
    round_, spot = corrections.on_table(fold, order.round), _pending(fold, order)
    if round_ is not None and spot is not None:
        card_draw.lay_unread(fold, round_, spot)
    card = _unread(fold, order)
    if round_ is None or card is None or order.card is None:
        return
    # A reader that reads it after all speaks of the same card.
    card.declared = card.declared or card.slot
    corrections.say_corrected(fold, round_, card, None, order.card)
    alert = fold.open_alert(IrregularityKind.UNREADABLE_CARD, card.slot, None)
    if alert is not None:
        alert.chosen = "manual_entry"
    if not (round_.ended or round_.finished):
        disclosure.know(fold, round_, card, order.card)
        return
    disclosure.know_late(fold, round_, card, order.card)
    if round_.finished:
        corrections.result_again(fold, round_)

"""
The rest of a coup whose round ended early: voided, entered by hand, or given up by a ruling.

Further cards of the coup are counted and belong to no round, until the next boundary or a card
that the reader reports as P1. A seventh card, or a second one on a slot, cannot be of the coup: a
boundary was missed, and a partial round begins.
"""

from __future__ import annotations

from shoe_daemon.game import Card, Slot
from shoe_daemon.table import events, publish
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Phase, Round, is_repeat
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import status
from shoe_daemon.table.shoes import copies, counts
from shoe_daemon.table.view import interpret


def may_cards_follow(context: TableContext, round_: Round, *, whole: bool) -> bool:
    """Return whether cards of a coup may follow its round; `whole` if all so far were observed."""
    if context.mode is RoundEnd.RULES:
        # Here only the rules end a coup, and they need all of its cards.
        return whole and _next_spot(round_) is not None
    is_away = any(reader.link == "down" for reader in context.state.readers.values())
    return bool(round_.cards) or context.state.unsynced or is_away


def is_rest_card(round_: Round, card: DrawnCard) -> bool:
    """Return whether a card may belong to the rest of a round's coup."""
    if card.declared is Slot.P1:
        return False
    # The end of the coup was declared: only a card with a reported slot still belongs to it.
    return card.declared is not None or not round_.over


def is_boundary_missed(context: TableContext, round_: Round, card: DrawnCard) -> bool:
    """Return whether a coup has no place for one more card of its rest."""
    if context.mode is RoundEnd.RULES:
        return False  # the rules have ended the coup before
    drawn = [*round_.cards, *round_.rest]
    if card.declared is None:
        return len(drawn) >= len(Slot)
    is_taken = any(each.declared is card.declared for each in drawn)
    return is_taken and not is_repeat(card, drawn)


def count_rest_card(context: TableContext, round_: Round, card: DrawnCard) -> None:
    """Count a card of the rest of the coup; only staff see its face."""
    if context.state.shoe is None or is_repeat(card, round_.rest):
        return
    round_.rest.append(card)
    if card.face is not None:
        context.emit(events.StaffCardDealt(card.face, card.declared), round_.number)
    counts.raise_double_feed(context)
    publish.count_loose_card(context, card)
    status.start_quiet_timer(context)
    if context.mode is RoundEnd.RULES and _next_spot(round_) is None:
        round_.phase = Phase.ENDED


def set_rest_face(context: TableContext, slot: Slot, face: Card) -> bool:
    """
    Set the face of a card of the rest of the coup that was drawn face down.

    Return whether such a card lies on that slot.
    """
    round_, shoe = context.state.round, context.state.shoe
    if round_ is None or shoe is None or round_.phase != Phase.REST:
        return False
    for card in round_.rest:
        if card.declared is slot and card.face in {None, face}:
            if card.face is None:
                card.face = card.counted = face
                context.emit(events.StaffCardDealt(face, slot), round_.number)
                copies.count_card(context, shoe, card)
            return True
    return False


def _next_spot(round_: Round) -> int | None:
    """Return the spot that is due in the coup of a round, its rest included; None if none is."""
    rest = [DrawnCard(card.face, unread=card.unread) for card in round_.rest]
    return interpret(
        [*round_.drawn, *rest], masked=False, partial=False, on_five=round_.on_five
    ).due.spot

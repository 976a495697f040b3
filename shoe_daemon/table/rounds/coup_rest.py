"""
The rest of a coup whose round is over before its cards are out: voided, entered by hand,
or given up by a ruling.

Its further cards are counted and belong to no round, until the next boundary or a card
that the reader names the Player's first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import Slot
from shoe_daemon.table import events
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import reader_state, second_reader
from shoe_daemon.table.rounds import card_draw, next_card
from shoe_daemon.table.shoes import inventory, shoe_lifecycle
from shoe_daemon.table.table_state import Drawn

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState


def may_come(fold: Fold, round_: RoundState, *, whole: bool) -> bool:
    """
    Tell whether cards of a round's coup may still come after the round.

    Args:
        fold: The table.
        round_: The round.
        whole: All of its cards so far were seen, and their faces are known.
    """
    if fold.mode is RoundEnd.RULES:
        # Nothing but the rules ends a coup here, and they need all of its cards.
        return whole and _due(round_) is not None
    return bool(round_.cards) or _reader_is_away(fold)


def owns(round_: RoundState, card: Drawn) -> bool:
    """
    Tell whether a card is one of the coup of a round that owns the rest of it.
    """
    if card.declared is Slot.P1:
        return False
    # The end of the coup was declared: only a place that the reader names is still its own.
    return card.declared is not None or not round_.over


def take(fold: Fold, card: Drawn) -> None:
    """
    Count a card of the coup; only staff see its face.
    """
    round_, shoe = fold.state.round, fold.state.shoe
    if round_ is None or shoe is None or _is_repeat(round_, card):
        return
    round_.rest.append(card)
    if card.face is not None:
        fold.emit(events.StaffCardDealt(card.face, card.declared), round_.number)
    inventory.check_pace(fold)
    shoe.out += 1
    second_reader.drawn(fold, card.face, card)
    shoe_lifecycle.count(fold, shoe, card)
    reader_state.await_quiet(fold)
    if fold.mode is RoundEnd.RULES:
        _lay(round_, card)


def learn(fold: Fold, slot: Slot, face: Card) -> bool:
    """
    Take the face of a card that was drawn face down after the round was over.

    Returns:
        Whether a round that owns the rest of its coup is on the table.
    """
    round_, shoe = fold.state.round, fold.state.shoe
    if round_ is None or shoe is None or not (round_.owns_rest and round_.rest):
        return False
    for card in round_.rest:
        if card.declared is slot and card.face in {None, face}:
            if card.face is None:
                card.face = face
                fold.emit(events.StaffCardDealt(face, slot), round_.number)
                shoe_lifecycle.count(fold, shoe, card)
            return True
    return False


def _is_repeat(round_: RoundState, card: Drawn) -> bool:
    if card.declared is None or card.face is None:
        return False
    return any(each.declared is card.declared and each.face is card.face for each in round_.rest)


def _reader_is_away(fold: Fold) -> bool:
    known = fold.state.readers.values()
    return fold.state.unsynced or any(reader.link == "down" for reader in known)


def _lay(round_: RoundState, card: Drawn) -> None:
    # The coup is followed in silence, to know its last card.
    spot = _due(round_)
    if spot is not None:
        laid = Drawn(card.face, card.declared, unread=card.unread)
        card_draw.put(round_, laid, spot)
        round_.cards.append(laid)
        round_.hidden += 1
    round_.owns_rest = _due(round_) is not None


def _due(round_: RoundState) -> int | None:
    return next_card.due(next_card.known_points(round_.spots)).spot

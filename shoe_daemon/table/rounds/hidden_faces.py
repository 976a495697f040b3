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
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn, OpenAlert, RoundState

_EXCESS = IrregularityKind.EXCESS_CARD


def conclude(fold: Fold, round_: RoundState) -> None:
    """
    Tell staff what the known faces show of the third cards, and take back what they do not
    show any more.
    """
    if not round_.unchecked:
        return
    for card, slot in _places(round_):
        problem = _problem(round_, card, slot)
        alert = alert_of(fold, card)
        if alert is not None and alert.data.kind != problem:
            fold.close_alert(alert, "continue", "by the faces as they are known nothing is wrong")
            card.alert = alert = None
        if problem is not None and card.alert is None:
            _raise(fold, round_, card, slot, problem)


def _places(round_: RoundState) -> list[tuple[Drawn, Slot | None]]:
    """
    Return every third card with its place by the known faces; None for one too many.
    """
    places: dict[int, Slot] = {
        id(card): DEALING_ORDER[spot]
        for spot, card in enumerate(lifecycle.laid(round_))
        if card is not None
    }
    if lifecycle.laid(round_) is round_.spots:
        return []  # too little is known
    return [(card, places.get(id(card))) for card in round_.cards[FOUR_CARDS:]]


def _problem(round_: RoundState, card: Drawn, slot: Slot | None) -> IrregularityKind | None:
    if slot is None:
        return _EXCESS
    if card.declared is None or card.declared is slot or round_.misplaced:
        return None
    if slot is Slot.B3 and card.declared is Slot.P3:
        return IrregularityKind.PLAYER_THIRD_UNAUTHORISED
    return IrregularityKind.WRONG_HAND


def _raise(
    fold: Fold, round_: RoundState, card: Drawn, slot: Slot | None, problem: IrregularityKind
) -> None:
    if problem is _EXCESS:
        said = card_draw.excess_detail(lifecycle.truth(round_), card.face)
    else:
        said = card_draw.misplaced_detail(problem, card.declared, slot)
    card.alert = fold.state.seq + 1
    # It is told publicly when the third cards are laid by the faces that decide.
    fold.raise_alert(problem, said, slot=slot or card.declared, card=card.face, staff_only=True)


def alert_of(fold: Fold, card: Drawn) -> OpenAlert | None:
    """
    Return the open irregularity of a card that only staff know of.
    """
    for alert in fold.state.alerts:
        if alert.staff_only and alert.data.id == card.alert:
            return alert
    return None


def lay_thirds(fold: Fold, round_: RoundState) -> None:
    """
    Lay the third cards by the faces that the players have seen by now.
    """
    disclosure.check_thirds(fold, round_)


def publish(fold: Fold, round_: RoundState) -> None:
    """
    Tell the players of every irregularity whose faces they have now seen.
    """
    told: list[Card | None] = []
    for alert in [each for each in fold.state.alerts if each.staff_only]:
        cards = [card for card in [*round_.cards, *round_.excess] if alert.data.id in card.unsaid]
        if cards and all(card.public for card in cards):
            fold.publish_alert(alert)
        elif alert.data.card not in told and _shows_duplicate(fold, alert):
            told.append(alert.data.card)
            _publish_duplicate(fold, alert)
    inventory.tell_sequence(fold)


def _shows_duplicate(fold: Fold, alert: OpenAlert) -> bool:
    shoe, face = fold.state.shoe, alert.data.card
    if shoe is None or face is None or alert.data.kind != IrregularityKind.DUPLICATE_CARD:
        return False
    return shoe_lifecycle.shown_copies(shoe, face) > shoe.decks


def _publish_duplicate(fold: Fold, alert: OpenAlert) -> None:
    shoe, face = fold.state.shoe, alert.data.card
    if shoe is None or face is None:
        return
    if shoe.mixed:
        fold.close_alert(alert, "continue", "the players know that the shoe is another")
        return
    shoe.mixed = shoe.unwatched
    said = shoe_lifecycle.duplicate_detail(shoe, shoe_lifecycle.shown_copies(shoe, face), face)
    fold.publish_alert(alert, said, slot=alert.data.slot, card=face)


def take_back(fold: Fold) -> None:
    """
    Close what only staff were told of a card that came too often, where a correction shows
    that it did not.
    """
    shoe = fold.state.shoe
    for alert in [each for each in fold.state.alerts if each.staff_only]:
        face = alert.data.card
        if alert.data.kind != IrregularityKind.DUPLICATE_CARD or face is None or shoe is None:
            continue
        if shoe.seen[face.index] <= shoe.decks:
            fold.close_alert(alert, "continue", "by the corrected cards nothing is wrong")


def expel(fold: Fold, round_: RoundState | None) -> None:
    """
    Take the card too many out of the round that only staff know of: the reader says now
    what became of it.
    """
    for card in [] if round_ is None else list(round_.cards):
        alert = alert_of(fold, card)
        if round_ is not None and alert is not None and alert.data.kind == _EXCESS:
            round_.spots = [None if each is card else each for each in round_.spots]
            round_.cards = [each for each in round_.cards if each is not card]
            round_.hidden -= not card.public
            card_draw.take_excess(fold, round_, card, moved=True)
            return


def has_known(round_: RoundState) -> bool:
    """
    Tell whether a face is known that the players have not seen.
    """
    return bool(round_.hidden) and any(
        card.face is not None and not card.public for card in round_.cards
    )

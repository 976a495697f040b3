"""
The card that is due next, by the known faces and by the public faces.

`card_due` takes six spots in dealing order, each None or a face's points. It is called twice:
with all known faces, to check the draws; and with the public faces only, to publish `draw_due`.

A Player who stands is published with the Banker's draw or stand (`banker_draws`, `banker_stands`):
the code `player_stands` of the contract is never emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple

from shoe_daemon.game import (
    DEALING_ORDER,
    FOUR_CARDS,
    NATURAL,
    Hand,
    Slot,
    banker_draws,
    is_natural,
    player_draws,
)
from shoe_daemon.table.detail_texts import DetailValue, make_detail
from shoe_daemon.table.events import DrawDue
from shoe_daemon.table.shoe_state import DrawnCard, RoundState
from shoe_daemon.table.table_context import TableContext

P3_SPOT: Final = 4
B3_SPOT: Final = 5

HIDDEN_POINTS: Final = -1
"""The points of a card whose face is not known."""


class CardDue(NamedTuple):
    """
    The card that the rules require next.

    Attributes:
        spot: The index of the due slot in dealing order; None if no card is due.
        known: The faces suffice to decide it.
        event: The `draw_due` event that publishes it.
    """

    spot: int | None
    known: bool
    event: DrawDue


def _due_with_reason(
    code: str,
    hand: Hand,
    reason: str,
    values: Mapping[str, DetailValue] = MappingProxyType({}),
    *,
    spot: int | None = None,
) -> CardDue:
    why = make_detail(reason, **values)
    event = DrawDue(
        code=code,  # type: ignore[arg-type]
        detail_code=why.code,
        detail_values=why.values,
        hand=hand,
        text=why.text,
    )
    return CardDue(spot, known=True, event=event)


FIRST_FOUR_DUE: Final = tuple(
    _due_with_reason("dealing", hand, f"{place}_card_due", {"hand": hand}, spot=spot)
    for spot, (place, hand) in enumerate(product(("first", "second"), (Hand.PLAYER, Hand.BANKER)))
)
_FACES_HIDDEN: Final = _due_with_reason("faces_hidden", Hand.NONE, "cards_face_down")._replace(
    known=False
)
_CARD_NOT_SEEN: Final = _due_with_reason("faces_hidden", Hand.NONE, "card_not_seen")._replace(
    known=False
)


def card_due(points: Sequence[int | None], *, partial: bool = False) -> CardDue:
    """
    Return the card that the rules require next; `partial` if cards may have been missed.

    `points` has six spots in dealing order: None for no card, 0 to 9, or `HIDDEN_POINTS`.
    """
    first, second, third, fourth, player_third, banker_third = points
    if first is None or second is None or third is None or fourth is None:
        return _CARD_NOT_SEEN if partial else FIRST_FOUR_DUE[points.index(None)]
    if HIDDEN_POINTS in (first, second, third, fourth):
        return _FACES_HIDDEN
    return _third_card_due(
        (first + third) % 10,
        (second + fourth) % 10,
        player_third,
        banker_third is not None,
    )


@cache
def _third_card_due(
    player: int,
    banker: int,
    player_third: int | None,
    banker_has_third: bool,  # noqa: FBT001 - a cache key
) -> CardDue:
    if is_natural(player, banker):
        return _due_after_natural(player, banker)
    if not player_draws(player):
        return _banker_due(
            banker, None, "player_stood", {"player": player}, drawn=banker_has_third
        )
    if player_third is None:
        values = {"player": player}
        return _due_with_reason("player_draws", Hand.PLAYER, "player_draws", values, spot=P3_SPOT)
    if player_third == HIDDEN_POINTS:
        return _FACES_HIDDEN
    third = {"third": player_third}
    return _banker_due(banker, player_third, "player_drew", third, drawn=banker_has_third)


def _due_after_natural(player: int, banker: int) -> CardDue:
    if min(player, banker) >= NATURAL:
        totals = {"player": player, "banker": banker}
        return _due_with_reason("natural", Hand.NONE, "both_naturals", totals)
    hand = Hand.PLAYER if player > banker else Hand.BANKER
    values: dict[str, DetailValue] = {"hand": hand, "total": max(player, banker)}
    return _due_with_reason("natural", Hand.NONE, "natural", values)


def _banker_due(
    banker: int, third: int | None, before: str, values: dict[str, int], *, drawn: bool
) -> CardDue:
    values = {**values, "banker": banker}
    if not banker_draws(banker, third):
        return _due_with_reason("banker_stands", Hand.NONE, f"{before}_banker_stands", values)
    if drawn:
        return _due_with_reason("complete", Hand.NONE, "both_complete")
    reason = f"{before}_banker_draws"
    return _due_with_reason("banker_draws", Hand.BANKER, reason, values, spot=B3_SPOT)


def known_points(spots: Sequence[DrawnCard | None]) -> list[int | None]:
    """Return the points of the spots by all known faces."""
    return [
        None if card is None else HIDDEN_POINTS if card.face is None else card.face.points
        for card in spots
    ]


def public_points(spots: Sequence[DrawnCard | None]) -> list[int | None]:
    """Return the points of the spots by the public faces."""
    return [
        None
        if card is None
        else HIDDEN_POINTS
        if card.face is None or not card.public
        else card.face.points
        for card in spots
    ]


def public_totals(spots: Sequence[DrawnCard | None]) -> tuple[int | None, int | None]:
    """
    Return the public totals of the Player and of the Banker, 0 to 9.

    A hand that is empty, or has a hidden or missed card, has None.
    """
    return _public_total(spots[0], spots[2], spots[P3_SPOT]), _public_total(
        spots[1], spots[3], spots[B3_SPOT]
    )


def _public_total(
    first: DrawnCard | None, second: DrawnCard | None, third: DrawnCard | None
) -> int | None:
    # Twice a card: without lists in between the whole table is a fifth faster.
    if first is None or first.face is None or not first.public:
        return None
    if second is None:
        return first.face.points if third is None else None
    if second.face is None or not second.public:
        return None
    total = first.face.points + second.face.points
    if third is not None:
        if third.face is None or not third.public:
            return None
        total += third.face.points
    return total % 10


def has_known_hidden_face(round_: RoundState) -> bool:
    """Return whether a known face of this round is not public."""
    return bool(round_.hidden) and any(
        card.face is not None and not card.public for card in round_.cards
    )


def round_in_progress(context: TableContext) -> RoundState | None:
    """Return the round that has begun and not ended."""
    round_ = context.state.round
    return None if round_ is None or round_.ended else round_


def is_repeat(card: DrawnCard, cards: Sequence[DrawnCard]) -> bool:
    """Return whether the reader has reported this card before, on the same slot."""
    slot, face = card.declared, card.face
    if slot is None or face is None:
        return False
    for each in cards:  # noqa: SIM110 - a generator for every card costs more than the loop
        if each.declared is slot and each.face is face:
            return True
    return False


def known_due(round_: RoundState) -> CardDue:
    """Return the card that is due by all known faces."""
    dealt = len(round_.cards)
    if dealt < FOUR_CARDS and not round_.partial:
        return FIRST_FOUR_DUE[dealt]
    spots = spots_by_known_faces(round_) if round_.unchecked else round_.spots
    return card_due(known_points(spots), partial=round_.partial)


def public_due(round_: RoundState) -> CardDue:
    """Return the card that is due by the public faces."""
    if not round_.hidden:
        return known_due(round_)
    return card_due(public_points(round_.spots), partial=round_.partial)


def spots_by_known_faces(round_: RoundState) -> list[DrawnCard | None]:
    """Return the cards by spot, with the third cards placed by the known faces."""
    return _spots_by_points(round_, known_points)


def spots_by_public_faces(round_: RoundState) -> list[DrawnCard | None]:
    """Return the cards by spot, with the third cards placed by the public faces."""
    return _spots_by_points(round_, public_points)


def _spots_by_points(
    round_: RoundState, points: Callable[[Sequence[DrawnCard | None]], list[int | None]]
) -> list[DrawnCard | None]:
    spots = round_.spots
    if not round_.unchecked or round_.partial or HIDDEN_POINTS in points(spots)[:FOUR_CARDS]:
        return spots
    spots = [*spots[:FOUR_CARDS], None, None]
    for card in round_.cards[FOUR_CARDS:]:
        due = card_due(points(spots))
        if not due.known:  # the face of the Player's third card is unknown
            spots[B3_SPOT] = card
        elif due.spot is not None:
            spots[due.spot] = card
    return spots


def _deciding_due(round_: RoundState) -> CardDue:
    # In a partial round, hidden faces decide nothing.
    return public_due(round_) if round_.partial else known_due(round_)


def public_due_slot(round_: RoundState) -> Slot | None:
    """Return the slot that is due by the public faces."""
    if round_.partial:
        return None
    spot = card_due(public_points(round_.spots)).spot
    return None if spot is None else Slot(DEALING_ORDER[spot])


def is_complete(round_: RoundState) -> bool:
    """Return whether no further card is due by the known faces."""
    due = _deciding_due(round_)
    return due.known and due.spot is None


def may_burn_card(context: TableContext) -> bool:
    """Return whether a card drawn now may be a burned card: none is due to a hand."""
    round_ = round_in_progress(context)
    return round_ is None or is_publicly_complete(round_)


def is_publicly_complete(round_: RoundState) -> bool:
    """Return whether no further card is due by the public faces."""
    due = public_due(round_)
    return due.known and due.spot is None


def is_due_unreadable(round_: RoundState) -> bool:
    """Return whether the due card depends on a card that could not be read."""
    return any(card.unread for card in round_.cards) and not _deciding_due(round_).known


def awaits_faces(round_: RoundState) -> bool:
    """
    Return whether faces of this round are still to be disclosed.

    An unread card does not count: its face does not come by itself.
    """
    if not round_.hidden:
        return False
    return any(not (card.public or card.unread) for card in round_.cards)

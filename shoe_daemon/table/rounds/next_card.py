"""
Whose card is next, as far as the faces tell.

`due` works on six spots in dealing order, each None or a face's points, and is
asked twice: with every face that the daemon knows, to check the draws; and
with the public faces alone, to say aloud what is due.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from shoe_daemon.game import NATURAL, Hand, banker_draws, is_natural, player_draws
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.events import DrawDue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoe_daemon.table.table_state import DrawnCard

P3_SPOT: Final = 4
B3_SPOT: Final = 5

HIDDEN_POINTS: Final = -1
"""The points of a card that lies there and whose face is not known."""


class CardDue(NamedTuple):
    """
    What the rules say of the next card.

    Attributes:
        spot: The index of the place that is due in dealing order; None where
            none is.
        known: Whether the faces suffice to tell.
        say: The same for the people at the table.
    """

    spot: int | None
    known: bool
    say: DrawDue


_HAND_OF_SPOT: Final = (Hand.PLAYER, Hand.BANKER)


def _draw_due_event(code: str, hand: Hand, why: Detail) -> DrawDue:
    return DrawDue(
        code=code,  # type: ignore[arg-type]
        detail_code=why.code,
        detail_values=why.values,
        hand=hand,
        text=why.text,
    )


FIRST_FOUR_DUE: Final = tuple(
    CardDue(
        spot,
        known=True,
        say=_draw_due_event(
            "dealing", _HAND_OF_SPOT[spot % 2], make_detail(code, hand=_HAND_OF_SPOT[spot % 2])
        ),
    )
    for spot, code in enumerate(["first_card_due"] * 2 + ["second_card_due"] * 2)
)
_FACES_HIDDEN: Final = CardDue(
    None,
    known=False,
    say=_draw_due_event("faces_hidden", Hand.NONE, make_detail("cards_face_down")),
)
_CARD_NOT_SEEN: Final = CardDue(
    None,
    known=False,
    say=_draw_due_event("faces_hidden", Hand.NONE, make_detail("card_not_seen")),
)


def card_due(points: Sequence[int | None], *, partial: bool = False) -> CardDue:
    """
    Tell what the rules say of the next card.

    Args:
        points:
            Six places in dealing order: None where no card lies, 0 to 9, or
            `HIDDEN`.
        partial: Cards may lie where none were seen.
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
        why = make_detail("player_draws", player=player)
        return CardDue(P3_SPOT, known=True, say=_draw_due_event("player_draws", Hand.PLAYER, why))
    if player_third == HIDDEN_POINTS:
        return _FACES_HIDDEN
    third = {"third": player_third}
    return _banker_due(banker, player_third, "player_drew", third, drawn=banker_has_third)


def _due_after_natural(player: int, banker: int) -> CardDue:
    if min(player, banker) >= NATURAL:
        return _no_card_due("natural", make_detail("both_naturals", player=player, banker=banker))
    hand = Hand.PLAYER if player > banker else Hand.BANKER
    return _no_card_due("natural", make_detail("natural", hand=hand, total=max(player, banker)))


def _banker_due(
    banker: int, third: int | None, before: str, values: dict[str, int], *, drawn: bool
) -> CardDue:
    if not banker_draws(banker, third):
        why = make_detail(f"{before}_banker_stands", banker=banker, **values)
        return _no_card_due("banker_stands", why)
    if drawn:
        return _no_card_due("complete", make_detail("both_complete"))
    why = make_detail(f"{before}_banker_draws", banker=banker, **values)
    return CardDue(B3_SPOT, known=True, say=_draw_due_event("banker_draws", Hand.BANKER, why))


def _no_card_due(code: str, why: Detail) -> CardDue:
    return CardDue(None, known=True, say=_draw_due_event(code, Hand.NONE, why))


def known_points(spots: Sequence[DrawnCard | None]) -> list[int | None]:
    """
    Return the points of the spots as the daemon knows them.
    """
    return [
        None if card is None else HIDDEN_POINTS if card.face is None else card.face.points
        for card in spots
    ]


def public_points(spots: Sequence[DrawnCard | None]) -> list[int | None]:
    """
    Return the points of the spots as the players know them.
    """
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
    Return the totals of the Player and of the Banker, 0 to 9, as the players know them.

    A hand without cards, or of which one is hidden or was not seen, has None.
    """
    return _public_total(spots[0], spots[2], spots[P3_SPOT]), _public_total(
        spots[1], spots[3], spots[B3_SPOT]
    )


def _public_total(
    first: DrawnCard | None, second: DrawnCard | None, third: DrawnCard | None
) -> int | None:
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

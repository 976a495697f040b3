"""
The card that is due next, by the points of the cards on the six spots.

Where a house lets the Player choose on 5, the next card or the end of the round shows what the
Player chose. Until then it is unknown: `CardDue.choice`.

A Player who stands is published with the Banker's draw or stand (`banker_draws`, `banker_stands`):
the code `player_stands` of the contract is never emitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple

from shoe_daemon.game import (
    NATURAL,
    PLAYER_CHOICE,
    Hand,
    banker_draws,
    is_natural,
    player_draws,
)
from shoe_daemon.table.detail_texts import DetailValue, make_detail
from shoe_daemon.table.events import DrawDue

P3_SPOT: Final = 4
B3_SPOT: Final = 5

HIDDEN_POINTS: Final = -1
"""The points of a card whose face is not known."""


class OnFive(IntEnum):
    """
    What a Player with 5 does.

    ``draws``; ``chooses`` to draw or to stand; ``stands``: the Player could choose, and the round
    has ended, so that a Player without a third card stood.
    """

    DRAWS = 0
    CHOOSES = 1
    STANDS = 2


class CardDue(NamedTuple):
    """
    The card that the rules require next.

    Attributes:
        spot: The index of the due slot in dealing order; None if no card is due.
        known: The faces suffice to decide it.
        event: The `draw_due` event that publishes it.
        choice:
            The spots of which the Player chooses one, among them None if the round is over
            without a card; empty if the Player cannot choose.
    """

    spot: int | None
    known: bool
    event: DrawDue
    choice: tuple[int | None, ...] = ()

    @property
    def needs_card(self) -> bool:
        """A card is due, even if the Player chooses its hand."""
        return self.spot is not None or (bool(self.choice) and None not in self.choice)


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


def card_due(
    points: Sequence[int | None], *, partial: bool = False, on_five: OnFive = OnFive.DRAWS
) -> CardDue:
    """
    Return the card that the rules require next; `partial` if cards may have been missed.

    `points` has six spots in dealing order: None for no card, 0 to 9, or `HIDDEN_POINTS`.
    """
    first, second, third, fourth, player_third, banker_third = points
    if first is None or second is None or third is None or fourth is None:
        return _CARD_NOT_SEEN if partial else FIRST_FOUR_DUE[points.index(None)]
    if HIDDEN_POINTS in (first, second, third, fourth):
        return _FACES_HIDDEN
    player, banker = (first + third) % 10, (second + fourth) % 10
    if on_five and player == PLAYER_CHOICE and player_third is None and banker < NATURAL:
        return _due_by_choice(banker, banker_third is not None, on_five is OnFive.STANDS)
    return _third_card_due(player, banker, player_third, banker_third is not None)


@cache
def _due_by_choice(
    banker: int,
    banker_has_third: bool,  # noqa: FBT001 - a cache key
    stands: bool,  # noqa: FBT001 - a cache key
) -> CardDue:
    """Return what is due while the Player has 5 and no third card."""
    values, draws = {"player": PLAYER_CHOICE}, banker_draws(banker, None)
    if banker_has_third if draws else stands and not banker_has_third:
        return _banker_due(banker, None, "player_stood", values, drawn=banker_has_third)
    due = _due_with_reason("player_draws", Hand.PLAYER, "player_may_draw", {**values})
    return due._replace(known=False, choice=(P3_SPOT, B3_SPOT if draws else None))


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

"""
The wagers that the project knows, in the order in which rounds report them.

A new wager is a new definition here, nothing else: pay tables, settlement and
odds follow from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game.round import Outcome
from shoe_daemon.game.wagers import PUSH, Definition, Prize, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.game.wagers import HandShape

    Look = Callable[[Shape], HandShape]
    Test = Callable[[Shape], bool]

_TIE: Final = Prize("tie", "the hands tie", lambda shape: shape.outcome is Outcome.TIE, PUSH)


def _player(shape: Shape) -> HandShape:
    return shape.player


def _banker(shape: Shape) -> HandShape:
    return shape.banker


def _won_by(side: Outcome) -> Test:
    return lambda shape: shape.outcome is side


def _dragon_bonus(side: Outcome, hand: Look) -> Definition:
    """
    Define the bonus on one side, as the curator's sheet does.

    A natural counts as such at any margin, 9 over 8 too; a tie without
    naturals loses.
    """

    def natural_win(shape: Shape) -> bool:
        return shape.outcome is side and hand(shape).natural

    def natural_tie(shape: Shape) -> bool:
        return shape.outcome is Outcome.TIE and hand(shape).natural

    def win_by(margin: int) -> Test:
        return lambda shape: shape.outcome is side and shape.margin == margin

    usual = {9: "30:1", 8: "10:1", 7: "6:1", 6: "4:1", 5: "2:1", 4: "1:1"}
    return Definition(
        f"dragon_bonus_{side}",
        f"Dragon Bonus, {side.capitalize()}",
        (
            Prize("natural_win", "natural winner", natural_win, "1:1"),
            Prize("natural_tie", "natural tie", natural_tie, PUSH),
            *(
                Prize(f"win_by_{margin}", f"win by {margin} points", win_by(margin), pays)
                for margin, pays in usual.items()
            ),
        ),
    )


def _pair(side: Outcome, hand: Look) -> Definition:
    def pair(shape: Shape) -> bool:
        return hand(shape).pair

    text = "first two cards of one rank"
    return Definition(
        f"{side}_pair", f"{side.capitalize()} Pair", (Prize("pair", text, pair, "11:1"),)
    )


_DEFINITIONS: Final = (
    Definition(
        "player",
        "Player",
        (Prize("win", "the Player wins", _won_by(Outcome.PLAYER), "1:1"), _TIE),
    ),
    Definition(
        "banker",
        "Banker",
        (Prize("win", "the Banker wins", _won_by(Outcome.BANKER), "1:1"), _TIE),
        commission=True,
    ),
    Definition("tie", "Tie", (_TIE._replace(id="win", usual="8:1"),)),
    _dragon_bonus(Outcome.PLAYER, _player),
    _dragon_bonus(Outcome.BANKER, _banker),
    _pair(Outcome.PLAYER, _player),
    _pair(Outcome.BANKER, _banker),
)

CATALOGUE: Final[dict[str, Definition]] = {known.id: known for known in _DEFINITIONS}
"""Every wager that a house may offer, by its id."""

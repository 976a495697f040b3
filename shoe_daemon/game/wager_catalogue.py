"""
The wagers that the project knows, in the order in which rounds report them.

Pay tables, settlement and odds of a new wager follow from its definition here;
CONTRIBUTING.md lists its names, documents and tests.

Sources of the definitions: pairs by rank alone, Macau, article 13 as amended
by 30/2007 and 64/2007; Dragon 7 and Panda 8, 58 Pa. Code 627a.1; Lucky 6,
Macau, DSEF 56/2018; the Banker without commission whose 6 pays half, Monaco,
AM 88-384, article 13.8. `usual` is what most houses pay, not what any law says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shoe_daemon.game.coup import FOUR_CARDS, Outcome
from shoe_daemon.game.wagers import PUSH, CoupShape, HandShape, Prize, WagerDefinition

ShapeTest = Callable[[CoupShape], bool]

_TIE_PUSH: Final = Prize("tie", "the hands tie", lambda shape: shape.outcome is Outcome.TIE, PUSH)


def _won_by(side: Outcome) -> ShapeTest:
    return lambda shape: shape.outcome is side


def _hand(shape: CoupShape, side: Outcome) -> HandShape:
    return shape.player if side is Outcome.PLAYER else shape.banker


def _won_with(side: Outcome, total: int, cards: int | None = None) -> ShapeTest:
    """Return a test for a win of this side with this total, and this number of cards if given."""

    def won(shape: CoupShape) -> bool:
        hand = _hand(shape, side)
        return shape.outcome is side and hand.total == total and cards in {None, hand.cards}

    return won


def _single_prize_wager(
    wager: str, name: str, text: str, is_won: ShapeTest, pays: str
) -> WagerDefinition:
    """Define a wager with a single prize."""
    return WagerDefinition(wager, name, (Prize("win", text, is_won, pays),))


def _dragon_bonus_wager(side: Outcome) -> WagerDefinition:
    """
    Define the bonus on one side, as the curator's sheet does.

    A natural counts as such at any margin, 9 over 8 too; a tie without
    naturals loses.
    """

    def natural_win(shape: CoupShape) -> bool:
        return shape.outcome is side and _hand(shape, side).natural

    def natural_tie(shape: CoupShape) -> bool:
        return shape.outcome is Outcome.TIE and _hand(shape, side).natural

    def win_by(margin: int) -> ShapeTest:
        return lambda shape: shape.outcome is side and shape.margin == margin

    usual = {9: "30:1", 8: "10:1", 7: "6:1", 6: "4:1", 5: "2:1", 4: "1:1"}
    return WagerDefinition(
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


def _pair_wager(side: Outcome) -> WagerDefinition:
    def pair(shape: CoupShape) -> bool:
        return _hand(shape, side).pair

    text = "first two cards of one rank"
    return WagerDefinition(
        f"{side}_pair", f"{side.capitalize()} Pair", (Prize("pair", text, pair, "11:1"),)
    )


def _banker_wager() -> WagerDefinition:
    """
    Define the main wager on the Banker, with the two prizes of houses that take no commission.

    A house names `win_with_6` where such a win pays half (Punto 2000, Super 6),
    `win_with_three_card_7` where it pushes (EZ Baccarat). Most name neither, so
    neither is usual: the win is then a win like any other.
    """
    return WagerDefinition(
        "banker",
        "Banker",
        (
            Prize("win_with_three_card_7", "wins with three-card 7", _BANKER_7_OF_3, None),
            Prize("win_with_6", "wins with 6", _BANKER_6, None),
            Prize("win", "the Banker wins", _won_by(Outcome.BANKER), "1:1"),
            _TIE_PUSH,
        ),
        commission=True,
    )


def _perfect_pair_wager() -> WagerDefinition:
    """
    Define the wager on first two cards of one rank and suit.

    Where both hands have one, some houses pay 200 to 1 and some as for one: these
    leave `both` out of their table, and such a round is then one with `one`.
    That 200 to 1 is the usual is recalled, not read.
    """

    def one(shape: CoupShape) -> bool:
        return shape.player.perfect_pair or shape.banker.perfect_pair

    def both(shape: CoupShape) -> bool:
        return shape.player.perfect_pair and shape.banker.perfect_pair

    return WagerDefinition(
        "perfect_pair",
        "Perfect Pair",
        (
            Prize("both", "in both hands", both, "200:1"),
            Prize("one", "in either hand", one, "25:1"),
        ),
    )


_BANKER_6: Final = _won_with(Outcome.BANKER, 6)
_BANKER_6_OF_2: Final = _won_with(Outcome.BANKER, 6, 2)
_BANKER_6_OF_3: Final = _won_with(Outcome.BANKER, 6, 3)
_BANKER_7_OF_3: Final = _won_with(Outcome.BANKER, 7, 3)
_PLAYER_8_OF_3: Final = _won_with(Outcome.PLAYER, 8, 3)


def _tie_at_6(shape: CoupShape) -> bool:
    return shape.outcome is Outcome.TIE and shape.player.total == 6  # noqa: PLR2004 - its name


_WAGERS: Final = (
    WagerDefinition(
        "player",
        "Player",
        (Prize("win", "the Player wins", _won_by(Outcome.PLAYER), "1:1"), _TIE_PUSH),
    ),
    _banker_wager(),
    WagerDefinition("tie", "Tie", (_TIE_PUSH._replace(id="win", usual="8:1"),)),
    _dragon_bonus_wager(Outcome.PLAYER),
    _dragon_bonus_wager(Outcome.BANKER),
    _pair_wager(Outcome.PLAYER),
    _pair_wager(Outcome.BANKER),
    _single_prize_wager(
        "either_pair",
        "Either Pair",
        "a pair in one hand or in both",
        lambda shape: shape.player.pair or shape.banker.pair,
        "5:1",
    ),
    _perfect_pair_wager(),
    _single_prize_wager(
        "dragon_7", "Dragon 7", "the Banker wins with a three-card 7", _BANKER_7_OF_3, "40:1"
    ),
    _single_prize_wager(
        "panda_8", "Panda 8", "the Player wins with a three-card 8", _PLAYER_8_OF_3, "25:1"
    ),
    _single_prize_wager("super_6", "Super 6", "the Banker wins with a 6", _BANKER_6, "12:1"),
    WagerDefinition(
        "lucky_6",
        "Lucky 6",
        (
            Prize("two_cards", "Banker wins, 2-card 6", _BANKER_6_OF_2, "12:1"),
            Prize("three_cards", "Banker wins, 3-card 6", _BANKER_6_OF_3, "20:1"),
        ),
    ),
    _single_prize_wager(
        "small_tiger", "Small Tiger", "the Banker wins, two-card 6", _BANKER_6_OF_2, "22:1"
    ),
    _single_prize_wager(
        "big_tiger", "Big Tiger", "the Banker wins, three-card 6", _BANKER_6_OF_3, "50:1"
    ),
    _single_prize_wager("tiger_tie", "Tiger Tie", "the hands tie at 6", _tie_at_6, "35:1"),
    _single_prize_wager(
        "small", "Small", "four cards", lambda shape: shape.cards == FOUR_CARDS, "3:2"
    ),
    _single_prize_wager(
        "big", "Big", "five or six cards", lambda shape: shape.cards > FOUR_CARDS, "27:50"
    ),
)

WAGER_CATALOGUE: Final[dict[str, WagerDefinition]] = {known.id: known for known in _WAGERS}
"""Every wager that a house may offer, by its id."""

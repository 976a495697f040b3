"""
Situations and actions: the two closed lists of a policy.

Authorities distinguish situations, tables observe irregularities. An excess card is one
irregularity and two situations, face seen or not; a missing, a surplus and a foreign card are
three irregularities and one situation.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from shoe_daemon.game.irregularities import IrregularityKind

if TYPE_CHECKING:
    from collections.abc import Mapping


class Situation(StrEnum):
    """The closed list of what a policy may rule upon, in the order in which it is printed."""

    PLAYER_THIRD_UNAUTHORISED = "player_third_unauthorised"
    EXCESS_UNEXPOSED = "excess_unexposed"
    EXCESS_EXPOSED = "excess_exposed"
    DOUBLE_FEED = "double_feed"
    FACE_UP_IN_SHOE = "face_up_in_shoe"
    MISSING_DRAW = "missing_draw"
    INSUFFICIENT_CARDS = "insufficient_cards"
    PREMATURE_DRAW = "premature_draw"
    UNREADABLE_CARD = "unreadable_card"
    DEVICE_FAULT = "device_fault"
    INVENTORY_VIOLATION = "inventory_violation"
    WRONG_HAND = "wrong_hand"
    CARD_OFF_TABLE = "card_off_table"
    CARD_RETURNED = "card_returned"
    PREMATURE_COLLECT = "premature_collect"


class Action(StrEnum):
    """The closed list of what may be done about an irregularity."""

    CONTINUE = "continue"
    REASSIGN_TO_BANKER = "reassign_to_banker"
    CARRY_TO_NEXT_HAND = "carry_to_next_hand"
    CARRY_AS_DUMMY_HAND = "carry_as_dummy_hand"
    BURN_CARD = "burn_card"
    BURN_CARD_PLUS_VALUE = "burn_card_plus_value"
    DRAW_NOW = "draw_now"
    RESTORE_ORDER = "restore_order"
    RESCAN = "rescan"
    MANUAL_ENTRY = "manual_entry"
    VOID_ROUND = "void_round"
    STOP_SHOE = "stop_shoe"
    SUPERVISOR = "supervisor"


class DisplayName(NamedTuple):
    """A name for people, in English and in Traditional Chinese."""

    text: str
    text_zh: str


_S = Situation
_A = Action

SITUATION_NAMES: Final[Mapping[Situation, DisplayName]] = MappingProxyType(
    {
        _S.PLAYER_THIRD_UNAUTHORISED: DisplayName(
            "Player's third card not due, the Banker must draw", "閒家不應補牌而莊家須補"
        ),
        _S.EXCESS_UNEXPOSED: DisplayName(
            "Card too many, its face not seen", "多抽一張牌而牌面未露"
        ),
        _S.EXCESS_EXPOSED: DisplayName("Card too many, its face seen", "多抽一張牌且牌面已露"),
        _S.DOUBLE_FEED: DisplayName("Two cards out at once", "兩張牌同時離靴"),
        _S.FACE_UP_IN_SHOE: DisplayName("Card face up in the shoe", "牌靴內有面朝上的牌"),
        _S.MISSING_DRAW: DisplayName("Card due and not drawn", "應補牌而未補"),
        _S.INSUFFICIENT_CARDS: DisplayName("Too few cards for the round", "牌不足以完成本局"),
        _S.PREMATURE_DRAW: DisplayName("Card drawn before no more bets", "停止下注前已抽牌"),
        _S.UNREADABLE_CARD: DisplayName("Card that cannot be read", "牌未能讀取"),
        _S.DEVICE_FAULT: DisplayName("Shoe, shuffler or reader fails", "牌靴、洗牌機或讀牌器故障"),
        _S.INVENTORY_VIOLATION: DisplayName(
            "Card missing, surplus or foreign", "缺牌、多牌或外來牌"
        ),
        _S.WRONG_HAND: DisplayName("Card laid to the wrong hand", "牌放錯閒莊位置"),
        _S.CARD_OFF_TABLE: DisplayName("Card fell off the table", "牌跌落賭桌外"),
        _S.CARD_RETURNED: DisplayName("Card pushed back into the shoe", "牌被推回牌靴"),
        _S.PREMATURE_COLLECT: DisplayName("Cards collected too early", "過早收牌"),
    }
)
"""The name of each situation."""

ACTION_NAMES: Final[Mapping[Action, DisplayName]] = MappingProxyType(
    {
        _A.CONTINUE: DisplayName("play on", "繼續本局"),
        _A.REASSIGN_TO_BANKER: DisplayName("give the card to the Banker", "牌歸莊家"),
        _A.CARRY_TO_NEXT_HAND: DisplayName("keep it for the next hand", "留作下局首張牌"),
        _A.CARRY_AS_DUMMY_HAND: DisplayName("next hand, without bets", "用於無注之下一局"),
        _A.BURN_CARD: DisplayName("burn the card", "銷去該牌"),
        _A.BURN_CARD_PLUS_VALUE: DisplayName("burn it and its value", "銷牌並按點數加銷"),
        _A.DRAW_NOW: DisplayName("draw the card now", "即時補牌"),
        _A.RESTORE_ORDER: DisplayName("put the cards in their order", "按次序復位"),
        _A.RESCAN: DisplayName("read the card again", "重新讀牌"),
        _A.MANUAL_ENTRY: DisplayName("enter the card by hand", "人手輸入牌面"),
        _A.VOID_ROUND: DisplayName("void the round", "本局作廢"),
        _A.STOP_SHOE: DisplayName("stop the shoe", "停用本靴"),
        _A.SUPERVISOR: DisplayName("a supervisor decides", "由主管裁決"),
    }
)
"""The name of each action."""

_K = IrregularityKind

# Kinds that are not here occur in no text that could be obtained. A ruling on a situation
# with the same name applies to that kind only.
_SITUATIONS_OF_KIND: Final[Mapping[IrregularityKind, tuple[Situation, ...]]] = MappingProxyType(
    {
        **{_K(each.value): (each,) for each in Situation if each.value in set(_K)},
        _K.EXCESS_CARD: (_S.EXCESS_UNEXPOSED, _S.EXCESS_EXPOSED),
        _K.DUPLICATE_CARD: (_S.INVENTORY_VIOLATION,),
        _K.FOREIGN_CARD: (_S.INVENTORY_VIOLATION,),
        _K.CARD_COUNT_MISMATCH: (_S.INVENTORY_VIOLATION,),
    }
)


def situations(kind: IrregularityKind, *, exposed: bool | None = None) -> tuple[Situation, ...]:
    """
    Return the situations of an irregularity; none if no authority names it.

    Args:
        kind: The kind of the irregularity.
        exposed:
            People have seen the face of the excess card; None if unknown: both
            situations are possible then.
    """
    found = _SITUATIONS_OF_KIND.get(kind, ())
    if kind is IrregularityKind.EXCESS_CARD and exposed is not None:
        return (Situation.EXCESS_EXPOSED if exposed else Situation.EXCESS_UNEXPOSED,)
    return found

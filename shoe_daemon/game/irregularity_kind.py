"""The kinds of irregularities, written by `make generate` from `table/checks`."""

from __future__ import annotations

from enum import StrEnum


class IrregularityKind(StrEnum):
    """The closed list, in the order of its table."""

    PREMATURE_DRAW = "premature_draw"
    PLAYER_THIRD_UNAUTHORISED = "player_third_unauthorised"
    EXCESS_CARD = "excess_card"
    MISSING_DRAW = "missing_draw"
    WRONG_HAND = "wrong_hand"
    RESULT_MISMATCH = "result_mismatch"
    PREMATURE_COLLECT = "premature_collect"
    FACE_UP_IN_SHOE = "face_up_in_shoe"
    DOUBLE_FEED = "double_feed"
    UNREADABLE_CARD = "unreadable_card"
    SOURCE_CONFLICT = "source_conflict"
    DUPLICATE_CARD = "duplicate_card"
    FOREIGN_CARD = "foreign_card"
    CARD_COUNT_MISMATCH = "card_count_mismatch"
    BURN_ERROR = "burn_error"
    INSUFFICIENT_CARDS = "insufficient_cards"
    CUT_CARD_OVERRUN = "cut_card_overrun"
    CUT_CARD_MISSING = "cut_card_missing"
    CARD_RETURNED = "card_returned"
    CARD_OFF_TABLE = "card_off_table"
    SUSPECT_SEQUENCE = "suspect_sequence"
    DEVICE_FAULT = "device_fault"
    MANUAL_VOID = "manual_void"


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

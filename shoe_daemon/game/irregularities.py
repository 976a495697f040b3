"""
What can go wrong at a table: a closed list of kinds.

What an authority says about each is for policies, not for this list.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Evidence(StrEnum):
    """
    What can show an irregularity.

    ``sequence``: the cards themselves, in the order in which they left the
    shoe; ``boundary``: a signal where a round begins or ends, such as no more
    bets, a result or cleared cards; ``placement``: a camera that sees which
    card lies where; ``inventory``: how often each card has left the shoe;
    ``device``: what the reader says of itself; ``manual``: a person.
    """

    SEQUENCE = "sequence"
    BOUNDARY = "boundary"
    PLACEMENT = "placement"
    INVENTORY = "inventory"
    DEVICE = "device"
    MANUAL = "manual"


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


class IrregularityFacts(NamedTuple):
    """
    What is fixed about a kind.

    Attributes:
        severity:
            1 for information; 2 a warning, play goes on; 3 the result waits
            for a person; 4 the round may be void; 5 the table stops. A policy
            may raise it, never lower it.
        evidence: What can show it; any one of these is enough.
        text: What it is, in one sentence.
    """

    severity: int
    evidence: frozenset[Evidence]
    text: str


def _facts(severity: int, evidence: str, text: str) -> IrregularityFacts:
    return IrregularityFacts(severity, frozenset(map(Evidence, evidence.split())), text)


_K = IrregularityKind

IRREGULARITIES: Final[Mapping[IrregularityKind, IrregularityFacts]] = MappingProxyType(
    {
        _K.PREMATURE_DRAW: _facts(
            2, "boundary", "A card was drawn while bets could still be placed."
        ),
        _K.PLAYER_THIRD_UNAUTHORISED: _facts(
            2,
            "placement manual",
            "The Player stood and was given the third card that was due to the Banker.",
        ),
        _K.EXCESS_CARD: _facts(3, "boundary", "A card was drawn after the round was complete."),
        _K.MISSING_DRAW: _facts(
            3, "boundary", "The round was ended while the rules required another card."
        ),
        _K.WRONG_HAND: _facts(
            3, "placement", "A card lies with the hand that it was not drawn for."
        ),
        _K.RESULT_MISMATCH: _facts(
            3, "boundary", "The declared result is not the one that the cards give."
        ),
        _K.PREMATURE_COLLECT: _facts(
            3, "boundary", "The cards were collected before the result was confirmed."
        ),
        _K.FACE_UP_IN_SHOE: _facts(
            2, "placement manual", "A card came out of the shoe with its face up."
        ),
        _K.DOUBLE_FEED: _facts(3, "device", "Two cards left the shoe together."),
        _K.UNREADABLE_CARD: _facts(3, "device", "A card passed the reader and could not be read."),
        _K.SOURCE_CONFLICT: _facts(
            3, "placement", "Two sources name different faces for the same card."
        ),
        _K.DUPLICATE_CARD: _facts(
            5, "inventory", "A card left the shoe more often than the shoe holds it."
        ),
        _K.FOREIGN_CARD: _facts(
            5, "inventory device", "A card that does not belong to these decks was drawn."
        ),
        _K.CARD_COUNT_MISMATCH: _facts(
            4,
            "inventory manual",
            "The cards of a finished shoe are not as many as its decks hold.",
        ),
        _K.BURN_ERROR: _facts(
            2, "sequence", "The cards burned for a new shoe are not those that the house burns."
        ),
        _K.INSUFFICIENT_CARDS: _facts(
            4, "inventory device", "The shoe ran out of cards before the round was complete."
        ),
        _K.CUT_CARD_OVERRUN: _facts(
            3, "boundary", "A round was begun after the last one that the cut card permits."
        ),
        _K.CUT_CARD_MISSING: _facts(
            2, "inventory", "Too few cards are left and the cut card has not appeared."
        ),
        _K.CARD_RETURNED: _facts(
            3, "device manual", "A card that had left the shoe was pushed back into it."
        ),
        _K.CARD_OFF_TABLE: _facts(2, "manual", "A card fell off the table."),
        _K.SUSPECT_SEQUENCE: _facts(
            5, "sequence", "The cards come in an order that a shuffled shoe would hardly give."
        ),
        _K.DEVICE_FAULT: _facts(
            3, "device", "The reader failed, or what it said cannot be relied upon."
        ),
        _K.MANUAL_VOID: _facts(4, "manual", "A supervisor declared the round void."),
    }
)
"""Every kind, and what is fixed about it."""

SEVERITY: Final[Mapping[IrregularityKind, int]] = MappingProxyType(
    {kind: facts.severity for kind, facts in IRREGULARITIES.items()}
)
"""The severity of every kind, 1 to 5."""

REPORTABLE_KINDS: Final = frozenset(
    {
        IrregularityKind.PLAYER_THIRD_UNAUTHORISED,
        IrregularityKind.FACE_UP_IN_SHOE,
        IrregularityKind.DOUBLE_FEED,
        IrregularityKind.FOREIGN_CARD,
        IrregularityKind.CARD_RETURNED,
        IrregularityKind.CARD_OFF_TABLE,
    }
)
"""What a person may have seen that no reader has: reported with ``hold``."""

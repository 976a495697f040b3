"""
The closed list of irregularities, and the one table of their properties.

A new kind is a member of `IrregularityKind` and a row of `IRREGULARITIES`. Severity, the kinds
that a person may report, and the kinds that a table cannot detect follow from that row. Tests
name what else is missing: its sentences in `table.detail_texts`, its name in the languages of
`display`, its section in ``docs/misdeals.md``, its log in ``tests/misdeals/irregularity_logs.py``.
Rulings are in the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class Evidence(StrEnum):
    """
    The kinds of evidence for an irregularity.

    ``sequence``: the cards themselves, in the order in which they left the
    shoe; ``boundary``: a signal where a round begins or ends, such as no more
    bets, a result or cleared cards; ``placement``: a camera that sees which
    card lies where; ``inventory``: how often each card has left the shoe;
    ``device``: a report of the reader about itself; ``manual``: a person.
    """

    SEQUENCE = "sequence"
    BOUNDARY = "boundary"
    PLACEMENT = "placement"
    INVENTORY = "inventory"
    DEVICE = "device"
    MANUAL = "manual"


class Requirement(StrEnum):
    """
    The equipment or setting that detecting a kind requires.

    The value is the reason that `doctor` gives where the requirement is not met.
    """

    PERSON = "only a person can see it, and report it with the order `hold`"
    BETTING_SIGNAL = "nothing tells when bets are open"
    SLOT_SIGNAL = "nothing tells where a card is laid"
    RESULT_SIGNAL = "nobody declares a result"
    END_SIGNAL = "nothing tells when a round is over"
    END_NOT_BY_RULES = "rounds end by the rules alone, so such a card begins the next one"
    CLEARED_SIGNAL = "nothing tells when cards are taken off"
    FACES_OR_HOLD = "all cards are seen at once, and nothing waits for a person"
    UNREAD_SIGNAL = "the reader does not say that a card passed unread"
    RETURN_SIGNAL = "the reader does not say that a card went back"
    FAULT_SIGNAL = "the reader does not report errors of its own"
    SECOND_READER = "there is no second reader"
    LEAST_GAP = "no `least_gap` between two cards is set"
    SUSPECT_RUN = "it is not looked for; `suspect_run` sets it"
    BURN_CHECKED = "the house's burn is not checked"
    BURN_AT_START = "no burn is checked, which would tell a new shoe from one that goes on"
    CUT_CARD_CHECKED = "the house's cut card is not checked"
    CUT_CARD_POSITION = "the house does not say where its cut card lies"
    CUT_CARD_SIGNAL = "the reader does not tell the cut card"


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
    The fixed properties of a kind.

    Attributes:
        severity: 1 information; 2 warning, play goes on; 3 the result waits for a person;
            4 the round may be void; 5 the table stops. A policy may raise it.
        evidence: The evidence that can show it; any of these is enough.
        text: Its definition, in one sentence.
        requires: All that the table needs to detect it; the first that is not met is the
            reason that people read.
        reportable: A person may report it with ``hold``.
    """

    severity: int
    evidence: frozenset[Evidence]
    text: str
    requires: tuple[Requirement, ...]
    reportable: bool


def _facts(
    severity: int, evidence: str, text: str, *requires: Requirement, reportable: bool = False
) -> IrregularityFacts:
    kinds = frozenset(map(Evidence, evidence.split()))
    return IrregularityFacts(severity, kinds, text, requires, reportable)


_K = IrregularityKind
_R = Requirement

IRREGULARITIES: Final[Mapping[IrregularityKind, IrregularityFacts]] = MappingProxyType(
    {
        _K.PREMATURE_DRAW: _facts(
            2, "boundary", "A card was drawn while bets could still be placed.", _R.BETTING_SIGNAL
        ),
        _K.PLAYER_THIRD_UNAUTHORISED: _facts(
            2,
            "placement manual",
            "The Player stood and was given the third card that was due to the Banker.",
            _R.SLOT_SIGNAL,
            reportable=True,
        ),
        _K.EXCESS_CARD: _facts(
            3, "boundary", "A card was drawn after the round was complete.", _R.END_NOT_BY_RULES
        ),
        _K.MISSING_DRAW: _facts(
            3,
            "boundary",
            "The round was ended while the rules required another card.",
            _R.END_SIGNAL,
        ),
        _K.WRONG_HAND: _facts(
            3, "placement", "A card lies with the hand that it was not drawn for.", _R.SLOT_SIGNAL
        ),
        _K.RESULT_MISMATCH: _facts(
            3,
            "boundary",
            "The declared result is not the one that the cards give.",
            _R.RESULT_SIGNAL,
        ),
        _K.PREMATURE_COLLECT: _facts(
            3,
            "boundary",
            "The cards were collected before the result was confirmed.",
            _R.CLEARED_SIGNAL,
            _R.FACES_OR_HOLD,
        ),
        _K.FACE_UP_IN_SHOE: _facts(
            2,
            "placement manual",
            "A card came out of the shoe with its face up.",
            _R.PERSON,
            reportable=True,
        ),
        _K.DOUBLE_FEED: _facts(
            3, "device", "Two cards left the shoe together.", _R.LEAST_GAP, reportable=True
        ),
        _K.UNREADABLE_CARD: _facts(
            3, "device", "A card passed the reader and could not be read.", _R.UNREAD_SIGNAL
        ),
        _K.SOURCE_CONFLICT: _facts(
            3, "placement", "Two sources name different faces for the same card.", _R.SECOND_READER
        ),
        _K.DUPLICATE_CARD: _facts(
            5, "inventory", "A card left the shoe more often than the shoe holds it."
        ),
        _K.FOREIGN_CARD: _facts(
            5,
            "inventory device",
            "A card that does not belong to these decks was drawn.",
            _R.PERSON,
            reportable=True,
        ),
        _K.CARD_COUNT_MISMATCH: _facts(
            4,
            "inventory manual",
            "The cards of a finished shoe are not as many as its decks hold.",
        ),
        _K.BURN_ERROR: _facts(
            2,
            "sequence",
            "The cards burned for a new shoe are not those that the house burns.",
            _R.BURN_CHECKED,
        ),
        _K.INSUFFICIENT_CARDS: _facts(
            4, "inventory device", "The shoe ran out of cards before the round was complete."
        ),
        _K.CUT_CARD_OVERRUN: _facts(
            3,
            "boundary",
            "A round was begun after the last one that the cut card permits.",
            _R.BURN_AT_START,
            _R.CUT_CARD_CHECKED,
            _R.CUT_CARD_SIGNAL,
        ),
        _K.CUT_CARD_MISSING: _facts(
            2,
            "inventory",
            "Too few cards are left and the cut card has not appeared.",
            _R.CUT_CARD_POSITION,
            _R.CUT_CARD_SIGNAL,
        ),
        _K.CARD_RETURNED: _facts(
            3,
            "device manual",
            "A card that had left the shoe was pushed back into it.",
            _R.RETURN_SIGNAL,
            reportable=True,
        ),
        _K.CARD_OFF_TABLE: _facts(
            2, "manual", "A card fell off the table.", _R.PERSON, reportable=True
        ),
        _K.SUSPECT_SEQUENCE: _facts(
            5,
            "sequence",
            "The cards come in an order that a shuffled shoe would hardly give.",
            _R.SUSPECT_RUN,
        ),
        _K.DEVICE_FAULT: _facts(
            3,
            "device",
            "The reader failed, or what it said cannot be relied upon.",
            _R.FAULT_SIGNAL,
        ),
        _K.MANUAL_VOID: _facts(4, "manual", "A supervisor declared the round void."),
    }
)
"""The properties of every kind."""

SEVERITY: Final[Mapping[IrregularityKind, int]] = MappingProxyType(
    {kind: facts.severity for kind, facts in IRREGULARITIES.items()}
)
"""The severity of every kind, 1 to 5."""

REPORTABLE_KINDS: Final = frozenset(
    kind for kind, facts in IRREGULARITIES.items() if facts.reportable
)
"""The kinds that a person may report with ``hold``."""

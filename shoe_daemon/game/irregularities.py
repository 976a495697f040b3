"""
The closed list of irregularities and their properties.

Each kind is declared in `table/checks`, in the module of its name; `make generate` writes
`irregularity_kind.py` and ``irregularities.toml`` from there. Rulings are in the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct, toml

from shoe_daemon.game.irregularity_kind import IrregularityKind, Situation


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

    The value is the reason that `doctor` gives where the requirement is not met; the table of
    irregularities has the name in lower case.
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

    @classmethod
    def _missing_(cls, value: object) -> Requirement | None:
        return cls.__members__.get(str(value).upper())


class IrregularityFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """
    The fixed properties of a kind.

    Attributes:
        name: A few words for people, in English.
        severity: 1 information; 2 warning, play goes on; 3 the result waits for a person;
            4 the round may be void; 5 the table stops. A policy may raise it.
        evidence: The evidence that can show it; any of these is enough.
        text: Its definition, in one sentence.
        requires: All that the table needs to detect it; the first that is not met is the
            reason that people read.
        reportable: A person may report it with ``hold``.
        situations: The situations of policies that it may be; the name of each in English and in
            Traditional Chinese, in one of the kinds that share it.
        actions: What a person may choose for it and not for every irregularity, in the order in
            which a page offers it.
    """

    name: str
    severity: int
    evidence: frozenset[Evidence]
    text: str
    requires: tuple[Requirement, ...] = ()
    reportable: bool = False
    situations: Mapping[Situation, tuple[str, ...]] = MappingProxyType({})
    actions: tuple[str, ...] = ()


IRREGULARITIES: Final[Mapping[IrregularityKind, IrregularityFacts]] = MappingProxyType(
    toml.decode(
        Path(__file__).with_name("irregularities.toml").read_bytes(),
        type=dict[IrregularityKind, IrregularityFacts],
    )
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

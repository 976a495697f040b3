"""
Policies: the rulings of authorities about irregularities, as data.

Authorities distinguish situations, tables observe irregularities. An excess card is one
irregularity and two situations, face seen or not; a missing, a surplus and a foreign card are
three irregularities and one situation.

The policies that come with the project are TOML files in ``policies/``, one for each authority.
Where its text could not be obtained, or is silent, the file has no ruling. A ruling read in the
named text is `verified`; a ruling that was read in part, concluded or recalled is not, and its
note says so. A ruling is a proposal. It binds no person until a supervisor has chosen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct, field, toml

from shoe_daemon.game.irregularities import IRREGULARITIES, SEVERITY
from shoe_daemon.game.irregularity_kind import IrregularityKind, Situation
from shoe_daemon.game.rule_files import RuleFiles


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


SITUATION_NAMES: Final[Mapping[Situation, DisplayName]] = MappingProxyType(
    {
        situation: DisplayName(*facts.situations[situation])
        for situation in Situation
        for facts in IRREGULARITIES.values()
        if facts.situations.get(situation)
    }
)
"""The name of each situation."""

ACTION_NAMES: Final[Mapping[Action, DisplayName]] = MappingProxyType(
    toml.decode(
        Path(__file__).with_name("action_names.toml").read_bytes(), type=dict[Action, DisplayName]
    )
)
"""The name of each action."""


def situations(kind: IrregularityKind, *, exposed: bool | None = None) -> tuple[Situation, ...]:
    """
    Return the situations of an irregularity; none if no authority names it.

    `exposed`: people have seen the face of the excess card; None if unknown, and both situations
    are possible then.
    """
    if kind is IrregularityKind.EXCESS_CARD and exposed is not None:
        return (Situation.EXCESS_EXPOSED if exposed else Situation.EXCESS_UNEXPOSED,)
    return tuple(IRREGULARITIES[kind].situations)


Text = Annotated[str, Meta(min_length=1)]
Severity = Annotated[int, Meta(ge=1, le=5)]

POLICY_IDS: Final = (
    "management",
    "fr_2007",
    "mo_2004",
    "es_melilla_2014",
    "it_venezia",
    "la_lac42",
    "nsw_star",
    "live_studio",
    "us_nj_pa",
)
"""The policies that come with the project, the default first."""

DEFAULT_POLICY: Final = "management"


class Provision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One provision of an authority.

    Attributes:
        section: The section of its text.
        verified: It was read there, in full.
        note: The reason why it is not verified, or a gap of the text.
        text: One sentence for the person at the table.
        text_zh: The same in Traditional Chinese.
    """

    authority: Text
    section: Text
    verified: bool
    note: str | None = None
    text: Text
    text_zh: Text


class Ruling(Provision, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The action for one situation."""

    action: Action


class FalseDraw(Provision, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The rule that a holder of the shoe who makes a false draw passes it.

    Attributes:
        kinds: The irregularities that are false draws.
    """

    kinds: tuple[IrregularityKind, ...]


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The rulings of one authority.

    Attributes:
        id: Lower case with underscores.
        name_zh: The same in Traditional Chinese.
        about: The texts it is based on, and how much of them was read.
        raised_severity: ``severity`` in a file: the kinds with a higher severity here.
        by_situation: ``rulings`` in a file: by situation, the most binding first.
        false_draw_passes_shoe: Its rule about a false draw; None if it has none.
    """

    id: Annotated[str, Meta(pattern="^[a-z0-9_]+$")]
    name: Text
    name_zh: Text
    about: Text
    raised_severity: dict[IrregularityKind, Severity] = field(
        name="severity", default_factory=dict
    )
    by_situation: dict[Situation, tuple[Ruling, ...]] = field(name="rulings", default_factory=dict)
    false_draw_passes_shoe: FalseDraw | None = None

    def __post_init__(self) -> None:
        """Reject a severity that is not raised, and an unverified provision without a note."""
        for kind, severity in self.raised_severity.items():
            if severity <= SEVERITY[kind]:
                msg = f"severity.{kind}: {severity}; expected more than {SEVERITY[kind]}: "
                msg += "a policy may only raise it"
                raise ValueError(msg)
        for place, provision in self.provisions():
            if not (provision.verified or provision.note):
                msg = f"{place}.note: missing; expected why it is not verified"
                raise ValueError(msg)

    def rulings(
        self, kind: IrregularityKind, *, exposed: bool | None = None, **_: object
    ) -> tuple[Ruling, ...]:
        """
        Return the rulings about an irregularity, the most binding first.

        `exposed` is as for `situations`; no text distinguishes by other attributes.
        """
        return tuple(ruling for _, ruling in self.coded_rulings(kind, exposed=exposed))

    def coded_rulings(
        self, kind: IrregularityKind, *, exposed: bool | None = None
    ) -> tuple[tuple[str, Ruling], ...]:
        """Return the same rulings, each with the code of its text: ``policy.situation.action``."""
        codes: dict[Ruling, str] = {}
        for situation in situations(kind, exposed=exposed):
            for ruling in self.by_situation.get(situation, ()):
                codes.setdefault(ruling, f"{self.id}.{situation}.{ruling.action}")
        return tuple((code, ruling) for ruling, code in codes.items())

    @property
    def all_rulings(self) -> tuple[Ruling, ...]:
        """All rulings, for every situation."""
        return tuple(ruling for each in self.by_situation.values() for ruling in each)

    def severity(self, kind: IrregularityKind) -> int:
        """Return the severity of a kind under this policy, 1 to 5."""
        return self.raised_severity.get(kind, SEVERITY[kind])

    def passes_shoe(self, kind: IrregularityKind) -> bool:
        """Return whether a false draw of this kind costs the holder the shoe."""
        false_draw = self.false_draw_passes_shoe
        return false_draw is not None and kind in false_draw.kinds

    def provisions(self) -> Iterator[tuple[str, Provision]]:
        """Return all provisions, each with its place in the file."""
        for situation, rulings in self.by_situation.items():
            for number, ruling in enumerate(rulings):
                yield f"rulings.{situation}.{number}", ruling
        if self.false_draw_passes_shoe is not None:
            yield "false_draw_passes_shoe", self.false_draw_passes_shoe


_FILES: Final = RuleFiles(Policy, "policy", "policies", POLICY_IDS)

load_policy: Final = _FILES.load
find_policy: Final = _FILES.find
load_policy_file: Final = _FILES.load_file
policy_from_mapping: Final = _FILES.from_mapping
policy_to_mapping: Final = _FILES.to_mapping

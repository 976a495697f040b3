"""
A policy: the rulings of one authority about irregularities, as data.

The policies that come with the project are TOML files in ``policies/``, one for each authority.
Where its text could not be obtained, or is silent, the file has no ruling. A ruling read in the
named text is `verified`; a ruling that was read in part, concluded or recalled is not, and its
note says so.

A ruling is a proposal. It binds nobody until a supervisor has chosen it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct, field, to_builtins

from shoe_daemon.errors import UserError
from shoe_daemon.game.irregularities import SEVERITY, IrregularityKind
from shoe_daemon.game.ruling_situations import Action, Situation, situations
from shoe_daemon.toml_validation import convert_toml, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
        authority: The authority.
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
        name: Its name for people.
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

        Args:
            kind: The kind of the irregularity.
            exposed:
                People have seen the card's face; None if unknown: the rulings for both
                cases are returned then.
            _: Other attributes of an irregularity; no text distinguishes by them.
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


@cache
def load_policy(policy: str) -> Policy:
    """
    Return one of the policies that come with the project.

    Raises:
        UserError: The id is unknown.
    """
    if policy not in POLICY_IDS:
        raise UserError(f"{policy}: no such policy; expected one of {', '.join(POLICY_IDS)}")
    name = f"{policy}.toml"
    text = resources.files(__package__).joinpath("policies", name).read_text(encoding="utf-8")
    return policy_from_mapping(tomllib.loads(text), name)


def find_policy(name: str) -> Policy:
    """
    Return a policy by its id, or from a file ``….toml``.

    Raises:
        UserError: The id is unknown, or the file is invalid.
    """
    return load_policy_file(Path(name)) if name.endswith(".toml") else load_policy(name)


def load_policy_file(path: Path) -> Policy:
    """
    Read a policy from a TOML file.

    Raises:
        UserError: The file is invalid; one line with the reason.
    """
    return policy_from_mapping(read_toml(path, "a policy"), str(path))


def policy_from_mapping(mapping: Mapping[str, Any], place: str = "policy") -> Policy:
    """
    Read a policy given in full, as `policy_to_mapping` writes it.

    Args:
        mapping: The content of a TOML or JSON file.
        place: The name of its origin, which begins the error.

    Raises:
        UserError: One line with place, key, value and expected value.
    """
    return convert_toml(Policy, mapping, place)


def policy_to_mapping(policy: Policy) -> dict[str, Any]:
    """Return a policy in full, defaults included, as plain data."""
    mapping: dict[str, Any] = to_builtins(policy)
    return mapping

"""
What an authority says about an irregularity: a policy, as data.

The policies that come with the project are TOML files in ``policies/``, one for
each authority. Where its text could not be obtained, or says nothing, the file
has no ruling: none is made up. What was read in the named text is `verified`;
what was read in part, concluded or recalled is not, and says so in its note.

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
    One thing that an authority says.

    Attributes:
        authority: Who.
        section: Where.
        verified: Whether it was read there, in full.
        note: Why it is not verified, or what it does not say itself.
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
    """What is to be done in one situation."""

    action: Action


class FalseDraw(Provision, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    That a holder of the shoe who makes a false draw has to pass it.

    Attributes:
        kinds: The irregularities that are false draws.
    """

    kinds: tuple[IrregularityKind, ...]


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The rulings of one authority.

    Attributes:
        id: Lower case with underscores.
        name: What people call it.
        name_zh: The same in Traditional Chinese.
        about: Which texts it rests upon, and how much of them was read.
        raised: ``severity`` in a file: the kinds that weigh more here than elsewhere.
        by_situation: ``rulings`` in a file: by situation, the most binding first.
        false_draw_passes_shoe: What it says of a false draw; None where nothing.
    """

    id: Annotated[str, Meta(pattern="^[a-z0-9_]+$")]
    name: Text
    name_zh: Text
    about: Text
    raised: dict[IrregularityKind, Severity] = field(name="severity", default_factory=dict)
    by_situation: dict[Situation, tuple[Ruling, ...]] = field(name="rulings", default_factory=dict)
    false_draw_passes_shoe: FalseDraw | None = None

    def __post_init__(self) -> None:
        """Refuse a severity that is not raised, and what is unverified without a word why."""
        for kind, severity in self.raised.items():
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
        Give what the authority says about an irregularity, the most binding first.

        Args:
            kind: What happened.
            exposed:
                Whether people have seen the card's face; None where that is not
                known: what holds for either case is given then.
            _: Other attributes of an irregularity; no text distinguishes by them.
        """
        return tuple(ruling for _, ruling in self.coded_rulings(kind, exposed=exposed))

    def coded_rulings(
        self, kind: IrregularityKind, *, exposed: bool | None = None
    ) -> tuple[tuple[str, Ruling], ...]:
        """
        Give the same, each with a code that identifies its text: ``policy.situation.action``.
        """
        codes: dict[Ruling, str] = {}
        for situation in situations(kind, exposed=exposed):
            for ruling in self.by_situation.get(situation, ()):
                codes.setdefault(ruling, f"{self.id}.{situation}.{ruling.action}")
        return tuple((code, ruling) for ruling, code in codes.items())

    @property
    def all_rulings(self) -> tuple[Ruling, ...]:
        """All that it proposes, in whatever situation."""
        return tuple(ruling for each in self.by_situation.values() for ruling in each)

    def severity(self, kind: IrregularityKind) -> int:
        """Say how much an irregularity weighs here, 1 to 5."""
        return self.raised.get(kind, SEVERITY[kind])

    def passes_shoe(self, kind: IrregularityKind) -> bool:
        """Tell whether the holder of the shoe who did this has to pass it."""
        false_draw = self.false_draw_passes_shoe
        return false_draw is not None and kind in false_draw.kinds

    def provisions(self) -> Iterator[tuple[str, Provision]]:
        """Give all that the authority says, each with its place in the file."""
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
        UserError: There is none of that name.
    """
    if policy not in POLICY_IDS:
        raise UserError(f"{policy}: no such policy; expected one of {', '.join(POLICY_IDS)}")
    name = f"{policy}.toml"
    text = resources.files(__package__).joinpath("policies", name).read_text(encoding="utf-8")
    return policy_from_mapping(tomllib.loads(text), name)


def find_policy(name: str) -> Policy:
    """
    Return the policy that a person names: one by its id, or a file ``….toml``.

    Raises:
        UserError: There is none, or what is wrong with the file.
    """
    return load_policy_file(Path(name)) if name.endswith(".toml") else load_policy(name)


def load_policy_file(path: Path) -> Policy:
    """
    Read a policy from a TOML file.

    Raises:
        UserError: What is wrong with the file, in one line.
    """
    return policy_from_mapping(read_toml(path, "a policy"), str(path))


def policy_from_mapping(mapping: Mapping[str, Any], place: str = "policy") -> Policy:
    """
    Read a policy given in full, as `policy_to_mapping` writes it.

    Args:
        mapping: What a TOML or JSON file holds.
        place: Where it stands; begins the error.

    Raises:
        UserError: Place, key, what is wrong and what is expected, in one line.
    """
    return convert_toml(Policy, mapping, place)


def policy_to_mapping(policy: Policy) -> dict[str, Any]:
    """Write a policy in full, defaults too, as plain data."""
    mapping: dict[str, Any] = to_builtins(policy)
    return mapping

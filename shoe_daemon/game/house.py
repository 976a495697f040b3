"""
A house: one casino's rule sheet, as data.

The houses that come with the project are TOML files in ``houses/``; what a
sheet leaves open is said there, beside the value, with how it was resolved and
on whose authority.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct, to_builtins

from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import MAX_DECKS
from shoe_daemon.game.wager_catalogue import WAGER_CATALOGUE
from shoe_daemon.game.wagers import Settler, Wager, parse_share
from shoe_daemon.toml_validation import convert_toml, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

Positive = Annotated[int, Meta(ge=1)]
Decks = Annotated[int, Meta(ge=1, le=MAX_DECKS)]

HOUSE_IDS: Final = ("chickasaw", "curator", "seven-feathers", "single-deck")
"""The houses that come with the project."""


class DealingStyle(StrEnum):
    """
    When the people at the table see a card.

    ``face_up`` at the draw; ``banker_tucked``: the Banker's first two when the
    dealer turns them; ``squeeze``: when a player has turned them.
    """

    FACE_UP = "face_up"
    BANKER_TUCKED = "banker_tucked"
    SQUEEZE = "squeeze"


class Burn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How a new shoe begins.

    Attributes:
        mode:
            ``first_card``: the first card's value says how many more are burned;
            ``per_deck``: one for each deck; ``fixed``: always `fixed`;
            ``none``: none may be; ``unchecked``: taken as they come.
        fixed: How many, in mode ``fixed``.
        face_value: What a ten or a face counts as a first card (10 or 0).
        indicator_counts: Whether the first card is one of the number it says.
        face_down: Whether the burned cards, the first apart, stay unseen.
    """

    mode: Literal["first_card", "per_deck", "fixed", "none", "unchecked"] = "unchecked"
    fixed: Annotated[int, Meta(ge=0)] = 0
    face_value: Annotated[int, Meta(ge=0, le=10)] = 10
    indicator_counts: bool = False
    face_down: bool = False


class CutCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How a shoe ends.

    Attributes:
        mode: ``checked``, ``none`` (this house has none) or ``unchecked``.
        position: Cards behind it, as the house places it; null where unsaid.
        hands_after: Rounds after the one in which it appears, 0 to 2.
        as_first_card:
            What it means instead of a round's first card: that round is the
            last (``last_hand``), or as if it came in mid-round.
    """

    mode: Literal["checked", "none", "unchecked"] = "unchecked"
    position: Positive | None = None
    hands_after: Annotated[int, Meta(ge=0, le=2)] = 1
    as_first_card: Literal["last_hand", "counts_as_mid_hand"] = "last_hand"


class Curator(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Whether players draw the cards, and how the shoe goes round.

    The curator is the player who has the shoe; it passes when the Banker
    loses, and stays on a tie.

    Attributes:
        on: Whether there is one; otherwise the dealer draws.
        passes_to: The side to which a player passes the shoe, as seen by that player.
        seat_numbering:
            Which way the seats are numbered, seen from above: the next seat to
            the right is one more where they run counterclockwise.
        first_seat: The seat to which a new shoe is offered.
    """

    on: bool = False
    passes_to: Literal["right", "left"] = "right"
    seat_numbering: Literal["counterclockwise", "clockwise"] = "counterclockwise"
    first_seat: Positive = 1


class Resolution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One thing that a house's sheet leaves open, or says in two ways.

    Attributes:
        about: What it concerns.
        gap: What the sheet does not say.
        resolved: What holds here.
        authority: On whose word.
    """

    about: Literal[
        "betting",
        "burn",
        "commission",
        "counting",
        "curator",
        "cut_card",
        "dealing_order",
        "dealing_style",
        "decks",
        "irregularities",
        "reshuffle",
        "tableau",
        "wagers",
    ]
    gap: str
    resolved: str
    authority: str


class House(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """
    The rules of one house.

    Attributes:
        id: Lower case with hyphens; None where no house is configured.
        name: What people call it.
        sheet: The document that it follows.
        decks: In a full shoe, 1 to 12.
        reshuffle: When the cards are shuffled.
        dealing_style: When the table sees them.
        commission: The share of a Banker win that the house keeps, ``1/20``.
        burn: How a shoe begins.
        cut_card: How it ends.
        curator: Who draws the cards.
        wagers:
            What is offered: ``to:for`` before commission, or ``push``, by
            prize, by wager. What a table does not name loses.
        resolutions: What the sheet leaves open.
    """

    id: Annotated[str, Meta(pattern="^[a-z0-9-]+$")] | None = None
    name: str
    sheet: str
    decks: Decks = 8
    reshuffle: Literal["per_shoe", "per_hand", "continuous"] = "per_shoe"
    dealing_style: DealingStyle = DealingStyle.FACE_UP
    commission: str = "0/1"
    burn: Burn = Burn()
    cut_card: CutCard = CutCard()
    curator: Curator = Curator()
    wagers: dict[str, dict[str, str]]
    resolutions: tuple[Resolution, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a commission or a pay table that cannot be."""
        try:
            parse_share(self.commission)
        except ValueError as error:
            msg = f"commission: {error}"
            raise ValueError(msg) from error
        for wager in self.wagers:
            if wager not in WAGER_CATALOGUE:
                msg = (
                    f"wagers.{wager}: no such wager; expected one of {', '.join(WAGER_CATALOGUE)}"
                )
                raise ValueError(msg)
        _ = self.offered

    @cached_property
    def offered(self) -> tuple[Wager, ...]:
        """The wagers at this house's prices, in the catalogue's order whatever theirs here."""
        return tuple(self._priced(wager) for wager in WAGER_CATALOGUE if wager in self.wagers)

    @cached_property
    def settle(self) -> Settler:
        """Settles every wager of a coup: ``house.settle(coup)``."""
        return Settler(self.offered)

    def _priced(self, wager: str) -> Wager:
        try:
            return Wager.priced(WAGER_CATALOGUE[wager], self.wagers[wager], self.commission)
        except ValueError as error:
            msg = f"wagers.{wager}.{error}"
            raise ValueError(msg) from error


DEFAULT_HOUSE: Final = House(
    name="No house",
    sheet="none: burn and cut card are taken as they come",
    commission="1/20",
    wagers={name: WAGER_CATALOGUE[name].usual for name in ("player", "banker", "tie")},
)
"""What holds where no house is configured."""


@cache
def load_house(house: str) -> House:
    """
    Return one of the houses that come with the project.

    Raises:
        UserError: There is none of that name.
    """
    if house not in HOUSE_IDS:
        raise UserError(f"{house}: no such house; expected one of {', '.join(HOUSE_IDS)}")
    name = f"{house}.toml"
    text = resources.files(__package__).joinpath("houses", name).read_text(encoding="utf-8")
    return house_from_mapping(tomllib.loads(text), name)


def find_house(name: str) -> House:
    """
    Return the house that a person names: one by its id, or a file ``….toml``.

    Raises:
        UserError: There is none, or what is wrong with the file.
    """
    return load_house_file(Path(name)) if name.endswith(".toml") else load_house(name)


def load_house_file(path: Path) -> House:
    """
    Read a house from a TOML file.

    Raises:
        UserError: What is wrong with the file, in one line.
    """
    return house_from_mapping(read_toml(path, "a house"), str(path))


def house_from_mapping(mapping: Mapping[str, Any], place: str = "house") -> House:
    """
    Read a house given in full, as `house_to_mapping` writes it.

    Args:
        mapping: What a TOML or JSON file holds.
        place: Where it stands; begins the error.

    Raises:
        UserError: Place, key, what is wrong and what is expected, in one line.
    """
    return convert_toml(House, mapping, place)


def house_to_mapping(house: House) -> dict[str, Any]:
    """Write a house in full, defaults too, as plain data."""
    mapping: dict[str, Any] = to_builtins(house)
    return mapping

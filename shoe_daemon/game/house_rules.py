"""
A house: one casino's rule sheet, as data.

The houses that come with the project are the TOML files in ``houses/``. Each file states the gaps
of its sheet, how they were resolved, and on whose authority; it may have the name of the house in
other languages, under ``[names]``.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from shoe_daemon.game.cards import MAX_DECKS
from shoe_daemon.game.rule_files import RuleFiles
from shoe_daemon.game.wager_catalogue import WAGER_CATALOGUE
from shoe_daemon.game.wagers import Settler, Wager, parse_share

Positive = Annotated[int, Meta(ge=1)]
Decks = Annotated[int, Meta(ge=1, le=MAX_DECKS)]


class DealingStyle(StrEnum):
    """
    The time at which the players see a card.

    ``face_up`` at the draw; ``banker_tucked``: the Banker's first two when the dealer turns
    them; ``squeeze``: when a player has turned them.
    """

    FACE_UP = "face_up"
    BANKER_TUCKED = "banker_tucked"
    SQUEEZE = "squeeze"


class Burn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The start of a new shoe.

    Attributes:
        mode:
            ``first_card``: the first card's value says how many more are burned;
            ``per_deck``: one for each deck; ``fixed``: always `fixed`;
            ``none``: none may be; ``unchecked``: taken as they come.
        fixed: The number of burned cards, in mode ``fixed``.
        face_value: The value of a ten or a face as a first card (10 or 0).
        indicator_counts: The first card is included in the number.
        face_down: The burned cards, except the first, stay hidden.
    """

    mode: Literal["first_card", "per_deck", "fixed", "none", "unchecked"] = "unchecked"
    fixed: Annotated[int, Meta(ge=0)] = 0
    face_value: Annotated[int, Meta(ge=0, le=10)] = 10
    indicator_counts: bool = False
    face_down: bool = False


class CutCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The end of a shoe.

    Attributes:
        mode: ``checked``, ``none`` (this house has none) or ``unchecked``.
        position: Cards behind it, as the house places it; null if not stated.
        hands_after: Rounds after the one in which it appears, 0 to 2.
        as_first_card:
            Its meaning instead of a round's first card: that round is the
            last (``last_hand``), or as if it came in mid-round.
    """

    mode: Literal["checked", "none", "unchecked"] = "unchecked"
    position: Positive | None = None
    hands_after: Annotated[int, Meta(ge=0, le=2)] = 1
    as_first_card: Literal["last_hand", "counts_as_mid_hand"] = "last_hand"


class Curator(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The rules of the curator, the player who holds the shoe and draws the cards.

    The shoe passes when the Banker loses, and stays on a tie.

    Attributes:
        on: The house has a curator; otherwise the dealer draws.
        passes_to: The side to which a player passes the shoe, as seen by that player.
        seat_numbering:
            The direction of the seat numbers, seen from above: the next seat to
            the right is one more where they run counterclockwise.
        first_seat: The seat to which a new shoe is offered.
    """

    on: bool = False
    passes_to: Literal["right", "left"] = "right"
    seat_numbering: Literal["counterclockwise", "clockwise"] = "counterclockwise"
    first_seat: Positive = 1


class Resolution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One gap or contradiction of a house's sheet, and its resolution.
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
        decks: The number of decks in a full shoe, 1 to 12.
        reshuffle: The time at which the cards are shuffled.
        dealing_style: The time at which the players see them.
        player_on_5:
            The Player ``draws`` on 5, or ``chooses`` to draw or to stand. Not set, the Player
            draws, and the rules in full do not mention it.
        commission: The share of a Banker win that the house keeps, ``1/20``.
        wagers:
            The pay tables: ``to:for`` before commission, or ``push``, by
            prize, by wager. A prize that a table does not name loses.
    """

    id: Annotated[str, Meta(pattern="^[a-z0-9-]+$")] | None = None
    name: str
    sheet: str
    decks: Decks = 8
    reshuffle: Literal["per_shoe", "per_hand", "continuous"] = "per_shoe"
    dealing_style: DealingStyle = DealingStyle.FACE_UP
    player_on_5: Literal["draws", "chooses"] | UnsetType = UNSET
    commission: str = "0/1"
    burn: Burn = Burn()
    cut_card: CutCard = CutCard()
    curator: Curator = Curator()
    wagers: dict[str, dict[str, str]]
    resolutions: tuple[Resolution, ...] = ()

    def __post_init__(self) -> None:
        """Reject an invalid commission or pay table."""
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

    @property
    def player_chooses(self) -> bool:
        """The Player may draw or stand on 5."""
        return self.player_on_5 == "chooses"

    @cached_property
    def offered(self) -> tuple[Wager, ...]:
        """The wagers at this house's prices, in the order of the catalogue."""
        return tuple(self._priced(wager) for wager in WAGER_CATALOGUE if wager in self.wagers)

    @cached_property
    def settle(self) -> Settler:
        """The settler of this house's wagers: ``house.settle(coup)``."""
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
"""The house of a table without a configured house."""

_FILES: Final = RuleFiles(House, "house", "houses", named=True)

HOUSE_IDS: Final = _FILES.ids
"""The houses that come with the project: the files of their folder, in alphabetical order."""

house_names: Final = _FILES.names
load_house: Final = _FILES.load
find_house: Final = _FILES.find
load_house_file: Final = _FILES.load_file
house_from_mapping: Final = _FILES.from_mapping
house_to_mapping: Final = _FILES.to_mapping

"""
A house: one casino's rule sheet, as data.

The four houses that come with the project are TOML files beside this module;
each value that its sheet leaves open says in the file how it was resolved and
on whose authority.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

Positive = Annotated[int, Meta(ge=1)]
Decks = Annotated[int, Meta(ge=1, le=12)]


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

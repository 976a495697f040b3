"""The true scene of each picture."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from drivers.simulators.camera.scene_settings import SceneFault
from drivers.simulators.simulated_shoe import DealtRound
from shoe_daemon.game import Card, Slot

__all__ = ["CardTruth", "Quad", "Truth", "round_line", "truth_line"]

Corner = tuple[float, float]
Quad = tuple[Corner, Corner, Corner, Corner]


class CardTruth(Struct, frozen=True):
    """
    A card at rest, or a card that passes the shoe's exit.

    Attributes:
        slot: The card's place; None if on no place.
        card: The card.
        quad: Corners in pixels, from the upper left corner of the face.
        face_up: Its face is up.
        covered: A hand or another object is over it.
        overlapped: Another card covers a part of it.
        since: Seconds since it came to rest; negative while it moves.
    """

    slot: Slot | None
    card: Card
    quad: Quad
    face_up: bool = True
    covered: bool = False
    overlapped: bool = False
    since: float = 0.0


class Truth(Struct, frozen=True):
    """
    The true scene of one picture.

    Attributes:
        at: Seconds.
        shoe, round: The round in progress.
        cards: Cards at rest, in the order in which they came to rest.
        moving: Number of moving cards.
        trouble: The fault of the scene in this round.
        active: The fault is active now.
        finished: The round that ended with this picture.
    """

    at: float
    shoe: int = 0
    round: int = 0
    cards: tuple[CardTruth, ...] = ()
    moving: int = 0
    trouble: SceneFault | None = None
    active: bool = False
    finished: DealtRound | None = None


def truth_line(truth: Truth) -> bytes:
    """Encode a picture's truth as a line of JSON."""
    fields: dict[str, Any] = msgspec.to_builtins(truth)
    fields["at"] = round(truth.at, 4)
    for card in fields["cards"]:
        card["quad"] = [[round(v, 2) for v in corner] for corner in card["quad"]]
        card["since"] = round(card["since"], 3)
    del fields["finished"]
    return msgspec.json.encode({"picture": fields}) + b"\n"


def round_line(dealt: DealtRound, trouble: SceneFault | None) -> bytes:
    """Encode a round's truth as a line of JSON."""
    fields: dict[str, Any] = msgspec.to_builtins(dealt)
    fields["trouble"] = None if trouble is None else trouble.value
    if not dealt.aborted and len(dealt.cards) >= 4:  # noqa: PLR2004 - a whole round
        coup = dealt.coup
        fields["coup"] = {
            "outcome": coup.outcome.value,
            "player": coup.player.total,
            "banker": coup.banker.total,
        }
    return msgspec.json.encode({"round": fields}) + b"\n"

"""What is really before the camera, picture by picture."""

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
    A card that lies still, or, at the shoe's mouth, passes.

    Attributes:
        slot: On whose place; None where it is on nobody's.
        card: Which it is.
        quad: Its corners in pixels, from the upper left one of its face on, as it is read.
        face_up: Whether its face is up.
        covered: Whether a hand, or something else, is over it.
        overlapped: Whether another card lies on a part of it.
        since: Since when it has lain so, in seconds; negative while it moves.
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
    One picture.

    Attributes:
        at: Seconds.
        shoe, round: Which round is played.
        cards: Those that lie still, in the order in which they came to lie.
        moving: How many cards move.
        trouble: What goes wrong in this round before the camera, or with it.
        active: Whether that is now.
        finished: The round that was over with this picture.
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
    """Write a picture's truth as one line of JSON."""
    said: dict[str, Any] = msgspec.to_builtins(truth)
    said["at"] = round(truth.at, 4)
    for card in said["cards"]:
        card["quad"] = [[round(v, 2) for v in corner] for corner in card["quad"]]
        card["since"] = round(card["since"], 3)
    del said["finished"]
    return msgspec.json.encode({"picture": said}) + b"\n"


def round_line(dealt: DealtRound, trouble: SceneFault | None) -> bytes:
    """Write a round's truth as one line of JSON."""
    said: dict[str, Any] = msgspec.to_builtins(dealt)
    said["trouble"] = None if trouble is None else trouble.value
    if not dealt.aborted and len(dealt.cards) >= 4:  # noqa: PLR2004 - a whole round
        coup = dealt.coup
        said["coup"] = {
            "outcome": coup.outcome.value,
            "player": coup.player.total,
            "banker": coup.banker.total,
        }
    return msgspec.json.encode({"round": said}) + b"\n"

"""A stretch of play: one round, with all that moves in it."""

from __future__ import annotations

from msgspec import Struct

from drivers.simulators.camera.motion_tracks import CardTrack, HandTrack
from drivers.simulators.camera.scene_settings import Trouble
from drivers.simulators.camera.table_layout import Point
from drivers.simulators.simulated_shoe import DealtRound

__all__ = ["Bet", "Effect", "Stretch"]


class Bet(Struct, frozen=True):
    """A stack of chips, there from a moment to another."""

    at: Point
    number: int
    chips: int
    since: float
    until: float


class Effect(Struct, frozen=True):
    """
    Something that happens to the light or the camera, from a moment to another.

    Attributes:
        where: What it is about: the point that is dazzled, the way the camera is pushed.
    """

    trouble: Trouble
    since: float
    until: float
    where: Point = (0.0, 0.0)


class Stretch(Struct, eq=False):
    """
    Attributes:
        shoe: Which shoe the cards come from.
        dealt: The round; None for a pause.
        trouble: What goes wrong before the camera in it, or with it.
        cards, hands, bets: What moves.
        effects: What happens to light and camera.
        gates: Moments at which play waits until it may go on.
        seconds: How long it takes.
        deck: Whose cards they are; counts from 0.
    """

    shoe: int
    dealt: DealtRound | None = None
    trouble: Trouble | None = None
    cards: list[CardTrack] = []
    hands: list[HandTrack] = []
    bets: list[Bet] = []
    effects: list[Effect] = []
    gates: list[float] = []
    seconds: float = 0.0
    deck: int = 0

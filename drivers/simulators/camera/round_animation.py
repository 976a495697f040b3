"""Animation of one round: everything that moves, and its state at a given time."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from drivers.simulators.camera.motion_tracks import CardTrack, HandTrack, Pose
from drivers.simulators.camera.scene_settings import SceneFault
from drivers.simulators.camera.table_layout import Point
from drivers.simulators.simulated_shoe import DealtRound

__all__ = [
    "AnimatedRound",
    "Bet",
    "CardState",
    "Effect",
    "SceneState",
    "scene_state",
]


class Bet(Struct, frozen=True):
    """A stack of chips, between two times."""

    at: Point
    number: int
    chips: int
    since: float
    until: float


class Effect(Struct, frozen=True):
    """
    A change of light or camera, between two times.

    Attributes:
        where: The dazzled point, or the camera's displacement.
    """

    trouble: SceneFault
    since: float
    until: float
    where: Point = (0.0, 0.0)


class AnimatedRound(Struct, eq=False):
    """
    Attributes:
        shoe: The shoe's number.
        dealt: The round; None for a pause.
        trouble: The scene's fault.
        cards, hands, bets: Moving objects.
        effects: Changes of light and camera.
        gates: Times at which play waits for permission.
        seconds: Duration.
        deck: Number of the deck, from 0.
    """

    shoe: int
    dealt: DealtRound | None = None
    trouble: SceneFault | None = None
    cards: list[CardTrack] = []
    hands: list[HandTrack] = []
    bets: list[Bet] = []
    effects: list[Effect] = []
    gates: list[float] = []
    seconds: float = 0.0
    deck: int = 0


class CardState(NamedTuple):
    """A card's pose, and the time since it is at rest; negative while moving."""

    track: CardTrack
    pose: Pose
    since: float
    marked: bool


class SceneState(NamedTuple):
    """
    Attributes:
        at: Seconds from the start of the round.
        animation: The round.
        cards: Cards at rest, lowest first, then moving cards.
        hands: Hands, above all cards.
        bets: Chips on the table.
        effects: Active changes of light and camera.
    """

    at: float
    animation: AnimatedRound
    cards: tuple[CardState, ...]
    hands: tuple[tuple[HandTrack, Pose], ...]
    bets: tuple[Bet, ...]
    effects: tuple[Effect, ...]

    @property
    def active(self) -> frozenset[SceneFault]:
        """The active faults."""
        return frozenset(effect.trouble for effect in self.effects)


def scene_state(animation: AnimatedRound, at: float) -> SceneState:
    """Return the state of the scene at a given time."""
    cards = []
    for track in animation.cards:
        found = track.pose(min(at, track.keys[-1].at) if track.stays else at)
        if found is not None:
            pose, since = found
            marked = track.marked is not None and at >= track.marked and since >= 0
            cards.append(CardState(track, pose, since, marked))
    cards.sort(key=lambda shown: shown.since if shown.since >= 0 else float("inf"))
    hands = [(track, found[0]) for track in animation.hands if (found := track.pose(at))]
    return SceneState(
        at,
        animation,
        tuple(cards),
        tuple(hands),
        tuple(bet for bet in animation.bets if bet.since <= at <= bet.until),
        tuple(effect for effect in animation.effects if effect.since <= at <= effect.until),
    )

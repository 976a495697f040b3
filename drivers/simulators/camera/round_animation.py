"""A stretch of play: one round, with all that moves in it."""

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

    trouble: SceneFault
    since: float
    until: float
    where: Point = (0.0, 0.0)


class AnimatedRound(Struct, eq=False):
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
    trouble: SceneFault | None = None
    cards: list[CardTrack] = []
    hands: list[HandTrack] = []
    bets: list[Bet] = []
    effects: list[Effect] = []
    gates: list[float] = []
    seconds: float = 0.0
    deck: int = 0


class CardState(NamedTuple):
    """A card, where it is, and since when it has lain so; negative while it moves."""

    track: CardTrack
    pose: Pose
    since: float
    marked: bool


class SceneState(NamedTuple):
    """
    Attributes:
        at: Seconds from the animation's beginning.
        animation: What is played.
        cards: Those that lie, the lowest first, and above them those that move.
        hands: Above them all.
        bets: The chips that lie there.
        effects: What happens to light and camera now.
    """

    at: float
    animation: AnimatedRound
    cards: tuple[CardState, ...]
    hands: tuple[tuple[HandTrack, Pose], ...]
    bets: tuple[Bet, ...]
    effects: tuple[Effect, ...]

    @property
    def active(self) -> frozenset[SceneFault]:
        """What goes wrong now."""
        return frozenset(effect.trouble for effect in self.effects)


def scene_state(animation: AnimatedRound, at: float) -> SceneState:
    """Say how everything is at a moment of an animation."""
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

"""A stretch of play: one round, with all that moves in it."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from drivers.simulators.camera.motion_tracks import CardTrack, HandTrack, Pose
from drivers.simulators.camera.scene_settings import Trouble
from drivers.simulators.camera.table_layout import Point
from drivers.simulators.simulated_shoe import DealtRound

__all__ = [
    "Bet",
    "Effect",
    "Moment",
    "Shown",
    "Stretch",
    "moment",
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


class Shown(NamedTuple):
    """A card, where it is, and since when it has lain so; negative while it moves."""

    track: CardTrack
    pose: Pose
    since: float
    marked: bool


class Moment(NamedTuple):
    """
    Attributes:
        at: Seconds from the stretch's beginning.
        stretch: What is played.
        cards: Those that lie, the lowest first, and above them those that move.
        hands: Above them all.
        bets: The chips that lie there.
        effects: What happens to light and camera now.
    """

    at: float
    stretch: Stretch
    cards: tuple[Shown, ...]
    hands: tuple[tuple[HandTrack, Pose], ...]
    bets: tuple[Bet, ...]
    effects: tuple[Effect, ...]

    @property
    def active(self) -> frozenset[Trouble]:
        """What goes wrong now."""
        return frozenset(effect.trouble for effect in self.effects)


def moment(stretch: Stretch, at: float) -> Moment:
    """Say how everything is at a moment of a stretch."""
    cards = []
    for track in stretch.cards:
        found = track.pose(min(at, track.keys[-1].at) if track.stays else at)
        if found is not None:
            pose, since = found
            marked = track.marked is not None and at >= track.marked and since >= 0
            cards.append(Shown(track, pose, since, marked))
    cards.sort(key=lambda shown: shown.since if shown.since >= 0 else float("inf"))
    hands = [(track, found[0]) for track in stretch.hands if (found := track.pose(at))]
    return Moment(
        at,
        stretch,
        tuple(cards),
        tuple(hands),
        tuple(bet for bet in stretch.bets if bet.since <= at <= bet.until),
        tuple(effect for effect in stretch.effects if effect.since <= at <= effect.until),
    )

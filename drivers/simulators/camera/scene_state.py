"""A moment of play: what lies where, and what moves."""

from __future__ import annotations

from typing import NamedTuple

from drivers.simulators.camera.motion_tracks import CardTrack, HandTrack, Pose
from drivers.simulators.camera.round_animation import Bet, Effect, Stretch
from drivers.simulators.camera.scene_settings import Trouble

__all__ = ["Moment", "Shown", "moment"]


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

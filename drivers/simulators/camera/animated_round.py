"""Animation of one round: paths of cards and hands, and the state of the scene at any time."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from msgspec import Struct

from drivers.simulators.camera.hands import Grip
from drivers.simulators.camera.settings import SceneFault
from drivers.simulators.camera.table_layout import Point
from drivers.simulators.shoe import DealtRound
from shoe_daemon.game import Card, Slot

FACE: Final = 180.0
"""The turn of a card lying face up."""


class Pose(NamedTuple):
    """
    Position and orientation of a card or hand.

    Attributes:
        x, y, up: Centre of the card, or finger tips, in millimetres.
        heading: Degrees, clockwise.
        turn: A card's rotation about its long axis: 0 face down, 180 face up.
        peel: Share of a card's length that is bent up.
    """

    x: float
    y: float
    up: float = 0.0
    heading: float = 0.0
    turn: float = 0.0
    peel: float = 0.0

    @property
    def at(self) -> Point:
        """The position on the table."""
        return self.x, self.y


class Key(NamedTuple):
    """A pose and its time."""

    at: float
    pose: Pose


class _Track(Struct, eq=False):
    """A smooth path between poses, from the first to the last."""

    keys: list[Key]

    def stay(self, until: float) -> None:
        """Keep the last pose until a given time."""
        last = self.keys[-1]
        if until > last.at:
            self.keys.append(Key(until, last.pose))

    def move(self, start: float, seconds: float, *poses: Pose) -> None:
        """From `start`, move through the poses in equal parts of the time."""
        self.stay(start)
        for number, pose in enumerate(poses, 1):
            self.keys.append(Key(start + seconds * number / len(poses), pose))

    def pose(self, at: float) -> tuple[Pose, float] | None:
        """Return the pose, and the time since it is at rest; negative while moving."""
        if at < self.keys[0].at or at > self.keys[-1].at:
            return None
        number = bisect_right(self.keys, at, key=lambda key: key.at)
        if number == len(self.keys):
            return self.keys[-1].pose, self._since(number - 1)
        before, after = self.keys[number - 1], self.keys[number]
        if before.pose == after.pose:
            return before.pose, self._since(number - 1)
        share = (at - before.at) / (after.at - before.at)
        share = share * share * (3 - 2 * share)
        mixed = (a + (b - a) * share for a, b in zip(before.pose, after.pose, strict=True))
        return Pose(*mixed), -1.0

    def _since(self, number: int) -> float:
        while number and self.keys[number - 1].pose == self.keys[number].pose:
            number -= 1
        return self.keys[number].at


class CardTrack(_Track, eq=False):
    """
    The path of a card.

    Attributes:
        slot: The card's final place; None for an excess card.
        stays: The card remains after its last key, until it is collected.
        marked: Time from which marker buttons cover both indices; None for never.
    """

    card: Card
    slot: Slot | None = None
    stays: bool = True
    marked: float | None = None


class HandTrack(_Track, eq=False):
    """The path of a hand."""

    person: int = 0
    grip: Grip = Grip.PINCH


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

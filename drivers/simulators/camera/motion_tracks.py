"""Motion of cards and hands: their pose at any time."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from msgspec import Struct

from drivers.simulators.camera.dealer_hands import Grip
from drivers.simulators.camera.table_layout import Point
from shoe_daemon.game import Card, Slot

__all__ = ["FACE", "CardTrack", "HandTrack", "Key", "Pose"]

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

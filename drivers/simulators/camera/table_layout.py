"""
Positions on the simulated table in millimetres.

x points right, y towards the players, as in the picture; 0, 0 is the middle of the six places.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from shoe_daemon.game import Slot

Point = tuple[float, float]

CARD: Final = (63.0, 88.0)
EXTENT: Final = (-700.0, -480.0, 700.0, 480.0)
"""The drawn part of the table: left, top, right, bottom."""

SHOE: Final[Point] = (520.0, -215.0)
DISCARD: Final[Point] = (-560.0, -260.0)


class Box(NamedTuple):
    """
    A place for one card.

    Attributes:
        x, y: Its centre.
        turn: 0 if the card's long side runs along y, 90 along x.
        size: Width and height.
    """

    x: float
    y: float
    turn: int
    size: Point

    @property
    def corners(self) -> tuple[Point, ...]:
        """The corners, from the upper left."""
        (wide, high), x, y = self.size, self.x, self.y
        left, right = x - wide / 2, x + wide / 2
        top, bottom = y - high / 2, y + high / 2
        return ((left, top), (right, top), (right, bottom), (left, bottom))


_UPRIGHT: Final = (80.0, 108.0)
_SIDEWAYS: Final = (108.0, 86.0)

PLACES: Final[dict[Slot, Box]] = {
    Slot.P1: Box(-158.0, 0.0, 0, _UPRIGHT),
    Slot.B1: Box(72.0, 0.0, 0, _UPRIGHT),
    Slot.P2: Box(-72.0, 0.0, 0, _UPRIGHT),
    Slot.B2: Box(158.0, 0.0, 0, _UPRIGHT),
    Slot.P3: Box(-255.0, 0.0, 90, _SIDEWAYS),
    Slot.B3: Box(255.0, 0.0, 90, _SIDEWAYS),
}

THROAT_SIZE: Final = (128.0, 72.0)
"""The part of the shoe's throat that its camera sees."""

THROAT_WINDOW: Final = Box(0.0, 0.0, 0, (104.0, 69.0))
"""The part of it in which cards pass."""


def turned(x: Any, y: Any, degrees: float, at: Point) -> tuple[Any, Any]:  # noqa: ANN401 - numbers or arrays
    """Return a point, or arrays of points, turned clockwise about the origin and moved to `at`."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return x * cosine - y * sine + at[0], x * sine + y * cosine + at[1]

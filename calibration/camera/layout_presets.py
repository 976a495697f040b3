"""
Where the boxes of a layout are: presets, and how one is laid onto a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from drivers.camera.profile.camera_profile import Place, Point, Polygon, Throat
from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Slot

__all__ = ["LAYOUTS", "Box", "layout_named", "leaves_along_x", "places_of", "watched"]

_UPRIGHT: Final = (80.0, 108.0)
_SIDEWAYS: Final = (108.0, 86.0)
"""Millimetres of a box, across and along: for a card that stands upright, and one that lies."""


class Box(Struct, frozen=True, forbid_unknown_fields=True):
    """
    A place for one card.

    Attributes:
        slot: Whose; None for a box that belongs to no hand.
        x, y: Its middle in millimetres.
        turn: 0 for a card whose long side runs along y, 90 along x.
    """

    slot: Slot | None
    x: float
    y: float
    turn: Literal[0, 90] = 0

    @property
    def corners(self) -> Polygon:
        """
        Its corners from the upper left one on.
        """
        wide, high = _SIDEWAYS if self.turn else _UPRIGHT
        left, right = self.x - wide / 2, self.x + wide / 2
        top, bottom = self.y - high / 2, self.y + high / 2
        return tuple(
            (round(x, 1), round(y, 1))
            for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))
        )

    def at(self, middle: Point) -> Box:
        """
        Give the same box elsewhere.
        """
        return replace(self, x=middle[0], y=middle[1])


_SIX: Final = (
    Box(Slot.P1, -158.0, 0.0),
    Box(Slot.B1, 72.0, 0.0),
    Box(Slot.P2, -72.0, 0.0),
    Box(Slot.B2, 158.0, 0.0),
    Box(Slot.P3, -255.0, 0.0, 90),
    Box(Slot.B3, 255.0, 0.0, 90),
)
_SEVENTH: Final = Box(None, 0.0, -125.0)


def _mirrored(boxes: Iterable[Box]) -> tuple[Box, ...]:
    return tuple(replace(box, x=-box.x) for box in boxes)


LAYOUTS: Final = {
    "six": _SIX,
    "six-mirrored": _mirrored(_SIX),
    "seven": (*_SIX, _SEVENTH),
    "seven-mirrored": _mirrored((*_SIX, _SEVENTH)),
}
"""Seen from the camera: Player on the left, or mirrored on the right; the seventh box,
behind the others, is that of burned cards, which belong to no hand."""


def layout_named(name: str) -> tuple[Box, ...]:
    """
    Give a preset.

    Raises:
        UserError: There is none of that name.
    """
    if name not in LAYOUTS:
        raise UserError(f"layout {name!r}: expected one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def places_of(boxes: Iterable[Box]) -> tuple[Place, ...]:
    """
    Write boxes as a profile has them.
    """
    return tuple(Place(polygon=box.corners, slot=box.slot, turn=box.turn) for box in boxes)


def watched(places: tuple[Place, ...], throat: Throat | None) -> tuple[Place, ...]:
    """
    Give the places on which cards are looked for: those of a table, or the shoe's mouth alone.
    """
    if throat is None:
        return places
    lies_along_x = leaves_along_x(throat.direction) == (throat.turn == 0)
    return (Place(polygon=throat.window, turn=90 if lies_along_x else 0),)


def leaves_along_x(direction: Point) -> bool:
    """
    Tell whether cards that leave the shoe this way do so along x rather than y.
    """
    return abs(direction[0]) > abs(direction[1])

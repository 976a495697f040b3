"""The boxes of a layout on the plane of the table, and the pixels that an index has there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from calibration.camera.plane import Plane, projection_of, rectangle_corners
from drivers.camera.profile.sections import (
    CardSize,
    IndexWindow,
    Place,
    Point,
    Polygon,
    Throat,
)
from drivers.camera.recognition.recogniser import window_quads
from drivers.camera.recognition.table_projection import Floats
from shoe_daemon.errors import UserError
from shoe_daemon.game import Slot

_UPRIGHT_BOX_MM: Final = (80.0, 108.0)
_SIDEWAYS_BOX_MM: Final = (108.0, 86.0)
"""Width and height of a box for an upright card, and for one that lies sideways."""


class Box(Struct, frozen=True, forbid_unknown_fields=True):
    """
    A place for one card.

    Attributes:
        slot: Its slot; None for a box that belongs to no hand.
        x, y: Its middle in millimetres.
        turn: 0 for a card whose long side runs along y, 90 along x.
    """

    slot: Slot | None
    x: float
    y: float
    turn: Literal[0, 90] = 0

    @property
    def corners(self) -> Polygon:
        """Its corners, starting at the upper left."""
        size = _SIDEWAYS_BOX_MM if self.turn else _UPRIGHT_BOX_MM
        corners = rectangle_corners(*size) + np.array((self.x, self.y))
        return tuple((round(x, 1), round(y, 1)) for x, y in corners.tolist())

    def at(self, middle: Point) -> Box:
        """Return the box at another position."""
        return replace(self, x=middle[0], y=middle[1])


_SIX_BOXES: Final = (
    Box(Slot.P1, -158.0, 0.0),
    Box(Slot.B1, 72.0, 0.0),
    Box(Slot.P2, -72.0, 0.0),
    Box(Slot.B2, 158.0, 0.0),
    Box(Slot.P3, -255.0, 0.0, 90),
    Box(Slot.B3, 255.0, 0.0, 90),
)
_SEVENTH_BOX: Final = Box(None, 0.0, -125.0)


def _mirrored(boxes: Iterable[Box]) -> tuple[Box, ...]:
    return tuple(replace(box, x=-box.x) for box in boxes)


LAYOUTS: Final = {
    "six": _SIX_BOXES,
    "six-mirrored": _mirrored(_SIX_BOXES),
    "seven": (*_SIX_BOXES, _SEVENTH_BOX),
    "seven-mirrored": _mirrored((*_SIX_BOXES, _SEVENTH_BOX)),
}
"""As the camera sees them: Player on the left, or mirrored on the right; the seventh box, behind
the others, is for burned cards, which belong to no hand."""


def layout_named(name: str) -> tuple[Box, ...]:
    """Return a preset; raise a UserError if there is none of that name."""
    if name not in LAYOUTS:
        raise UserError(f"layout {name!r}: expected one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def places_of(boxes: Iterable[Box]) -> tuple[Place, ...]:
    """Return boxes as a profile has them."""
    return tuple(Place(polygon=box.corners, slot=box.slot, turn=box.turn) for box in boxes)


def watched_places(places: tuple[Place, ...], throat: Throat | None) -> tuple[Place, ...]:
    """Return the places in which cards are searched: those of a table, or the throat alone."""
    if throat is None:
        return places
    lies_along_x = leaves_along_x(throat.direction) == (throat.turn == 0)
    return (Place(polygon=throat.window, turn=90 if lies_along_x else 0),)


def leaves_along_x(direction: Point) -> bool:
    """True if cards leave the shoe along x rather than y."""
    return abs(direction[0]) > abs(direction[1])


MORE_PIXELS_ADVICE: Final = "bring the camera nearer, zoom in, or choose a mode with more pixels"
"""Advice where an index has too few pixels."""


class PixelBudget(Struct, frozen=True):
    """Pixels that an index has on a place, and the minimum."""

    slot: str
    pixels: float
    least: float

    @property
    def passed(self) -> bool:
        """True if the pixels suffice."""
        return self.pixels >= self.least

    @property
    def fault(self) -> str:
        """The missing pixels, with advice."""
        few = f"{self.pixels:.0f} pixels for an index, at least {self.least:.0f} are needed"
        return f"{few}: {MORE_PIXELS_ADVICE}"


def index_pixels(quad: Floats, window: IndexWindow) -> float:
    """Return the height of the smaller index window of a card in pixels."""
    ends = window_quads(np.asarray(quad, np.float32), window)
    return min(float(np.linalg.norm(each[3] - each[0])) for each in ends)


def pixel_budgets(
    plane: Plane, places: Iterable[Place], card: CardSize, least: float, other: str = "other"
) -> list[PixelBudget]:
    """Return the pixels that an index will have on each place."""
    ground = projection_of(plane)
    budgets = []
    for place in places:
        quad = rectangle_corners(card.width, card.height)
        if place.turn:
            quad = quad @ np.array([[0.0, 1.0], [-1.0, 0.0]])
        pixels = index_pixels(ground.to_pixels(quad + np.array(place.centre)), IndexWindow())
        budgets.append(PixelBudget(place.slot or other, round(pixels, 1), least))
    return budgets


LayoutShift = tuple[float, float, float]
"""Shift of a layout: millimetres to the right and down, and degrees."""

NO_SHIFT: Final[LayoutShift] = (0.0, 0.0, 0.0)


class LayoutOverlay:
    """
    Boxes of a layout on the plane, drawn over the image and dragged there.

    Attributes:
        boxes: Positions of the boxes on the plane, without the common shift.
        shift: Common shift of all boxes.
    """

    def __init__(
        self, plane: Plane, boxes: Sequence[Box], least: float, shift: LayoutShift
    ) -> None:
        self.boxes = list(boxes)
        self.shift = shift
        self._plane = plane
        self._min_pixels = least

    def turn(self, degrees: float) -> None:
        """Turn all boxes."""
        x, y, before = self.shift
        self.shift = (x, y, max(-180.0, min(180.0, before + degrees)))

    def push(self, x: float, y: float) -> None:
        """Drag all boxes by a number of pixels."""
        right, down, degrees = self.shift
        ground = projection_of(self._plane)
        middle = ground.to_pixels([(right, down)])[0]
        to = ground.to_table([(middle[0] + x, middle[1] + y)])[0]
        self.shift = (float(to[0]), float(to[1]), degrees)

    def put(self, index: int, at: Point) -> None:
        """Drag the middle of one box, if it exists, to a pixel."""
        if index < len(self.boxes):
            to = projection_of(self._shifted()).to_table([at])[0]
            there = (round(float(to[0]), 1), round(float(to[1]), 1))
            self.boxes[index] = self.boxes[index].at(there)

    def _shifted(self) -> Plane:
        return self._plane.moved(*self.shift)

    def drawn(self) -> list[dict[str, Any]]:
        """Return the outline of each box in the image, and its index height in pixels."""
        plane = self._shifted()
        ground, places = projection_of(plane), places_of(self.boxes)
        snapshot = pixel_budgets(plane, places, CardSize(), self._min_pixels)
        return [
            {
                "name": budget.slot,
                "points": np.round(ground.to_pixels(place.polygon), 1).tolist(),
                "pixels": round(budget.pixels),
                "least": round(budget.least),
            }
            for place, budget in zip(places, snapshot, strict=True)
        ]

"""
A proposal for the boxes of a layout, from the outlines that are printed on the felt.

The empty table is seen from above, rectangles of the size of a card's box are searched in it, and
the six whose two halves mirror each other best are the places. A person confirms the proposal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Final, Literal, NamedTuple

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibration.camera.layout import Box, LayoutShift
from calibration.camera.plane import Plane, projection_of
from drivers.camera.image import Image
from drivers.camera.recognition.table_projection import Floats

_RASTER_PX: Final = 1500
_MM_PER_PX: Final = 1.25
"""Resolution of the view from above: the lines of a felt are some millimetres wide."""

_BACKGROUND_MM: Final = 41
"""Area whose median is the felt around a line."""

_MIN_CONTRASTS: Final = (12, 20, 32)
"""Grey values by which a line differs from the felt; each is tried."""

_SHORT_MM: Final = (56.0, 125.0)
_LONG_MM: Final = (82.0, 165.0)
_SIDES: Final = (1.08, 1.75)
"""Short and long sides of a box, and their ratio."""

_MIN_FILL: Final = 0.87
"""Share of its smallest rectangle that an outline encloses."""

_SAME_MM: Final = 25.0
"""Outlines nearer to each other are the inner and the outer edge of one box."""

_MAX_ERROR_MM: Final = 25.0
"""Greatest distance between a box and the mirror image of its counterpart."""

_MAX_CANDIDATES: Final = 12
_HAND: Final = 3
"""Boxes of a hand."""

_QUARTER: Final = 90.0


class BoxProposal(NamedTuple):
    """
    Boxes on a felt.

    Attributes:
        boxes: The boxes of the layout, relative to `shift`.
        shift: The middle of the layout on the plane, and its rotation.
    """

    boxes: tuple[Box, ...]
    shift: LayoutShift


class _Outline(NamedTuple):
    """A rectangle in millimetres: its middle, and the direction of its long side in degrees."""

    x: float
    y: float
    degrees: float


def propose_boxes(image: Image, plane: Plane, layout: Sequence[Box]) -> BoxProposal | None:
    """
    Return boxes where the felt of an empty table has printed outlines, with the slots of a layout;
    None where six of them cannot be found.
    """
    view, square = _view_from_above(image, plane)
    across = _across(plane)
    tried = (_outlines(view, square, contrast)[:_MAX_CANDIDATES] for contrast in _MIN_CONTRASTS)
    proposals = (_proposal(outlines, across, layout) for outlines in tried)
    return next(filter(None, proposals), None)


def _view_from_above(image: Image, plane: Plane) -> tuple[Image, Floats]:
    """Return the table seen from above, and the matrix from its pixels to millimetres."""
    ground = projection_of(plane)
    width, height = plane.size
    middle = ground.to_table([(width / 2, height / 2)])[0]
    first = middle - _RASTER_PX * _MM_PER_PX / 2
    square = np.array([[_MM_PER_PX, 0, first[0]], [0, _MM_PER_PX, first[1]], [0, 0, 1]])
    maps = ground.remap_tables(square, _RASTER_PX)
    return np.asarray(cv2.remap(image, *maps, cv2.INTER_LINEAR), np.uint8), square


def _across(plane: Plane) -> float:
    """Return the direction to the right of the image, in degrees on the table."""
    width, height = plane.size
    points = [(width * 0.4, height / 2), (width * 0.6, height / 2)]
    left, right = projection_of(plane).to_table(points)
    return math.degrees(math.atan2(right[1] - left[1], right[0] - left[0]))


def _outlines(view: Image, square: Floats, contrast: int) -> list[_Outline]:
    """Return the rectangles of the size of a box, each once."""
    size = round(_BACKGROUND_MM / _MM_PER_PX) | 1
    # A line may differ in its colour alone.
    felt = cv2.medianBlur(view, size)
    print_ = np.asarray(cv2.absdiff(view, felt).max(axis=2) >= contrast, np.uint8) * 255
    print_ = np.asarray(cv2.morphologyEx(print_, cv2.MORPH_CLOSE, np.ones((3, 3))), np.uint8)
    contours, _ = cv2.findContours(print_, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    found: list[_Outline] = []
    for contour in sorted(contours, key=cv2.contourArea, reverse=True):
        outline = _box_outline(np.asarray(contour, np.float32), square)
        if outline is not None and all(_apart(outline, each) > _SAME_MM for each in found):
            found.append(outline)
    return found


def _box_outline(contour: NDArray[np.float32], square: Floats) -> _Outline | None:
    middle, sides, degrees = cv2.minAreaRect(contour)
    width, height = sides[0] * _MM_PER_PX, sides[1] * _MM_PER_PX
    short, long = sorted((width, height))
    if not (_SHORT_MM[0] <= short <= _SHORT_MM[1] and _LONG_MM[0] <= long <= _LONG_MM[1]):
        return None
    if not _SIDES[0] <= long / short <= _SIDES[1]:
        return None
    if cv2.contourArea(contour) * _MM_PER_PX**2 < _MIN_FILL * short * long:
        return None
    x, y, _ = square @ np.array([middle[0], middle[1], 1.0])
    return _Outline(float(x), float(y), degrees if width >= height else degrees + _QUARTER)


def _apart(one: _Outline | _Placed, other: _Outline | _Placed) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def _proposal(
    outlines: Sequence[_Outline], across: float, layout: Sequence[Box]
) -> BoxProposal | None:
    best: tuple[float, list[_Placed], float] | None = None
    for six in combinations(outlines, 2 * _HAND):
        degrees = _row_direction(six, across)
        placed = [_turned(each, degrees) for each in six]
        error = _asymmetry(placed)
        if error <= _MAX_ERROR_MM and (best is None or error < best[0]):
            best = error, placed, degrees
    if best is None:
        return None
    _, placed, degrees = best
    return _named(placed, degrees, layout)


class _Placed(NamedTuple):
    """An outline along the rows of the layout: its middle, and how a card lies in it."""

    x: float
    y: float
    turn: Literal[0, 90]


def _row_direction(outlines: Sequence[_Outline], across: float) -> float:
    """Return the direction of the rows: that of the sides which is nearest to the image's own."""
    angles = [((each.degrees - across + 45) % _QUARTER) - 45 for each in outlines]
    return across + float(np.median(angles))


def _turned(outline: _Outline, degrees: float) -> _Placed:
    turn = math.radians(-degrees)
    cos, sin = math.cos(turn), math.sin(turn)
    lies = abs(math.cos(math.radians(outline.degrees - degrees))) > math.cos(math.radians(45))
    x, y = outline.x * cos - outline.y * sin, outline.x * sin + outline.y * cos
    return _Placed(x, y, 90 if lies else 0)


def _asymmetry(placed: Sequence[_Placed]) -> float:
    """Return the greatest distance between a box and the mirror image of its counterpart."""
    left, right = _halves(placed)
    axis = (sum(each.x for each in placed)) / len(placed)
    mirrored = [_Placed(2 * axis - each.x, each.y, each.turn) for each in right]
    return min(_worst(left, order) for order in permutations(mirrored))


def _worst(left: Sequence[_Placed], right: Sequence[_Placed]) -> float:
    return max(
        _apart(one, other) if one.turn == other.turn else math.inf
        for one, other in zip(left, right, strict=True)
    )


def _halves(placed: Sequence[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    ordered = sorted(placed)
    return ordered[:_HAND], ordered[_HAND:]


def _named(placed: Sequence[_Placed], degrees: float, layout: Sequence[Box]) -> BoxProposal:
    """Give the outlines the slots of a layout, and positions about their common middle."""
    x, y = (sum(values) / len(placed) for values in list(zip(*placed, strict=True))[:2])
    named = [box for box in layout if box.slot is not None]
    left = min(named, key=lambda box: box.x).slot or ""
    names = ("P", "B") if left.startswith("P") else ("B", "P")
    found = {}
    for name, half in zip(names, _halves(placed), strict=True):
        own = [box for box in named if (box.slot or "").startswith(name)]
        for box in _hand(own, half):
            found[box.slot] = replace(box, x=round(box.x - x, 1), y=round(box.y - y, 1))
    turn = math.radians(degrees)
    middle = x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)
    boxes = tuple(found.get(box.slot, box) for box in layout)
    return BoxProposal(boxes, (*middle, (degrees + 180) % 360 - 180))


def _hand(names: Sequence[Box], half: Sequence[_Placed]) -> Iterator[Box]:
    """Give the boxes of a hand their slots: the third card's is the one that stands alone."""
    third = min(half, key=lambda each: _pair_rank(each, half))
    pair = sorted(each for each in half if each is not third)
    wanted = sorted(names, key=lambda each: each.x)
    firsts = [box for box in wanted if box.slot is not None and not box.slot.endswith("3")]
    thirds = [box for box in wanted if box.slot is not None and box.slot.endswith("3")]
    for box, place in zip([*firsts, *thirds], [*pair, third], strict=True):
        yield Box(box.slot, place.x, place.y, place.turn)


def _pair_rank(third: _Placed, half: Sequence[_Placed]) -> tuple[bool, float]:
    """Rank a box as the third card's: the others lie alike, and near to each other."""
    one, other = (each for each in half if each is not third)
    return one.turn != other.turn, _apart(one, other)

"""
Finds the card on a place: a rectangle of known size, near a known pose.

Proposals come from what differs from the empty table, and from straight lines where
cards overlap or a hand touches one; each is then drawn to the edges around it. Two
edges and the corner between them are enough. Felt lettering, chips and the print of
the card itself give edges too, but none at the right distances from one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.recognition.outline_fitting import (
    ENOUGH,
    TURN,
    Found,
    Pose,
    Scene,
    brightest,
    covers,
    fit_card,
    grey_of,
    in_reach,
    look_up,
)
from drivers.camera.recognition.table_geometry import STRAY, Floats
from drivers.camera.sources.frame_quality import Image

__all__ = ["Bounds", "different", "find_card"]

_DIFFERENT: Final = 26
_FAINT: Final = (9, 15)
"""
Grey values by which a point differs from the empty table; the lesser where both are smoothed.
The least of them tells a back from the felt, the next is nearer to its edge.
"""

_SMOOTH: Final = 1.0
"""Millimetres over which that is smoothed, so that the lines of a back run together."""

_PROPOSALS: Final = 10
_LINES: Final = 9
_LEAST_LINE: Final = 12.0
"""Millimetres of the shortest straight line that may be a side."""

_BESIDE: Final = 4.0
_LIES: Final = 0.5
"""Millimetres beside a line at which a card lies that it bounds, and how much of it at least."""

_INSIDE: Final = 0.93
"""Share of a card's surface that has to differ from the empty table."""


class Bounds(NamedTuple):
    """
    What is known of a card before it is found.

    Attributes:
        scale: Pixels a millimetre.
        card: Width and height in millimetres.
        stray: How far from the patch's middle a card may be.
    """

    scale: float
    card: tuple[float, float]
    stray: float = STRAY


def find_card(patch: Image, empty: Image, bounds: Bounds, gain: float = 1.0) -> Found | None:
    """
    Find the card on a patch of the table; None where none lies there for certain.

    Args:
        patch: The piece of the picture, upright for the place.
        empty: The same of the empty table.
        bounds: How large a card is, and where it may be.
        gain: How much brighter it is now than in the picture of the empty table.
    """
    return _of_contrast(patch, empty, bounds, gain) or _of_smoothed(patch, empty, bounds, gain)


def _of_contrast(patch: Image, empty: Image, bounds: Bounds, gain: float) -> Found | None:
    mask = different(patch, empty, gain)
    filled = _filled(mask)
    width, height = bounds.card
    if np.count_nonzero(filled) < 0.2 * width * height * bounds.scale**2:
        return None
    scene = Scene(grey_of(patch), mask, *bounds)
    best = _best(scene, _of_shapes(scene))
    if best is None or not best.is_whole:
        best = _better(best, _best(scene, _of_lines(scene, patch)))
    if best is None or not best.is_whole:
        best = _better(best, _of_outlines(scene, filled))
    return best


def _of_outlines(scene: Scene, filled: NDArray[np.uint8]) -> Found | None:
    """
    Find what has a card's outline, though its edges do not show, or its middle does not.

    The edge of a back that is printed to its rim, on felt as light as it is, shows in
    nothing but that it differs; a back of the felt's own colour differs by its rim alone.
    What is enclosed by a line is no card for that: it has to be seen whole.
    """
    best = None
    for mask in (scene.mask, filled):
        for grey in (scene.grey, _outline(mask)):
            some = scene._replace(mask=mask, grey=grey)
            best = _better(best, _best(some, _of_shapes(some)))
            if best is not None and best.is_whole:
                return best
    return None


def _of_smoothed(patch: Image, empty: Image, bounds: Bounds, gain: float) -> Found | None:
    """
    Find what differs by little, but everywhere: a back of thin lines on the felt's own colour.

    A shadow, or a lamp that dims, differs so too: it has to have a card's outline.
    """
    wide = _SMOOTH * bounds.scale
    now, before = (
        np.asarray(cv2.GaussianBlur(each, (0, 0), wide), np.uint8) for each in (patch, empty)
    )
    for least in _FAINT:
        mask = _filled(different(now, before, gain, least))
        scene = Scene(_outline(mask), mask, *bounds)
        found = _best(scene, _of_shapes(scene))
        if found is not None and found.is_whole:
            return found
    return None


def _outline(mask: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.asarray(cv2.GaussianBlur(mask * np.uint8(255), (3, 3), 0), np.float32)


def _filled(mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """
    Fill what is enclosed.
    """
    shapes, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    filled = np.zeros_like(mask)
    cv2.drawContours(filled, shapes, -1, (1,), cv2.FILLED)
    return filled


def different(
    patch: Image, empty: Image, gain: float, least: int = _DIFFERENT
) -> NDArray[np.uint8]:
    """
    Return what differs from the empty table, as ones: by so many grey values at least.

    The camera may have moved by a hair: what the table has nearby is no difference.
    """
    box = np.ones((3, 3), np.uint8)
    low = cv2.convertScaleAbs(cv2.erode(empty, box), alpha=gain)
    high = cv2.convertScaleAbs(cv2.dilate(empty, box), alpha=gain)
    apart = brightest(np.asarray(cv2.max(cv2.subtract(patch, high), cv2.subtract(low, patch))))
    limit = least * min(1.0, max(0.45, gain))
    far = (apart > limit).astype(np.uint8)
    mask = cv2.morphologyEx(far, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, box), np.uint8)


def _better(one: Found | None, other: Found | None) -> Found | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda found: found.score)


def _best(scene: Scene, proposals: Iterable[Pose]) -> Found | None:
    best: Found | None = None
    for pose in proposals:
        found = fit_card(scene, pose)
        if found is None or not (found.is_whole and _is_founded(found)):
            # A back has a frame inside its edge: what lies farther out is the edge.
            framed = fit_card(scene, pose, outermost=True)
            found = framed if framed is not None and min(framed.sides) >= ENOUGH else found
        if found is not None and _is_founded(found):
            best = _better(best, found)
    return best


def _is_founded(found: Found) -> bool:
    if found.inside < _INSIDE:
        return False
    if found.is_whole:
        return True
    # Two sides that meet.
    shows = [side >= 0.7 for side in found.sides]  # noqa: PLR2004 - nearly all of a side
    return any(shows[i] and shows[(i + 1) % 4] for i in range(4))


def _of_shapes(scene: Scene) -> Iterator[Pose]:
    """
    Propose what stands alone and has the size of a card.
    """
    shapes, _ = cv2.findContours(scene.mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    wanted = np.array(scene.card) * scene.scale
    for shape in shapes:
        if cv2.contourArea(shape) < 0.5 * wanted[0] * wanted[1]:
            continue
        (x, y), (width, height), degrees = cv2.minAreaRect(shape)
        turn, sides = _upright(math.radians(degrees), width, height)
        if np.all(np.abs(np.array(sides) / wanted - 1) < 0.16):  # noqa: PLR2004 - a finger's worth
            half = scene.mask.shape[0] / 2
            pose = Pose((x - half) / scene.scale, (y - half) / scene.scale, turn)
            if in_reach(pose, scene.stray):
                yield pose


def _upright(turn: float, width: float, height: float) -> tuple[float, tuple[float, float]]:
    # A rectangle can be said in two ways; we want the one that is nearly upright.
    turn = (turn + math.pi / 2) % math.pi - math.pi / 2
    if abs(turn) > math.pi / 4:
        turn -= math.copysign(math.pi / 2, turn)
        width, height = height, width
    return turn, (width, height)


def _of_lines(scene: Scene, patch: Image) -> list[Pose]:
    """
    Propose the cards of which two sides and the corner between them may show.
    """
    upright, level = _lines(scene, patch)
    poses = [
        pose
        for one in upright
        for other in level
        for pose in _at_corner(scene, one, other)
        if in_reach(pose, scene.stray) and covers(scene, pose) > _INSIDE - 0.05
    ]
    return _unlike(poses)


class _Line(NamedTuple):
    middle: Floats
    along: Floats
    length: float


def _lines(scene: Scene, patch: Image) -> tuple[list[_Line], list[_Line]]:
    detector = cv2.createLineSegmentDetector(cv2.LSD_REFINE_STD)
    found: Any = detector.detect(brightest(patch))[0]
    ends = np.zeros((0, 4)) if found is None else np.asarray(found, np.float64).reshape(-1, 4)
    ends = (ends - scene.mask.shape[0] / 2) / scene.scale
    upright: list[_Line] = []
    level: list[_Line] = []
    for x1, y1, x2, y2 in ends:
        span = np.array([x2 - x1, y2 - y1])
        length = float(np.hypot(*span))
        line = _Line(np.array([x1 + x2, y1 + y2]) / 2, span / max(length, 1e-9), length)
        if length < _LEAST_LINE or not _bounds_something(scene, line):
            continue
        if abs(line.along[0]) <= math.sin(TURN):
            upright.append(line)
        elif abs(line.along[1]) <= math.sin(TURN):
            level.append(line)
    return tuple(  # type: ignore[return-value] # two of them
        sorted(lines, key=lambda line: -line.length)[:_LINES] for lines in (upright, level)
    )


def _bounds_something(scene: Scene, line: _Line) -> bool:
    """
    Whether something that was not on the empty table lies on one side of a line at least.
    """
    across = np.array([-line.along[1], line.along[0]]) * _BESIDE
    steps = np.linspace(-0.4, 0.4, 5)[:, None] * line.along * line.length + line.middle
    return any(
        float(look_up(scene, scene.mask, steps + side).mean()) >= _LIES
        for side in (across, -across)
    )


def _at_corner(scene: Scene, upright: _Line, level: _Line) -> Iterator[Pose]:
    down = upright.along * np.sign(upright.along[1])
    right = level.along * np.sign(level.along[0])
    if abs(float(down @ right)) > 0.09:  # noqa: PLR2004 - five degrees
        return
    turn = (math.atan2(right[1], right[0]) + math.atan2(-down[0], down[1])) / 2
    corner = _crossing(upright, level)
    x, y = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    for sign_x in _sides(float((level.middle - corner) @ x), level.length):
        for sign_y in _sides(float((upright.middle - corner) @ y), upright.length):
            centre = corner + (x * scene.card[0] * sign_x + y * scene.card[1] * sign_y) / 2
            yield Pose(float(centre[0]), float(centre[1]), turn)


def _sides(offset: float, length: float) -> tuple[int, ...]:
    # A line that begins at the corner says on which side of it the card lies.
    if abs(offset) < length * 0.3:
        return (1, -1)
    return (1,) if offset > 0 else (-1,)


def _crossing(one: _Line, other: _Line) -> Floats:
    matrix = np.column_stack([one.along, -other.along])
    far = np.linalg.solve(matrix, other.middle - one.middle)
    found: Floats = one.middle + one.along * far[0]
    return found


def _unlike(poses: list[Pose]) -> list[Pose]:
    kept: list[Pose] = []
    for pose in sorted(poses, key=lambda each: math.hypot(each.x, each.y)):
        if all(
            math.hypot(pose.x - each.x, pose.y - each.y) > 2.5  # noqa: PLR2004 - within reach
            or abs(pose.turn - each.turn) > 0.05  # noqa: PLR2004 - three degrees
            for each in kept
        ):
            kept.append(pose)
    return kept[:_PROPOSALS]

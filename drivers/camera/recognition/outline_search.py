"""
Finds the card on a place: a rectangle of known size, near a known pose.

Proposals come from the difference to the empty table, and from straight lines where cards
overlap or a hand touches one; each is then fitted to the edges around it. Two edges and the
corner between them are enough. Felt lettering, chips and the print of a card have edges too,
but none at the right distances from one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.recognition.outline_fitting import (
    MAX_TILT_RAD,
    MIN_VISIBLE_SHARE,
    FittedCard,
    PatchScene,
    Pose,
    covered_share,
    edge_image,
    fit_card,
    is_in_reach,
    max_channel,
    sample_points,
)
from drivers.camera.recognition.table_projection import MAX_STRAY_MM, Floats

_MIN_DIFFERENCE: Final = 26
_MIN_SMOOTHED_DIFFERENCES: Final = (9, 15)
"""
Grey values by which a point differs from the empty table; the smaller ones for smoothed
images. The smallest detects a back on the felt, the next finds its edge more exactly.
"""

_SMOOTHING_MM: Final = 1.0
"""Smoothing that merges the lines of a back."""

_MAX_PROPOSALS: Final = 10
_MAX_LINES: Final = 9
_MIN_LINE_MM: Final = 12.0
"""Length of the shortest line that may be a side of a card."""

_BESIDE_LINE_MM: Final = 4.0
_MIN_COVERED_SHARE: Final = 0.5
"""Distance beside a line at which its card is searched, and the minimum share found there."""

_MIN_SURFACE_SHARE: Final = 0.93
"""Share of a card's surface that has to differ from the empty table."""


class CardBounds(NamedTuple):
    """
    Size and position limits of a card.

    Attributes:
        scale: Pixels per millimetre.
        card: Width and height in millimetres.
        stray: Maximum distance of a card from the patch's middle.
    """

    scale: float
    card: tuple[float, float]
    stray: float = MAX_STRAY_MM


def find_card(
    patch: Image, empty: Image, bounds: CardBounds, gain: float = 1.0
) -> FittedCard | None:
    """
    Find the card on a patch of the table; None where there is no certain one.

    Args:
        patch: The area of the frame, upright for the place.
        empty: The same area of the empty table.
        bounds: Size and position limits of the card.
        gain: Brightness, as a multiple of the empty table's.
    """
    return _find_by_contrast(patch, empty, bounds, gain) or _find_smoothed(
        patch, empty, bounds, gain
    )


def _find_by_contrast(
    patch: Image, empty: Image, bounds: CardBounds, gain: float
) -> FittedCard | None:
    mask = difference_mask(patch, empty, gain)
    filled = _fill_holes(mask)
    width, height = bounds.card
    if np.count_nonzero(filled) < 0.2 * width * height * bounds.scale**2:
        return None
    scene = PatchScene(edge_image(patch), mask, *bounds)
    best = _best_fit(scene, _propose_from_shapes(scene))
    if best is None or not best.is_whole:
        best = _better_of(best, _best_fit(scene, _propose_from_lines(scene, patch)))
    if best is None or not best.is_whole:
        best = _better_of(best, _find_by_outline(scene, filled))
    return best


def _find_by_outline(scene: PatchScene, filled: NDArray[np.uint8]) -> FittedCard | None:
    """
    Find a card by its outline, where its edges or its middle do not contrast with the felt.

    A back printed to its rim, on felt as light as the rim, shows no edge; a back in the felt's
    own colour differs only at its rim. An enclosed area is not yet a card: at least three sides
    have to be visible.
    """
    best = None
    for mask in (scene.mask, filled):
        for grey in (scene.grey, _blurred_mask(mask)):
            some = scene._replace(mask=mask, grey=grey)
            best = _better_of(best, _best_fit(some, _propose_from_shapes(some)))
            if best is not None and best.is_whole:
                return best
    return None


def _find_smoothed(
    patch: Image, empty: Image, bounds: CardBounds, gain: float
) -> FittedCard | None:
    """
    Find a slight but even difference: a back of thin lines on felt of its own colour, or a card on
    a table nearly as pale.

    A shadow, or a dimmed lamp, makes such a difference too: the outline has to be a card's.
    """
    for scene in _smoothed_scenes(patch, empty, bounds, gain):
        found = _best_fit(scene, _propose_from_shapes(scene))
        if found is not None and found.is_whole:
            return found
    return None


def _smoothed_scenes(
    patch: Image, empty: Image, bounds: CardBounds, gain: float
) -> Iterator[PatchScene]:
    """
    Yield the even differences, with two kinds of edges: their own, and those of the patch in the
    channel that differs most.
    """
    wide = _SMOOTHING_MM * bounds.scale
    now, before = (
        np.asarray(cv2.GaussianBlur(each, (0, 0), wide), np.uint8) for each in (patch, empty)
    )
    masks = [
        _fill_holes(difference_mask(now, before, gain, least))
        for least in _MIN_SMOOTHED_DIFFERENCES
    ]
    for mask in masks:
        yield PatchScene(_blurred_mask(mask), mask, *bounds)
    channel = int(np.argmax(cv2.mean(cv2.absdiff(patch, empty))[:3]))
    edges = cv2.GaussianBlur(np.ascontiguousarray(patch[:, :, channel]), (3, 3), 0)
    for mask in masks:
        yield PatchScene(np.asarray(edges, np.float32), mask, *bounds)


def _blurred_mask(mask: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.asarray(cv2.GaussianBlur(mask * np.uint8(255), (3, 3), 0), np.float32)


def _fill_holes(mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Fill enclosed areas."""
    shapes, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    filled = np.zeros_like(mask)
    cv2.drawContours(filled, shapes, -1, (1,), cv2.FILLED)
    return filled


def difference_mask(
    patch: Image, empty: Image, gain: float, least: int = _MIN_DIFFERENCE
) -> NDArray[np.uint8]:
    """
    Return the points that differ from the empty table by this number of grey values, as ones.

    Neighbouring points are compared too, because the camera may have moved slightly.
    """
    box = np.ones((3, 3), np.uint8)
    low = cv2.convertScaleAbs(cv2.erode(empty, box), alpha=gain)
    high = cv2.convertScaleAbs(cv2.dilate(empty, box), alpha=gain)
    apart = max_channel(np.asarray(cv2.max(cv2.subtract(patch, high), cv2.subtract(low, patch))))
    limit = least * min(1.0, max(0.45, gain))
    far = (apart > limit).astype(np.uint8)
    mask = cv2.morphologyEx(far, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, box), np.uint8)


def _better_of(one: FittedCard | None, other: FittedCard | None) -> FittedCard | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda found: found.score)


def _best_fit(scene: PatchScene, proposals: Iterable[Pose]) -> FittedCard | None:
    best: FittedCard | None = None
    for pose in proposals:
        found = fit_card(scene, pose)
        if found is None or not (found.is_whole and _is_plausible(found)):
            # A back has a frame inside its edge: the outermost edge is the card's.
            framed = fit_card(scene, pose, outermost=True)
            found = (
                framed if framed is not None and min(framed.sides) >= MIN_VISIBLE_SHARE else found
            )
        if found is not None and _is_plausible(found):
            best = _better_of(best, found)
    return best


def _is_plausible(found: FittedCard) -> bool:
    if found.inside < _MIN_SURFACE_SHARE:
        return False
    if found.is_whole:
        return True
    # Two sides that meet.
    shows = [side >= 0.7 for side in found.sides]  # noqa: PLR2004 - nearly all of a side
    return any(shows[i] and shows[(i + 1) % 4] for i in range(4))


def _propose_from_shapes(scene: PatchScene) -> Iterator[Pose]:
    """Propose areas that stand alone and have the size of a card."""
    shapes, _ = cv2.findContours(scene.mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    wanted = np.array(scene.card) * scene.scale
    for shape in shapes:
        if cv2.contourArea(shape) < 0.5 * wanted[0] * wanted[1]:
            continue
        (x, y), (width, height), degrees = cv2.minAreaRect(shape)
        turn, sides = _nearly_upright(math.radians(degrees), width, height)
        if np.all(np.abs(np.array(sides) / wanted - 1) < 0.16):  # noqa: PLR2004 - a finger's worth
            half = scene.mask.shape[0] / 2
            pose = Pose((x - half) / scene.scale, (y - half) / scene.scale, turn)
            if is_in_reach(pose, scene.stray):
                yield pose


def _nearly_upright(turn: float, width: float, height: float) -> tuple[float, tuple[float, float]]:
    # A rectangle has two descriptions; the nearly upright one is used.
    turn = (turn + math.pi / 2) % math.pi - math.pi / 2
    if abs(turn) > math.pi / 4:
        turn -= math.copysign(math.pi / 2, turn)
        width, height = height, width
    return turn, (width, height)


def _propose_from_lines(scene: PatchScene, patch: Image) -> list[Pose]:
    """Propose cards of which two sides and the corner between them may be visible."""
    upright, level = _find_lines(scene, patch)
    poses = [
        pose
        for one in upright
        for other in level
        for pose in _poses_at_corner(scene, one, other)
        if is_in_reach(pose, scene.stray)
        and covered_share(scene, pose) > _MIN_SURFACE_SHARE - 0.05
    ]
    return _distinct(poses)


class _Line(NamedTuple):
    middle: Floats
    along: Floats
    length: float


def _find_lines(scene: PatchScene, patch: Image) -> tuple[list[_Line], list[_Line]]:
    detector = cv2.createLineSegmentDetector(cv2.LSD_REFINE_STD)
    found: Any = detector.detect(max_channel(patch))[0]
    ends = np.zeros((0, 4)) if found is None else np.asarray(found, np.float64).reshape(-1, 4)
    ends = (ends - scene.mask.shape[0] / 2) / scene.scale
    upright: list[_Line] = []
    level: list[_Line] = []
    for x1, y1, x2, y2 in ends:
        span = np.array([x2 - x1, y2 - y1])
        length = float(np.hypot(*span))
        line = _Line(np.array([x1 + x2, y1 + y2]) / 2, span / max(length, 1e-9), length)
        if length < _MIN_LINE_MM or not _is_card_edge(scene, line):
            continue
        if abs(line.along[0]) <= math.sin(MAX_TILT_RAD):
            upright.append(line)
        elif abs(line.along[1]) <= math.sin(MAX_TILT_RAD):
            level.append(line)
    return tuple(  # type: ignore[return-value] # two of them
        sorted(lines, key=lambda line: -line.length)[:_MAX_LINES] for lines in (upright, level)
    )


def _is_card_edge(scene: PatchScene, line: _Line) -> bool:
    """True if an area beside a line, on at least one side, differs from the empty table."""
    across = np.array([-line.along[1], line.along[0]]) * _BESIDE_LINE_MM
    steps = np.linspace(-0.4, 0.4, 5)[:, None] * line.along * line.length + line.middle
    return any(
        float(sample_points(scene, scene.mask, steps + side).mean()) >= _MIN_COVERED_SHARE
        for side in (across, -across)
    )


def _poses_at_corner(scene: PatchScene, upright: _Line, level: _Line) -> Iterator[Pose]:
    down = upright.along * np.sign(upright.along[1])
    right = level.along * np.sign(level.along[0])
    if abs(float(down @ right)) > 0.09:  # noqa: PLR2004 - five degrees
        return
    turn = (math.atan2(right[1], right[0]) + math.atan2(-down[0], down[1])) / 2
    corner = _intersection(upright, level)
    x, y = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    for sign_x in _side_signs(float((level.middle - corner) @ x), level.length):
        for sign_y in _side_signs(float((upright.middle - corner) @ y), upright.length):
            centre = corner + (x * scene.card[0] * sign_x + y * scene.card[1] * sign_y) / 2
            yield Pose(float(centre[0]), float(centre[1]), turn)


def _side_signs(offset: float, length: float) -> tuple[int, ...]:
    # A line that starts at the corner shows on which side the card lies.
    if abs(offset) < length * 0.3:
        return (1, -1)
    return (1,) if offset > 0 else (-1,)


def _intersection(one: _Line, other: _Line) -> Floats:
    matrix = np.column_stack([one.along, -other.along])
    far = np.linalg.solve(matrix, other.middle - one.middle)
    found: Floats = one.middle + one.along * far[0]
    return found


def _distinct(poses: list[Pose]) -> list[Pose]:
    kept: list[Pose] = []
    for pose in sorted(poses, key=lambda each: math.hypot(each.x, each.y)):
        if all(
            math.hypot(pose.x - each.x, pose.y - each.y) > 2.5  # noqa: PLR2004 - within reach
            or abs(pose.turn - each.turn) > 0.05  # noqa: PLR2004 - three degrees
            for each in kept
        ):
            kept.append(pose)
    return kept[:_MAX_PROPOSALS]

"""Reads a labelled card: by its corners, by two points of its index, or within a box."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibration.photo_label_file import Kind, Label
from drivers.camera.recognition.confidence import count_visible_ends
from drivers.camera.recognition.corner_index_reader import CardReading, Recogniser
from drivers.camera.recognition.index_window import Image, Quad

__all__ = ["index_window", "index_windows", "read_label"]

_Points = NDArray[np.float32]
# Index windows in units of the distance from rank to pip: height, and position of the rank's
# centre; from small figures to jumbo.
_HEIGHTS: Final = (2.5, 3.0, 3.6, 4.2)
_ACROSS: Final = (0.40, 0.36, 0.31, 0.28)
_ALONG: Final = (0.29, 0.26, 0.22, 0.20)
_WIDTHS: Final = (0.8, 1.0, 1.25)
_SHAPE: Final = 0.30 / 0.42 * 63 / 88
_UNIT: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_MIN_PAPER_SHARE: Final = 0.25
"""Minimum share of a box covered by the card's paper."""

_MIN_PAPER_BRIGHTNESS: Final = 0.62
"""Minimum brightness of paper, as a share of the brightest paper."""

_CERTAIN_CONFIDENCE: Final = 0.98
"""Confidence above which no other outline is tried."""


def read_label(recogniser: Recogniser, image: Image, label: Label) -> CardReading:
    """Read the card of a label in its photo."""
    return _READERS[label.kind](recogniser, image, np.array(label.points, np.float32))


def _corners(recogniser: Recogniser, image: Image, points: _Points) -> CardReading:
    """Read a card by its corners; corners in the opposite direction are only listed so."""
    (x, y) = (points - points.mean(0)).T
    clockwise = np.dot(x, np.roll(y, -1)) >= np.dot(y, np.roll(x, -1))
    return recogniser.read(image, points if clockwise else points[[0, 3, 2, 1]])


def _index(recogniser: Recogniser, image: Image, points: _Points) -> CardReading:
    """Read an index by the centres of figure and pip, in several sizes."""
    return recogniser.read_windows(image, list(index_windows(points)))


def index_windows(points: _Points) -> Iterator[Quad]:
    """
    Yield windows for an index of unknown size, from the centres of its figure and pip.

    Several widths are tried too: the two points do not determine tilt or stretch.
    """
    for height in _HEIGHTS:
        for width in _WIDTHS:
            yield index_window(points, height, width=width)


def index_window(
    points: _Points, height: float, off: tuple[float, float] = (0.0, 0.0), width: float = 1.0
) -> Quad:
    """
    Return the window for a height in units of the distance from figure to pip.

    The width is relative to the one that fits the height.
    """
    rank, pip = points
    down = pip - rank
    right = np.array([down[1], -down[0]], np.float32)
    across = right * height * _SHAPE * width
    x, y = (float(np.interp(height, _HEIGHTS, share)) for share in (_ACROSS, _ALONG))
    origin = rank - across * (x + off[0]) - down * height * (y + off[1])
    return np.asarray(origin + _UNIT[:, :1] * across + _UNIT[:, 1:] * down * height, np.float32)


def _box(recogniser: Recogniser, image: Image, points: _Points) -> CardReading:
    """
    Read a card within a box, after searching its outline in any orientation.

    The search may fail, and an index in the box may be a neighbour's: a card is named only if both
    ends show the same card.
    """
    readings: list[CardReading] = []
    for quad in _outlines(image, points):
        readings.append(recogniser.read(image, quad))
        if readings[-1].confidence > _CERTAIN_CONFIDENCE:
            break
    best = max(readings, key=lambda reading: reading.confidence)
    both = count_visible_ends([end.believed for end in best.ends]) > 1
    return best if both else replace(best, card=None)


def _outlines(image: Image, points: _Points) -> Iterator[Quad]:
    """Yield candidates for the card's corners: the paper in the box, then the box itself."""
    for quad in (*_papers(image, points), _boxed(points)):
        for turn in (0, 1):
            yield np.asarray(np.roll(quad, turn, 0), np.float32)


def _boxed(points: _Points) -> Quad:
    (x0, y0), (x1, y1) = points
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float32)


def _papers(image: Image, points: _Points) -> Iterator[Quad]:
    """Yield the rectangle of the largest bright, colourless area in the box."""
    height, width = image.shape[:2]
    low = np.clip(points.min(0) - 4, 0, [width - 2, height - 2]).astype(int)
    high = np.clip(points.max(0) + 4, low + 2, [width, height]).astype(int)
    part = image[low[1] : high[1], low[0] : high[0]]
    for mask in _masks(part):
        shapes = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
        largest = max(shapes, key=cv2.contourArea, default=None)
        if largest is None or cv2.contourArea(largest) < _MIN_PAPER_SHARE * mask.size:
            continue
        offset = low.astype(np.float32)
        for quad in _rectangles(np.asarray(largest)):
            yield _upright(quad) + offset


def _masks(part: Image) -> Iterator[NDArray[np.uint8]]:
    darkest = part.min(axis=2)
    level, _ = cv2.threshold(darkest, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    paper = float(np.percentile(darkest, 95)) * _MIN_PAPER_BRIGHTNESS
    for limit in (level, paper):
        mask = (darkest > limit).astype(np.uint8)
        yield np.asarray(cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)))


def _rectangles(shape: NDArray[np.int32]) -> Iterator[Quad]:
    hull = cv2.convexHull(shape)
    yield np.asarray(cv2.boxPoints(cv2.minAreaRect(hull)), np.float32)
    corners = cv2.approxPolyDP(hull, 0.04 * cv2.arcLength(hull, closed=True), closed=True)
    if len(corners) == 4:  # noqa: PLR2004 - a quadrangle
        yield np.asarray(corners.reshape(4, 2), np.float32)


def _upright(quad: Quad) -> Quad:
    """Order corners clockwise so that the first side is a short one."""
    middle = quad.mean(0)
    turn = np.argsort(np.arctan2(quad[:, 1] - middle[1], quad[:, 0] - middle[0]))
    ordered = quad[turn]
    sides = np.linalg.norm(np.roll(ordered, -1, 0) - ordered, axis=1)
    long_first = sides[0] + sides[2] > sides[1] + sides[3]
    return np.asarray(np.roll(ordered, -1, 0) if long_first else ordered, np.float32)


_READERS: Final[dict[Kind, Callable[[Recogniser, Image, _Points], CardReading]]] = {
    Kind.QUAD: _corners,
    Kind.BBOX: _box,
    Kind.CORNER: _index,
}

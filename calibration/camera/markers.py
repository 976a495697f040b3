"""Detection of the printed markers in an image."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.recognition.table_projection import Floats

DICTIONARY: Final = cv2.aruco.DICT_4X4_50

_EDGE_POSITIONS: Final = np.linspace(0.12, 0.88, 40)
_EDGE_OFFSETS_PX: Final = np.arange(-4.0, 4.01, 0.25)
"""Positions along an edge, and offsets in pixels to either side, at which it is sampled."""

_MIN_SLOPE_SHARE: Final = 0.3
"""Minimum slope of an edge, as a share of the steepest."""

_MAX_CORRECTION_PX: Final = 2.0
"""Maximum correction of a corner."""


class Marker(NamedTuple):
    """A detected marker: its number, and its corners in the image, starting at the upper left."""

    number: int
    corners: Floats


def find_markers(image: Image) -> list[Marker]:
    """Detect the printed markers in an image, each once, sorted by number."""
    settings = cv2.aruco.DetectorParameters()
    settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(DICTIONARY), settings)
    found: Any = detector.detectMarkers(image)
    corners, numbers = found[0], found[1]
    if numbers is None:
        return []
    soft = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (0, 0), 0.8)
    grey = np.asarray(soft, np.float32)
    markers = {
        int(number): Marker(int(number), _refine_corners(grey, np.asarray(quad, np.float64)[0]))
        for number, quad in zip(np.asarray(numbers).ravel(), corners, strict=True)
    }
    return [markers[number] for number in sorted(markers)]


def _refine_corners(grey: NDArray[np.float32], quad: Floats) -> Floats:
    """
    Return the corners as intersections of the edges.

    A blurred corner is round and appears too far inside: all markers would be measured too
    small, and the table too large.
    """
    lines = [
        _fit_edge(grey, quad[side], quad[(side + 1) % 4], quad.mean(axis=0)) for side in range(4)
    ]
    if any(line is None for line in lines):
        return quad
    found = np.stack([_intersection(lines[side - 1], lines[side]) for side in range(4)])
    return found if np.linalg.norm(found - quad, axis=1).max() < _MAX_CORRECTION_PX else quad


def _fit_edge(
    grey: NDArray[np.float32], first: Floats, last: Floats, middle: Floats
) -> tuple[Floats, Floats] | None:
    """Fit a line to the change from dark inside to bright outside: a point and a direction."""
    along = (last - first) / np.linalg.norm(last - first)
    outwards = np.array([-along[1], along[0]])
    if outwards @ ((first + last) / 2 - middle) < 0:
        outwards = -outwards
    base = first + (last - first) * _EDGE_POSITIONS[:, None]
    points = base[:, None] + _EDGE_OFFSETS_PX[None, :, None] * outwards
    x, y = (points[..., axis].astype(np.float32) for axis in (0, 1))
    seen = cv2.remap(grey, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    climb: Floats = np.asarray(np.gradient(np.asarray(seen, np.float64), axis=1), np.float64)
    slopes: Floats = np.clip(climb, 0, None)
    slopes[slopes < slopes.max() * _MIN_SLOPE_SHARE] = 0
    weight = slopes.sum(axis=1)
    clear = weight > 0
    if clear.sum() < len(_EDGE_POSITIONS) / 2:
        return None
    off = np.asarray(slopes @ _EDGE_OFFSETS_PX, np.float64)[clear] / weight[clear]
    line = (base[clear] + off[:, None] * outwards).astype(np.float32)
    right, down, left, top = cv2.fitLine(line, cv2.DIST_HUBER, 0, 0.01, 0.01).ravel()
    return np.array([left, top], np.float64), np.array([right, down], np.float64)


def _intersection(one: Any, other: Any) -> Floats:  # noqa: ANN401 - two lines
    (point, way), (other_point, across) = one, other
    steps = np.linalg.solve(np.column_stack([way, -across]), other_point - point)
    return np.asarray(point + way * steps[0], np.float64)

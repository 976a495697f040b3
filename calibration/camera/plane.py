"""
The plane of the table as a camera sees it, fitted to rectangles on it: printed markers, or clicked
corners.

The rectangles may lie anywhere at any angle: only their size is known, and that they lie on one
plane. Two or more determine the lens distortion too, and all together the error. 0, 0 is in the
middle of them; x points to the right in the image and y down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import cv2
import numpy as np

from calibration.camera.markers import Marker
from drivers.camera.profile.sections import Camera, Lens, Point, Profile, Row, Table
from drivers.camera.recognition.table_projection import Floats, TableProjection
from shoe_daemon.errors import UserError

_MIN_RECTANGLES_FOR_LENS: Final = 2
"""Number of rectangles from which the lens distortion can be estimated."""

_MAX_ITERATIONS: Final = 60

_CORNER_COUNT: Final = 4
_MIN_CLICKED_SIDE_PX: Final = 20.0
"""Side of the smallest square that can be clicked."""

_MARKER_NOISE_PX: Final = 0.1
_CLICK_NOISE_PX: Final = 1.0
"""Minimum error of a marker's corner, and of a clicked one."""

_NOISE_SAMPLES: Final = 60
_ERROR_PERCENTILE: Final = 95
"""Number of fits with simulated noise, and the percentile that counts as the error."""

_CARD_AREA_X: Final = (0.15, 0.38, 0.62, 0.85)
_CARD_AREA_Y: Final = (0.3, 0.5, 0.7)
"""Shares of the image between which cards lie."""


class Plane(NamedTuple):
    """
    The plane of the table as a camera sees it.

    Attributes:
        homography: Maps millimetres to the undistorted image.
        lens: The lens distortion; None where it was not estimated.
        error: Error in millimetres where cards lie, for 95 of 100 such calibrations; without
            the lens where that is unknown.
        worst: Number of the marker that fits worst; or the index of the clicked rectangle.
        misfit: Its error in millimetres.
        size: Width and height of the image.
    """

    homography: Floats
    lens: Lens | None
    error: float | None
    worst: int | None
    size: tuple[int, int]
    misfit: float = 0.0

    @property
    def rows(self) -> tuple[Row, Row, Row]:
        """The homography as a profile has it."""
        return matrix_rows(self.homography)

    def moved(self, x: float, y: float, degrees: float = 0.0) -> Plane:
        """Return the same plane with another origin and other axes."""
        turn = math.radians(degrees)
        cos, sin = math.cos(turn), math.sin(turn)
        frame = np.array([[cos, -sin, x], [sin, cos, y], [0.0, 0.0, 1.0]])
        return self._replace(homography=normalise_homography(self.homography @ frame))


def projection_of(plane: Plane) -> TableProjection:
    """Return the projection between a plane and its image."""
    return TableProjection(
        Profile(
            version=1,
            station="overhead",
            camera=Camera(width=plane.size[0], height=plane.size[1]),
            table=Table(homography=plane.rows, reference=""),
            lens=plane.lens,
        )
    )


def rectangle_corners(width: float, height: float) -> Floats:
    """Return the corners of a rectangle about 0, 0, clockwise from the upper left one."""
    return np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * (width / 2, height / 2)


def max_distance(points: Floats, others: Floats) -> float:
    """Return the largest distance between points and others, after the best rigid alignment."""
    a, b = points - points.mean(axis=0), others - others.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    return float(np.linalg.norm(a @ (left @ right) - b, axis=1).max())


def normalise_homography(homography: Floats) -> Floats:
    """Return the homography with 1 as its last number."""
    return np.asarray(homography / homography[2, 2])


def matrix_rows(matrix: Any) -> tuple[Row, Row, Row]:  # noqa: ANN401 - three rows of three numbers
    """Return a matrix as a profile has it."""
    a, b, c = ((float(x), float(y), float(z)) for x, y, z in matrix)
    return a, b, c


def plane_from_points(
    points: Sequence[Point], rectangle: tuple[float, float], size: tuple[int, int]
) -> Plane:
    """
    Fit the plane to the corners of rectangles of known width and height.

    Args:
        points: Corners in the image: upper left, upper right, lower right, lower left; then
            those of a second rectangle of the same size, and so on.
        rectangle: Width and height in millimetres.
        size: Width and height of the image.

    Raises:
        UserError: Not the corners of rectangles, or in the wrong order.
    """
    if not points or len(points) % _CORNER_COUNT:
        raise UserError(f"{len(points)} point(s); expected the four corners of a rectangle")
    corners = np.asarray(points, np.float64).reshape(-1, _CORNER_COUNT, 2)
    _check_clicked(corners)
    return _fit_plane([*corners], rectangle, size, _CLICK_NOISE_PX)


def _check_clicked(quads: Floats) -> None:
    for quad in quads:
        is_small = abs(_signed_area(quad)) < _MIN_CLICKED_SIDE_PX**2
        if is_small or not cv2.isContourConvex(quad.astype(np.float32)):
            raise UserError(
                "the four points are no rectangle; expected its corners one after the other, "
                "from the upper left one clockwise"
            )
    if _signed_area(quads[0]) < 0:
        raise UserError("the points go round the wrong way; expected them clockwise")


def plane_from_markers(markers: Sequence[Marker], side: float, size: tuple[int, int]) -> Plane:
    """
    Fit the plane to markers in an image, which may lie at any angle. The side of their black edges
    is known, in millimetres.

    Raises:
        UserError: There is no marker.
    """
    if not markers:
        raise UserError(
            "no marker found; expected the printed sheets flat on the table, whole in the "
            "picture and with their white rim: more light, or larger markers"
        )
    plane = _fit_plane([each.corners for each in markers], (side, side), size, _MARKER_NOISE_PX)
    worst = 0 if plane.worst is None else plane.worst
    return plane._replace(worst=markers[worst].number)


def _fit_plane(
    quads: list[Floats], rectangle: tuple[float, float], size: tuple[int, int], least: float
) -> Plane:
    problem = _PlaneProblem(quads, rectangle, size)
    solved = problem.solve()
    off = problem.millimetres(solved)
    misfit = round(float(off.max()), 2)
    plane = Plane(
        normalise_homography(problem.homography(solved)),
        problem.lens(solved),
        max(misfit, round(problem.error_mm(solved, least), 2)),
        int(off.argmax()) // _CORNER_COUNT,
        size,
        misfit,
    )
    return _centred(plane, np.concatenate(quads))


class _PlaneProblem:
    """
    Least-squares problem with the unknowns in one vector: the homography (8), the lens (1), and
    the pose of each rectangle but the largest (3 each: x, y and rotation).
    """

    def __init__(
        self, quads: Sequence[Floats], rectangle: tuple[float, float], size: tuple[int, int]
    ) -> None:
        self._observed = np.stack(quads)
        self._largest = int(np.argmax([abs(_signed_area(quad)) for quad in quads]))
        self._rectangle = rectangle_corners(*rectangle)
        self._count = len(quads)
        self._middle = np.array([(size[0] - 1) / 2, (size[1] - 1) / 2])
        self._focal = float(size[0])
        self._has_lens = self._count >= _MIN_RECTANGLES_FOR_LENS

    def solve(self) -> Floats:
        """Solve by the Levenberg-Marquardt method."""
        now = self._initial()
        damping, off = 1e-3, self._residuals(now)
        for _ in range(_MAX_ITERATIONS):
            slopes = self._jacobian(now, off)
            normal = slopes.T @ slopes
            step = np.linalg.solve(
                normal + damping * np.diag(np.diag(normal) + 1e-12), -slopes.T @ off
            )
            tried = now + step
            better = self._residuals(tried)
            if better @ better < off @ off:
                small = off @ off - better @ better < 1e-9 * (off @ off)
                now, off, damping = tried, better, damping / 5
                if small:
                    break
            else:
                damping *= 8
        return now

    def _initial(self) -> Floats:
        """Start with the largest rectangle alone, and no lens distortion."""
        corners: Floats = np.asarray((self._observed - self._middle) / self._focal, np.float64)
        start, end = self._rectangle.astype(np.float32), corners[self._largest].astype(np.float32)
        found = cv2.getPerspectiveTransform(start, end)
        plane = normalise_homography(np.asarray(found, np.float64))
        back: Floats = np.asarray(np.linalg.inv(plane), np.float64)
        poses = [_rectangle_pose(_transform(back, corners[number])) for number in self._others]
        bend = [0.0] if self._has_lens else []
        return np.array([*plane.ravel()[:8], *bend, *(each for pose in poses for each in pose)])

    @property
    def _others(self) -> list[int]:
        return [number for number in range(self._count) if number != self._largest]

    def _residuals(self, solution: Floats) -> Floats:
        return np.asarray((self._project(solution) - self._observed).ravel())

    def _project(self, solution: Floats) -> Floats:
        plane = np.append(solution[:8], 1.0).reshape(3, 3)
        bend = float(solution[8]) if self._has_lens else 0.0
        flat = _transform(plane, self._table_corners(solution).reshape(-1, 2))
        bent = flat * (1 + bend * (flat**2).sum(axis=1, keepdims=True))
        return np.asarray(bent * self._focal + self._middle).reshape(-1, 4, 2)

    def _table_corners(self, solution: Floats) -> Floats:
        corners = np.empty((self._count, 4, 2))
        corners[self._largest] = self._rectangle
        poses = solution[8 + self._has_lens :].reshape(-1, 3)
        for number, (x, y, turn) in zip(self._others, poses, strict=True):
            way = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
            corners[number] = self._rectangle @ way + (x, y)
        return corners

    def error_mm(self, solution: Floats, least: float) -> float:
        """
        Return the error in millimetres where cards lie, for 95 of 100 such fits. The corners are
        off by at least so many pixels, however well the solution fits.
        """
        off = self._residuals(solution)
        spare = len(off) - len(solution)
        noise = max(least, math.sqrt(float(off @ off) / spare) if spare else 0.0)
        slopes = self._jacobian(solution, off)
        sides, spread, _ = np.linalg.svd(slopes.T @ slopes)
        chance = np.random.default_rng(0).normal(0, 1, (_NOISE_SAMPLES, len(solution)))
        steps = chance * noise / np.sqrt(np.maximum(spread, 1e-12)) @ sides.T
        there = self._card_area(solution)
        errors = [max_distance(self._card_area(solution + step), there) for step in steps]
        return float(np.percentile(errors, _ERROR_PERCENTILE))

    def _card_area(self, solution: Floats) -> Floats:
        shares = np.stack(np.meshgrid(_CARD_AREA_X, _CARD_AREA_Y), axis=-1).reshape(-1, 2)
        return self._projection(solution).to_table(shares * self._size)

    def _projection(self, solution: Floats) -> TableProjection:
        plane = Plane(self.homography(solution), self.lens(solution), None, None, self._size)
        return projection_of(plane)

    def _jacobian(self, solution: Floats, off: Floats) -> Floats:
        columns = []
        for place, value in enumerate(solution):
            near = solution.copy()
            step = 1e-6 * max(abs(value), 1e-3)
            near[place] += step
            columns.append((self._residuals(near) - off) / step)
        return np.stack(columns, axis=1)

    def millimetres(self, solution: Floats) -> Floats:
        """Return the error of each corner on the table."""
        there = self._projection(solution).to_table(self._observed.reshape(-1, 2))
        off = there - self._table_corners(solution).reshape(-1, 2)
        return np.asarray(np.linalg.norm(off, axis=1), np.float64)

    @property
    def _size(self) -> tuple[int, int]:
        wide, high = self._middle * 2 + 1
        return round(wide), round(high)

    def _matrix(self) -> Floats:
        x, y = self._middle
        return np.array([[self._focal, 0.0, x], [0.0, self._focal, y], [0.0, 0.0, 1.0]])

    def homography(self, solution: Floats) -> Floats:
        """Return the map from millimetres to pixels of the undistorted image."""
        return np.asarray(self._matrix() @ np.append(solution[:8], 1.0).reshape(3, 3))

    def lens(self, solution: Floats) -> Lens | None:
        if not self._has_lens:
            return None
        distortion = (round(float(solution[8]), 6), 0.0, 0.0, 0.0)
        return Lens(matrix=matrix_rows(self._matrix()), distortion=distortion)


def _centred(plane: Plane, corners: Floats) -> Plane:
    ground = projection_of(plane)
    x, y = (float(value) for value in ground.to_table(corners).mean(axis=0))
    base = ground.to_pixels([(x, y)])[0]
    right = ground.to_table([(base[0] + 1, base[1])])[0] - (x, y)
    return plane.moved(x, y, math.degrees(math.atan2(right[1], right[0])))


def _transform(matrix: Floats, points: Floats) -> Floats:
    whole = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    return np.asarray(whole[:, :2] / whole[:, 2:])


def _rectangle_pose(quad: Floats) -> tuple[float, float, float]:
    right = quad[1] - quad[0] + quad[2] - quad[3]
    x, y = quad.mean(axis=0)
    return float(x), float(y), math.atan2(right[1], right[0])


def _signed_area(quad: Floats) -> float:
    """Return the area of a polygon; negative where its corners run counterclockwise."""
    x, y = quad[:, 0], quad[:, 1]
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2

"""The plane of the table as a camera sees it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from drivers.camera.profile.sections import Camera, Lens, Profile, Row, Table
from drivers.camera.recognition.table_projection import Floats, TableProjection


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

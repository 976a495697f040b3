"""
The plane of the table as a camera sees it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from drivers.camera.profile.camera_profile import Camera, Lens, Place, Profile, Row, Table
from drivers.camera.recognition.table_geometry import Floats, Ground

__all__ = ["Plane", "apart", "corners_about", "ground_of", "rows_of", "scaled"]


class Plane(NamedTuple):
    """
    The table as a camera sees it.

    Attributes:
        homography: From millimetres to the straightened picture.
        lens: How the lens bends; None where that was not looked for.
        error: Millimetres by which it is off, where cards lie, at the most in 95 of 100 such
            calibrations; the lens is left out where it is not known.
        worst: The marker that fits the others least, by its number; or the clicked rectangle,
            where the first is 0.
        misfit: By how many millimetres it does not fit.
        size: Width and height of the picture.
    """

    homography: Floats
    lens: Lens | None
    error: float | None
    worst: int | None
    size: tuple[int, int]
    misfit: float = 0.0

    @property
    def rows(self) -> tuple[Row, Row, Row]:
        """
        The homography as a profile has it.
        """
        return rows_of(self.homography)

    def moved(self, x: float, y: float, degrees: float = 0.0) -> Plane:
        """
        Give the same plane, measured from another point of it and in other directions.
        """
        turn = math.radians(degrees)
        frame = np.array(
            [
                [math.cos(turn), -math.sin(turn), x],
                [math.sin(turn), math.cos(turn), y],
                [0.0, 0.0, 1.0],
            ]
        )
        return self._replace(homography=scaled(self.homography @ frame))


def ground_of(plane: Plane) -> Ground:
    """
    Give the two ways between a plane and its picture.
    """
    nowhere: tuple[Place, ...] = ()
    return Ground(
        Profile(
            version=1,
            station="overhead",
            camera=Camera(width=plane.size[0], height=plane.size[1]),
            table=Table(homography=plane.rows, reference=""),
            lens=plane.lens,
            place=nowhere,
        )
    )


def corners_about(width: float, height: float) -> Floats:
    """
    Give the corners of a rectangle about 0, 0: upper left, upper right, lower right, lower left.
    """
    return np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * (width / 2, height / 2)


def apart(points: Floats, others: Floats) -> float:
    """
    Return how far points are from others at the most, wherever they are measured from and in
    which directions.
    """
    a, b = points - points.mean(axis=0), others - others.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    return float(np.linalg.norm(a @ (left @ right) - b, axis=1).max())


def scaled(homography: Floats) -> Floats:
    """
    Give the same homography, its last number 1.
    """
    return np.asarray(homography / homography[2, 2])


def rows_of(matrix: Any) -> tuple[Row, Row, Row]:  # noqa: ANN401 - three rows of three numbers
    """
    Give a matrix as a profile has it.
    """
    a, b, c = ((float(x), float(y), float(z)) for x, y, z in matrix)
    return a, b, c

"""Projection of the simulated camera, from points above the table to pixels."""

from __future__ import annotations

import math
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.camera.scene_settings import Settings, Station
from drivers.simulators.camera.table_layout import THROAT_SIZE, Point

Floats = NDArray[np.float64]

_LENS_DISTORTION: Final = (-0.16, 0.05)
_FIELD_MM: Final = 880.0
"""Width of the table in the picture."""


class Camera:
    """
    A camera looking down.

    Attributes:
        matrix: The camera matrix, as in OpenCV.
        distortion: The distortion coefficients, as in OpenCV.
    """

    def __init__(  # noqa: PLR0913 - what a camera is made of
        self,
        size: tuple[int, int],
        *,
        at: tuple[float, float, float],
        towards: Point,
        focal: float,
        roll: float = 0.0,
        bends: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """
        Args:
            size: Picture size in pixels.
            at: Position in millimetres; the last value is the height.
            towards: The point on the table in the middle of the picture.
            focal: Focal length in pixels.
            roll: Rotation about the optical axis, in degrees.
            bends: Radial distortion.
        """
        self.size = size
        self._given = (at, towards, focal, roll, bends)
        forward = np.array([towards[0] - at[0], towards[1] - at[1], at[2]])
        forward /= np.linalg.norm(forward)
        right = np.cross([0.0, 1.0, 0.0], forward)
        right /= np.linalg.norm(right)
        turn = math.radians(roll)
        down = np.cross(forward, right)
        across = math.cos(turn) * right + math.sin(turn) * down
        self._axes = np.stack([across, np.cross(forward, across), forward])
        self._at = np.array([at[0], at[1], -at[2]])
        self.matrix: Floats = np.array(
            [[focal, 0.0, size[0] / 2], [0.0, focal, size[1] / 2], [0.0, 0.0, 1.0]]
        )
        self.distortion: Floats = np.array([*bends, 0.0, 0.0])

    @property
    def place(self) -> Point:
        """The point on the table below the camera."""
        return float(self._at[0]), float(self._at[1])

    @property
    def height(self) -> float:
        """The height above the table."""
        return float(-self._at[2])

    def moved(self, x: float, y: float, degrees: float = 0.0) -> Camera:
        """Return the same camera, pushed aside and rotated."""
        at, towards, focal, roll, bends = self._given
        return Camera(
            self.size,
            at=(at[0] + x, at[1] + y, at[2]),
            towards=(towards[0] + x, towards[1] + y),
            focal=focal,
            roll=roll + degrees,
            bends=bends,
        )

    def project(self, points: Floats) -> Floats:
        """Project points (n by 3 millimetres, the last above the table) to pixels."""
        below = points * np.array([1.0, 1.0, -1.0]) - self._at
        turned = below @ self._axes.T
        flat = turned[:, :2] / turned[:, 2:]
        k1, k2 = self.distortion[:2]
        radius = (flat**2).sum(axis=1, keepdims=True)
        bent = flat * (1 + radius * (k1 + k2 * radius))
        return np.asarray(bent * self.matrix[0, 0] + self.matrix[:2, 2])

    def on_table(self, points: Floats) -> Floats:
        """Project points on the table (n by 2) to pixels."""
        return self.project(np.column_stack([points, np.zeros(len(points))]))

    @property
    def homography(self) -> Floats:
        """Maps the table to the undistorted picture."""
        shift = -self._axes @ self._at
        plane = np.column_stack([self._axes[:, 0], self._axes[:, 1], shift])
        found = self.matrix @ plane
        return np.asarray(found / found[2, 2])

    def table_points(self, step: int = 1) -> NDArray[np.float32]:
        """Return the point on the table for each pixel, or each n-th: rows, columns, 2."""
        width, height = self.size
        columns, rows = np.arange(0, width, step), np.arange(0, height, step)
        grid = np.stack(np.meshgrid(columns, rows), axis=-1)
        pixels = grid.reshape(-1, 1, 2).astype(np.float64)
        if self.distortion.any():
            straight = cv2.undistortPoints(pixels, self.matrix, self.distortion, P=self.matrix)
            pixels = np.asarray(straight, np.float64).reshape(-1, 1, 2)
        back = np.linalg.inv(self.homography)
        points = cv2.perspectiveTransform(pixels, back)
        return np.asarray(points.reshape(grid.shape), np.float32)


def create_camera(settings: Settings) -> Camera:
    """Create the camera of these settings."""
    chance = np.random.default_rng([settings.seed & 0xFFFFFFFF, 1])
    size = (settings.width, settings.height)
    if settings.station is Station.THROAT:
        return _throat_camera(size)
    x, y = float(chance.uniform(-90, 90)), float(chance.uniform(180, 380))
    height = float(chance.uniform(1050, 1250))
    towards = (float(chance.uniform(-12, 12)), float(chance.uniform(20, 40)))
    distance = math.dist((x, y, height), (*towards, 0.0))
    k1, k2 = _LENS_DISTORTION
    return Camera(
        size,
        at=(x, y, height),
        towards=towards,
        focal=settings.width * distance / _FIELD_MM,
        roll=float(chance.uniform(-1.5, 1.5)),
        bends=(k1 * settings.lens, k2 * settings.lens),
    )


def _throat_camera(size: tuple[int, int]) -> Camera:
    height = 150.0
    focal = height * max(size[0] / THROAT_SIZE[0], size[1] / THROAT_SIZE[1])
    return Camera(size, at=(1.0, 4.0, height), towards=(0.0, 0.0), focal=focal)

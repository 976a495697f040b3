"""Projection of the simulated camera, from points above the table to pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.camera.settings import Settings, Station
from drivers.simulators.camera.table_layout import THROAT_SIZE, Point

Floats = NDArray[np.float64]

_LENS_DISTORTION: Final = (-0.16, 0.05)
_DOWN: Final = np.array([1.0, 1.0, -1.0])
"""Heights above the table count upwards, a camera's depths downwards."""

_FIELD_MM: Final = 880.0
"""Width of the table in the picture."""


@dataclass(frozen=True, eq=False)
class Camera:
    """
    A camera looking down.

    Attributes:
        size: Picture size in pixels.
        at: Position in millimetres; the last value is the height.
        towards: The point on the table in the middle of the picture.
        focal: Focal length in pixels.
        roll: Rotation about the optical axis, in degrees.
        bends: Radial distortion.
    """

    size: tuple[int, int]
    at: tuple[float, float, float]
    towards: Point
    focal: float
    roll: float = 0.0
    bends: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def _axes(self) -> Floats:
        (x, y, height), towards = self.at, self.towards
        forward = np.array([towards[0] - x, towards[1] - y, height])
        forward /= np.linalg.norm(forward)
        right = np.cross([0.0, 1.0, 0.0], forward)
        right /= np.linalg.norm(right)
        turn = math.radians(self.roll)
        across = math.cos(turn) * right + math.sin(turn) * np.cross(forward, right)
        return np.stack([across, np.cross(forward, across), forward])

    @cached_property
    def matrix(self) -> Floats:
        """The camera matrix, as in OpenCV."""
        (width, height), focal = self.size, self.focal
        return np.array([[focal, 0.0, width / 2], [0.0, focal, height / 2], [0.0, 0.0, 1.0]])

    @cached_property
    def distortion(self) -> Floats:
        """The distortion coefficients, as in OpenCV."""
        return np.array([*self.bends, 0.0, 0.0])

    @property
    def height(self) -> float:
        """The height above the table."""
        return self.at[2]

    @property
    def scale(self) -> float:
        """Pixels per millimetre on the table below the camera."""
        return self.focal / self.height

    def moved(self, x: float, y: float, degrees: float = 0.0) -> Camera:
        """Return the same camera, pushed aside and rotated."""
        at = (self.at[0] + x, self.at[1] + y, self.at[2])
        towards = (self.towards[0] + x, self.towards[1] + y)
        return replace(self, at=at, towards=towards, roll=self.roll + degrees)

    def project(self, points: Floats) -> Floats:
        """Project points (n by 3 millimetres, the last above the table) to pixels."""
        turned = ((points - np.array(self.at)) * _DOWN) @ self._axes.T
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
        shift = -self._axes @ (np.array(self.at) * _DOWN)
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
    return Camera(size, (1.0, 4.0, height), (0.0, 0.0), focal)

"""
Fits a card of known size to the edges around it, starting near its pose.

The steepest edge across each side is searched, and the pose that passes through most of them
is estimated, several times with a shrinking range. Other edges, of a finger, a chip or another
card, weigh less at each step.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.recognition.table_projection import MAX_STRAY_MM, Floats

MAX_TILT_RAD: Final = math.radians(27.0)
"""Maximum tilt of a card against its place."""

MIN_VISIBLE_SHARE: Final = 0.55
"""Share of a side's edge that has to be visible."""

_SIDE_POSITIONS: Final = np.linspace(0.08, 0.92, 30)
"""Positions along a side at which its edge is searched: not at the rounded corners."""

_EDGE_OFFSETS_MM: Final = np.arange(-4.0, 4.01, 0.5)
"""Offsets from a side, inside and outside, at which its edge is searched."""

_MIN_EDGE_STEP: Final = 7.0
"""Minimum grey difference across two steps of an edge."""

_STRONG_EDGE_SHARE: Final = 0.6
"""Minimum strength of an edge, as a share of the strongest."""

_EDGE_TOLERANCE_MM: Final = 0.9
"""Maximum distance of an edge point from its side."""

_REGULARISATION: Final = np.diag([0.05, 0.05, 40.0, 1_000_000.0])
"""
Weak regularisation keeps what no edge determines; the size is nearly fixed, so that the
printed frame of a back is not taken for its edge.
"""

_SURFACE_POINTS: Final = np.stack(
    np.meshgrid(np.linspace(0.06, 0.94, 9), np.linspace(0.06, 0.94, 11)), axis=-1
).reshape(-1, 2)
"""Points of a card, as shares of its sides."""


class Pose(NamedTuple):
    """Pose of a card on its patch: millimetres from the middle, radians, relative size."""

    x: float
    y: float
    turn: float
    size: float = 1.0


class FittedCard(NamedTuple):
    """
    A card that was fitted to its edges.

    Attributes:
        pose: Its pose.
        quad: Its corners in the patch, in reading order.
        sides: Visible share of each side: top, right, bottom, left.
        inside: Share of its surface that differs from the empty table.
    """

    pose: Pose
    quad: Floats
    sides: tuple[float, float, float, float]
    inside: float

    @property
    def score(self) -> float:
        """Sum of the visible shares of its sides; at most 4."""
        return sum(self.sides)

    @property
    def is_whole(self) -> bool:
        """True if at least three sides are visible."""
        return sum(side >= MIN_VISIBLE_SHARE for side in self.sides) >= 3  # noqa: PLR2004 - of four


class PatchScene(NamedTuple):
    """
    A patch that is searched.

    Attributes:
        grey: Brightest channel of the patch.
        mask: Difference from the empty table.
        scale: Pixels per millimetre.
        card: Width and height in millimetres.
        stray: Maximum distance of a card from the middle.
    """

    grey: NDArray[np.float32]
    mask: NDArray[np.uint8]
    scale: float
    card: tuple[float, float]
    stray: float = MAX_STRAY_MM


def fit_card(scene: PatchScene, pose: Pose, *, outermost: bool = False) -> FittedCard | None:
    """
    Fit a card near a pose to the edges around it; None where the edges lead elsewhere.

    The strongest edges are used, or the outermost of several strong ones.
    """
    sides: tuple[float, ...] = ()
    for reach in (4.0, 3.0, 2.0, 1.5):
        points, normals, wanted, good = _find_edges(scene, pose, reach, outermost=outermost)
        if np.count_nonzero(good) < len(_SIDE_POSITIONS):
            return None
        pose = _refine_pose(pose, points[good], normals[good], wanted[good])
        if not is_in_reach(pose, scene.stray):
            return None
        near = np.abs(wanted) <= _EDGE_TOLERANCE_MM
        sides = tuple(float(np.mean(part)) for part in np.split(good & near, 4))
    quad = _corners(scene, pose) * scene.scale + scene.mask.shape[0] / 2
    return FittedCard(pose, quad, sides, covered_share(scene, pose))  # type: ignore[arg-type] # four of them


def edge_image(patch: Image) -> NDArray[np.float32]:
    """Return the image in which edges are searched."""
    return np.asarray(cv2.GaussianBlur(max_channel(patch), (3, 3), 0), np.float32)


def max_channel(patch: Image) -> Image:
    """Return the brightest channel of each point."""
    blue, green, red = cv2.split(patch)
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.uint8)


def is_in_reach(pose: Pose, stray: float = MAX_STRAY_MM) -> bool:
    """True if a card may have this pose on its place."""
    return (
        abs(pose.x) <= stray
        and abs(pose.y) <= stray
        and abs(pose.turn) <= MAX_TILT_RAD
        and abs(pose.size - 1) < 0.06  # noqa: PLR2004 - a card's height over the felt
    )


def _corners(scene: PatchScene, pose: Pose) -> Floats:
    """Return the corners of a pose in millimetres from the middle, in reading order."""
    width, height = np.array(scene.card) / 2 * pose.size
    flat = np.array([(-width, -height), (width, -height), (width, height), (-width, height)])
    cos, sin = math.cos(pose.turn), math.sin(pose.turn)
    turned: Floats = flat @ np.array([[cos, sin], [-sin, cos]]) + (pose.x, pose.y)
    return turned


def covered_share(scene: PatchScene, pose: Pose) -> float:
    """Return the share of a card's surface that differs from the empty table."""
    corners = _corners(scene, pose)
    points = corners[0] + _SURFACE_POINTS @ (corners[[1, 3]] - corners[0])
    return float(np.mean(sample_points(scene, scene.mask, points)))


def sample_points(scene: PatchScene, image: NDArray[Any], points: Floats) -> NDArray[Any]:
    """Sample an image of the patch at points given in millimetres from its middle."""
    half = scene.mask.shape[0] / 2
    pixels = (points * scene.scale + half).astype(np.float32)
    found = cv2.remap(
        image,
        pixels[:, 0].reshape(-1, 1),
        pixels[:, 1].reshape(-1, 1),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=0,
    )
    return np.asarray(found).ravel()


def _find_edges(
    scene: PatchScene, pose: Pose, reach: float, *, outermost: bool
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """
    Search the edge of each side.

    Returns:
        Points of the sides, their outward directions, the edge's offset in millimetres, and
        whether there is an edge.
    """
    corners = _corners(scene, pose)
    points = np.concatenate(
        [
            corners[i] + _SIDE_POSITIONS[:, None] * (corners[(i + 1) % 4] - corners[i])
            for i in range(4)
        ]
    )
    cos, sin = math.cos(pose.turn), math.sin(pose.turn)
    outwards = np.array([(sin, -cos), (cos, sin), (-sin, cos), (-cos, -sin)])
    normals = np.repeat(outwards, len(_SIDE_POSITIONS), axis=0)
    across = _EDGE_OFFSETS_MM[np.abs(_EDGE_OFFSETS_MM) <= reach + 0.5]
    grid = points[:, None, :] + across[None, :, None] * normals[:, None, :]
    values = sample_points(scene, scene.grey, grid.reshape(-1, 2)).reshape(
        len(points), len(across)
    )
    steps = np.abs(values[:, 2:] - values[:, :-2])
    share = _STRONG_EDGE_SHARE if outermost else 1.0
    strong = steps >= share * steps.max(axis=1, keepdims=True)
    best = steps.shape[1] - 1 - strong[:, ::-1].argmax(axis=1)
    good = steps[np.arange(len(steps)), best] > _MIN_EDGE_STEP
    return points, normals, across[1:-1][best], good


def _refine_pose(pose: Pose, points: Floats, normals: Floats, wanted: Floats) -> Pose:
    """Return the pose whose sides pass through most of these points."""
    arms = points - (pose.x, pose.y)
    columns = np.column_stack(
        [
            normals,
            normals[:, 1] * arms[:, 0] - normals[:, 0] * arms[:, 1],
            (normals * arms).sum(axis=1),
        ]
    )
    weights = np.ones(len(wanted))
    step = np.zeros(4)
    for _ in range(4):
        weighted = columns * weights[:, None]
        _, solved = cv2.solve(
            weighted.T @ columns + _REGULARISATION, (weighted.T @ wanted)[:, None]
        )
        step = np.asarray(solved, np.float64)[:, 0]
        off = np.abs(wanted - columns @ step)
        weights = 1.0 / (1.0 + (off / 0.6) ** 2) ** 2
    dx, dy, turn, size = (float(each) for each in step)
    return Pose(pose.x + dx, pose.y + dy, pose.turn + turn, pose.size * (1 + size))

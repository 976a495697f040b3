"""A simulated table with a camera above it, to be calibrated: markers, cards, disturbances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera.markers import DICTIONARY
from drivers.camera.image import Image
from drivers.simulators.camera.animated_round import (
    FACE,
    AnimatedRound,
    CardTrack,
    Effect,
    Key,
    Pose,
    scene_state,
)
from drivers.simulators.camera.projection import Camera, create_camera
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.settings import SceneFault, Settings
from drivers.simulators.camera.table_image import TableImage
from drivers.simulators.camera.table_layout import PLACES
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import RANKS, Card
from shoe_daemon.game.coup import DEALING_ORDER, Slot

SIZE = (1280, 720)
SIDE = 90.0
SHEETS = {
    0: (-300, -120, 5),
    1: (300, -130, -12),
    2: (290, 150, 30),
    3: (-290, 160, 88),
    4: (0, 10, 0),
}
"""Positions of the markers: millimetres, and degrees."""

Laid = Mapping[Slot, Card | None]
"""Cards on their places; None for a face-down card."""


@lru_cache(maxsize=1)
def _world() -> tuple[TableImage, Sensor, Camera]:
    settings = Settings(seed=3)
    camera = create_camera(settings)
    return TableImage(settings, camera), Sensor(settings), camera


def camera() -> Camera:
    return _world()[2]


@lru_cache(maxsize=4)
def _pushed_camera(pushed: tuple[float, float, float]) -> Camera:
    """The same object for the same push: the table is drawn anew for another one."""
    return camera().moved(*pushed) if any(pushed) else camera()


def seen(  # noqa: PLR0913 - whatever can be before a camera
    laid: Laid | None = None,
    *,
    deck: int = 0,
    trouble: SceneFault | None = None,
    pushed: tuple[float, float, float] = (0.0, 0.0, 0.0),
    blur: float = 0.0,
    sheets: Mapping[int, tuple[float, float, float]] | None = None,
) -> Image:
    """Take a frame; the camera may have moved by millimetres and degrees."""
    view, sensor, _ = _world()
    view.camera = _pushed_camera(pushed)
    effects = [] if trouble is None else [Effect(trouble, 0.0, 99.0)]
    animation = AnimatedRound(0, cards=[*_tracks(laid or {})], effects=effects, deck=deck)
    drawn = view.draw(scene_state(animation, 3.0)).copy()
    for number, (x, y, turn) in (sheets or {}).items():
        _lay(drawn, number, x, y, math.radians(turn))
    return sensor.take(drawn, 0.0, flicker=False, blur=blur, torn=False)


def _tracks(laid: Laid) -> Iterable[CardTrack]:
    for slot, card in laid.items():
        box = PLACES[slot]
        turn = 0.0 if card is None else FACE
        pose = Pose(box.x + 2, box.y - 1.5, heading=box.turn + 2.0, turn=turn)
        keys = [Key(0.0, pose), Key(99.0, pose)]
        yield CardTrack(keys=keys, card=card or Card("AS"), slot=slot)


@lru_cache(maxsize=1)
def _points() -> NDArray[np.float32]:
    return camera().table_points()


def _lay(picture: Image, number: int, x: float, y: float, turn: float) -> None:
    dictionary = cv2.aruco.getPredefinedDictionary(DICTIONARY)
    sheet = np.full((720, 720), 255, np.uint8)
    sheet[120:600, 120:600] = cv2.aruco.generateImageMarker(dictionary, number, 480)
    soft = cv2.GaussianBlur(sheet, (0, 0), 2.2)
    dx, dy = _points()[..., 0] - x, _points()[..., 1] - y
    u = (dx * math.cos(turn) + dy * math.sin(turn)) / SIDE * 480 + 359.5
    v = (dy * math.cos(turn) - dx * math.sin(turn)) / SIDE * 480 + 359.5
    drawn = cv2.remap(soft, u.astype(np.float32), v.astype(np.float32), cv2.INTER_LINEAR)
    there = (u > 0) & (v > 0) & (u < 719) & (v < 719)
    picture[there] = (np.asarray(drawn)[there] * 0.85)[:, None]


THIRTEEN = [(Card(f"{rank}{'SHDC'[n % 4]}"), DEALING_ORDER[n % 6]) for n, rank in enumerate(RANKS)]
SAMPLE = [(Card("7D"), Slot.B3), (Card("QS"), Slot.P2)]


class Shelf:
    """Frames by the second of an imaginary recording."""

    def __init__(self, pictures: Mapping[float, Image]) -> None:
        self.pictures = dict(pictures)

    def take(self, count: int, at: float | None = None) -> list[Image]:
        if at not in self.pictures:
            raise UserError(f"nothing at {at}")
        return [self.pictures[at]] * count


def aligned(found: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Return the largest distance between points after the best rigid alignment."""
    a, b = found - found.mean(axis=0), true - true.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    return float(np.abs(a @ (left @ right) - b).max())

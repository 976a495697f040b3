"""The profile that a perfect calibration of the simulated camera would write."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.profile import camera_profile as kept
from drivers.camera.profile.profile_file import write_profile
from drivers.simulators.camera.projection import Camera, Floats
from drivers.simulators.camera.scene_renderer import Scene
from drivers.simulators.camera.scene_settings import Settings, Station
from drivers.simulators.camera.table_layout import CARD, PLACES, throat_window

__all__ = ["PROFILE", "write_simulated_profile"]

PROFILE: Final = "profile.toml"
_REFERENCE: Final = "reference.png"
_PICTURES: Final = 8


def write_simulated_profile(settings: Settings, folder: Path) -> Path:
    """
    Write it, and the picture of the empty table beside it; return where it is.

    Raises:
        OSError: One of them cannot be written.
    """
    scene = Scene(settings)
    folder.mkdir(parents=True, exist_ok=True)
    # OpenCV's own writing would not say that the disk is full.
    _, data = cv2.imencode(".png", _without_noise(scene))
    (folder / _REFERENCE).write_bytes(data.tobytes())
    path = folder / PROFILE
    write_profile(_profile(settings, scene.camera), path)
    return path


def _without_noise(scene: Scene) -> NDArray[np.uint8]:
    """Take the mean of several pictures, as a calibration does."""
    pictures = [scene.empty().astype(np.float64) for _ in range(_PICTURES)]
    return np.asarray(np.mean(pictures, axis=0).round(), np.uint8)


def _profile(settings: Settings, camera: Camera) -> kept.Profile:
    overhead = settings.station is Station.OVERHEAD
    lens = None
    if camera.distortion.any():
        bends = tuple(float(each) for each in camera.distortion)
        lens = kept.Lens(matrix=_rows(camera.matrix), distortion=bends)
    return kept.Profile(
        version=kept.VERSION,
        station=settings.station.value,
        camera=kept.Camera(width=settings.width, height=settings.height, fps=settings.fps),
        table=kept.Table(homography=_rows(camera.homography), reference=_REFERENCE, error=0.0),
        card=kept.CardSize(width=CARD[0], height=CARD[1]),
        lens=lens,
        place=_places() if overhead else (),
        throat=None if overhead else kept.Throat(window=throat_window(), direction=(1.0, 0.0)),
        made=kept.Made(version="simulated"),
    )


def _places() -> tuple[kept.Place, ...]:
    return tuple(
        kept.Place(polygon=box.corners, slot=slot, turn=90 if box.turn else 0)
        for slot, box in PLACES.items()
    )


def _rows(matrix: Floats) -> tuple[kept.Row, kept.Row, kept.Row]:
    a, b, c = ((float(x), float(y), float(z)) for x, y, z in matrix)
    return a, b, c

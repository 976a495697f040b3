"""
The plates beside the window at a shoe's mouth: by them it is known that the camera still
looks at it from where it was put.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.table_geometry import Ground
from drivers.camera.sources.frame_quality import Image

__all__ = ["Plates"]

_WIDTH: Final = 160
"""Pixels of the small picture that is compared."""

_LEAST: Final = 60
_TEXTURE: Final = 2.5
"""Pixels of a side, and spread of their grey values, from which it can be known again."""

_LIKE: Final = 0.5
"""Likeness, of 1, by which a side is known again."""


class Plates:
    """
    Looks beside the window, on each of its sides.
    """

    def __init__(self, profile: Profile, ground: Ground, reference: Image) -> None:
        small = _small(reference)
        high, wide = small.shape
        scale = reference.shape[1] / wide
        rows, columns = np.mgrid[0:high, 0:wide]
        pixels = (np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5) * scale
        points = ground.to_table(pixels)
        window = np.array(profile.throat.window if profile.throat is not None else points[:1])
        low, high_ = window.min(axis=0), window.max(axis=0)
        beside = [*(points < low).T, *(points > high_).T]
        sides = [np.flatnonzero(side) for side in beside]
        flat = small.ravel()
        self._sides = [
            (side, _level(flat[side]))
            for side in sides
            if len(side) >= _LEAST and flat[side].std() >= _TEXTURE
        ]

    def are_seen(self, image: Image) -> bool:
        """
        Tell whether one of the sides at least looks as ever, in whatever light; also where
        there is nothing by which it could be known.
        """
        if not self._sides:
            return True
        flat = _small(image).ravel()
        return any(
            float(now @ before) > _LIKE * float(np.linalg.norm(now) * np.linalg.norm(before))
            for now, before in ((_level(flat[side]), before) for side, before in self._sides)
        )


def _small(image: Image) -> NDArray[np.float32]:
    size = (_WIDTH, max(1, round(_WIDTH * image.shape[0] / image.shape[1])))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.float32)


def _level(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(values - values.mean(), np.float32)

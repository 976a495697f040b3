"""
The index window: position of the index on a card, and its crop.

The card's plane is the unit square: x along the short side, y along the long
one, corner 0 the upper left in reading order. A card reads the same upside
down, so it has two windows, one at each end.
"""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

__all__ = [
    "PATCH_SIZE_PX",
    "CropWindow",
    "Image",
    "Quad",
    "crop_window",
    "normalise_patch",
    "window_quads",
]

Image = NDArray[np.uint8]
"""Height x width x 3: blue, green, red."""
Quad = NDArray[np.float32]
"""Four corners in image pixels, a row each, in reading order."""

PATCH_SIZE_PX: Final = (48, 96)
"""Width and height of the network's input."""

_SHRINK_FROM: Final = 1.4
_SHRINK_TO: Final = 1.2
"""Image pixels per patch pixel from which the image is shrunk first, and the value after that."""

_MIN_CONTRAST: Final = 12.0
"""Minimum grey range from ink to paper: noise is not stretched to look like print."""

_DARKEST, _LIGHTEST = 2, 98
"""Percentiles of a patch that count as ink and paper."""


class CropWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A rectangle of the card's plane that contains the index.

    Calibration fits its four numbers to a deck.
    """

    x: float = 0.0
    y: float = 0.0
    width: float = 0.30
    height: float = 0.42

    def scaled(self, across: float, along: float) -> CropWindow:
        """Return a window of a multiple of the width and height, with the same corner."""
        return CropWindow(
            x=self.x, y=self.y, width=self.width * across, height=self.height * along
        )

    def corners(self) -> NDArray[np.float32]:
        """Return the window's corners in the card's plane."""
        right, bottom = self.x + self.width, self.y + self.height
        return np.array(
            [[self.x, self.y], [right, self.y], [right, bottom], [self.x, bottom]], np.float32
        )


_UNIT_SQUARE: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)


def window_quads(quad: Quad, window: CropWindow) -> tuple[Quad, Quad]:
    """Return the windows of both ends of a card in image pixels."""
    corners = window.corners()[None]
    upper, lower = (
        cv2.perspectiveTransform(
            corners, cv2.getPerspectiveTransform(_UNIT_SQUARE, _rolled(quad, turn))
        )
        for turn in (0, 2)
    )
    return np.asarray(upper[0], np.float32), np.asarray(lower[0], np.float32)


def _rolled(quad: Quad, turn: int) -> Any:  # noqa: ANN401 - what OpenCV's stubs take
    return np.ascontiguousarray(np.roll(np.asarray(quad, np.float32), -turn, 0))


def crop_window(image: Image, window: Quad) -> Image:
    """
    Cut a window out of an image and rectify it to a patch, without aliasing.

    Beyond the image's edge its border is repeated.
    """
    low = np.floor(window.min(0)).astype(int) - 2
    high = np.ceil(window.max(0)).astype(int) + 3
    height, width = image.shape[:2]
    x0, y0 = (int(np.clip(low[0], 0, width - 1)), int(np.clip(low[1], 0, height - 1)))
    x1, y1 = (int(np.clip(high[0], x0 + 1, width)), int(np.clip(high[1], y0 + 1, height)))
    part, corners = image[y0:y1, x0:x1], window - np.array([x0, y0], np.float32)
    part, corners = _shrink(part, corners)
    target = _UNIT_SQUARE * np.array(PATCH_SIZE_PX, np.float32)
    plane = cv2.getPerspectiveTransform(np.asarray(corners, np.float32), target)
    return np.asarray(
        cv2.warpPerspective(
            part, plane, PATCH_SIZE_PX, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        ),
        np.uint8,
    )


def _shrink(part: Image, corners: Quad) -> tuple[Image, Quad]:
    """Shrink a part of an image where the patch would skip pixels of it."""
    sides = np.linalg.norm(np.roll(corners, -1, 0) - corners, axis=1)
    excess = min(
        (sides[0] + sides[2]) / 2 / PATCH_SIZE_PX[0], (sides[1] + sides[3]) / 2 / PATCH_SIZE_PX[1]
    )
    if excess <= _SHRINK_FROM:
        return part, corners
    size = np.array(part.shape[1::-1])
    wanted = np.maximum(np.round(size * _SHRINK_TO / excess), 2).astype(int)
    small = cv2.resize(part, (int(wanted[0]), int(wanted[1])), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8), np.asarray(corners * (wanted / size), np.float32)


def normalise_patch(patch: Image) -> NDArray[np.float32]:
    """
    Normalise a patch to the network's input, 3 x 96 x 48: paper is 1, ink -1, in any light.

    Black is common to all channels, white is per channel: this removes the colour of the
    lamp and keeps the colour of the ink.
    """
    sample = patch[1::3, 1::2].reshape(-1, 3)
    low = float(np.percentile(sample.mean(1), _DARKEST))
    high = np.percentile(sample, _LIGHTEST, axis=0)
    span = np.maximum(high - low, _MIN_CONTRAST)
    stretched = np.clip((patch - low) * (2.0 / span) - 1.0, -2.0, 2.0)
    return np.ascontiguousarray(stretched.transpose(2, 0, 1), np.float32)

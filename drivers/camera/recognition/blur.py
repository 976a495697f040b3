"""
How blurred a card is, as a share of its width: the one thing that confidence does not tell.

The steepest edges of print are steps. Where a step of height h climbs by g a pixel at
most, it was smeared by h / (g * sqrt(2 pi)) pixels.
"""

from __future__ import annotations

import math
from typing import Final

import cv2
import numpy as np

from drivers.camera.recognition.table_geometry import Floats
from drivers.camera.sources.frame_quality import Image

__all__ = ["WIDTH", "blur_of", "upright"]

WIDTH: Final = 120
"""Pixels to which a card's width is brought before it is measured."""

_INNER: Final = 0.03
"""Share of a card's sides that is left out along its edge."""

_ROOT: Final = math.sqrt(2 * math.pi)
_STEEPEST: Final = 99.7
"""Percentile of the slopes that counts as the steepest edge."""


def upright(image: Image, quad: Floats, ratio: float = 88 / 63, width: int = WIDTH) -> Image:
    """
    Cut a card out of a picture, upright, without its edge.
    """
    height = round(width * ratio)
    x, y = -_INNER * width, -_INNER * height
    target = np.array([(x, y), (width - x, y), (width - x, height - y), (x, height - y)])
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), target.astype(np.float32))
    return cv2.warpPerspective(  # type: ignore[return-value]
        image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )


def blur_of(card: Image) -> float:
    """
    Return how blurred an upright card is: the spread of an edge in shares of its width, in
    the direction in which it is worse.

    1 where nothing is to be seen at all.
    """
    grey = cv2.cvtColor(card, cv2.COLOR_BGR2GRAY)
    low, high = np.percentile(grey, (1, 99))
    height = float(high - low)
    if height < 20:  # noqa: PLR2004 - grey values: no print, or no light
        return 1.0
    # Noise climbs too; over three pixels it does so less than print.
    smooth = cv2.GaussianBlur(grey, (3, 3), 0.8)
    worst: float = 0.0
    for dx, dy in ((1, 0), (0, 1)):
        slope = np.abs(cv2.Scharr(smooth, cv2.CV_32F, dx, dy)) / 32.0
        steepest = float(np.percentile(slope, _STEEPEST))
        worst = max(worst, height / (max(steepest, 1e-3) * _ROOT))
    # What smoothing and Scharr's own width added.
    own = 1.1
    return math.sqrt(max(0.0, worst**2 - own**2)) / int(card.shape[1])

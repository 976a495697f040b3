"""
The blur of a card, as a share of its width.

The steepest edges of print are steps: a step of height h with a slope of at most g a pixel was
smeared by h / (g * sqrt(2 pi)) pixels.
"""

from __future__ import annotations

import math
from typing import Final

import cv2
import numpy as np

from drivers.camera.image import Image
from drivers.camera.recognition.table_projection import Floats

CARD_WIDTH_PX: Final = 120
"""Width to which a card is scaled before its blur is measured."""

_EDGE_SHARE: Final = 0.03
"""Share of a card's sides that is cut off at its edges."""

_SQRT_TAU: Final = math.sqrt(2 * math.pi)
_STEEPEST_PERCENTILE: Final = 99.7
"""Percentile of the slopes that counts as the steepest edge."""


def crop_card(
    image: Image, quad: Floats, ratio: float = 88 / 63, width: int = CARD_WIDTH_PX
) -> Image:
    """Cut a card out of an image, upright, without its edge."""
    height = round(width * ratio)
    x, y = -_EDGE_SHARE * width, -_EDGE_SHARE * height
    target = np.array([(x, y), (width - x, y), (width - x, height - y), (x, height - y)])
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), target.astype(np.float32))
    return cv2.warpPerspective(  # type: ignore[return-value]
        image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )


_MIN_CONTRAST: Final = 8.0
"""Range from ink to paper below which no print is visible, or no light."""

_MIN_GREY_SHARE: Final = 0.5
"""Range in grey as a share of the best channel's, below which that channel is used."""


def measure_blur(card: Image) -> float:
    """
    Return the blur of an upright card: the spread of an edge as a share of the card's width,
    in the worse direction; 1 where no print is visible.
    """
    shown, height = _grey_image(card)
    if height < _MIN_CONTRAST:
        return 1.0
    # Noise has slopes too, but over three pixels smaller ones than print.
    smooth = cv2.GaussianBlur(shown, (3, 3), 0.8)
    worst: float = 0.0
    for dx, dy in ((1, 0), (0, 1)):
        slope = np.abs(cv2.Scharr(smooth, cv2.CV_32F, dx, dy)) / 32.0
        steepest = float(np.percentile(slope, _STEEPEST_PERCENTILE))
        worst = max(worst, height / (max(steepest, 1e-3) * _SQRT_TAU))
    # Spread added by the smoothing and by Scharr's filter.
    own = 1.1
    return math.sqrt(max(0.0, worst**2 - own**2)) / int(card.shape[1])


def _grey_image(card: Image) -> tuple[Image, float]:
    """
    Return a card in grey, and the range from ink to paper. Under a lamp of one colour, of which
    little is left in grey, it is the channel that shows the most: compression blurs colours.
    """
    grey = np.asarray(cv2.cvtColor(card, cv2.COLOR_BGR2GRAY), np.uint8)
    low, high = np.percentile(np.dstack([card, grey]).reshape(-1, 4), (1, 99), axis=0)
    *ranges, height = (float(each) for each in high - low)
    best = int(np.argmax(ranges))
    if height < _MIN_GREY_SHARE * ranges[best]:
        return np.ascontiguousarray(card[:, :, best]), ranges[best]
    return grey, height

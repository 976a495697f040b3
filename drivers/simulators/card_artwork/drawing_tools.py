"""Drawing of lines, curves, filled shapes and stamped masks, for all parts of a card."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

Image = NDArray[np.uint8]
"""Height x width x 3: blue, green, red."""
Mask = NDArray[np.uint8]
"""Height x width: how much of a pixel is covered, 0 to 255."""
Points = NDArray[np.float64]
"""One point a row: x, y."""
Colour = tuple[int, int, int]
"""Blue, green, red."""

_SHIFT: Final = 4
_INK: Final = 40


def points(*pairs: tuple[float, float]) -> Points:
    """Join corners to a path."""
    return np.array(pairs, np.float64)


def arc(
    centre: tuple[float, float], radii: tuple[float, float], span: tuple[float, float]
) -> Points:
    """Draw part of an ellipse; angles in degrees, clockwise from the right."""
    t = np.radians(np.linspace(*span, 28))
    return np.stack([centre[0] + radii[0] * np.cos(t), centre[1] + radii[1] * np.sin(t)], 1)


def curve(start: ArrayLike, pull: ArrayLike, end: ArrayLike) -> Points:
    """Draw a quadratic curve from start to end, pulled towards a point."""
    t = np.linspace(0, 1, 16)[:, None]
    p, q, r = (np.array(v, np.float64) for v in (start, pull, end))
    return np.asarray((1 - t) ** 2 * p + 2 * t * (1 - t) * q + t * t * r, np.float64)


def blank(height: int, width: int, colour: Colour | None = None) -> Any:  # noqa: ANN401 - a mask, or an image where there is a colour
    """Give an empty mask, or an image in one colour."""
    if colour is None:
        return np.zeros((height, width), np.uint8)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = colour
    return image


def _fixed(path: Points) -> Any:  # noqa: ANN401 - what OpenCV's stubs take
    return np.round(path * (1 << _SHIFT)).astype(np.int32)


def fill(canvas: NDArray[np.uint8], path: Points, colour: Colour | int = 255) -> None:
    """Fill a closed path."""
    cv2.fillPoly(canvas, [_fixed(path)], _scalar(colour), cv2.LINE_AA, _SHIFT)


def line(
    canvas: NDArray[np.uint8], path: Points, colour: Colour | int = 255, width: int = 1
) -> None:
    """Draw an open path with a round pen."""
    cv2.polylines(canvas, [_fixed(path)], False, _scalar(colour), width, cv2.LINE_AA, _SHIFT)  # noqa: FBT003 - OpenCV knows it by position


def _scalar(colour: Colour | int) -> tuple[float, ...]:
    return (colour,) if isinstance(colour, int) else colour


def cropped(mask: Mask) -> Mask:
    """Cut a mask down to its ink."""
    rows = np.flatnonzero(mask.max(1) > _INK)
    columns = np.flatnonzero(mask.max(0) > _INK)
    return mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def stamp(
    canvas: Image,
    mask: Mask,
    centre: tuple[float, float],
    size: tuple[float, float],
    colour: Colour,
) -> None:
    """
    Print a mask in a colour, scaled to width and height, round a centre; what juts out is cut.
    """
    width, height = (max(2, round(v)) for v in size)
    shrunk = cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA)
    left, top = round(centre[0] - width / 2), round(centre[1] - height / 2)
    x0, y0 = max(0, left), max(0, top)
    x1, y1 = min(canvas.shape[1], left + width), min(canvas.shape[0], top + height)
    if x0 >= x1 or y0 >= y1:
        return
    ink = shrunk[y0 - top : y1 - top, x0 - left : x1 - left, None].astype(np.float32) / 255
    part = canvas[y0:y1, x0:x1]
    part[:] = part * (1 - ink) + np.array(colour, np.float32) * ink + 0.5

"""Images and frames."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""Rows, columns, blue-green-red."""


def read_image(path: Path) -> Image | None:
    """Return the picture in a file; None if it has none, or one of more than `MAX_PIXELS`."""
    try:
        # Reading anything but a regular file, such as a pipe, might never end.
        image = cv2.imread(str(path), cv2.IMREAD_COLOR) if path.is_file() else None
    except (OSError, cv2.error):  # the name is too long, or the picture too large
        return None
    return None if image is None else np.asarray(image, np.uint8)


class VideoFrame(NamedTuple):
    """
    One frame of a source.

    Attributes:
        image: The pixels.
        at: Time stamp of the source in seconds; only differences are meaningful.
        number: Sequence number, counting dropped frames too.
    """

    image: Image
    at: float
    number: int

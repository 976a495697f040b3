"""Video frames, and checks that hold whatever they show."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.transport import LineError

__all__ = ["FrameCheck", "Image", "VideoFrame"]

Image = NDArray[np.uint8]
"""Rows, columns, blue-green-red."""

_DARK_LEVEL: Final = 12
_MAX_BRIGHT_SHARE: Final = 0.01
"""Maximum share of bright points in a black frame."""

_MIN_GREY_SPREAD: Final = 1.5
"""Standard deviation of grey values below which a frame is of one colour."""

_MAX_BLIND_S: Final = 1.0
"""Time for which black or plain frames are tolerated."""

_CHANNELS: Final = 3
_DIMENSIONS: Final = 3


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


class FrameCheck:
    """
    Rejects frames that no working camera sends, at little cost.

    Attributes:
        frozen_after: Seconds after which identical frames are rejected; a sensor's noise makes
            them impossible. None for files, where they may occur.
    """

    def __init__(
        self, name: str, size: tuple[int, int], *, frozen_after: float | None = 3.0
    ) -> None:
        self.frozen_after = frozen_after
        self._name = name
        self._size = size
        self._rows = b""
        self._same_since: float | None = None
        self._blind_since: float | None = None
        self._has_frames = False

    def check(self, image: Any, at: float) -> None:  # noqa: ANN401 - whatever OpenCV gives
        """
        Check the next frame.

        Raises:
            LineError: The fault.
        """
        self._check_form(image)
        self._check_light(image, at)
        if self.frozen_after is not None:
            self._check_change(image, at, self.frozen_after)
        self._has_frames = True

    def _check_form(self, image: Any) -> None:  # noqa: ANN401 - as above
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
            kind = getattr(image, "dtype", type(image).__name__)
            raise LineError(f"{self._name}: wrong pixel format: {kind} instead of eight bits")
        if image.ndim != _DIMENSIONS or image.shape[2] != _CHANNELS:
            channels = 1 if image.ndim < _DIMENSIONS else image.shape[2]
            raise LineError(
                f"{self._name}: wrong pixel format: {channels} channel(s) instead of blue, "
                "green and red"
            )
        height, width = image.shape[:2]
        if (width, height) != self._size:
            raise LineError(
                f"{self._name}: pictures of {width}x{height}; its profile was made with "
                f"{self._size[0]}x{self._size[1]}: set the camera back, or calibrate it again"
            )

    def _check_light(self, image: Image, at: float) -> None:
        few = np.ascontiguousarray(image[::16, ::16])
        wrong = ""
        if np.count_nonzero(few >= _DARK_LEVEL) <= _MAX_BRIGHT_SHARE * few.size:
            wrong = "the picture is black: is the lamp on, and the lens free?"
        elif float(cv2.meanStdDev(few)[1].max()) < _MIN_GREY_SPREAD:
            wrong = "the picture is all of one colour: no signal?"
        if not wrong:
            self._blind_since = None
            return
        if self._blind_since is None:
            self._blind_since = at
        # A camera whose first frame is black is rejected at once.
        if not self._has_frames or at - self._blind_since >= _MAX_BLIND_S:
            raise LineError(f"{self._name}: {wrong}")

    def _check_change(self, image: Image, at: float, limit: float) -> None:
        now = image[8::16].tobytes()
        if now != self._rows or self._same_since is None:
            self._rows, self._same_since = now, at
        elif at - self._same_since >= limit:
            raise LineError(
                f"{self._name}: the picture is frozen: the same to the last pixel for "
                f"{at - self._same_since:.0f} s"
            )

"""
What OpenCV opens: its quirks, known in one place.

What it takes from the environment is of the whole process, so nothing is set there that
could change how another source is read: only its patience with devices, and its chatter.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, ClassVar, Final

import cv2

from drivers.transport import LineError

__all__ = ["READ_PATIENCE", "Video", "settle"]

READ_PATIENCE: Final = 3.0
_NEARLY: Final = 0.9
"""Share of it after which a read that failed has waited, and was not refused."""

_LETTING_GO: Final = 0.5
"""Seconds for which a read that goes on is waited for before it is given up."""

_TRIES: Final = 10
"""Reads in a row that may fail: for OpenCV one picture that came damaged is a failure."""

_SETTINGS: Final = {
    # Else a device that gives nothing holds its reader for ten seconds, and itself.
    "OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT": f"{READ_PATIENCE:.0f}",
    # FFmpeg's words go to stderr, unasked, as often as a camera is tried.
    "OPENCV_FFMPEG_LOGLEVEL": "-8",
}

_ERRORS: Final = 2
"""OpenCV's number for a log of errors only."""


def settle() -> None:
    """
    Set up OpenCV for this process; before the first source is opened.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    # What it warns of is told by name. Where this is said differs between its versions.
    logging = getattr(cv2.utils, "logging", None)
    say = getattr(logging, "setLogLevel", None) or getattr(cv2, "setLogLevel", None)
    if say is not None:
        say(_ERRORS)


class Video:
    """
    What OpenCV opens.
    """

    gone: ClassVar[str] = "no picture came: unplugged, or switched off?"

    def __init__(self, name: str, video: cv2.VideoCapture) -> None:
        self._name = name
        self._video = video
        self._reading = threading.Lock()

    def next(self) -> Any:  # noqa: ANN401 - whatever OpenCV gives
        """
        Return the next picture.

        Raises:
            LineError: None came.
        """
        began = time.monotonic()
        for _ in range(_TRIES):
            try:
                with self._reading:
                    good, image = self._video.read()
            except cv2.error as error:
                raise LineError(f"{self._name}: {_first_line(error)}") from error
            if good and image is not None:
                return image
            self.check()
            waited = time.monotonic() - began
            if waited >= READ_PATIENCE * _NEARLY:
                raise LineError(f"{self._name}: no picture for {waited:.1f} s")
        raise LineError(f"{self._name}: {self.gone}")

    def check(self) -> None:
        """
        Nothing is known from outside.
        """

    def wake(self) -> None:
        """
        OpenCV cannot be woken.
        """

    def close(self) -> None:
        """
        Give it back; one that another thread reads at this moment goes with that thread.
        """
        if not self._reading.acquire(timeout=_LETTING_GO):
            return  # to take it from under that read would end the process
        with contextlib.suppress(cv2.error):
            self._video.release()
        self._reading.release()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

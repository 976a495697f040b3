"""
What OpenCV opens: its quirks, known in one place.

What it takes from the environment is of the whole process, so nothing is set there that
could change how another source is read: only its patience with devices, and its chatter.

Cameras of this machine, through OpenCV's Video4Linux backend.

That backend takes another format or size where a camera has not the one asked for, and says
yes; it answers -1 for a control that there is not; it forgets nothing when it is set up anew,
but some cameras do. So everything is read back.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, Final

import cv2
import structlog

from drivers.camera.profile.camera_profile import Camera
from drivers.camera.sources.source_address import Address
from drivers.transport import LineError
from shoe_daemon.errors import UserError

__all__ = ["READ_TIMEOUT_S", "OpenCvVideo", "V4l2Device", "configure_opencv"]

READ_TIMEOUT_S: Final = 3.0
_TIMEOUT_SHARE: Final = 0.9
"""Share of it after which a read that failed has waited, and was not refused."""

_RELEASE_TIMEOUT_S: Final = 0.5
"""Seconds for which a read that goes on is waited for before it is given up."""

_MAX_FAILED_READS: Final = 10
"""Reads in a row that may fail: for OpenCV one picture that came damaged is a failure."""

_ENVIRONMENT: Final = {
    # Else a device that gives nothing holds its reader for ten seconds, and itself.
    "OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT": f"{READ_TIMEOUT_S:.0f}",
    # FFmpeg's words go to stderr, unasked, as often as a camera is tried.
    "OPENCV_FFMPEG_LOGLEVEL": "-8",
}

_LOG_LEVEL_ERROR: Final = 2
"""OpenCV's number for a log of errors only."""


def configure_opencv() -> None:
    """
    Set up OpenCV for this process; before the first source is opened.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # What it warns of is told by name. Where this is said differs between its versions.
    logging = getattr(cv2.utils, "logging", None)
    say = getattr(logging, "setLogLevel", None) or getattr(cv2, "setLogLevel", None)
    if say is not None:
        say(_LOG_LEVEL_ERROR)


class OpenCvVideo:
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
        for _ in range(_MAX_FAILED_READS):
            try:
                with self._reading:
                    good, image = self._video.read()
            except cv2.error as error:
                raise LineError(f"{self._name}: {_first_line(error)}") from error
            if good and image is not None:
                return image
            self.check()
            waited = time.monotonic() - began
            if waited >= READ_TIMEOUT_S * _TIMEOUT_SHARE:
                raise LineError(f"{self._name}: no picture for {waited:.1f} s")
        raise LineError(f"{self._name}: {self.gone}")

    def check(self) -> None:
        """
        Nothing is known from outside.
        """

    def interrupt(self) -> None:
        """
        OpenCV cannot be woken.
        """

    def close(self) -> None:
        """
        Give it back; one that another thread reads at this moment goes with that thread.
        """
        if not self._reading.acquire(timeout=_RELEASE_TIMEOUT_S):
            return  # to take it from under that read would end the process
        with contextlib.suppress(cv2.error):
            self._video.release()
        self._reading.release()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_DRIVER_BUFFERS: Final = 2
"""Pictures that a device's driver may hold: with one it has none to fill while that is decoded,
and many cameras then give every second picture only."""

_MODE_ADVICE: Final = (
    "as its profile or --mode says: set the camera back, or calibrate it in this mode"
)

_log = structlog.get_logger(__name__)


class V4l2Device(OpenCvVideo):
    """
    A camera of this machine, through Video4Linux.
    """

    def __init__(self, address: Address, camera: Camera, fps: float | None) -> None:
        self._path = Path(address.where)
        self._number = _device_number(self._path)
        self._controls = camera.controls
        self._held = False
        video = cv2.VideoCapture(str(self._path.resolve()), cv2.CAP_V4L2)
        super().__init__(address.where, video)
        try:
            self._set(camera, fps)
        except LineError:
            self.close()
            raise

    def _set(self, camera: Camera, fps: float | None) -> None:
        if not self._video.isOpened():
            raise LineError(
                f"{self._name}: cannot be opened: another program has it, or it is no camera "
                "(of the two devices of one camera, the first gives the pictures)"
            )
        # Each of these begins the stream anew. The format comes first: the size is asked for
        # in the format that is set, and the rate in the size.
        self._video.set(cv2.CAP_PROP_BUFFERSIZE, _DRIVER_BUFFERS)
        if camera.format is not None:
            self._video.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*camera.format))
        self._video.set(cv2.CAP_PROP_FRAME_WIDTH, camera.width)
        self._video.set(cv2.CAP_PROP_FRAME_HEIGHT, camera.height)
        if fps is not None:
            self._video.set(cv2.CAP_PROP_FPS, fps)
        self._check_form(camera)
        self._lock(camera.controls)

    def _check_form(self, camera: Camera) -> None:
        # Where it does not have the format, OpenCV takes one that it has, and says yes.
        given = _fourcc_text(self._video.get(cv2.CAP_PROP_FOURCC))
        if camera.format is not None and given and given != camera.format.rstrip():
            raise LineError(
                f"{self._name}: wrong pixel format: gives {given}; expected {camera.format}, "
                f"{_MODE_ADVICE}"
            )
        width, height = (
            round(self._video.get(number))
            for number in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
        )
        if width > 0 < height and (width, height) != (camera.width, camera.height):
            raise LineError(
                f"{self._name}: gives pictures of {width}x{height}; expected "
                f"{camera.width}x{camera.height}, {_MODE_ADVICE}"
            )

    def _lock(self, controls: dict[str, float]) -> None:
        """
        Set what the profile holds fast. What is set automatically takes no value by hand, so
        those come first.
        """
        for name in sorted(controls, key=lambda name: not name.startswith("auto")):
            self._video.set(_control_number(name), controls[name])

    def _hold(self) -> None:
        """
        See that all is still set now that it runs; some cameras forget it when they begin.
        """
        lost = self._lost()
        if lost:
            self._lock(self._controls)
            lost = self._lost()
        for name, value in lost.items():
            _log.warning(
                "camera_control_refused",
                port=self._name,
                control=name,
                wanted=self._controls[name],
                held=value,
            )

    def _lost(self) -> dict[str, float]:
        held = {name: self._video.get(_control_number(name)) for name in self._controls}
        return {name: value for name, value in held.items() if value != self._controls[name]}

    def read(self) -> tuple[Any, float | None]:
        """
        Return the next picture; its moment is not known.
        """
        image = self.next()
        if not self._held:
            self._held = True
            self._hold()
        return image, None

    def get(self, number: int, /) -> float:
        """
        Read one of OpenCV's properties; 0 or -1 where there is none.
        """
        return self._video.get(number)

    def set(self, number: int, value: float, /) -> bool:
        """
        Set one; whether the device took it is another question.
        """
        return self._video.set(number, value)

    def check(self) -> None:
        """
        Look whether the path still leads to it.
        """
        if _device_number(self._path) != self._number:
            raise LineError(f"{self._name}: the path leads to another device now")


def _device_number(path: Path) -> int:
    try:
        told = path.stat()
    except FileNotFoundError as error:
        raise LineError(f"{path}: no such device: unplugged?") from error
    except OSError as error:
        raise LineError(f"{path}: {error.strerror}") from error
    if not stat.S_ISCHR(told.st_mode):
        raise LineError(f"{path}: no camera: expected a device such as /dev/video0")
    if not os.access(path, os.R_OK | os.W_OK):
        raise LineError(f"{path}: not allowed: the daemon's user must be in its group (video)")
    return told.st_rdev


def _control_number(name: str) -> int:
    number = getattr(cv2, f"CAP_PROP_{name.upper()}", None)
    if not isinstance(number, int):
        raise UserError(f"camera.controls.{name}: OpenCV has no such control")
    return number


def _fourcc_text(value: float) -> str:
    number = int(value) if math.isfinite(value) and value > 0 else 0
    letters = bytes((number >> shift) & 0xFF for shift in (0, 8, 16, 24))
    text = letters.decode("ascii", "replace").rstrip()
    return text if text.isalnum() else ""

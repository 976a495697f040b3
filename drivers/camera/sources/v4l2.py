"""
Cameras of this machine, which OpenCV opens, with workarounds for its behaviour.

OpenCV's environment variables apply to the whole process, so none is set that could change how
another source is read: only the timeout of devices and the log level.

OpenCV's Video4Linux backend falls back to another format or size where a camera does not
support the requested one, and reports success; it returns -1 for an unknown control; and some
cameras forget their controls when a stream starts. So every setting is read back.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any, Final

import cv2
import structlog

from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import Address
from drivers.camera.sources.capture import Source
from drivers.transport import LineError
from shoe_daemon.errors import UserError, one_line

READ_TIMEOUT_S: Final = 3.0
_TIMEOUT_SHARE: Final = 0.9
"""Share of the timeout after which a failed read counts as a timeout."""

_RELEASE_TIMEOUT_S: Final = 0.5
"""Time to wait for a running read before the video is abandoned."""

_MAX_FAILED_READS: Final = 10
"""Consecutive reads that may fail: OpenCV reports one damaged frame as a failure."""

_ENVIRONMENT: Final = {
    # Otherwise a silent device blocks its reader, and stays open, for ten seconds.
    "OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT": f"{READ_TIMEOUT_S:.0f}",
    # FFmpeg would write to stderr at every attempt.
    "OPENCV_FFMPEG_LOGLEVEL": "-8",
}

_LOG_LEVEL_ERROR: Final = 2
"""OpenCV's log level for errors only."""


def configure_opencv() -> None:
    """Configure OpenCV for this process; called before the first source is opened."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # Warnings are logged by name. The function differs between OpenCV's versions.
    logging = getattr(cv2.utils, "logging", None)
    say = getattr(logging, "setLogLevel", None) or getattr(cv2, "setLogLevel", None)
    if say is not None:
        say(_LOG_LEVEL_ERROR)


_DRIVER_BUFFERS: Final = 2
"""Buffers of a device's driver: with one, none is free while a frame is decoded, and many
cameras then send every second frame only."""

_MODE_ADVICE: Final = (
    "as its profile, --mode or the size of its [[witness]] says: set the camera back, or change "
    "that: calibrate it in this mode, or give the witness this size"
)

_log = structlog.get_logger(__name__)


class V4l2Device(Source):
    """A camera of this machine, through Video4Linux; no read of it is interrupted."""

    def __init__(self, address: Address, camera: Camera, fps: float | None) -> None:
        self._path = Path(address.location)
        self._number = _device_number(self._path)
        self._controls = camera.controls
        self._held = False
        self._name = address.location
        self._video = cv2.VideoCapture(str(self._path.resolve()), cv2.CAP_V4L2)
        self._reading = threading.Lock()
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
        # Each of these restarts the stream. The format comes first: the size is requested in the
        # current format, and the rate in the current size.
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
        # OpenCV falls back to another format, and reports success.
        given = _fourcc_text(self._video.get(cv2.CAP_PROP_FOURCC))
        if camera.format is not None and given and given != camera.format.rstrip():
            raise LineError(
                f"{self._name}: wrong pixel format: gives {given}; expected {camera.format}, "
                f"{_MODE_ADVICE}"
            )
        width = round(self._video.get(cv2.CAP_PROP_FRAME_WIDTH))
        height = round(self._video.get(cv2.CAP_PROP_FRAME_HEIGHT))
        if width > 0 < height and (width, height) != camera.size:
            raise LineError(
                f"{self._name}: gives pictures of {width}x{height}; expected "
                f"{camera.width}x{camera.height}, {_MODE_ADVICE}"
            )

    def _lock(self, controls: dict[str, float]) -> None:
        """
        Set the controls of the profile. A control in automatic mode takes no value, so the modes
        come first.
        """
        for name in sorted(controls, key=lambda name: not name.startswith("auto")):
            self._video.set(_control_number(name), controls[name])

    def _hold(self) -> None:
        """Check the controls once the stream has started: some cameras reset them then."""
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
        """Return the next image, without a time stamp."""
        image = self._next()
        if not self._held:
            self._held = True
            self._hold()
        return image, None

    def _next(self) -> Any:  # noqa: ANN401 - whatever OpenCV gives
        """Return the next image; a `LineError` where none arrives."""
        began = time.monotonic()
        for _ in range(_MAX_FAILED_READS):
            try:
                with self._reading:
                    good, image = self._video.read()
            except cv2.error as error:
                why = str(error).strip().partition("\n")[0] or type(error).__name__
                raise LineError(f"{self._name}: {why}") from error
            if good and image is not None:
                return image
            self.check()
            waited = time.monotonic() - began
            if waited >= READ_TIMEOUT_S * _TIMEOUT_SHARE:
                raise LineError(f"{self._name}: no picture for {waited:.1f} s")
        raise LineError(f"{self._name}: no picture came: unplugged, or switched off?")

    def get(self, number: int, /) -> float:
        """Read an OpenCV property; 0 or -1 where it does not exist."""
        return self._video.get(number)

    def set(self, number: int, value: float, /) -> bool:
        """Set an OpenCV property; success does not mean that the device accepted it."""
        return self._video.set(number, value)

    def check(self) -> None:
        """Check that the path still leads to the same device."""
        if _device_number(self._path) != self._number:
            raise LineError(f"{self._name}: the path leads to another device now")

    def close(self) -> None:
        """Release the video; a read that is running in another thread releases it at its end."""
        if not self._reading.acquire(timeout=_RELEASE_TIMEOUT_S):
            return  # to take it from under that read would end the process
        with contextlib.suppress(cv2.error):
            self._video.release()
        self._reading.release()


def _device_number(path: Path) -> int:
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise LineError(f"{path}: no such device: unplugged?") from error
    except OSError as error:
        raise LineError(f"{path}: {one_line(error)}") from error
    if not stat.S_ISCHR(status.st_mode):
        raise LineError(f"{path}: no camera: expected a device such as /dev/video0")
    if not os.access(path, os.R_OK | os.W_OK):
        raise LineError(f"{path}: not allowed: the daemon's user must be in its group (video)")
    return status.st_rdev


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

"""
Frames for a calibration: of a camera as it is now, or of a recording.

A camera has one user at a time: `--check` beside a running daemon takes the frames that the
daemon's preview streams.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import cv2
import numpy as np

from drivers import EndOfCaptureError, LineError
from drivers.camera.image import Image
from drivers.camera.options import LOOPBACK_NAMES
from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import Address
from drivers.camera.sources.capture import Source
from drivers.camera.sources.open_source import open_source
from shoe_daemon.errors import UserError

_FRAME_TIMEOUT_S: Final = 12.0
_REOPEN_INTERVAL_S: Final = 0.5
"""Time to wait for a frame, and interval at which a camera that disappeared is opened again."""

_DIMENSIONS: Final = 3


class RecordedFrames:
    """A video, or a folder of images, read once from beginning to end."""

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name
        self._format = _FrameFormat(name)
        self._last: Image | None = None
        self._at = 0.0

    def take(self, count: int, at: float | None = None) -> list[Image]:
        """
        Return consecutive frames from a time on, in seconds; fewer at the end of the recording,
        but at least one.

        Raises:
            UserError: There is no frame, or one of another format than those before.
        """
        found: list[Image] = []
        while len(found) < count:
            try:
                image, moment = self._source.read()
            except EndOfCaptureError:
                break
            except LineError as error:
                raise UserError(f"{error}") from error
            self._last = self._format.check(image)
            self._at = moment or 0.0
            if at is None or self._at >= at - 1e-6:
                found.append(self._last)
        if not found:
            asked = "" if at is None else f", asked for its second {at:g}"
            raise UserError(f"{self._name}: it is over after {self._at:.2f} s{asked}")
        return found

    def newest(self) -> Image | None:
        """Return the last frame that was taken."""
        return self._last

    def close(self) -> None:
        """Close the recording."""
        self._source.close()


class LiveFrames:
    """A camera whose frames are read by a thread; a camera that disappeared is opened again."""

    def __init__(self, source: Source, name: str, again: Callable[[], Source]) -> None:
        self._source: Source | None = source
        self._name = name
        self._format = _FrameFormat(name)
        self._reopen = again
        self._newest: Image | None = None
        self._count = self._faults = 0
        self._fault: Exception | None = None
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="calibration", daemon=True)
        self._thread.start()

    def take(self, count: int, at: float | None = None) -> list[Image]:
        """
        Return the next frames, whatever the time.

        Raises:
            UserError: No frame arrives, or one of another format than those before.
        """
        del at
        found: list[Image] = []
        with self._changed:
            last_count, faults = self._count, self._faults
            while len(found) < count:
                self._wait_for_frame(last_count, faults)
                last_count = self._count
                if self._newest is not None:
                    found.append(self._newest)
        return found

    def _wait_for_frame(self, count: int, faults: int) -> None:
        until = time.monotonic() + _FRAME_TIMEOUT_S
        while self._count == count:
            if self._faults != faults:
                raise UserError(f"{self._fault}") from self._fault
            if not self._changed.wait(max(0.0, until - time.monotonic())):
                raise UserError(f"{self._name}: no picture for {_FRAME_TIMEOUT_S:g} s: unplugged?")

    def newest(self) -> Image | None:
        """Return the last frame; None while none arrives."""
        return self._newest

    def close(self) -> None:
        """Stop reading, and release the camera."""
        self._stopping.set()
        if (source := self._source) is not None:
            source.interrupt()
        self._thread.join(2.0)
        self._release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._read_frames()
            except (LineError, UserError) as error:
                self._release()
                with self._changed:
                    self._newest, self._fault = None, error
                    self._faults += 1
                    self._changed.notify_all()
                self._stopping.wait(_REOPEN_INTERVAL_S)

    def _read_frames(self) -> None:
        source = self._source = self._source or self._reopen()
        while not self._stopping.is_set():
            image, _ = source.read()
            frame = self._format.check(image)
            with self._changed:
                self._newest = frame
                self._count += 1
                self._changed.notify_all()

    def _release(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            with contextlib.suppress(LineError):
                source.close()


def open_frames(address: Address, camera: Camera) -> LiveFrames | RecordedFrames:
    """Open a source; a UserError says in one line why that fails."""
    try:
        source = open_source(address, camera)
    except LineError as error:
        raise UserError(f"{error}") from error
    if address.is_live:
        return LiveFrames(source, str(address), lambda: open_source(address, camera))
    return RecordedFrames(source, str(address))


class _FrameFormat:
    """Requires the same size of all frames, because measurements in one apply to the next."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._size: tuple[int, int] | None = None

    def check(self, image: Any) -> Image:  # noqa: ANN401 - whatever OpenCV gives
        """Return the frame, or raise a UserError if its format is another than before."""
        is_array = isinstance(image, np.ndarray)
        if not is_array or image.ndim != _DIMENSIONS or image.dtype != np.uint8:
            what = "wrong pixel format; expected eight bits of three colours"
            raise UserError(f"{self._name}: {what}")
        size = image.shape[1], image.shape[0]
        if size != (self._size or size):
            now, before = ("x".join(map(str, each)) for each in (size, self._size or size))
            what = f"pictures of {now} after such of {before}; expected one size"
            raise UserError(f"{self._name}: {what}: set the camera back, or begin anew")
        self._size = size
        return np.asarray(image)


def encode_png(image: Image) -> bytes:
    """Encode an image as PNG."""
    _, data = cv2.imencode(".png", image)
    return data.tobytes()


_PREVIEW_TIMEOUT_S: Final = 25.0
"""Time to wait for the preview: where a camera was moved far, the daemon streams its frames for
two seconds at each attempt, which finally is every ten seconds."""

_RETRY_INTERVAL_S: Final = 0.2
"""Interval between two attempts."""


def is_preview_stream(address: Address) -> bool:
    """True if this is the stream of a daemon's preview."""
    if not address.is_stream:
        return False
    parts = urlsplit(address.location)
    return parts.hostname in LOOPBACK_NAMES and parts.path == "/plain"


def take_frames(
    address: Address, camera: Camera, count: int, at: float | None = None
) -> list[Image]:
    """Take consecutive frames; wait for a daemon's preview. A UserError if no frames arrive."""
    until = time.monotonic() + (_PREVIEW_TIMEOUT_S if is_preview_stream(address) else 0.0)
    while True:
        try:
            with contextlib.closing(open_frames(address, camera)) as frames:
                return frames.take(count, at)
        except UserError as error:
            if time.monotonic() < until:
                time.sleep(_RETRY_INTERVAL_S)
                continue
            raise _with_advice(address, error) from error


def _with_advice(address: Address, error: UserError) -> UserError:
    if is_preview_stream(address):
        place = urlsplit(address.location).netloc
        return UserError(f"{error}; is options.view {place}, does the daemon run?")
    if "another program has it" in str(error):
        beside = "beside a running daemon: --source http://HOST:PORT/plain, of its options.view"
        return UserError(f"{error}; {beside}")
    return error

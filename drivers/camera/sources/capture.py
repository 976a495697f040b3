"""
Captures frames in a thread, so that a source that hangs blocks nothing else, and checks them.

The checks hold whatever the frames show.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct

from drivers.camera.image import Image, VideoFrame
from drivers.transport import LineError
from shoe_daemon.errors import UserError, describe_exception

_DARK_LEVEL: Final = 12
_MAX_BRIGHT_SHARE: Final = 0.01
"""Maximum share of bright points in a black frame."""

_MIN_GREY_SPREAD: Final = 1.5
"""Standard deviation of grey values below which a frame is of one colour."""

_MAX_BLIND_S: Final = 1.0
"""Time for which black or plain frames are tolerated; many cameras begin with some."""

_CHANNELS: Final = 3
_DIMENSIONS: Final = 3


class Source:
    """Reads one frame after another."""

    def read(self) -> tuple[Any, float | None]:
        """
        Return the next image, and its time stamp where the source has one.

        Raises:
            LineError: No more frames.
        """
        raise NotImplementedError

    def check(self) -> None:
        """
        Check that the source is still there; called from another thread.

        Raises:
            LineError: The source is gone.
        """

    def interrupt(self) -> None:
        """Interrupt a blocked read, where possible; called from another thread."""

    def close(self) -> None:
        """Release the source."""


class FrameCheck:
    """
    Rejects frames that no working camera sends, at little cost.

    Args:
        name: The source, for the message.
        size: Width and height of the profile; None for frames of any size.
        frozen_after: Seconds after which identical frames are rejected; a sensor's noise makes
            them impossible. None for files, where they may occur.
    """

    def __init__(
        self, name: str, size: tuple[int, int] | None, *, frozen_after: float | None = 3.0
    ) -> None:
        self._frozen_after = frozen_after
        self._name = name
        self._size = size
        self._rows = b""
        self._same_since: float | None = None
        self._blind_since: float | None = None
        self._has_frames = False

    def check(self, image: Any, at: float) -> bool:  # noqa: ANN401 - whatever OpenCV gives
        """
        Check the next frame; a fault is a `LineError`.

        Returns:
            False for a black or plain frame with which a camera begins: it is no sign of life.
        """
        self._check_form(image)
        self._check_light(image, at)
        if self._frozen_after is not None:
            self._check_change(image, at, self._frozen_after)
        self._has_frames |= self._blind_since is None
        return self._has_frames

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
        if self._size is not None and (width, height) != self._size:
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
        if at - self._blind_since >= _MAX_BLIND_S:
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


_SILENCE_LIMIT_S: Final = 3.0
"""Time without a frame after which a source is closed."""

_FIRST_FRAME_TIMEOUT_S: Final = 12.0
"""Time until the first frame has to arrive."""

_RELEASE_TIMEOUT_S: Final = 2.0
"""Time for which a new attempt waits for the source of the previous one to close."""

_FILE_QUEUE_SIZE: Final = 2
"""Frames that wait where none may be lost and all come from a file."""


_hanging_threads: dict[str, threading.Thread] = {}
"""Threads that hang in their sources. At most one for each source, however often it is tried:
a hanging thread keeps a device, or OpenCV's lock."""


class CapturePace(Struct, frozen=True, kw_only=True):
    """
    Speed and queue of a capture.

    Attributes:
        live: Whether frames that are not taken in time are dropped; else the source waits.
        real_time: Whether frames of a file arrive as they were recorded, not as fast as
            possible.
        queue_size: Frames of a live source that may wait for the station; with 1, the newest.
        silence_limit_s: Seconds without a frame that are tolerated; None for the usual limit.
    """

    live: bool
    real_time: bool = True
    queue_size: int = 1
    silence_limit_s: float | None = None


class CaptureThread:
    """
    Opens a source in a thread and queues its frames.

    Attributes:
        count: Frames that arrived.
        dropped: Frames that were not taken in time.
        newest_at: When the newest frame arrived, in seconds of the monotonic clock.
        receivers: Functions that are given each frame as soon as it has arrived, on this thread.
    """

    def __init__(
        self,
        name: str,
        open_source: Callable[[], Source],
        frame_check: FrameCheck,
        pace: CapturePace,
    ) -> None:
        self.count = 0
        self.dropped = 0
        self.newest_at = time.monotonic()
        self.receivers: Sequence[Callable[[VideoFrame], None]] = ()
        self._name = name
        self._open = open_source
        self._frame_check = frame_check
        self._pace = pace
        self._queue_size = pace.queue_size if pace.live else _FILE_QUEUE_SIZE
        self._source: Source | None = None
        self._frames: deque[VideoFrame] = deque()
        self._fault: Exception | None = None
        self._stopping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"camera-{name}", daemon=True)

    def start(self) -> VideoFrame:
        """
        Start, and wait for the first frame; it stays queued.

        Raises:
            LineError: No frame arrived, or none that can be used.
            UserError: The source cannot be opened as configured.
        """
        self._await_previous()
        self._thread.start()
        with self._changed:
            self._changed.wait_for(
                lambda: self._frames or self._fault is not None, _FIRST_FRAME_TIMEOUT_S
            )
            if self._frames:
                return self._frames[0]
        self.stop()
        raise self._fault or LineError(
            f"{self._name}: no picture within {_FIRST_FRAME_TIMEOUT_S:g} s"
        )

    def _await_previous(self) -> None:
        hanging = _hanging_threads.get(self._name)
        if hanging is not None:
            hanging.join(_RELEASE_TIMEOUT_S)
            if hanging.is_alive():
                raise LineError(f"{self._name}: hangs: the last attempt has not released it yet")
            _hanging_threads.pop(self._name, None)

    def take(self, timeout: float) -> VideoFrame | None:
        """Return the next frame, None if none came in time; a `LineError` if no more will come."""
        with self._changed:
            if not self._frames and self._fault is None:
                self._changed.wait(timeout)
            if self._frames:
                frame = self._frames.popleft()
                self._changed.notify_all()
                return frame
            if self._fault is not None:
                raise self._fault
        self.check()
        return None

    def check(self) -> None:
        """Check that frames still arrive; a `LineError` if none did for too long."""
        if (source := self._source) is not None:
            source.check()  # it knows best what is wrong
        silent_s = time.monotonic() - self.newest_at
        limit_s = self._pace.silence_limit_s or _SILENCE_LIMIT_S
        if silent_s > limit_s and self._pace.live:
            raise LineError(f"{self._name}: no picture for {silent_s:.1f} s")

    def stop(self) -> None:
        """
        Stop the thread. A thread that hangs in its source is abandoned; it closes the
        source when the read returns.
        """
        with self._changed:
            self._stopping = True
            self._frames.clear()
            self._changed.notify_all()
        if (source := self._source) is not None:
            source.interrupt()
        if self._thread.is_alive():
            self._thread.join(0.5)
            if self._thread.is_alive():
                _hanging_threads[self._name] = self._thread

    def _run(self) -> None:
        try:
            source = self._open()
            try:
                self._source = source
                self._read_frames(source)
            finally:
                self._source = None
                source.close()
        except (LineError, UserError) as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - whatever OpenCV raises ends this line only
            self._fail(LineError(f"{self._name}: {describe_exception(error)}"))

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._fault = error
            self._changed.notify_all()

    def _read_frames(self, source: Source) -> None:
        began: float | None = None
        while not self._stopping:
            image, moment = source.read()
            self.newest_at = now = time.monotonic()
            at = now if moment is None or self._pace.live else moment
            if not self._frame_check.check(image, at):
                continue
            began = now - at if began is None else began
            if not self._pace.live and self._pace.real_time:
                self._wait_for_time(began + at - now)
            self.count += 1
            frame = VideoFrame(image, at, self.count)
            for receive in self.receivers:
                receive(frame)
            self._enqueue(frame)

    def _wait_for_time(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, max(0.0, seconds))

    def _enqueue(self, frame: VideoFrame) -> None:
        with self._changed:
            while len(self._frames) >= self._queue_size and not self._stopping:
                if self._pace.live:
                    self._frames.popleft()
                    self.dropped += 1
                else:
                    self._changed.wait()
            self._frames.append(frame)
            self._changed.notify_all()

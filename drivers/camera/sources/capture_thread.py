"""Thread that reads frames, so that a source that hangs blocks nothing else."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from drivers.camera.sources.open_source import Source
from drivers.camera.sources.video_frame import FrameCheck, VideoFrame
from drivers.transport import LineError
from shoe_daemon.errors import UserError, describe_exception

__all__ = ["CapturePace", "CaptureThread"]

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


class CapturePace:
    """
    Speed and queue of a capture.

    Attributes:
        live: Whether frames that are not taken in time are dropped; else the source waits.
        real_time: Whether frames of a file arrive as they were recorded, not as fast as
            possible.
        queue_size: Frames that may wait for the station; with 1, the newest.
        silence_limit_s: Seconds without a frame that are tolerated; None for the usual limit.
    """

    def __init__(
        self,
        *,
        live: bool,
        real_time: bool = True,
        queue_size: int = 1,
        silence_limit_s: float | None = None,
    ) -> None:
        self.live = live
        self.real_time = real_time
        self.queue_size = queue_size if live else _FILE_QUEUE_SIZE
        self.silence_limit_s = silence_limit_s


class CaptureThread:
    """
    Opens a source in a thread and queues its frames.

    Attributes:
        count: Frames that arrived.
        dropped: Frames that were not taken in time.
        newest_at: When the newest frame arrived, in seconds of the monotonic clock.
    """

    def __init__(
        self, name: str, opening: Callable[[], Source], judge: FrameCheck, pace: CapturePace
    ) -> None:
        self.count = 0
        self.dropped = 0
        self.newest_at = time.monotonic()
        self._name = name
        self._open = opening
        self._frame_check = judge
        self._pace = pace
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
        until = time.monotonic() + _FIRST_FRAME_TIMEOUT_S
        with self._changed:
            while not self._frames and self._fault is None:
                if not self._changed.wait(max(0.0, until - time.monotonic())):
                    break
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
                raise LineError(f"{self._name}: hangs: it has not let go of the last attempt yet")
            _hanging_threads.pop(self._name, None)

    def take(self, timeout: float) -> VideoFrame | None:
        """
        Return the next frame; None where none arrived in time.

        Raises:
            LineError: No more frames will arrive.
        """
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
        """
        Check that frames still arrive.

        Raises:
            LineError: No frame arrived for too long.
        """
        source = self._source
        if source is not None:
            source.check()  # it knows best what is wrong
        silent_s = time.monotonic() - self.newest_at
        limit_s = (
            _SILENCE_LIMIT_S if self._pace.silence_limit_s is None else self._pace.silence_limit_s
        )
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
        source = self._source
        if source is not None:
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
            self._frame_check.check(image, at)
            began = now - at if began is None else began
            if not self._pace.live and self._pace.real_time:
                self._wait_for_time(began + at - now)
            self.count += 1
            self._enqueue(VideoFrame(image, at, self.count))

    def _wait_for_time(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, max(0.0, seconds))

    def _enqueue(self, frame: VideoFrame) -> None:
        with self._changed:
            while len(self._frames) >= self._pace.queue_size and not self._stopping:
                if self._pace.live:
                    self._frames.popleft()
                    self.dropped += 1
                else:
                    self._changed.wait()
            self._frames.append(frame)
            self._changed.notify_all()

"""The cameras of witnesses: their own, or that of a reader."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from drivers import CaptureThread, VideoFrame, open_video
from shoe_daemon.witness.config import WitnessSettings


class VideoSource(Protocol):
    """An open camera, for one thread."""

    def take(self, timeout: float) -> VideoFrame | None:
        """
        Return the next frame; None if none arrived in time.

        Raises:
            LineError: The camera is lost.
        """

    def stop(self) -> None:
        """Close it; nothing is raised."""


class SharedFrames:
    """The frames of a reader that is a camera; any thread offers them."""

    def __init__(self) -> None:
        self._newest: queue.Queue[VideoFrame] = queue.Queue(1)

    def offer(self, frame: VideoFrame) -> None:
        """Replace the frame that waits; returns at once."""
        with contextlib.suppress(queue.Empty):
            self._newest.get_nowait()
        with contextlib.suppress(queue.Full):
            self._newest.put_nowait(frame)

    def take(self, timeout: float) -> VideoFrame | None:
        """Return the next frame; None if none arrived in time."""
        try:
            return self._newest.get(timeout=timeout)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """Do nothing: the reader has the camera."""


def source_of(
    settings: WitnessSettings,
    beside: Path,
    share_frames: Callable[[str, Callable[[VideoFrame], None]], None],
) -> Callable[[], VideoSource]:
    """
    Return the function that opens the camera of a witness.

    `share_frames` passes the frames of a reader to a function.
    """
    if settings.reader is not None:
        shared = SharedFrames()
        share_frames(settings.reader, shared.offer)
        return lambda: shared
    return lambda: _open_camera(settings, beside)


def _open_camera(settings: WitnessSettings, beside: Path) -> CaptureThread:
    capture = open_video(
        settings.source or "",
        settings.frame_size,
        settings.username,
        settings.password_file,
        beside,
    )
    capture.start()
    return capture

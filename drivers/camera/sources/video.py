"""
Video that PyAV decodes: streams of network cameras, and files.

OpenCV's FFmpeg takes neither a limit for the size of a frame nor options for one video, opens
one stream at a time in a process, and reports no reason.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import av
from av.container import InputContainer
from av.error import InvalidDataError

from drivers.camera import MAX_PIXELS
from drivers.camera.sources.address import (
    Address,
    no_stream_text,
    probe_rtsp,
)
from drivers.camera.sources.capture import Source
from drivers.camera.sources.v4l2 import READ_TIMEOUT_S
from drivers.transport import EndOfCaptureError, LineError

OPEN_TIMEOUT_S: Final = 8.0
_MAX_DAMAGED_S: Final = 2.0
"""Time for which damaged frames are tolerated: a stream may be opened between two key frames."""

_DEFAULT_FPS: Final = 30.0
_UNREADABLE: Final = f"no video that can be read, of at most {MAX_PIXELS} pixels a frame"
_LIMIT: Final = {"max_pixels": str(MAX_PIXELS)}


class _Video(Source):
    """One video, by its container."""

    def __init__(self, name: str, location: str, **options: Any) -> None:  # noqa: ANN401 - of av.open
        self._name = name
        own = options.pop("options", {})
        self._container: InputContainer = av.open(location, options=own | _LIMIT, **options)
        self._stream = self._container.streams.video[0]
        self._stream.codec_context.options = _LIMIT
        # Each further thread delays frames by one: 40 ms, on 16 cores more than half a second.
        self._stream.thread_type = "NONE"
        self._frames = self._decode()

    def _decode(self) -> Iterator[av.VideoFrame]:
        good_at = time.monotonic()
        for packet in self._container.demux(self._stream):
            try:
                frames = packet.decode()
            except InvalidDataError:
                if time.monotonic() - good_at > _MAX_DAMAGED_S:
                    raise
                continue
            for frame in frames:
                good_at = time.monotonic()
                yield frame

    def close(self) -> None:
        """Close the video."""
        with contextlib.suppress(av.FFmpegError, ValueError):
            self._container.close()


class VideoStream(_Video):
    """A network camera's stream; a read ends by itself after a time."""

    def __init__(self, address: Address) -> None:
        is_rtsp = address.location.startswith("rtsp")
        try:
            super().__init__(
                str(address),
                address.location,
                timeout=(OPEN_TIMEOUT_S, READ_TIMEOUT_S),
                options={"rtsp_transport": "tcp"} if is_rtsp else {},
            )
        except (av.FFmpegError, IndexError, ValueError) as error:
            raise LineError(no_stream_text(address, probe_rtsp(address) or _why(error))) from error

    def read(self) -> tuple[Any, float | None]:
        """Return the next frame, without a time stamp."""
        began = time.monotonic()
        try:
            return next(self._frames).to_ndarray(format="bgr24"), None
        except StopIteration as error:
            raise LineError(f"{self._name}: the stream broke off") from error
        except av.ExitError as error:
            waited = time.monotonic() - began
            raise LineError(f"{self._name}: no picture for {waited:.1f} s") from error
        except (av.FFmpegError, ValueError) as error:
            raise LineError(f"{self._name}: the stream broke off: {_why(error)}") from error


class VideoFile(_Video):
    """A video file, read once; its time stamps count its frames."""

    def __init__(self, address: Address) -> None:
        path = Path(address.location)
        if not path.is_file():
            raise LineError(f"{path}: no such video")
        try:
            super().__init__(str(path), str(path))
        except (av.FFmpegError, IndexError, ValueError) as error:
            raise LineError(f"{path}: {_UNREADABLE}") from error
        fps = float(self._stream.average_rate or 0)
        self._fps = fps if math.isfinite(fps) and fps > 0 else _DEFAULT_FPS
        self._count = 0

    def read(self) -> tuple[Any, float | None]:
        """Return the next frame and its time."""
        try:
            image = next(self._frames).to_ndarray(format="bgr24")
        except (StopIteration, av.FFmpegError, ValueError) as error:
            if not self._count:
                raise LineError(f"{self._name}: {_UNREADABLE}") from error
            raise EndOfCaptureError(f"{self._name}: the video is over") from error
        self._count += 1
        return image, (self._count - 1) / self._fps


def _why(error: Exception) -> str:
    # The text of the error has the address, and perhaps a password in it.
    return str(getattr(error, "strerror", None) or "no video")

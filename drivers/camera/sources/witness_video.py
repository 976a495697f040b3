"""
Video of cameras that read no cards, for witnesses: no profile, no station.

Their streams are not opened by OpenCV: it opens one at a time in a process, and one that does not
answer would keep the camera of a reader waiting.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Final

import av
import cv2

from drivers.camera.profile.camera_profile import Camera
from drivers.camera.sources.frame_capture_and_checks import (
    CapturePace,
    CaptureThread,
    FrameCheck,
    Source,
)
from drivers.camera.sources.open_source import RAW_TIMEOUT_S, open_source, open_stream
from drivers.camera.sources.opencv_video import READ_TIMEOUT_S
from drivers.camera.sources.source_address_and_open_failures import (
    Address,
    SourceKind,
    add_login,
    no_stream_text,
    parse_source,
    probe_rtsp,
)
from drivers.transport import LineError

_OPEN_TIMEOUT_S: Final = 8.0
_FROZEN_AFTER_S: Final = 15.0
"""A network camera may send no frames while nothing changes."""


class AvStream(Source):
    """A network camera whose stream PyAV decodes; a read ends by itself after a time."""

    def __init__(self, address: Address) -> None:
        self._name = str(address)
        try:
            self._container = av.open(
                address.location,
                timeout=(_OPEN_TIMEOUT_S, READ_TIMEOUT_S),
                options={"rtsp_transport": "tcp"} if address.location.startswith("rtsp") else {},
            )
            stream = self._container.streams.video[0]
            # Each further thread delays frames by one.
            stream.thread_type = "NONE"
            self._frames = self._container.decode(stream)
        except (av.FFmpegError, IndexError, ValueError) as error:
            raise LineError(no_stream_text(address, probe_rtsp(address) or _why(error))) from error

    def read(self) -> tuple[Any, float | None]:
        """Return the next frame; there is no time stamp."""
        try:
            return next(self._frames).to_ndarray(format="bgr24"), None
        except StopIteration as error:
            raise LineError(f"{self._name}: the stream broke off") from error
        except (av.FFmpegError, ValueError) as error:
            raise LineError(f"{self._name}: the stream broke off: {_why(error)}") from error

    def close(self) -> None:
        """Close the stream."""
        with contextlib.suppress(av.FFmpegError, ValueError):
            self._container.close()


def _why(error: Exception) -> str:
    # The text of the error has the address, and perhaps a password in it.
    return str(getattr(error, "strerror", None) or "no video")


def _open(address: Address, camera: Camera) -> Source:
    if address.kind is not SourceKind.STREAM:
        return open_source(address, camera)
    return open_stream(address, AvStream)


def open_video(
    source: str,
    size: tuple[int, int],
    username: str | None,
    password_file: str | None,
    folder: Path,
) -> CaptureThread:
    """
    Return the capture of a camera; `start` opens it.

    A device is asked for the width and height of `size`; streams have their own. The other
    parameters are those of `check_video`.

    Raises:
        UserError: The address is invalid, or the file has no password.
    """
    cv2.setNumThreads(1)  # the daemon has other things to do
    address = add_login(parse_source(source), username, password_file, folder)
    camera = Camera(width=size[0], height=size[1])
    is_raw = address.kind is SourceKind.RAW
    pace = CapturePace(live=address.is_live, silence_limit_s=RAW_TIMEOUT_S if is_raw else None)
    frozen = _FROZEN_AFTER_S if address.is_live else None
    check = FrameCheck(str(address), None, frozen_after=frozen)
    return CaptureThread(str(address), lambda: _open(address, camera), check, pace)

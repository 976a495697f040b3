"""
Sources of frames: devices, streams, files, folders, a simulator.

A source is used by one thread, which may hang in it: OpenCV's reads can block for ever, or
go on after an unplug as if nothing had happened. `frame_capture_and_checks` handles both.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import cv2
import numpy as np

from drivers.camera.profile.camera_profile import Camera
from drivers.camera.sources.frame_capture_and_checks import Image, Source
from drivers.camera.sources.mjpeg_stream import open_mjpeg
from drivers.camera.sources.opencv_video import (
    READ_TIMEOUT_S,
    OpenCvVideo,
    V4l2Device,
    configure_opencv,
)
from drivers.camera.sources.source_address_and_open_failures import (
    Address,
    SourceKind,
    no_stream_text,
    probe_rtsp,
)
from drivers.transport import EndOfCaptureError, LineError
from shoe_daemon.errors import one_line

_OPEN_TIMEOUT_S: Final = 8.0
_DEFAULT_FPS: Final = 30.0
RAW_HEADER: Final = struct.Struct("!4sIIId")
RAW_MAGIC: Final = b"SHOE"
_MAX_SIDE_PX: Final = 8192
"""Maximum side of a raw frame."""

RAW_TIMEOUT_S: Final = 10.0
"""Time for which one end of a raw connection waits for the other: a simulator that draws much,
or runs on a busy machine, is slow; that is not a fault of the camera."""

_IMAGE_SUFFIXES: Final = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff"}


def open_source(address: Address, camera: Camera, fps: float | None = None) -> Source:
    """
    Open a source in the mode that a profile asks for.

    Raises:
        LineError: The source cannot be opened, or not in that mode.
        UserError: The source can never be opened as configured.
    """
    configure_opencv()
    try:
        return _open(address, camera, fps or camera.fps)
    except OSError as error:  # a name that no file can have, a folder that may not be read
        raise LineError(f"{address}: {one_line(error)}") from error


def _open(address: Address, camera: Camera, wanted: float | None) -> Source:
    match address.kind:
        case SourceKind.DEVICE:
            return V4l2Device(address, camera, wanted)
        case SourceKind.STREAM:
            return open_stream(address, _FfmpegStream)
        case SourceKind.FILE:
            return _VideoFile(address)
        case SourceKind.FOLDER:
            return _ImageFolder(address, wanted or _DEFAULT_FPS)
        case SourceKind.RAW:
            return RawSource(address.location)


def open_stream(address: Address, open_other: Callable[[Address], Source]) -> Source:
    """Open a stream: MJPEG by our own reader, any other by the function."""
    found = open_mjpeg(address) if address.location.startswith("http://") else None
    return found or open_other(address)


class _FfmpegStream(OpenCvVideo):
    """
    A network camera whose stream FFmpeg decodes.

    Frames that wait in network buffers at the start are read within some tenths of a second.
    Options against them would apply to the whole process, and cost a file its first frames.
    """

    gone: ClassVar[str] = "the stream broke off"

    def __init__(self, address: Address) -> None:
        wishes = [
            cv2.CAP_PROP_OPEN_TIMEOUT_MSEC,
            round(_OPEN_TIMEOUT_S * 1000),
            cv2.CAP_PROP_READ_TIMEOUT_MSEC,
            round(READ_TIMEOUT_S * 1000),
            # Each further thread delays frames by one: 40 ms, on 16 cores more than half a second.
            cv2.CAP_PROP_N_THREADS,
            1,
        ]
        super().__init__(str(address), cv2.VideoCapture(address.location, cv2.CAP_FFMPEG, wishes))
        if not self._video.isOpened():
            raise LineError(no_stream_text(address, probe_rtsp(address)))

    def read(self) -> tuple[Any, float | None]:
        return self.next(), None


class _VideoFile(OpenCvVideo):
    """A video file, read once."""

    def __init__(self, address: Address) -> None:
        path = Path(address.location)
        if not path.is_file():
            raise LineError(f"{path}: no such video")
        super().__init__(str(path), cv2.VideoCapture(str(path), cv2.CAP_FFMPEG))
        if not self._video.isOpened():
            raise LineError(f"{path}: no video that OpenCV can read")
        fps = self._video.get(cv2.CAP_PROP_FPS)
        self._fps = fps if math.isfinite(fps) and fps > 0 else _DEFAULT_FPS
        self._count = 0

    def read(self) -> tuple[Any, float | None]:
        good, image = self._video.read()
        if not good:
            raise EndOfCaptureError(f"{self._name}: the video is over")
        self._count += 1
        return image, (self._count - 1) / self._fps


class _ImageFolder(Source):
    """Images of a folder, sorted by name."""

    def __init__(self, address: Address, fps: float) -> None:
        self._name = address.location
        folder = Path(address.location)
        if not folder.is_dir():
            raise LineError(f"{folder}: no such folder")
        # Reading from a special file, such as a pipe, may never end.
        paths = sorted(
            path
            for path in folder.iterdir()
            if path.suffix.lower() in _IMAGE_SUFFIXES and path.is_file()
        )
        if not paths:
            raise LineError(f"{folder}: no pictures in it")
        self._left: Iterator[tuple[int, Path]] = iter(enumerate(paths))
        self._fps = fps

    def read(self) -> tuple[Any, float | None]:
        number, path = next(self._left, (0, None))
        if path is None:
            raise EndOfCaptureError(f"{self._name}: the pictures are over")
        image = None
        with contextlib.suppress(cv2.error):  # it has too many pixels
            image = cv2.imread(str(path), cv2.IMREAD_COLOR)
        if image is None:
            raise LineError(f"{path}: no picture that OpenCV can read")
        return image, number / self._fps


class RawSource(Source):
    """
    A simulator, through a Unix socket: one frame after another.

    Each has a header of 24 bytes in network order: ``SHOE``, width, height (four bytes each),
    a reserved word, seconds as a double. Rows of blue, green and red bytes follow.

    Raises:
        LineError: No sender listens there.
    """

    def __init__(self, path: str) -> None:
        self._name = path
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection.settimeout(RAW_TIMEOUT_S)
        try:
            self._connection.connect(path)
        except OSError as error:
            self._connection.close()
            why = error.strerror or error  # a name that is too long has no number
            raise LineError(f"{path}: no program sends pictures there: {why}") from error

    def read(self) -> tuple[Image, float]:
        """Receive the next frame and its time stamp."""
        mark, width, height, _, seconds = RAW_HEADER.unpack(self._receive(RAW_HEADER.size))
        if mark != RAW_MAGIC or not (0 < width <= _MAX_SIDE_PX and 0 < height <= _MAX_SIDE_PX):
            raise LineError(f"{self._name}: no raw pictures come from there")
        data = self._receive(width * height * 3)
        return np.frombuffer(data, np.uint8).reshape(height, width, 3), seconds

    def _receive(self, size: int) -> bytearray:
        data = bytearray(size)
        view, have = memoryview(data), 0
        while have < size:
            try:
                got = self._connection.recv_into(view[have:])
            except TimeoutError as error:
                raise LineError(f"{self._name}: no picture for {RAW_TIMEOUT_S:g} s") from error
            except OSError as error:
                raise LineError(f"{self._name}: {one_line(error)}") from error
            if not got:
                raise LineError(f"{self._name}: closed by the other side")
            have += got
        return data

    def interrupt(self) -> None:
        """Interrupt a blocked read."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.interrupt()
        self._connection.close()

"""
Sources of frames: devices, streams, files, folders, a simulator.

A source is used by one thread, which may hang in it: reads can block for ever, or go on after
an unplug as if nothing had happened. `capture` handles both.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from drivers.camera import MAX_PIXELS
from drivers.camera.image import Image, read_image
from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import Address, SourceKind, add_login, parse_source
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck, Source
from drivers.camera.sources.mjpeg import open_mjpeg
from drivers.camera.sources.v4l2 import V4l2Device, configure_opencv
from drivers.transport import EndOfCaptureError, LineError
from shoe_daemon.errors import one_line

_DEFAULT_FPS: Final = 30.0
RAW_HEADER: Final = struct.Struct("!4sIIId")
RAW_MAGIC: Final = b"SHOE"
RAW_TIMEOUT_S: Final = 10.0
"""Time for which one end of a raw connection waits for the other: a simulator that draws much,
or runs on a busy machine, is slow; that is not a fault of the camera."""

_IMAGE_SUFFIXES: Final = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff"}
_FROZEN_AFTER_S: Final = 15.0
"""A network camera may send no frames while nothing changes."""


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
            # Cameras of this machine need not the memory.
            from drivers.camera.sources.video import VideoStream  # noqa: PLC0415

            is_http = address.location.startswith("http://")
            return (open_mjpeg(address) if is_http else None) or VideoStream(address)
        case SourceKind.FILE:
            from drivers.camera.sources.video import VideoFile  # noqa: PLC0415

            return VideoFile(address)
        case SourceKind.FOLDER:
            return _ImageFolder(address, wanted or _DEFAULT_FPS)
        case SourceKind.RAW:
            return RawSource(address.location)


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
        image = read_image(path)
        if image is None:
            raise LineError(
                f"{path}: no picture that OpenCV can read, of at most {MAX_PIXELS} pixels"
            )
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
        if mark != RAW_MAGIC or not 0 < width * height <= MAX_PIXELS:
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


def open_video(
    source: str,
    size: tuple[int, int],
    username: str | None,
    password_file: str | None,
    folder: Path,
) -> CaptureThread:
    """
    Return the capture of a camera that reads no cards, for witnesses; `start` opens it.

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
    return CaptureThread(str(address), lambda: open_source(address, camera), check, pace)

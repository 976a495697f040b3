"""
Where pictures come from: devices, streams, files, folders, a simulator.

A source is used by one thread, which may hang in it: OpenCV's reads can block for
ever, or go on as if nothing had happened after an unplug. `capture` looks after that.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import cv2

from drivers.camera import raw
from drivers.camera.address import Address, Kind
from drivers.camera.profile import Camera
from drivers.transport import EndOfCaptureError, LineError
from shoe_daemon.errors import UserError

__all__ = ["Source", "open_source"]

_OPEN_PATIENCE: Final = 8000
_READ_PATIENCE: Final = 3000
"""Milliseconds for OpenCV, where it honours them."""

_USUAL_FPS: Final = 30.0
_PICTURES: Final = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff"}


class Source(Protocol):
    """
    Gives one picture after another.
    """

    def read(self) -> tuple[Any, float | None]:
        """
        Return the next picture as it is, and its moment where the source knows it.

        Raises:
            LineError: There is none any more.
        """
        ...

    def check(self) -> None:
        """
        Ask whether it is still there, from another thread.

        Raises:
            LineError: It is not.
        """
        ...

    def close(self) -> None:
        """
        Give it back.
        """
        ...


def open_source(address: Address, camera: Camera, fps: float | None = None) -> Source:
    """
    Open a source in the mode that a profile asks for.

    Raises:
        LineError: It cannot be opened, or not in that mode.
        UserError: It can never be.
    """
    wanted = fps or camera.fps
    match address.kind:
        case Kind.DEVICE:
            return _Device(address, camera, wanted)
        case Kind.STREAM:
            return _Stream(address)
        case Kind.FILE:
            return _File(address)
        case Kind.FOLDER:
            return _Folder(address, wanted or _USUAL_FPS)
        case Kind.RAW:
            return _Raw(address)


class _Video:
    """
    What OpenCV opens.
    """

    def __init__(self, name: str, video: cv2.VideoCapture) -> None:
        self._name = name
        self._video = video

    def _next(self) -> Any:  # noqa: ANN401 - whatever OpenCV gives
        try:
            good, image = self._video.read()
        except cv2.error as error:
            raise LineError(f"{self._name}: {_first_line(error)}") from error
        if not good or image is None:
            raise LineError(f"{self._name}: no picture came: unplugged, or switched off?")
        return image

    def check(self) -> None:
        """
        Nothing is known from outside.
        """

    def close(self) -> None:
        with contextlib.suppress(cv2.error):
            self._video.release()


class _Device(_Video):
    """
    A camera of this machine, through Video4Linux.
    """

    def __init__(self, address: Address, camera: Camera, fps: float | None) -> None:
        self._path = Path(address.where)
        self._number = _device_number(self._path)
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
                f"{self._name}: cannot be opened: another program has it, or it is no camera"
            )
        if camera.format is not None:
            self._video.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*camera.format))
        self._video.set(cv2.CAP_PROP_FRAME_WIDTH, camera.width)
        self._video.set(cv2.CAP_PROP_FRAME_HEIGHT, camera.height)
        if fps is not None:
            self._video.set(cv2.CAP_PROP_FPS, fps)
        self._video.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        self._check_format(camera)
        for name, value in camera.controls.items():
            self._lock(name, value)

    def _check_format(self, camera: Camera) -> None:
        given = _four_letters(self._video.get(cv2.CAP_PROP_FOURCC))
        if camera.format is not None and given and given != camera.format:
            raise LineError(
                f"{self._name}: wrong pixel format: gives {given}; its profile was made with "
                f"{camera.format}"
            )

    def _lock(self, name: str, value: float) -> None:
        number = getattr(cv2, f"CAP_PROP_{name.upper()}", None)
        if number is None:
            raise UserError(f"camera.controls.{name}: OpenCV has no such control")
        self._video.set(number, value)  # many cameras have fewer; the check of the shoe tells

    def read(self) -> tuple[Any, float | None]:
        return self._next(), None

    def check(self) -> None:
        if _device_number(self._path) != self._number:
            raise LineError(f"{self._name}: the path leads to another device now")


class _Stream(_Video):
    """
    A network camera.
    """

    def __init__(self, address: Address) -> None:
        # What waits in a network's buffers is read away by the thread that reads. Options
        # against it would be of the whole process, and cost a file its first pictures.
        patience = [
            cv2.CAP_PROP_OPEN_TIMEOUT_MSEC,
            _OPEN_PATIENCE,
            cv2.CAP_PROP_READ_TIMEOUT_MSEC,
            _READ_PATIENCE,
        ]
        super().__init__(str(address), cv2.VideoCapture(address.where, cv2.CAP_FFMPEG, patience))
        if not self._video.isOpened():
            raise LineError(f"{self._name}: no stream comes from there")

    def read(self) -> tuple[Any, float | None]:
        return self._next(), None


class _File(_Video):
    """
    A video, once.
    """

    def __init__(self, address: Address) -> None:
        path = Path(address.where)
        if not path.is_file():
            raise LineError(f"{path}: no such video")
        super().__init__(str(path), cv2.VideoCapture(str(path), cv2.CAP_FFMPEG))
        if not self._video.isOpened():
            raise LineError(f"{path}: no video that OpenCV can read")
        fps = self._video.get(cv2.CAP_PROP_FPS)
        self._fps = fps if math.isfinite(fps) and fps > 0 else _USUAL_FPS
        self._count = 0

    def read(self) -> tuple[Any, float | None]:
        good, image = self._video.read()
        if not good:
            raise EndOfCaptureError(f"{self._name}: the video is over")
        self._count += 1
        return image, (self._count - 1) / self._fps


class _Folder:
    """
    Pictures of a folder, by their names.
    """

    def __init__(self, address: Address, fps: float) -> None:
        self._name = address.where
        folder = Path(address.where)
        if not folder.is_dir():
            raise LineError(f"{folder}: no such folder")
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _PICTURES)
        if not paths:
            raise LineError(f"{folder}: no pictures in it")
        self._left: Iterator[tuple[int, Path]] = iter(enumerate(paths))
        self._fps = fps

    def read(self) -> tuple[Any, float | None]:
        number, path = next(self._left, (0, None))
        if path is None:
            raise EndOfCaptureError(f"{self._name}: the pictures are over")
        image = cv2.imread(str(path), cv2.IMREAD_COLOR)
        if image is None:
            raise LineError(f"{path}: no picture that OpenCV can read")
        return image, number / self._fps

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Raw:
    """
    A simulator.
    """

    def __init__(self, address: Address) -> None:
        self._name = address.where
        self._connection = raw.reconnect(address.where)

    def read(self) -> tuple[Any, float | None]:
        return raw.receive(self._connection, self._name)

    def check(self) -> None:
        pass

    def close(self) -> None:
        self._connection.close()


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


def _four_letters(value: float) -> str:
    number = int(value) if math.isfinite(value) else 0
    letters = bytes((number >> shift) & 0xFF for shift in (0, 8, 16, 24))
    return letters.decode("ascii") if letters.isalnum() else ""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

"""
Uncompressed frames from another program of this machine, such as a simulator.

One connection to a Unix socket, one frame after another, each with a header of
24 bytes in network order: ``SHOE``, width, height (four bytes each), a reserved
word, seconds as a double. Rows of blue, green and red bytes follow.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
from pathlib import Path
from typing import Final

import numpy as np

from drivers.camera.sources.video_frame import Image
from drivers.transport import LineError
from shoe_daemon.errors import UserError, one_line

__all__ = ["RAW_TIMEOUT_S", "RawSender", "connect", "receive_frame"]

_HEADER: Final = struct.Struct("!4sIIId")
_MAGIC: Final = b"SHOE"
_MAX_SIDE_PX: Final = 8192
"""Maximum side of a frame; a larger one is not a frame."""

RAW_TIMEOUT_S: Final = 10.0
"""Time for which one end waits for the other: a simulator that draws much, or runs on a busy
machine, is slow; that is not a fault of the camera."""


class RawSender:
    """The simulator's end: listens on a path, and sends to the connected reader."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection: socket.socket | None = None
        try:
            # A stale socket is removed; any other file is left alone.
            if path.is_socket():
                path.unlink()
            self._listener.bind(str(path))
        except OSError as error:
            self._listener.close()
            why = error.strerror or error
            raise UserError(f"{path}: cannot listen there: {why}") from error
        self._listener.listen(1)

    @property
    def watched(self) -> bool:
        """True if a reader is connected; accepts a waiting one."""
        while select.select([self._listener], [], [], 0)[0]:
            connection, _ = self._listener.accept()
            self._disconnect()
            connection.settimeout(RAW_TIMEOUT_S)
            self._connection = connection
        return self._connection is not None

    def send(self, image: Image, seconds: float) -> bool:
        """Send a frame to the connected reader; return whether it was sent."""
        if not self.watched or self._connection is None:
            return False
        height, width = image.shape[:2]
        try:
            self._connection.sendall(_HEADER.pack(_MAGIC, width, height, 0, seconds))
            self._connection.sendall(image.tobytes())
        except OSError:
            self._disconnect()
            return False
        return True

    def close(self) -> None:
        """Disconnect the reader and stop listening."""
        self._disconnect()
        self._listener.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connect(path: str) -> socket.socket:
    """
    Connect to a sender.

    Raises:
        LineError: No sender listens there.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(RAW_TIMEOUT_S)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        why = error.strerror or error  # a name that is too long has no number
        raise LineError(f"{path}: nobody sends pictures there: {why}") from error
    return connection


def receive_frame(connection: socket.socket, name: str) -> tuple[Image, float]:
    """
    Receive the next frame and its time stamp.

    Raises:
        LineError: The sender disconnected, sent nothing in time, or sends other data.
    """
    mark, width, height, _, seconds = _HEADER.unpack(
        _receive_exactly(connection, _HEADER.size, name)
    )
    if mark != _MAGIC or not (0 < width <= _MAX_SIDE_PX and 0 < height <= _MAX_SIDE_PX):
        raise LineError(f"{name}: no raw pictures come from there")
    data = _receive_exactly(connection, width * height * 3, name)
    return np.frombuffer(data, np.uint8).reshape(height, width, 3), seconds


def _receive_exactly(connection: socket.socket, size: int, name: str) -> bytearray:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        try:
            got = connection.recv_into(view[have:])
        except TimeoutError as error:
            raise LineError(f"{name}: no picture for {RAW_TIMEOUT_S:g} s") from error
        except OSError as error:
            raise LineError(f"{name}: {one_line(error)}") from error
        if not got:
            raise LineError(f"{name}: closed by the other side")
        have += got
    return data

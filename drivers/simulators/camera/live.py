"""
Plays the simulated table in real time, to a driver that reads it like any camera.

    raw:PATH              raw pictures over a Unix socket: `camera:raw:PATH`
    HOST:PORT             an MJPEG stream: `camera:http://HOST:PORT/`
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Final

import cv2

from drivers.camera.image import Image
from drivers.camera.sources.open_source import RAW_HEADER, RAW_MAGIC, RAW_TIMEOUT_S
from drivers.camera.web import Feed, LocalServer
from drivers.simulators.camera.scene import Scene, Shot
from shoe_daemon.errors import UserError, one_line

_POLL_INTERVAL_S: Final = 0.02
_PORT_COUNT: Final = 65536
_QUALITY: Final = 88
_MAX_READERS: Final = 16


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
    def address(self) -> str:
        """The `port` of a configuration."""
        return f"camera:raw:{self.path}"

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
            self._connection.sendall(RAW_HEADER.pack(RAW_MAGIC, width, height, 0, seconds))
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


class HttpSender:
    """Sends the newest picture to each client over HTTP, as a network camera does."""

    def __init__(self, host: str, port: int) -> None:
        self._feed = Feed((cv2.IMWRITE_JPEG_QUALITY, _QUALITY), _MAX_READERS)
        try:
            self._server = LocalServer((host, port), {"GET ": lambda _: self._feed}, hosts=None)
        except OSError as error:
            raise UserError(f"{host}:{port}: {one_line(error)}") from error
        self._server.start("simulated-camera")

    @property
    def address(self) -> str:
        """The `port` of a configuration."""
        return f"camera:{self._server.url}"

    @property
    def watched(self) -> bool:
        """True while a client is connected."""
        return self._feed.has_readers

    def send(self, image: Image, seconds: float) -> bool:
        """Send a picture to all clients. `seconds` is ignored: MJPEG has no timestamps."""
        del seconds
        self._feed.publish(image)
        return self.watched

    def close(self) -> None:
        """Close the server."""
        self._feed.close()
        self._server.close()


Sender = RawSender | HttpSender


def open_sender(where: str) -> Sender:
    """
    Open the address given to `--live`.

    Raises:
        UserError: The address is invalid or in use.
    """
    if where.startswith("raw:") and where != "raw:":
        return RawSender(Path(where.removeprefix("raw:")))
    host, colon, port = where.rpartition(":")
    if colon and port.isdecimal() and int(port) < _PORT_COUNT:
        return HttpSender(host.strip("[]") or "127.0.0.1", int(port))
    raise UserError(f"--live {where}: expected raw:PATH, or HOST:PORT such as 127.0.0.1:8090")


def play_live(scene: Scene, sender: Sender, stopping: Event) -> Iterator[Shot]:
    """
    Play in real time from the first connection on; yield each picture after sending it.

    Where pictures take longer than their time, the table is dealt more slowly: none is left out.
    """
    while not sender.watched:
        if stopping.wait(_POLL_INTERVAL_S):
            return
    span = 1 / scene.settings.fps
    began, number = time.monotonic(), 0
    while not stopping.is_set():
        shot = scene.shot(number * span)
        if shot is None:
            return
        if shot.image is not None:
            sender.send(shot.image, shot.at)
        yield shot
        number += 1
        late = time.monotonic() - began - number * span
        began += max(0.0, late)
        stopping.wait(max(0.0, -late))

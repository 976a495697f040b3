"""
Plays the simulated table in real time, to a driver that reads it like any camera.

    raw:PATH              raw pictures over a Unix socket: `camera:raw:PATH`
    HOST:PORT             an MJPEG stream: `camera:http://HOST:PORT/`
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from drivers.camera.sources.raw_frames import RawSender
from drivers.simulators.camera.mjpeg_server import JpegStream
from drivers.simulators.camera.scene_renderer import Scene, Shot
from shoe_daemon.errors import UserError

__all__ = ["Sender", "open_sender", "play_live"]

_POLL_INTERVAL_S: Final = 0.02
_PORT_COUNT: Final = 65536


class Sender(Protocol):
    """Sends live pictures."""

    @property
    def address(self) -> str:
        """The `port` of a configuration."""
        ...

    @property
    def watched(self) -> bool:
        """True while a client is connected."""
        ...

    def send(self, image: NDArray[np.uint8], seconds: float) -> bool:
        """Send a picture; return whether a client received it."""
        ...

    def close(self) -> None:
        """Close the sender."""
        ...


class _Raw(RawSender):
    @property
    def address(self) -> str:
        return f"camera:raw:{self.path}"


def open_sender(where: str) -> Sender:
    """
    Open the address given to `--live`.

    Raises:
        UserError: The address is invalid or in use.
    """
    if where.startswith("raw:") and where != "raw:":
        return _Raw(Path(where.removeprefix("raw:")))
    host, colon, port = where.rpartition(":")
    if colon and port.isdecimal() and int(port) < _PORT_COUNT:
        return JpegStream(host.strip("[]") or "127.0.0.1", int(port))
    raise UserError(f"--live {where}: expected raw:PATH, or HOST:PORT such as 127.0.0.1:8090")


def play_live(scene: Scene, sender: Sender, stopping: Event) -> Iterator[Shot]:
    """
    Play in real time from the first connection on; yield each picture after sending it.

    If rendering is too slow, pictures are skipped.
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
        now = time.monotonic() - began
        number = max(number + 1, int(now / span))
        stopping.wait(max(0.0, number * span - now))

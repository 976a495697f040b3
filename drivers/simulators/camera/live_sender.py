"""
Plays the simulated table as it happens, to a driver that reads it like any camera.

    raw:PATH              pictures as they are, over a Unix socket: `camera:raw:PATH`
    HOST:PORT             a stream of JPEGs: `camera:http://HOST:PORT/`
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
    """The simulator's end of a live picture."""

    @property
    def address(self) -> str:
        """What a configuration gives as the port."""
        ...

    @property
    def watched(self) -> bool:
        """Whether somebody looks."""
        ...

    def send(self, image: NDArray[np.uint8], seconds: float) -> bool:
        """Send a picture; tell whether anybody got it."""
        ...

    def close(self) -> None:
        """Go away."""
        ...


class _Raw(RawSender):
    @property
    def address(self) -> str:
        return f"camera:raw:{self.path}"


def open_sender(where: str) -> Sender:
    """
    Open what `--live` names.

    Raises:
        UserError: It names nothing, or is taken.
    """
    if where.startswith("raw:") and where != "raw:":
        return _Raw(Path(where.removeprefix("raw:")))
    host, colon, port = where.rpartition(":")
    if colon and port.isdecimal() and int(port) < _PORT_COUNT:
        return JpegStream(host.strip("[]") or "127.0.0.1", int(port))
    raise UserError(f"--live {where}: expected raw:PATH, or HOST:PORT such as 127.0.0.1:8090")


def play_live(scene: Scene, sender: Sender, stopping: Event) -> Iterator[Shot]:
    """
    Play from the moment when somebody looks, in real time; give each picture once it is sent.

    Where drawing takes too long, pictures are left out; time goes on.
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

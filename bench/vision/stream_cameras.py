"""Loopback cameras that draw the time into each picture, and can fall silent, stop and restart."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import cv2
import numpy as np

from drivers.camera.image import Image
from drivers.simulators.camera.live import HttpSender
from shoe_daemon.errors import UserError
from tests.fakes.rtsp_camera import RtspCamera, StreamState

__all__ = ["CAMERAS", "FPS", "HEIGHT", "WIDTH", "Server", "age", "stamped"]

FPS: Final = 25
WIDTH, HEIGHT = 1280, 720
BITS: Final = 40
SQUARE: Final = 32
"""Bits of the time in milliseconds, and the size of the square for each bit."""

_SYSTEM_PYTHON: Final = "/usr/bin/python3"
_GSTREAMER: Final = Path(__file__).with_name("gstreamer_server.py")
_NO_GSTREAMER: Final = "GStreamer's RTSP server is not installed: see `--help`"


class Server(NamedTuple):
    """Controls of a camera."""

    url: str
    silence: Callable[[], None]
    kill: Callable[[], None]
    start: Callable[[], None]


def stamped() -> Image:
    """Draw the current time into a picture."""
    image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    now = int(time.monotonic() * 1000)
    for bit in range(BITS):
        image[:SQUARE, bit * SQUARE : (bit + 1) * SQUARE] = 255 * (now >> bit & 1)
    return image


def age(image: Image) -> float:
    """Return the age of a picture in milliseconds."""
    middle = SQUARE // 2
    bits = [image[middle, bit * SQUARE + middle].mean() > 127 for bit in range(BITS)]
    return time.monotonic() * 1000 - sum(1 << bit for bit, set_ in enumerate(bits) if set_)


class _Mjpeg:
    """The simulator's MJPEG server with a feed."""

    def __init__(self) -> None:
        self._stream = HttpSender("127.0.0.1", 0)
        self._port = int(self._stream.address.rstrip("/").rpartition(":")[2])
        self._silent = threading.Event()
        self._over = threading.Event()
        threading.Thread(target=self._feed, daemon=True).start()

    def _feed(self) -> None:
        while not self._over.wait(1 / FPS):
            if not self._silent.is_set():
                self._stream.send(stamped(), 0.0)

    def start(self) -> None:
        self._silent.clear()
        with contextlib.suppress(UserError):
            self._stream = HttpSender("127.0.0.1", self._port)

    def kill(self) -> None:
        self._stream.close()

    def server(self) -> Server:
        return Server(self._stream.address, self._silent.set, self.kill, self.start)

    def close(self) -> None:
        self._over.set()
        self._stream.close()


@contextmanager
def _mjpeg() -> Iterator[Server]:
    camera = _Mjpeg()
    try:
        yield camera.server()
    finally:
        camera.close()


def _jpeg() -> bytes:
    return cv2.imencode(".jpg", stamped(), [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()


@contextmanager
def _rtsp_jpeg() -> Iterator[Server]:
    with RtspCamera(_jpeg, FPS) as camera:

        def silence() -> None:
            camera.state = StreamState.SILENT

        def start() -> None:
            camera.state = StreamState.SENDING
            camera.start()

        yield Server(camera.url, silence, camera.stop, start)


class _GStreamer:
    """GStreamer's server as a child process."""

    def __init__(self) -> None:
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """
        Start it, at the same port as before.

        Raises:
            UserError: It is not installed.
        """
        sizes = map(str, (self._port, WIDTH, HEIGHT, FPS, BITS, SQUARE))
        # Isolated, so that no module of ours stands in for one of the system's.
        command = [_SYSTEM_PYTHON, "-I", str(_GSTREAMER), *sizes]
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True)
        except FileNotFoundError:
            raise UserError(_NO_GSTREAMER) from None
        self._process = process
        bound = "" if process.stdout is None else process.stdout.readline().strip()
        if not bound:
            raise UserError(_NO_GSTREAMER)
        self._port = int(bound)

    def silence(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        if self._process is not None:
            # What was stopped has to go on to be killed.
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.communicate()

    def server(self) -> Server:
        url = f"camera:rtsp://127.0.0.1:{self._port}/table"
        return Server(url, self.silence, self.kill, self.start)


@contextmanager
def _rtsp_h264() -> Iterator[Server]:
    camera = _GStreamer()
    try:
        camera.start()
        yield camera.server()
    finally:
        camera.kill()


CAMERAS: Final = {"mjpeg": _mjpeg, "rtsp-jpeg": _rtsp_jpeg, "rtsp-h264": _rtsp_h264}
"""Cameras by name; a UserError says that a program they need is not installed."""

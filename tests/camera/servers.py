"""
Network cameras on loopback, as well or as badly behaved as a test wants them.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Self

import cv2
import numpy as np

from drivers.camera.frames import Image
from tests.camera.scenes import Scene, on

PERIOD = 0.04
BOUNDARY = "seam"
MULTIPART = f"multipart/x-mixed-replace; boundary={BOUNDARY}"


@lru_cache(maxsize=64)
def jpeg(card: str | None = None, number: int = 0, width: int = 1280) -> bytes:
    """
    A picture of the table, with a card on P1 or none; each number has noise of its own.
    """
    image = Scene((on("P1", card),) if card else ()).drawn(number)
    if width != image.shape[1]:
        image = np.asarray(cv2.resize(image, (width, width * 9 // 16)), np.uint8)
    return encoded(image)


def draw_all() -> None:
    """
    Draw before anybody looks: a camera that draws first keeps its reader waiting.
    """
    for number in range(8):
        for card in (None, "AS"):
            jpeg(card, number)
    jpeg("KD", 1)
    jpeg("KD", 1, 640)


def encoded(image: Image) -> bytes:
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


class GoneError(Exception):
    """
    Nobody looks any more, or the camera goes away.
    """


class Visit:
    """
    One who looks.
    """

    def __init__(self, connection: socket.socket, number: int, request: str) -> None:
        self.number = number
        self.request = request
        self._connection = connection

    def header(self, name: str) -> str:
        for line in self.request.splitlines():
            head, _, rest = line.partition(":")
            if head.lower() == name.lower():
                return rest.strip()
        return ""

    def say(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise GoneError from error

    def answer(self, status: str = "200 OK", kind: str = MULTIPART, *more: str) -> None:
        lines = [f"HTTP/1.0 {status}", f"Content-Type: {kind}", *more]
        self.say("\r\n".join([*lines, "", ""]).encode())

    def picture(self, data: bytes, *, told: bool = True) -> None:
        head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\n"
        length = f"Content-Length: {len(data)}\r\n" if told else ""
        self.say(f"{head}{length}\r\n".encode() + data + b"\r\n")
        time.sleep(PERIOD)

    def pictures(self, card: str | None = None, count: int | None = None, **how: bool) -> None:
        number = 0
        while count is None or number < count:
            self.picture(jpeg(card, number % 8), **how)
            number += 1

    def wait(self) -> None:
        """
        Hold the line and say nothing, until the other side hangs up.
        """
        with contextlib.suppress(OSError):
            while self._connection.recv(4096):
                pass


class NetworkCamera:
    """
    Does to each visit what the test says.

    Attributes:
        visits: How many there were.
    """

    def __init__(self, behave: Callable[[Visit], None], port: int = 0) -> None:
        self.visits = 0
        self.behave = behave
        self._port = port
        self._open: list[socket.socket] = []
        self._door: socket.socket | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self.come_back()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_away()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"camera:http://{self.place}/live"

    def come_back(self) -> None:
        door = socket.create_server(("127.0.0.1", self._port))
        self._port = door.getsockname()[1]
        self._door = door
        self._begin(lambda: self._listen(door))

    def go_away(self) -> None:
        """
        Hang up on all, and answer nobody.
        """
        assert self._door is not None
        for each in (self._door, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(60)
        self._door.close()
        self._threads.clear()

    def _begin(self, what: Callable[[], None]) -> None:
        thread = threading.Thread(target=what, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self, door: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = door.accept()
                self.visits += 1
                self._open.append(connection)
                number = self.visits
                self._begin(lambda c=connection, n=number: self._serve(c, n))  # type: ignore[misc]

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(GoneError, OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                data = connection.recv(4096)
                if not data:
                    return
                request += data
            self.behave(Visit(connection, number, request.decode("latin-1")))


def first_then(trouble: Callable[[Visit], None], card: str = "AS") -> Callable[[Visit], None]:
    """
    The table empty and then a trouble for the first who comes; a card on it for all later ones.
    """

    def behave(visit: Visit) -> None:
        visit.answer()
        if visit.number == 1:
            visit.pictures(count=6)
            trouble(visit)
        else:
            visit.pictures(count=4)
            visit.pictures(card)

    return behave


def capture_threads() -> Iterator[threading.Thread]:
    """
    The threads that look through cameras.
    """
    for thread in threading.enumerate():
        if thread.name.startswith("camera-"):
            yield thread

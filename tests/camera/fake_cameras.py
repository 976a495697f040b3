"""Network cameras on loopback, with any fault that a test needs."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache

import cv2
import numpy as np

from drivers.camera.image import Image
from tests.camera.overhead_scene import Scene, on
from tests.fakes.loopback_server import LoopbackServer, read_request

PERIOD = 0.06
BOUNDARY = "seam"
MULTIPART = f"multipart/x-mixed-replace; boundary={BOUNDARY}"


@lru_cache(maxsize=64)
def jpeg(card: str | None = None, number: int = 0, width: int = 1280) -> bytes:
    """An image of the table, with a card on P1 or none; each number has its own noise."""
    image = Scene((on("P1", card),) if card else ()).drawn(number)
    if width != image.shape[1]:
        image = np.asarray(cv2.resize(image, (width, width * 9 // 16)), np.uint8)
    return encoded(image)


@lru_cache(maxsize=4)
def dark_jpeg(grey: int) -> bytes:
    """An image as of a covered lens."""
    return encoded(np.full((720, 1280, 3), grey, np.uint8))


def draw_all() -> None:
    """Draw in advance, so that no reader waits for the drawing."""
    for number in range(4):
        for card in (None, "AS"):
            jpeg(card, number)
    jpeg("KD", 1)
    jpeg("KD", 1, 640)


def encoded(image: Image) -> bytes:
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


class Visit:
    """One connected reader."""

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
        self._connection.sendall(data)

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
            self.picture(jpeg(card, number % 4), **how)
            number += 1

    def wait(self) -> None:
        """Send nothing until the reader disconnects."""
        with contextlib.suppress(OSError):
            while self._connection.recv(4096):
                pass


class NetworkCamera(LoopbackServer):
    """Serves each visit with the behaviour of the test."""

    def __init__(self, behave: Callable[[Visit], None]) -> None:
        super().__init__()
        self._behave = behave

    @property
    def url(self) -> str:
        return f"camera:http://{self.address}/live"

    def serve(self, connection: socket.socket, number: int, /) -> None:
        self._behave(Visit(connection, number, read_request(connection)))


def first_then(trouble: Callable[[Visit], None], card: str = "AS") -> Callable[[Visit], None]:
    """An empty table and then a fault for the first visit; a card on the table for later ones."""

    def behave(visit: Visit) -> None:
        visit.answer()
        if visit.number == 1:
            visit.pictures(count=6)
            trouble(visit)
        else:
            visit.pictures(count=4)
            visit.pictures(card)

    return behave


def asks_for_a_digest(visit: Visit) -> None:
    """Frames for ``admin`` with the password ``s#c:ret``, which is never sent itself."""

    def md5(text: str) -> str:
        return hashlib.md5(text.encode()).hexdigest()  # noqa: S324 - what the protocol is made of

    told = dict(
        part.strip().replace('"', "").split("=", 1)
        for part in visit.header("Authorization").removeprefix("Digest ").split(",")
        if "=" in part
    )
    key = md5("admin:camera:s#c:ret") + f":n0nce:{told.get('nc')}:{told.get('cnonce')}:auth:"
    known = told.get("response") == md5(key + md5("GET:/live"))
    _show(visit, 'Digest realm="camera", nonce="n0nce", qop="auth"', known=known)


def asks_for_a_password(visit: Visit) -> None:
    """The same with basic authentication."""
    word = base64.b64encode(b"admin:s#c:ret").decode()
    known = visit.header("Authorization") == f"Basic {word}"
    _show(visit, 'Basic realm="camera"', known=known)


def _show(visit: Visit, ask: str, *, known: bool) -> None:
    if known:
        visit.answer()
        visit.pictures("AS")
    else:
        asking = f"WWW-Authenticate: {ask}"
        visit.answer("401 Unauthorized", "text/html", "Content-Length: 0", asking)


def capture_threads() -> Iterator[threading.Thread]:
    """The running capture threads."""
    for thread in threading.enumerate():
        if thread.name.startswith("camera-"):
            yield thread

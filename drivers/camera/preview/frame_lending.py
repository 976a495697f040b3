"""
The pictures of a running camera as they are, for another program of this machine: a camera
has one user at a time, and `calibrate camera --check` is to compare what that one sees.

They go out as JPEGs one after the other, of a quality at which no figure of that check
differs by more than two thousandths; as PNGs each would take ten times as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Final

import cv2

from drivers.camera.sources.frame_quality import Image

__all__ = ["BOUNDARY", "Lender", "lend"]

BOUNDARY: Final = "picture"
_MOST: Final = 2
"""Who borrow at the same time: each takes 5 ms of a core for a picture of 1280x720."""

_SILENT: Final = 5.0
"""Seconds without a picture after which a stream is ended: whoever left is noticed."""

_FORM: Final = (
    cv2.IMWRITE_JPEG_QUALITY,
    98,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)


class Lender:
    """
    Holds the newest picture while somebody borrows, and nothing else.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._newest: Image | None = None
        self._count = 0
        self._borrowers = 0
        self._closed = False

    def give(self, image: Image) -> None:
        """
        Take the newest picture.
        """
        if not self._borrowers:
            return
        with self._changed:
            self._newest, self._count = image, self._count + 1
            self._changed.notify_all()

    def close(self) -> None:
        """
        End all streams.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def enter(self) -> bool:
        """
        Let one more borrow; tell whether there is room.
        """
        with self._changed:
            if self._closed or self._borrowers >= _MOST:
                return False
            self._borrowers += 1
            return True

    def leave(self) -> None:
        """
        One borrows no longer.
        """
        with self._changed:
            self._borrowers -= 1
            if not self._borrowers:
                self._newest = None

    def pictures(self) -> Iterator[bytes]:
        """
        Give each new picture as a JPEG, until none comes any more.
        """
        seen = self._count
        while (found := self._next(seen)) is not None:
            image, seen = found
            done, data = cv2.imencode(".jpg", image, _FORM)
            if done:
                yield data.tobytes()

    def _next(self, seen: int) -> tuple[Image, int] | None:
        until = time.monotonic() + _SILENT
        with self._changed:
            while self._count == seen and not self._closed:
                if not self._changed.wait(max(0.0, until - time.monotonic())):
                    return None
            if self._closed or self._newest is None:
                return None
            return self._newest, self._count


def lend(lender: Lender, handler: BaseHTTPRequestHandler, headers: dict[str, str]) -> None:
    """
    Write picture after picture to one who borrows; he must have entered.
    """
    try:
        handler.send_response(HTTPStatus.OK)
        kind = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        for name, value in {**headers, "Content-Type": kind, "Connection": "close"}.items():
            handler.send_header(name, value)
        handler.end_headers()
        for data in lender.pictures():
            head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}"
            handler.wfile.write(head.encode() + b"\r\n\r\n" + data + b"\r\n")
    finally:
        lender.leave()

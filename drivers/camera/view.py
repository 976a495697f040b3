"""
What a camera sees and what was read in it, in a browser of this machine.

Pictures are made only while somebody looks. Nothing is kept, nothing can be ordered.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

import cv2

from drivers.camera.frames import Image
from drivers.camera.listening import LOOPBACK, check_listen
from drivers.camera.looks import Look, drawn
from shoe_daemon.errors import UserError

__all__ = ["View"]

_WANTED: Final = 3.0
"""Seconds after somebody's last question for which pictures are kept for him."""

_QUALITY: Final = 82
_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FILES: Final = {
    "/": ("look.html", "text/html; charset=utf-8"),
    "/look.js": ("look.js", "text/javascript; charset=utf-8"),
    "/look.css": ("look.css", "text/css; charset=utf-8"),
}


class View:
    """
    One camera's view, from when it is made to `close`.
    """

    def __init__(self, listen: str, name: str) -> None:
        """
        Args:
            listen: Host and port.
            name: What the picture is of.

        Raises:
            UserError: It cannot listen there.
        """
        address = check_listen(listen)
        self.name = name
        self._asked = float("-inf")
        self._shown: tuple[Image, list[Look]] | None = None
        self._lock = threading.Lock()
        try:
            self._server = _Server(address, _Handler)
        except OSError as error:
            raise UserError(f"options.view: {listen}: {error.strerror or error}") from error
        self._server.view = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="camera-view", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """
        Where it listens.
        """
        return int(self._server.server_address[1])

    @property
    def wanted(self) -> bool:
        """
        Whether somebody looks.
        """
        return time.monotonic() - self._asked < _WANTED

    def show(self, image: Image, looks: Callable[[], list[Look]]) -> None:
        """
        Take the newest picture, and ask what is known of its places where that is wanted.
        """
        if self.wanted or self._shown is None:
            found = looks()
            with self._lock:
                self._shown = image, found

    def picture(self) -> bytes | None:
        """
        Give the newest picture, drawn over, as a JPEG.
        """
        self._asked = time.monotonic()
        with self._lock:
            shown = self._shown
        if shown is None:
            return None
        done, data = cv2.imencode(".jpg", drawn(*shown), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        return data.tobytes() if done else None

    def close(self) -> None:
        """
        Stop listening.
        """
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    view: View


class _Handler(BaseHTTPRequestHandler):
    server_version = "shoe-daemon"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 20

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not self._is_for_us():
            self._answer(HTTPStatus.BAD_REQUEST, b"", "text/plain")
        elif path == "/picture.jpg":
            self._picture()
        elif path in _FILES:
            name, kind = _FILES[path]
            page = resources.files("drivers.camera").joinpath("pages", name).read_bytes()
            self._answer(HTTPStatus.OK, page, kind)
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"", "text/plain")

    def _is_for_us(self) -> bool:
        # A page of somebody else's, whose name leads here, is told nothing.
        host = self.headers.get("Host", "").rpartition(":")[0].strip("[]")
        return host in LOOPBACK

    def _picture(self) -> None:
        server = self.server
        data = server.view.picture() if isinstance(server, _Server) else None
        if data is None:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"", "text/plain")
        else:
            self._answer(HTTPStatus.OK, data, "image/jpeg")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _CSP)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """
        Say nothing.
        """

"""
The pictures of a running camera as they are, for another program of this machine: a camera
has one user at a time, and `calibrate camera --check` is to compare what that one sees.

They go out as JPEGs one after the other, of a quality at which no figure of that check
differs by more than two thousandths; as PNGs each would take ten times as long.

What a camera sees and what was read in it, in a browser of this machine.

Pictures are made only while somebody looks. Nothing is kept, nothing can be ordered. What it
sees, with nothing drawn over, is lent to another program of this machine: ``/plain``.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

import cv2
import structlog

from drivers.camera.preview.loopback_address import LOOPBACK, check_listen
from drivers.camera.preview.overlay import Look, drawn
from drivers.camera.sources.frame_quality import Image

__all__ = ["BOUNDARY", "Lender", "View", "lend"]

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


_WANTED: Final = 3.0
"""Seconds after somebody's last question for which pictures are kept for him."""

_FRESH: Final = 3.0
"""Seconds for which a picture is shown as what the camera sees now."""

_PATIENCE: Final = 1.0
"""Seconds for which the next picture is waited for, where the last one is older."""

_TRY_AGAIN: Final = 10.0
"""Seconds after which a port is tried again that somebody else had."""

_QUALITY: Final = 82
_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_GUARD: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FILES: Final = {
    "/": ("look.html", "text/html; charset=utf-8"),
    "/look.js": ("look.js", "text/javascript; charset=utf-8"),
    "/look.css": ("look.css", "text/css; charset=utf-8"),
}


_log = structlog.get_logger(__name__)


class View:
    """
    One camera's view, from when it is made to `close`.

    Where somebody else has its port it waits for that: the camera reads all the same.
    """

    def __init__(self, listen: str, name: str) -> None:
        """
        Args:
            listen: Host and port.
            name: What the picture is of.

        Raises:
            UserError: That is nowhere, or could be seen by others.
        """
        self._address = check_listen(listen)
        self.name = name
        self.lender = Lender()
        self._asked = float("-inf")
        self._shown: tuple[Image, list[Look]] | None = None
        self._since = float("-inf")
        self._changed = threading.Condition()
        self._server: _Server | None = None
        self._tried = float("-inf")
        self._said = False
        self._listen()

    def _listen(self) -> None:
        self._tried = time.monotonic()
        try:
            self._server = _Server(self._address, self)
        except OSError as error:
            if not self._said:
                self._said = True
                _log.warning(
                    "view_not_there",
                    listen="{}:{}".format(*self._address),
                    reason=error.strerror or str(error),
                )
            return
        threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="camera-view", daemon=True
        ).start()

    @property
    def port(self) -> int:
        """
        Where it listens.
        """
        address = self._server.server_address if self._server else self._address
        return int(address[1])

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
        if self._server is None and time.monotonic() - self._tried >= _TRY_AGAIN:
            self._listen()
        self.lender.give(image)
        if self.wanted or self._shown is None:
            found = looks()
            with self._changed:
                self._shown, self._since = (image, found), time.monotonic()
                self._changed.notify_all()

    def picture(self) -> bytes | None:
        """
        Give what the camera sees now, drawn over, as a JPEG; None where no picture comes.
        """
        self._asked = time.monotonic()
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_fresh, _PATIENCE):
                return None
            shown = self._shown
        if shown is None:
            return None
        done, data = cv2.imencode(".jpg", drawn(*shown), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        return data.tobytes() if done else None

    @property
    def _is_fresh(self) -> bool:
        return time.monotonic() - self._since < _FRESH

    def close(self) -> None:
        """
        Stop listening, and part from those who look.
        """
        self.lender.close()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.part()
            self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], view: View) -> None:
        self.view = view
        self._open: set[Any] = set()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as socketserver gives them
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - as above
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """
        Say nothing of people who went away.
        """
        if not isinstance(sys.exception(), OSError):
            _log.warning("view_failed", exc_info=True)

    def part(self) -> None:
        """
        End what connections there are: nobody must go on being shown the last picture.
        """
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


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
        elif path == "/plain":
            self._plain()
        elif path in _FILES:
            name, kind = _FILES[path]
            page = resources.files("drivers.camera.preview").joinpath("pages", name).read_bytes()
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

    def _plain(self) -> None:
        server = self.server
        if isinstance(server, _Server) and server.view.lender.enter():
            lend(server.view.lender, self, _GUARD)
        else:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"", "text/plain")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in _GUARD.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """
        Say nothing.
        """

"""
The live page's server: gives the page, the camera's picture and what lies over it to a browser
of this machine, and takes orders from it.

Everything is below a secret path; what is changed is sent with the secret in a header,
which no page of another site can send. What is shown, and what becomes of an order, is the
desk's (`desk`).
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import msgspec

from calibration.camera.wizard_state import Desk, Order

__all__ = ["LivePage"]

_STATIC: Final = Path(__file__).parent / "static"
_FILES: Final = {
    "": ("live.html", "text/html; charset=utf-8"),
    "live.js": ("live.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "live.css": ("live.css", "text/css; charset=utf-8"),
}
_POLICY: Final = (
    "default-src 'none'; img-src 'self'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MOST: Final = 4096
"""Bytes of an order."""


class LivePage:
    """
    Serves the page on loopback, at a port that is free.

    Attributes:
        url: Where it is; whoever knows it sees the camera.
    """

    def __init__(self, desk: Desk) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.desk = desk
        self._server.secret = secrets.token_urlsafe(18)
        port = int(self._server.server_address[1])
        self._server.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.url = f"http://127.0.0.1:{port}/{self._server.secret}/"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        ).start()

    def close(self) -> None:
        """
        Go away.
        """
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    desk: Desk
    secret: str
    hosts: set[str]


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 20

    def do_GET(self) -> None:
        """
        Give the page, its parts, the picture or the state.
        """
        with contextlib.suppress(OSError):
            self._get()

    def do_POST(self) -> None:
        """
        Take an order, if the page itself sends it.
        """
        with contextlib.suppress(OSError):
            self._post()

    def _get(self) -> None:
        name = self._name()
        if name is None:
            self._fail(HTTPStatus.NOT_FOUND)
        elif name == "picture.jpg":
            self._give(self.server.desk.picture(), "image/jpeg")
        elif name == "state":
            state = self.server.desk.state()
            self._give(json.dumps(state).encode(), "application/json")
            self.server.desk.shown(state)
        elif name in _FILES:
            file, kind = _FILES[name]
            self._give((_STATIC / file).read_bytes(), kind)
        else:
            self._fail(HTTPStatus.NOT_FOUND)

    def _name(self) -> str | None:
        if self.headers.get("Host") not in self.server.hosts:
            return None
        _, secret, *rest = [*self.path.partition("?")[0].split("/", 2), ""][:3]
        return (
            rest[0]
            if secrets.compare_digest(secret.encode(), self.server.secret.encode())
            else None
        )

    def _post(self) -> None:
        told = self.headers.get("X-Calibration", "")
        same = secrets.compare_digest(told.encode(), self.server.secret.encode())
        kind = self.headers.get("Content-Type", "")
        if self._name() != "do" or not same or kind != "application/json":
            self._fail(HTTPStatus.FORBIDDEN)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST:
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            order = msgspec.json.decode(self.rfile.read(int(length)), type=Order)
        except msgspec.DecodeError:
            self._fail(HTTPStatus.BAD_REQUEST)
            return
        self.server.desk.take(order)
        self._give(json.dumps(self.server.desk.state()).encode(), "application/json")

    def _give(self, data: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self._heads(kind, len(data))
        self.wfile.write(data)

    def _fail(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self.send_response(status)
        self._heads("text/plain; charset=utf-8", 0)

    def _heads(self, kind: str, length: int) -> None:
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(length)),
            ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """
        Say nothing.
        """

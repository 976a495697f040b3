"""
Web server for browsers and programs of this machine: the preview, the page of a calibration, and
a simulated network camera.

A request names its route: method and path, such as ``GET state``. Responses are not cached and
load nothing from other sites. A server with a secret has everything below a secret path, and
accepts commands: JSON with the secret in a header, which a page of another site cannot send.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

import cv2
import structlog

from drivers.camera.image import Image
from shoe_daemon.web import LOOPBACK_HOSTS, SECURITY_HEADERS, is_known_host

_POLL_INTERVAL_S: Final = 0.1
_MAX_COMMAND_BYTES: Final = 4096

_CONTENT_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

_BOUNDARY: Final = "picture"
_FEED_TIMEOUT_S: Final = 5.0
"""Time without a frame after which a stream is ended, so that a closed connection is noticed."""

_log = structlog.get_logger(__name__)


class Reply(NamedTuple):
    """
    A response.

    Attributes:
        sent: Called after it was sent.
    """

    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK
    sent: Callable[[], None] = lambda: None


class Feed:
    """
    Passes the newest frame as a JPEG to each of its readers; without readers it keeps no frame.

    Args:
        jpeg_options: Options of OpenCV.
        max_readers: Each takes 5 ms of a core for a frame of 1280x720.
    """

    def __init__(self, jpeg_options: Sequence[int], max_readers: int) -> None:
        self._jpeg_options = jpeg_options
        self._max_readers = max_readers
        self._changed = threading.Condition()
        self._newest: Image | None = None
        self._count = 0
        self._readers = 0
        self._closed = False

    @property
    def has_readers(self) -> bool:
        """True while there is a reader."""
        return self._readers > 0

    def publish(self, image: Image) -> None:
        """Pass on the newest frame."""
        if not self._readers:
            return
        with self._changed:
            self._newest, self._count = image, self._count + 1
            self._changed.notify_all()

    def close(self) -> None:
        """End all streams."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def add_reader(self) -> bool:
        """Add a reader; False if the feed is closed or has `max_readers`."""
        with self._changed:
            if self._closed or self._readers >= self._max_readers:
                return False
            self._readers += 1
            return True

    def remove_reader(self) -> None:
        """Remove a reader."""
        with self._changed:
            self._readers -= 1
            if not self._readers:
                self._newest = None

    def jpegs(self) -> Iterator[bytes]:
        """Yield each new frame as a JPEG, until no frame comes in time."""
        count = self._count
        while (found := self._next(count)) is not None:
            image, count = found
            done, data = cv2.imencode(".jpg", image, self._jpeg_options)
            if done:
                yield data.tobytes()

    def _next(self, count: int) -> tuple[Image, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._count != count or self._closed, _FEED_TIMEOUT_S)
            if self._closed or self._newest is None or self._count == count:
                return None
            return self._newest, self._count


Routes = Mapping[str, Callable[[bytes], Reply | Feed]]
"""By method and path: what answers a request, given its body."""


def page_routes(folder: Path, page: str, *others: str) -> Routes:
    """Return the routes of a page in a folder, and of the files beside it that it loads."""
    names = {"": page} | {name: name for name in others}
    return {f"GET {path}": partial(_read_file, folder / name) for path, name in names.items()}


def _read_file(path: Path, _body: bytes) -> Reply:
    return Reply(path.read_bytes(), _CONTENT_TYPES[path.suffix])


class LocalServer(ThreadingHTTPServer):
    """
    Serves requests in threads, from `start` to `close`.

    Args:
        hosts: Accepted hosts of a request; None accepts all.
        secret: Whether everything is below a secret path.

    Raises:
        OSError: The address is in use, or is not one of this machine.
    """

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        routes: Routes,
        *,
        hosts: Collection[str] | None = LOOPBACK_HOSTS,
        secret: bool = False,
    ) -> None:
        self.routes = routes
        self.hosts = hosts
        self.secret = secrets.token_urlsafe(18) if secret else ""
        self._connections: set[Any] = set()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        host = str(self.server_address[0])
        path = f"{self.secret}/" if self.secret else ""
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{path}"

    def start(self, name: str) -> None:
        """Serve in a thread of this name."""
        threading.Thread(
            target=self.serve_forever, args=(_POLL_INTERVAL_S,), name=name, daemon=True
        ).start()

    def close(self) -> None:
        """Stop listening and end all connections, so that no browser shows an old image."""
        self.shutdown()
        self.server_close()
        for each in list(self._connections):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as socketserver gives them
        """Remember the connection, and process the request."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - as above
        """Forget the connection, and close it."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """Log an error, unless the client closed its connection."""
        if not isinstance(sys.exception(), OSError):
            _log.warning("page_request_failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    server_version = "shoe-daemon"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 20

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get("Content-Type", "") == "application/json"
        if not (is_json and self._is_secret(self.headers.get("X-Secret", ""))):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif not length.isdecimal() or int(length) > _MAX_COMMAND_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._answer(self.rfile.read(int(length)))

    def _answer(self, body: bytes) -> None:
        hosts = self.server.hosts
        if hosts is not None and not is_known_host(self.headers.get_all("Host", []), hosts):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        path = self.path.partition("?")[0].removeprefix("/")
        if self.server.secret:
            secret, _, path = path.partition("/")
            if not self._is_secret(secret):
                self._refuse(HTTPStatus.NOT_FOUND)
                return
        route = self.server.routes.get(f"{self.command} {path}")
        if route is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        elif isinstance(found := route(body), Feed):
            self._send_feed(found)
        else:
            self._respond(found)
            found.sent()

    def _is_secret(self, text: str) -> bool:
        secret = self.server.secret
        return bool(secret) and secrets.compare_digest(text.encode(), secret.encode())

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._respond(Reply(status=status))

    def _respond(self, reply: Reply) -> None:
        self._send_head(
            reply.status,
            {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body))},
        )
        with contextlib.suppress(OSError):
            self.wfile.write(reply.body)

    def _send_head(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, **SECURITY_HEADERS, "Cache-Control": "no-store"}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_feed(self, feed: Feed) -> None:
        if not feed.add_reader():
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        self.close_connection = True
        try:
            content_type = f"multipart/x-mixed-replace; boundary={_BOUNDARY}"
            self._send_head(HTTPStatus.OK, {"Content-Type": content_type, "Connection": "close"})
            for jpeg in feed.jpegs():
                head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
                self.wfile.write(head.encode() + b"\r\n\r\n" + jpeg + b"\r\n")
        finally:
            feed.remove_reader()

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """Log no requests."""

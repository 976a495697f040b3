"""HTTP server that only browsers and programs of this machine can reach."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

import structlog

from shoe_daemon.errors import UserError

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
_PORT_COUNT: Final = 65536
_POLL_INTERVAL_S: Final = 0.1

_log = structlog.get_logger(__name__)


def parse_listen_address(listen: str) -> tuple[str, int]:
    """Parse the option ``view``; a `UserError` unless it is an address of this machine alone."""
    host, colon, port = listen.rpartition(":")
    host = host.strip("[]")
    is_port = port.isascii() and port.isdecimal() and int(port) < _PORT_COUNT
    if not (colon and is_port and host in LOOPBACK_HOSTS):
        raise UserError(
            f"options.view: {listen!r}; expected an address of this machine alone, such as "
            "127.0.0.1:8091"
        )
    return host, int(port)


class LoopbackServer(ThreadingHTTPServer):
    """Serves requests in threads, from `start` to `close`."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[LoopbackHandler]) -> None:
        self._connections: set[Any] = set()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self.server_address[1])

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
            _log.warning("preview_request_failed", exc_info=True)


class LoopbackHandler(BaseHTTPRequestHandler):
    """
    Sends responses that load nothing from other sites and are not cached.

    Attributes:
        content_security_policy: What the page may load; a subclass sets it.
    """

    content_security_policy: ClassVar[str]
    server_version = "shoe-daemon"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 20

    def send_headers(self, headers: Mapping[str, str]) -> None:
        """Send these headers and those of every response."""
        common = {
            "Cache-Control": "no-store",
            "Content-Security-Policy": self.content_security_policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in {**headers, **common}.items():
            self.send_header(name, value)
        self.end_headers()

    def respond(
        self, status: HTTPStatus, body: bytes = b"", content_type: str = "text/plain"
    ) -> None:
        """Send a whole response."""
        self.send_response(status)
        self.send_headers({"Content-Type": content_type, "Content-Length": str(len(body))})
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """Log no requests."""

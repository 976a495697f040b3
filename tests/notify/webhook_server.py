"""A real HTTP server that receives webhooks, on a free loopback port."""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self

__all__ = ["Received", "WebhookServer"]


class Received(NamedTuple):
    """A message: its headers in lower case, and its body."""

    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - a JSON object
        """The body, decoded."""
        return json.loads(self.body)


class WebhookServer:
    """
    Receives messages from `__enter__` to `__exit__`; with TLS if it has a certificate.

    Attributes:
        status: What it answers.
        received: All messages, refused ones too.
    """

    def __init__(self, certificate: Path | None = None, key: Path | None = None) -> None:
        self.status = 200
        self.received: list[Received] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.received.append(Received(headers, body))
                self.send_response(server.status)
                if server.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815 - as http.server names it

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}/shoe"

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """The bodies of all messages, decoded."""
        return [each.json for each in self.received]

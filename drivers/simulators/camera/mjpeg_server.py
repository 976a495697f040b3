"""An MJPEG stream over HTTP, like a network camera's."""

from __future__ import annotations

import contextlib
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from shoe_daemon.errors import UserError, one_line

__all__ = ["JpegStream"]

_QUALITY: Final = 88
_BOUNDARY: Final = "picture"
_WAIT_S: Final = 1.0


class JpegStream:
    """Sends the newest picture to each client."""

    def __init__(self, host: str, port: int) -> None:
        self._newest = b""
        self._count = 0
        self._watchers = 0
        self._closed = False
        self._changed = threading.Condition()
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            raise UserError(f"{host}:{port}: {one_line(error)}") from error
        self._server.stream = self
        self._where = self._server.server_address
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """The `port` of a configuration."""
        return f"camera:http://{self._where[0]!s}:{self._where[1]}/"

    @property
    def watched(self) -> bool:
        """True while a client is connected."""
        return self._watchers > 0

    def send(self, image: NDArray[np.uint8], seconds: float) -> bool:
        """Send a picture to all clients. `seconds` is ignored: MJPEG has no timestamps."""
        del seconds
        if not self.watched:
            return False
        done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        with self._changed:
            self._newest, self._count = data.tobytes(), self._count + 1
            self._changed.notify_all()
        return bool(done)

    def close(self) -> None:
        """Close the server."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def pictures(self, handler: BaseHTTPRequestHandler) -> None:
        """Write pictures to one client."""
        with self._changed:
            self._watchers += 1
        seen = 0
        try:
            while (found := self._next(seen)) is not None:
                data, seen = found
                head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}"
                handler.wfile.write(head.encode() + b"\r\n\r\n" + data + b"\r\n")
        finally:
            with self._changed:
                self._watchers -= 1

    def _next(self, seen: int) -> tuple[bytes, int] | None:
        with self._changed:
            while self._count == seen and not self._closed:
                self._changed.wait(_WAIT_S)
            return None if self._closed else (self._newest, self._count)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stream: JpegStream


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
        self.end_headers()
        server = self.server
        if isinstance(server, _Server):
            with contextlib.suppress(OSError):
                server.stream.pictures(self)

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """Suppress the access log."""

"""
MJPEG over HTTP: the multipart stream of JPEGs that most network cameras offer.

FFmpeg reads such streams too. But it completes half a frame from the previous one, scales a
frame of another size to the first one, and does not report why nothing arrives. Here a frame
is complete or dropped, keeps its size, and a refusal is reported in the server's words.

urllib does login and redirects. httpx, requests and urllib3 would replace only that: they have
a timeout for each read, no deadline for all of them, and no reader of endless multipart streams.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from email.message import Message
from functools import partial
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import (
    HTTPBasicAuthHandler,
    HTTPDefaultErrorHandler,
    HTTPDigestAuthHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPPasswordMgrWithDefaultRealm,
    HTTPRedirectHandler,
    OpenerDirector,
    Request,
)

import cv2
import numpy as np

from drivers.camera.image import Image
from drivers.camera.sources.address import (
    Address,
    error_text,
    no_stream_text,
    status_text,
)
from drivers.camera.sources.capture import Source
from drivers.transport import LineError

_OPEN_TIMEOUT_S: Final = 4.0
_FRAME_TIMEOUT_S: Final = 3.0
"""Time for the server's response, including login and redirects, and for each frame."""

_MAX_DAMAGED_S: Final = 2.0
"""Time for which damaged frames are tolerated."""

_RECEIVE_BUFFER_BYTES: Final = 1 << 18
"""Receive buffer of the socket: older frames must not pile up."""

_MAX_JPEG_BYTES: Final = 1 << 25
_MAX_LINE_BYTES: Final = 1 << 16
"""Maximum size of a frame, and of a line of a header."""

_MAX_PADDING_BYTES: Final = 1024
"""Bytes that a camera may append to a JPEG."""

_PAGE_TYPES: Final = ("text/", "application/json", "application/xml", "application/xhtml")
_PLAYLIST_SUFFIXES: Final = (".m3u8", ".mpd")


class MjpegStream(Source):
    """An open stream."""

    def __init__(
        self,
        name: str,
        connection: _DeadlineSocket,
        answer: http.client.HTTPResponse,
        boundary: str,
    ) -> None:
        self._name = name
        self._connection = connection
        self._response = answer
        self._boundary = boundary.strip('"-').encode("latin-1", "replace")
        self._in_header = False
        self._damaged, self._read_began = 0, 0.0

    def read(self) -> tuple[Image, None]:
        """Return the next complete image; such streams have no time stamps."""
        self._read_began, self._damaged = time.monotonic(), 0
        self._connection.deadline = self._read_began + _FRAME_TIMEOUT_S
        while True:
            try:
                image = _decode(self._read_part())
            except TimeoutError as error:
                self.check()
                raise LineError(f"{self._name}: no picture for {_FRAME_TIMEOUT_S:g} s") from error
            except (OSError, http.client.HTTPException, ValueError) as error:
                why = error_text(error)
                raise LineError(f"{self._name}: the stream broke off: {why}") from error
            if image is not None:
                self._damaged = 0
                return image, None
            self._damaged += 1
            self.check()

    def check(self) -> None:
        """Check that complete images arrive."""
        if self._damaged and (silent := time.monotonic() - self._read_began) > _MAX_DAMAGED_S:
            raise LineError(
                f"{self._name}: no whole picture for {silent:.1f} s: {self._damaged} came damaged"
            )

    def interrupt(self) -> None:
        """Interrupt a blocked read."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.interrupt()
        with contextlib.suppress(OSError):
            self._response.close()
        self._connection.close()

    def _read_part(self) -> bytes:
        size = self._read_part_header()
        if size is not None:
            data = self._response.read(size)
            if len(data) < size:
                raise LineError(f"{self._name}: closed by the other side in mid-picture")
            return data
        return self._read_to_boundary()

    def _read_part_header(self) -> int | None:
        """Skip to the end of the next part's header; return its content length, if it has one."""
        size: int | None = None
        while line := self._response.readline(_MAX_LINE_BYTES):
            text = line.strip()
            if self._is_boundary(text):
                self._in_header, size = True, None
            elif not text and self._in_header:
                self._in_header = False
                return size
            elif self._in_header and text.lower().startswith(b"content-length:"):
                value = text[15:].strip()
                # An invalid length is ignored: the boundary ends the part.
                size = min(int(value), _MAX_JPEG_BYTES) if value.isdigit() else None
        raise LineError(f"{self._name}: closed by the other side")

    def _read_to_boundary(self) -> bytes:
        data = bytearray()
        while (line := self._response.readline(_MAX_LINE_BYTES)) and len(data) < _MAX_JPEG_BYTES:
            if self._is_boundary(line.strip()):
                self._in_header = True
                break
            data += line
            if line.rstrip(b"\r\n").endswith(b"\xff\xd9"):
                break  # the boundary may come only with the next picture
        return bytes(data)

    def _is_boundary(self, text: bytes) -> bool:
        # Some cameras include the dashes in the boundary's name, and some write them twice.
        return text.startswith(b"--") and text.strip(b"-") == self._boundary


def _decode(data: bytes) -> Image | None:
    """Decode an image; None where it is incomplete or not a JPEG."""
    end = data.rfind(b"\xff\xd9")
    if not data.startswith(b"\xff\xd8") or end < 0 or len(data) - end > _MAX_PADDING_BYTES:
        return None
    flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    image = None
    with contextlib.suppress(cv2.error):  # a damaged header gives too many pixels
        image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    return None if image is None else np.asarray(image, np.uint8)


def open_mjpeg(address: Address) -> MjpegStream | None:
    """Open an MJPEG stream; None if it is of another kind, a `LineError` if there is none."""
    visit = _ConnectionTracker(deadline=time.monotonic() + _OPEN_TIMEOUT_S)
    try:
        answer = _opener(address, visit).open(_request(address), timeout=_OPEN_TIMEOUT_S)
    except HTTPError as error:
        error.close()
        visit.close_all()
        why = status_text(error.code, str(error.reason))
        raise LineError(no_stream_text(address, why)) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        visit.close_all()
        why = error_text(error.reason if isinstance(error, URLError) else error)
        raise LineError(no_stream_text(address, why)) from error
    visit.close_all(but=answer)
    kind: Message = answer.headers
    if kind.get_content_maintype() == "multipart":
        boundary = str(kind.get_param("boundary") or "")
        return MjpegStream(str(address), visit.connections[-1], answer, boundary)
    answer.close()
    _check_content_type(address, kind.get_content_type() if "content-type" in kind else "")
    return None


def _check_content_type(address: Address, kind: str) -> None:
    path = urlsplit(address.location).path.lower()
    if kind.startswith(_PAGE_TYPES) and not path.endswith(_PLAYLIST_SUFFIXES):
        why = f"a page ({kind}), no pictures: is the path right?"
        raise LineError(no_stream_text(address, why))
    if kind.startswith("image/"):
        why = f"one picture ({kind}), no stream: is the path right?"
        raise LineError(no_stream_text(address, why))


def _request(address: Address) -> Request:
    parts = urlsplit(address.location)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    return Request(bare, headers={"Accept": "*/*"})  # noqa: S310 - it is http: see `_Stream`


def _opener(address: Address, visit: _ConnectionTracker) -> OpenerDirector:
    """Return an opener for http only, without proxies: a camera is on the table's own network."""
    parts = urlsplit(address.location)
    passwords = HTTPPasswordMgrWithDefaultRealm()
    if parts.username is not None:
        name, password = unquote(parts.username), unquote(parts.password or "")
        passwords.add_password(None, _request(address).full_url, name, password)
    opener = OpenerDirector()
    for handler in (
        visit,
        HTTPDefaultErrorHandler(),
        HTTPRedirectHandler(),
        HTTPErrorProcessor(),
        HTTPDigestAuthHandler(passwords),
        HTTPBasicAuthHandler(passwords),
    ):
        opener.add_handler(handler)
    return opener


class _DeadlineSocket(socket.socket):
    """
    A socket with one deadline, on the monotonic clock, for all reads: a timeout for each read
    would start again with each byte.
    """

    deadline = 0.0

    def recv_into(self, *arguments: Any) -> int:  # noqa: ANN401 - as the socket's own
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)
        return super().recv_into(*arguments)


class _ConnectionTracker(HTTPHandler):
    """Tracks the connections, so that a read can be interrupted and each is closed."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.connections: list[_DeadlineSocket] = []
        self.deadline = deadline
        self._responses: list[http.client.HTTPResponse] = []

    def http_open(self, req: Request) -> http.client.HTTPResponse:
        answer = self.do_open(partial(_DeadlineConnection, self), req)
        self._responses.append(answer)
        return answer

    def close_all(self, but: object = None) -> None:
        for answer in self._responses:
            if answer is not but:
                answer.close()


class _DeadlineConnection(http.client.HTTPConnection):
    def __init__(self, tracker: _ConnectionTracker, host: str, **options: Any) -> None:  # noqa: ANN401 - as urllib gives them
        super().__init__(host, **options)
        self._tracker = tracker

    def connect(self) -> None:
        super().connect()
        self.sock = line = _DeadlineSocket(fileno=self.sock.detach())
        line.settimeout(_OPEN_TIMEOUT_S)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        line.deadline = self._tracker.deadline
        self._tracker.connections.append(line)

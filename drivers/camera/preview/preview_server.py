"""
Preview in a browser of this machine: the camera's frames with the places drawn over them.

Images are encoded only while a browser requests them. Nothing is stored, and the page accepts
no commands. ``/plain`` streams the frames as they are to another program of this machine: a
camera has one user at a time, and `calibrate camera --check` compares what that user sees.
These frames are JPEGs of a quality at which no figure of the check differs by more than two
thousandths; PNGs would take ten times as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import cv2
import numpy as np
import structlog
from msgspec import Struct

from drivers.camera.preview.loopback_server import (
    LOOPBACK_HOSTS,
    LoopbackHandler,
    LoopbackServer,
    parse_listen_address,
)
from drivers.camera.sources.frame_capture_and_checks import Image
from shoe_daemon.game import Card

Corner = tuple[float, float]
Colour = tuple[int, int, int]

_GREY: Final[Colour] = (190, 190, 190)
_BLACK: Final[Colour] = (20, 20, 20)
_STATE_LABELS: Final[dict[str, tuple[str, Colour]]] = {
    "empty": ("empty", _GREY),
    "moving": ("moving", (40, 200, 250)),
    "settled": ("lies still", (30, 150, 250)),
    "down": ("face down", (235, 150, 60)),
    "read": ("read", (80, 210, 90)),
    "held": ("read", (80, 210, 90)),
    "unreadable": ("cannot be read", (70, 70, 240)),
}
"""Label and colour of each state; the page's legend has the same."""

_FONT: Final = cv2.FONT_HERSHEY_SIMPLEX
_FONT_SCALE: Final = 0.55
_FONT_SCALE_WIDTH_PX: Final = 1280
"""Width of a frame on which letters have that scale."""

_MIN_SCALE: Final = 0.6


class PlaceOverlay(Struct, frozen=True):
    """
    One place as it is drawn, with the card that was read there.

    Attributes:
        polygon: Its corners in the frame.
        confidence: Confidence of the reading, from 0 to 1.
    """

    name: str
    polygon: tuple[Corner, ...]
    state: str
    card: Card | None = None
    confidence: float | None = None

    @property
    def label(self) -> str:
        """The text beside the place."""
        state, _ = _state_label(self.state)
        parts = [self.name, state if self.card is None else str(self.card)]
        if self.confidence is not None:
            parts.append(f"{self.confidence:.2f}")
        return " ".join(parts)


def _state_label(state: str) -> tuple[str, Colour]:
    return _STATE_LABELS.get(state, (state, _GREY))


def draw_places(image: Image, places: list[PlaceOverlay]) -> Image:
    """Draw places over a copy of a frame."""
    drawn = image.copy()
    for place in places:
        _draw_place(drawn, place)
    return drawn


def _draw_place(image: Image, place: PlaceOverlay) -> None:
    _, colour = _state_label(place.state)
    corners = np.round(np.array(place.polygon)).astype(np.int32)
    scale = max(_MIN_SCALE, image.shape[1] / _FONT_SCALE_WIDTH_PX)
    thickness = round((1 if place.state == "empty" else 2) * max(1.0, scale))
    cv2.polylines(image, [corners], True, colour, thickness, cv2.LINE_AA)  # noqa: FBT003 - OpenCV knows it by position
    font_scale = _FONT_SCALE * scale
    (width, height), _ = cv2.getTextSize(place.label, _FONT, font_scale, 1)
    padding = round(5 * scale)
    left = int(corners[:, 0].min())
    top = max(0, int(corners[:, 1].min()) - height - 2 * padding - 2)
    corner = (left + width + 2 * padding, top + height + 2 * padding)
    cv2.rectangle(image, (left, top), corner, colour, -1)
    at = (left + padding, top + height + padding)
    cv2.putText(image, place.label, at, _FONT, font_scale, _BLACK, 1, cv2.LINE_AA)


MULTIPART_BOUNDARY: Final = "picture"
_MAX_FEED_READERS: Final = 2
"""Each reader takes 5 ms of a core for a frame of 1280x720."""

_FEED_TIMEOUT_S: Final = 5.0
"""Time without a frame after which a stream is ended, so that a closed connection is noticed."""

_FEED_JPEG_OPTIONS: Final = (
    cv2.IMWRITE_JPEG_QUALITY,
    98,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)

_VIEWER_TIMEOUT_S: Final = 3.0
"""Time after a browser's last request for which frames are still kept for it."""

_MAX_FRAME_AGE_S: Final = 3.0
"""Age up to which a frame is shown as the current one."""

_FRAME_TIMEOUT_S: Final = 1.0
"""Time to wait for the next frame where the last one is older."""

_LISTEN_RETRY_S: Final = 10.0
"""Time until listening is tried again on a port that another program uses."""

_JPEG_QUALITY: Final = 82
_PAGE_FILES: Final = {
    "/": ("preview.html", "text/html; charset=utf-8"),
    "/preview.js": ("preview.js", "text/javascript; charset=utf-8"),
    "/preview.css": ("preview.css", "text/css; charset=utf-8"),
}


_log = structlog.get_logger(__name__)


class FrameFeed:
    """Passes the newest frame to the readers of ``/plain``; keeps none while there is none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._newest: Image | None = None
        self._count = 0
        self._readers = 0
        self._closed = False

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
        """Add a reader; False where the feed is closed or has as many as it may have."""
        with self._changed:
            if self._closed or self._readers >= _MAX_FEED_READERS:
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
            done, data = cv2.imencode(".jpg", image, _FEED_JPEG_OPTIONS)
            if done:
                yield data.tobytes()

    def _next(self, count: int) -> tuple[Image, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._count != count or self._closed, _FEED_TIMEOUT_S)
            if self._closed or self._newest is None or self._count == count:
                return None
            return self._newest, self._count


class PreviewServer:
    """
    Preview of one camera, from its creation to `close`.

    Where another program uses its port, listening is retried; the camera is not affected.

    Attributes:
        feed: The frames as they are, for other programs.

    Raises:
        UserError: `listen` is no address, or one that other machines could reach.
    """

    def __init__(self, listen: str) -> None:
        self._address = parse_listen_address(listen)
        self.feed = FrameFeed()
        self._requested = float("-inf")
        self._shown: tuple[Image, list[PlaceOverlay]] | None = None
        self._shown_at = float("-inf")
        self._changed = threading.Condition()
        self._server: _Server | None = None
        self._listen_tried = float("-inf")
        self._listen_logged = False
        self._listen()

    def _listen(self) -> None:
        self._listen_tried = time.monotonic()
        try:
            self._server = _Server(self._address, self)
        except OSError as error:
            if not self._listen_logged:
                self._listen_logged = True
                _log.warning(
                    "preview_port_unavailable",
                    listen="{}:{}".format(*self._address),
                    reason=error.strerror or str(error),
                )
            return
        self._server.start("camera-preview")

    @property
    def port(self) -> int:
        """The port on which the preview listens."""
        return self._server.port if self._server else self._address[1]

    @property
    def has_viewers(self) -> bool:
        """True if a browser requested an image lately."""
        return time.monotonic() - self._requested < _VIEWER_TIMEOUT_S

    def show(self, image: Image, overlays: Callable[[], list[PlaceOverlay]]) -> None:
        """Show the newest frame; `overlays` is called only while a browser requests images."""
        if self._server is None and time.monotonic() - self._listen_tried >= _LISTEN_RETRY_S:
            self._listen()
        self.feed.publish(image)
        if self.has_viewers or self._shown is None:
            places = overlays()
            with self._changed:
                self._shown, self._shown_at = (image, places), time.monotonic()
                self._changed.notify_all()

    def jpeg(self) -> bytes | None:
        """Return the current frame, drawn over, as a JPEG; None where no frame comes."""
        self._requested = time.monotonic()
        with self._changed:
            if not self._changed.wait_for(self._is_current, _FRAME_TIMEOUT_S):
                return None
            shown = self._shown
        if shown is None:
            return None
        options = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
        done, data = cv2.imencode(".jpg", draw_places(*shown), options)
        return data.tobytes() if done else None

    def _is_current(self) -> bool:
        return time.monotonic() - self._shown_at < _MAX_FRAME_AGE_S

    def close(self) -> None:
        """Stop listening and end all connections."""
        self.feed.close()
        if self._server is not None:
            self._server.close()
            self._server = None


class _Server(LoopbackServer):
    def __init__(self, address: tuple[str, int], preview: PreviewServer) -> None:
        self.preview = preview
        super().__init__(address, _Handler)


class _Handler(LoopbackHandler):
    server: _Server
    content_security_policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    def do_GET(self) -> None:  # noqa: N802 - as http.server calls it
        path = urlsplit(self.path).path
        if not self._is_local_host():
            self.respond(HTTPStatus.BAD_REQUEST)
        elif path == "/picture.jpg":
            self._send_image()
        elif path == "/plain":
            self._send_feed()
        elif path in _PAGE_FILES:
            name, content_type = _PAGE_FILES[path]
            page = (Path(__file__).parent / "pages" / name).read_bytes()
            self.respond(HTTPStatus.OK, page, content_type)
        else:
            self.respond(HTTPStatus.NOT_FOUND)

    def _is_local_host(self) -> bool:
        # A page of another site, whose name resolves to this machine, gets nothing.
        host = self.headers.get("Host", "").rpartition(":")[0].strip("[]")
        return host in LOOPBACK_HOSTS

    def _send_image(self) -> None:
        jpeg = self.server.preview.jpeg()
        if jpeg is None:
            self.respond(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self.respond(HTTPStatus.OK, jpeg, "image/jpeg")

    def _send_feed(self) -> None:
        feed = self.server.preview.feed
        if not feed.add_reader():
            self.respond(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            content_type = f"multipart/x-mixed-replace; boundary={MULTIPART_BOUNDARY}"
            self.send_response(HTTPStatus.OK)
            self.send_headers({"Content-Type": content_type, "Connection": "close"})
            for jpeg in feed.jpegs():
                self._send_part(jpeg)
        finally:
            feed.remove_reader()

    def _send_part(self, jpeg: bytes) -> None:
        head = f"--{MULTIPART_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
        self.wfile.write(head.encode() + b"\r\n\r\n" + jpeg + b"\r\n")

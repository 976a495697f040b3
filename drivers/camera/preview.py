"""
Preview in a browser of this machine: the camera's frames with the places drawn over them.

Images are encoded only while a browser requests them. Nothing is stored, and the page accepts
no commands. ``/plain`` streams the frames as they are to another program of this machine: a
camera has one user at a time, and `calibrate camera --check` compares what that user sees.
These frames are JPEGs of a quality at which no figure of the check differs by more than two
thousandths; PNGs would take ten times as long.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import cv2
import numpy as np
import structlog
from msgspec import Struct

from drivers.camera.image import Image, VideoFrame
from drivers.camera.messages import Say, Statement, Station
from drivers.camera.options import parse_listen_address
from drivers.camera.profile.sections import Place, Profile
from drivers.camera.recognition.table_projection import TableProjection
from drivers.camera.web import Feed, LocalServer, Reply, page_routes
from shoe_daemon.game import Card, Slot

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

_MAX_FEED_READERS: Final = 2

FEED_JPEG_OPTIONS: Final = (
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
_PAGE_FOLDER: Final = Path(__file__).parent / "pages"

_THROAT_CARD_SHOWN_S: Final = 1.5
"""Time for which a card that left the shoe is still shown at the throat."""

_log = structlog.get_logger(__name__)


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
        self.feed = Feed(FEED_JPEG_OPTIONS, _MAX_FEED_READERS)
        self._requested = float("-inf")
        self._shown: tuple[Image, list[PlaceOverlay]] | None = None
        self._shown_at = float("-inf")
        self._changed = threading.Condition()
        self._server: LocalServer | None = None
        self._listen_tried = float("-inf")
        self._listen_logged = False
        self._listen()

    def _listen(self) -> None:
        self._listen_tried = time.monotonic()
        try:
            self._server = LocalServer(
                self._address,
                {
                    **page_routes(_PAGE_FOLDER, "preview.html", "preview.js", "preview.css"),
                    "GET picture.jpg": lambda _: self._picture(),
                    "GET plain": lambda _: self.feed,
                },
            )
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

    def _picture(self) -> Reply:
        """Return the current frame, drawn over, as a JPEG; 503 where no frame comes."""
        self._requested = time.monotonic()
        with self._changed:
            is_current = self._changed.wait_for(self._is_current, _FRAME_TIMEOUT_S)
            shown = self._shown
        if not is_current or shown is None:
            return Reply(status=HTTPStatus.SERVICE_UNAVAILABLE)
        options = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
        _, data = cv2.imencode(".jpg", draw_places(*shown), options)
        return Reply(data.tobytes(), "image/jpeg")

    def _is_current(self) -> bool:
        return time.monotonic() - self._shown_at < _MAX_FRAME_AGE_S

    def close(self) -> None:
        """Stop listening and end all connections."""
        self.feed.close()
        if self._server is not None:
            self._server.close()
            self._server = None


@runtime_checkable
class HasPlaceStates(Protocol):
    """A station that knows the state of each place."""

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        """Return the state of each place and the card that was read there."""


class PreviewedStation:
    """Passes frames to a station, and shows them with its readings."""

    def __init__(self, station: Station, profile: Profile, preview: PreviewServer) -> None:
        self._station = station
        self._preview = preview
        self._projection = TableProjection(profile)
        self._profile = profile
        self._statements: dict[Slot | None, tuple[float, Statement]] = {}
        self._now = 0.0

    def process(self, frame: VideoFrame) -> list[Statement]:
        """Process the next frame."""
        statements = self._station.process(frame)
        self._now = frame.at
        for each in statements:
            if each.say is Say.CLEARED:
                self._statements.clear()
            elif each.say in {Say.PLACED, Say.CARD, Say.UNREADABLE}:
                self._statements[each.slot] = frame.at, each
        self._preview.show(frame.image, self.overlays)
        return statements

    def finish(self) -> list[Statement]:
        """Return the last statements; there are no more frames."""
        return self._station.finish()

    def close(self) -> None:
        """Close the preview and the station."""
        with contextlib.suppress(Exception):
            self._preview.close()
        self._station.close()

    def overlays(self) -> list[PlaceOverlay]:
        """Return every place with its state and card."""
        throat = self._profile.throat
        if throat is not None:
            return [self._throat_overlay(throat.window)]
        states = self._station.states() if isinstance(self._station, HasPlaceStates) else {}
        return [
            self._place_overlay(place, place.slot, *states.get(place.slot, ("", None)))
            for place in self._profile.place
            if place.slot is not None
        ]

    def _place_overlay(
        self, place: Place, slot: Slot, state: str, card: Card | None
    ) -> PlaceOverlay:
        _, statement = self._statements.get(slot, (0.0, None))
        confidence = None
        if statement is not None and statement.say is Say.PLACED and statement.card is card:
            confidence = statement.confidence
        elif statement is not None and statement.say is Say.UNREADABLE and card is None:
            state = "unreadable"
        polygon = self._to_pixels(place.polygon)
        return PlaceOverlay(slot.value, polygon, state, card, confidence)

    def _throat_overlay(self, window: tuple[tuple[float, float], ...]) -> PlaceOverlay:
        corners = self._to_pixels(window)
        at, statement = self._statements.get(None, (0.0, None))
        if statement is None or self._now - at > _THROAT_CARD_SHOWN_S:
            return PlaceOverlay("throat", corners, "empty")
        state = "unreadable" if statement.card is None else "read"
        # The next card may be in the window already.
        return PlaceOverlay("last", corners, state, statement.card, statement.confidence)

    def _to_pixels(
        self, polygon: tuple[tuple[float, float], ...]
    ) -> tuple[tuple[float, float], ...]:
        return tuple((float(x), float(y)) for x, y in self._projection.to_pixels(polygon))

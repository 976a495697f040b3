"""Drawing of the places, their states and cards over a frame."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from drivers.camera.sources.video_frame import Image
from shoe_daemon.game import Card

__all__ = ["PlaceOverlay", "draw_places"]

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
    One place as it is drawn.

    Attributes:
        name: Name of the place.
        polygon: Its corners in the frame.
        state: The state of the place.
        card: The card that was read there.
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

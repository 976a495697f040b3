"""
How a station sees its places, for people who look over its shoulder.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from drivers.camera.sources.frame_quality import Image
from shoe_daemon.game.cards import Card

__all__ = ["Look", "drawn"]

Corner = tuple[float, float]
Colour = tuple[int, int, int]

_GREY: Final[Colour] = (190, 190, 190)
_SIGNS: Final[dict[str, tuple[str, Colour]]] = {
    "empty": ("empty", _GREY),
    "moving": ("moving", (40, 200, 250)),
    "settled": ("lies still", (30, 150, 250)),
    "down": ("face down", (235, 150, 60)),
    "read": ("read", (80, 210, 90)),
    "held": ("read", (80, 210, 90)),
    "unreadable": ("cannot be read", (70, 70, 240)),
}
"""The word and the colour for what is known of a place; the page's legend has the same."""

_FONT: Final = cv2.FONT_HERSHEY_SIMPLEX
_SIZE: Final = 0.55
_USUAL_WIDTH: Final = 1280
"""Pixels of a picture in which letters have that size."""

_SMALLEST: Final = 0.6


class Look(Struct, frozen=True):
    """
    One place.

    Attributes:
        name: Of the place.
        polygon: Its corners in the picture.
        state: What is known of it.
        card: What was read there.
        confidence: How certain that is, from 0 to 1.
    """

    name: str
    polygon: tuple[Corner, ...]
    state: str
    card: Card | None = None
    confidence: float | None = None

    @property
    def words(self) -> str:
        """
        What is written beside the place.
        """
        state, _ = _sign(self.state)
        parts = [self.name, state if self.card is None else str(self.card)]
        if self.confidence is not None:
            parts.append(f"{self.confidence:.2f}")
        return " ".join(parts)


def _sign(state: str) -> tuple[str, Colour]:
    return _SIGNS.get(state, (state, _GREY))


def drawn(image: Image, looks: list[Look]) -> Image:
    """
    Give the picture with what is known of each place drawn over it.
    """
    picture = image.copy()
    for look in looks:
        _draw(picture, look)
    return picture


def _draw(picture: Image, look: Look) -> None:
    _, colour = _sign(look.state)
    corners = np.round(np.array(look.polygon)).astype(np.int32)
    scale = max(_SMALLEST, picture.shape[1] / _USUAL_WIDTH)
    thick = round((1 if look.state == "empty" else 2) * max(1.0, scale))
    cv2.polylines(picture, [corners], True, colour, thick, cv2.LINE_AA)  # noqa: FBT003 - OpenCV knows it by position
    (wide, high), _ = cv2.getTextSize(look.words, _FONT, _SIZE * scale, 1)
    edge = round(5 * scale)
    left = int(corners[:, 0].min())
    top = max(0, int(corners[:, 1].min()) - high - 2 * edge - 2)
    cv2.rectangle(
        picture, (left, top), (left + wide + 2 * edge, top + high + 2 * edge), colour, -1
    )
    at = (left + edge, top + high + edge)
    cv2.putText(picture, look.words, at, _FONT, _SIZE * scale, (20, 20, 20), 1, cv2.LINE_AA)

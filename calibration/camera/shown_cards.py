"""Cards shown to the camera one by one: found on their place, measured, read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import cv2
import numpy as np
from msgspec import Struct

from calibration.camera.layout_on_plane import Plane, projection_of, rectangle_corners
from drivers.camera.profile.camera_profile import CardSize, Place
from drivers.camera.recognition.card_detection import CardBounds, find_card
from drivers.camera.recognition.card_finder import CardRecogniser
from drivers.camera.recognition.confidence import crop_card, measure_blur
from drivers.camera.recognition.index_window import CropWindow, window_quads
from drivers.camera.recognition.table_projection import Floats, place_patch
from drivers.camera.sources.video_frame import Image
from shoe_daemon.game import Card

__all__ = [
    "MORE_PIXELS_ADVICE",
    "PixelBudget",
    "ShownCard",
    "ShownReading",
    "card_with_symbol",
    "draw_outline",
    "find_card_on",
    "index_pixels",
    "pixel_budgets",
    "read_shown_card",
]

MORE_PIXELS_ADVICE: Final = "bring the camera nearer, zoom in, or choose a mode with more pixels"
"""Advice where an index has too few pixels."""

_SUIT_SYMBOLS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}

_MAX_STRAY_MM: Final = 28.0
"""Maximum distance of a shown card from its place."""

_MIN_DIFFERENCE: Final = 28
_MIN_DIFFERENT_SHARE: Final = 0.4
"""Grey difference from the empty table, and the share of a card's surface that has to have it."""

_RIM_PX: Final = 3
_MIN_RIM_SHARE: Final = 0.33
"""Width of a rim along the sides of an upright card, and its minimum difference as a share of the
whole card's: no card on 32 simulated places had less than 0.7."""

_REPORT_WIDTH_PX: Final = 240
"""Width of a card's image in the report."""


class ShownCard(NamedTuple):
    """
    A card that lay on a place.

    Attributes:
        card: The card, as named by the person.
        slot: The place, for people.
        image: The frame.
        quad: Its corners in the frame, in reading order.
    """

    card: Card
    slot: str
    image: Image
    quad: Floats

    def upright_image(self, width: int = _REPORT_WIDTH_PX) -> Image:
        """Return the image of the card, upright."""
        return crop_card(self.image, self.quad, width=width)


class PixelBudget(Struct, frozen=True):
    """Pixels that an index has on a place, and the minimum."""

    slot: str
    pixels: float
    least: float

    @property
    def passed(self) -> bool:
        """True if the pixels suffice."""
        return self.pixels >= self.least


class ShownReading(Struct, frozen=True):
    """
    Reading of a shown card.

    Attributes:
        card: The shown card.
        read: The accepted card; None where none was accepted.
        best: The most likely card.
        pixels: Height of its index window.
        blur: As a share of the card's width.
        fault: Why it did not pass, with advice; empty where it did.
    """

    card: Card
    slot: str
    read: Card | None
    best: Card
    confidence: float
    pixels: float
    blur: float
    fault: str = ""

    @property
    def passed(self) -> bool:
        """True if the card was read correctly."""
        return not self.fault


def find_card_on(  # noqa: PLR0913, PLR0917 - what is looked for, in what, and with what light
    plane: Plane, place: Place, image: Image, empty: Image, card: CardSize, gain: float = 1.0
) -> Floats | None:
    """
    Find the corners, in the frame, of the card on a place; None where no whole card is visible.
    """
    patch = place_patch(projection_of(plane), place, card)
    bounds = CardBounds(patch.scale, (card.width, card.height), _MAX_STRAY_MM)
    found = find_card(patch.cut(image), patch.cut(empty), bounds, gain)
    if found is None:
        return None
    quad = patch.to_picture(found.quad)
    return quad if _is_card_there(image, empty, quad) else None


def _is_card_there(image: Image, empty: Image, quad: Floats) -> bool:
    """
    Whether a card differs from the empty table on its surface and at each side, beyond a change
    of light.

    The throat is as dark as print and hides parts of cards: an outline may begin where no card
    does.
    """
    apart = cv2.absdiff(crop_card(image, quad), crop_card(empty, quad)).max(axis=2)
    sides = apart[:_RIM_PX], apart[-_RIM_PX:], apart[:, :_RIM_PX], apart[:, -_RIM_PX:]
    least = min(float(np.median(side)) for side in sides)
    lies = float(np.mean(apart > _MIN_DIFFERENCE)) > _MIN_DIFFERENT_SHARE
    return lies and least > _MIN_RIM_SHARE * float(np.median(apart))


def index_pixels(quad: Floats, window: CropWindow) -> float:
    """Return the height of the smaller index window of a card in pixels."""
    ends = window_quads(np.asarray(quad, np.float32), window)
    return min(float(np.linalg.norm(each[3] - each[0])) for each in ends)


def pixel_budgets(  # noqa: PLR0913, PLR0917 - what is seen, and what it needs
    plane: Plane,
    places: Iterable[Place],
    card: CardSize,
    window: CropWindow,
    least: float,
    other: str = "other",
) -> list[PixelBudget]:
    """Return the pixels that an index will have on each place."""
    ground = projection_of(plane)
    budgets = []
    for place in places:
        quad = rectangle_corners(card.width, card.height)
        if place.turn:
            quad = quad @ np.array([[0.0, 1.0], [-1.0, 0.0]])
        pixels = index_pixels(ground.to_pixels(quad + np.array(place.centre)), window)
        budgets.append(PixelBudget(place.slot or other, round(pixels, 1), least))
    return budgets


def read_shown_card(
    shown: ShownCard, reader: CardRecogniser, window: CropWindow, least: float, most_blur: float
) -> ShownReading:
    """Read a card whose identity is known."""
    reading = reader.read(shown.image, np.asarray(shown.quad, np.float32))
    budget = PixelBudget(shown.slot, round(index_pixels(shown.quad, window), 1), least)
    blur = round(measure_blur(shown.upright_image(120)), 4)
    sharp = blur <= most_blur
    return ShownReading(
        card=shown.card,
        slot=shown.slot,
        read=reading.card if sharp else None,
        best=reading.best,
        confidence=round(float(reading.confidence), 4),
        pixels=budget.pixels,
        blur=blur,
        fault=_fault(shown.card, reading.card, reading.best, budget, sharp=sharp),
    )


def _fault(card: Card, read: Card | None, best: Card, budget: PixelBudget, *, sharp: bool) -> str:
    if read not in {None, card}:
        return f"read as {read}: is the shown card named right? Else do not use this camera"
    if not budget.passed:
        needed = f"at least {budget.least:.0f} are needed"
        return f"{budget.pixels:.0f} pixels, {needed}: {MORE_PIXELS_ADVICE}"
    if not sharp:
        return "blurred: focus the lens, give more light or a shorter exposure"
    if read is None:
        unlike = "" if best == card else f", looks like {best}"
        return f"not certain{unlike}: is its index free, without glare and shadow?"
    return ""


def card_with_symbol(card: Card) -> str:
    """Format a card with its suit's symbol."""
    return f"{card.rank}{_SUIT_SYMBOLS[card.suit]}"


def draw_outline(image: Image, quad: Floats, colour: tuple[int, int, int]) -> None:
    """Draw the outline of a card into an image."""
    points = np.round(np.asarray(quad)).astype(np.int32)
    cv2.polylines(image, [points], isClosed=True, color=colour, thickness=2, lineType=cv2.LINE_AA)

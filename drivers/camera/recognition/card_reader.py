"""
Looks at one place for a card, and says what can be said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.card_detection import CardBounds, find_card
from drivers.camera.recognition.confidence import CARD_WIDTH_PX, crop_card, measure_blur
from drivers.camera.recognition.index_window import CropWindow, window_quads
from drivers.camera.recognition.table_geometry import NO_SHIFT, Floats, Patch, PixelShift
from drivers.camera.sources.frame_quality import Image
from shoe_daemon.game import Card

__all__ = [
    "CardReader",
    "CardRecogniser",
    "Reading",
    "SearchArea",
    "Sighting",
    "SightingKind",
    "is_back",
]

_MIN_PAPER_SHARE: Final = 0.45
"""Share of paper beside the indexes below which a card shows its back."""

_MAX_DIFFERENCE: Final = 3.0
"""Grey values by which two pictures of the same differ, at the most."""

_MIN_PARTIAL_CONFIDENCE: Final = 0.5
"""Confidence from which something of which only two edges show is a card."""


Floats32 = NDArray[np.float32]


class Reading(Protocol):
    """
    What of a reading is used.
    """

    @property
    def card(self) -> Card | None:
        """
        None where it is not certain enough.
        """
        ...

    @property
    def best(self) -> Card:
        """
        What it looks most like.
        """
        ...

    @property
    def confidence(self) -> float:
        """
        From 0 to 1, of `best`.
        """
        ...

    @property
    def ends(self) -> tuple[Any, ...]:
        """
        What each index said; the recogniser's own affair.
        """
        ...


class CardRecogniser(Protocol):
    """
    What reads a card whose corners are known.
    """

    def read(self, image: Image, quad: Floats32) -> Reading:
        """
        Read it; corners in reading order.
        """
        ...

    def read_window(self, image: Image, window: Floats32) -> Reading:
        """
        Read a card of which only one index is known.
        """
        ...

    def combined(self, readings: Sequence[Any]) -> Reading:
        """
        Put together readings of one card, end by end.
        """
        ...


class SearchArea:
    """
    A piece of the table in which a card is looked for, and how it looks empty.
    """

    def __init__(self, patch: Patch, reference: Image, stray: float) -> None:
        self.patch = patch
        self.stray = stray
        self.empty = patch.cut(reference)


class CardReader:
    """
    Finds and reads.
    """

    def __init__(self, profile: Profile, reader: CardRecogniser) -> None:
        self._card = profile.card.width, profile.card.height
        self._reader = reader
        self._blur = profile.reading.blur
        window = profile.window
        self._window = CropWindow(x=window.x, y=window.y, width=window.width, height=window.height)

    def find_card(
        self,
        spot: SearchArea,
        image: Image,
        gain: float,
        before: Sighting | None = None,
        aside: PixelShift = NO_SHIFT,
    ) -> Sighting:
        """
        Look for the card of a spot.

        Args:
            spot: Where.
            image: The picture.
            gain: How much brighter the table is than when it was empty.
            before: What was last seen there, where nothing has moved since.
            aside: By how many pixels the table is beside where it was.
        """
        patch = spot.patch.cut(image, aside)
        if (
            before is not None
            and before.kind is SightingKind.BACK
            and _is_unchanged(patch, before.patch)
        ):
            return before._replace(patch=patch)
        bounds = CardBounds(spot.patch.scale, self._card, spot.stray)
        found = find_card(patch, spot.empty, bounds, gain)
        if found is None:
            return Sighting(SightingKind.NOTHING, patch=patch)
        quad = spot.patch.to_picture(found.quad) + aside
        return self._read(image, quad, patch, is_whole=found.is_whole)

    def _read(self, image: Image, quad: Floats, patch: Image, *, is_whole: bool) -> Sighting:
        flat = crop_card(image, quad, self._card[1] / self._card[0])
        reading = self._reader.read(image, quad.astype(np.float32))
        blur = measure_blur(flat)
        seen = Sighting(
            SightingKind.UNSURE,
            None,
            reading.best,
            round(reading.confidence, 4),
            round(blur, 4),
            patch,
        )
        if reading.card is not None:
            sharp = self.is_sharp(blur)
            return seen._replace(kind=SightingKind.FACE, card=reading.card) if sharp else seen
        if not is_whole and reading.confidence < _MIN_PARTIAL_CONFIDENCE:
            return Sighting(
                SightingKind.NOTHING, patch=patch
            )  # two straight edges may be anything
        if is_whole and is_back(flat):
            return seen._replace(kind=SightingKind.BACK)
        return seen

    def is_sharp(self, blur: float) -> bool:
        """
        Whether a reading counts at this blur.
        """
        return blur <= self._blur

    def index_window(self, quad: Floats, end: int) -> Floats:
        """
        Say where the index of one end is: 0 for the upper one, 1 for the lower.
        """
        return np.asarray(window_quads(quad.astype(np.float32), self._window)[end], np.float64)

    def index_blur(self, image: Image, window: Floats) -> float:
        """
        Return how blurred an index is, as a share of the card's width.
        """
        width = round(CARD_WIDTH_PX * self._window.width)
        ratio = self._window.height * self._card[1] / (self._window.width * self._card[0])
        return measure_blur(crop_card(image, window, ratio, width)) * self._window.width

    def read_index(self, image: Image, window: Floats) -> Reading:
        """
        Read one index.
        """
        return self._reader.read_window(image, window.astype(np.float32))

    def combine(self, one: Sequence[Reading], other: Sequence[Reading]) -> Reading | None:
        """
        Put together what was read of one end and of the other; either may be none.
        """
        if not (one and other):
            return self._reader.combined(one or other) if one or other else None
        both: list[Any] = []
        for number in range(max(len(one), len(other))):
            first: Any = one[number % len(one)]
            both.append(replace(first, ends=first.ends + other[number % len(other)].ends))
        return self._reader.combined(both)


def _is_unchanged(one: Image, other: Image | None) -> bool:
    if other is None or one.shape != other.shape:
        return False
    return cv2.norm(one, other, cv2.NORM_L1) < _MAX_DIFFERENCE * one.size


def is_back(card: Image) -> bool:
    """
    Whether a card that was cut out upright shows its back.
    """
    return _paper_share(card) < _MIN_PAPER_SHARE


def _paper_share(card: Image) -> float:
    """
    Return how much of the strips beside the pips is bare paper: most of a face's, little
    of a back's, which is printed up to a narrow edge.
    """
    height, width = card.shape[:2]
    rows = slice(round(height * 0.3), round(height * 0.7))
    strips = [
        card[rows, round(width * left) : round(width * right)].reshape(-1, 3)
        for left, right in ((0.085, 0.16), (0.84, 0.915))
    ]
    points = np.concatenate(strips).astype(np.float32)
    brightest = np.percentile(card.reshape(-1, 3).min(axis=1), 97)
    high, low = points.max(axis=1), points.min(axis=1)
    bare = (low > 0.68 * brightest) & (high - low < 0.35 * high)
    return float(bare.mean())


class SightingKind(StrEnum):
    """
    What a look at a place found: nothing that is a card, a back, a face that counts, or
    a card whose face cannot be told.
    """

    NOTHING = "nothing"
    BACK = "back"
    FACE = "face"
    UNSURE = "unsure"


class Sighting(NamedTuple):
    """
    One look.

    Attributes:
        kind: What was found.
        card: The face that counts.
        best: What it looks most like.
        confidence: 0 to 1.
        blur: As a share of the card's width.
        patch: The place as it was.
    """

    kind: SightingKind
    card: Card | None = None
    best: Card | None = None
    confidence: float = 0.0
    blur: float = 0.0
    patch: Image | None = None

"""Finds the card in an area of the table, and reads it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.blur import CARD_WIDTH_PX, crop_card, measure_blur
from drivers.camera.recognition.confidence import Belief
from drivers.camera.recognition.outline_search import CardBounds, find_card
from drivers.camera.recognition.recogniser import window_quads
from drivers.camera.recognition.table_projection import NO_SHIFT, Floats, Patch, PixelShift
from shoe_daemon.game import Card

_MIN_PAPER_SHARE: Final = 0.45
"""Share of bare paper beside the indexes below which a card shows its back."""

_MAX_DIFFERENCE: Final = 3.0
"""Maximum grey difference between two images of an unchanged area."""

_MIN_PARTIAL_CONFIDENCE: Final = 0.5
"""Minimum confidence of a card of which only two edges are visible."""


Floats32 = NDArray[np.float32]


class Reading(Protocol):
    """The used part of a reading."""

    @property
    def card(self) -> Card | None:
        """The accepted card; None where the confidence is too low."""

    @property
    def best(self) -> Card:
        """The most likely card."""

    @property
    def confidence(self) -> float:
        """Confidence of `best`, from 0 to 1."""

    @property
    def is_clear(self) -> bool:
        """The image is neither too soft nor too small to be evidence."""

    @property
    def ends(self) -> tuple[Any, ...]:
        """Readings of the index windows; internal to the recogniser."""


class CardRecogniser(Protocol):
    """Reads a card whose corners are known."""

    @property
    def threshold(self) -> float:
        """The minimum confidence of an accepted card."""

    def read(self, image: Image, quad: Floats32) -> Reading:
        """Read a card by its corners in reading order."""

    def read_window(self, image: Image, window: Floats32) -> Reading:
        """Read a card by one index window."""

    def combined(self, readings: Sequence[Any]) -> Reading:
        """Combine readings of one card, end by end."""


class SearchArea:
    """An area of the table in which a card is searched, and its image without cards."""

    def __init__(self, patch: Patch, reference: Image, stray: float) -> None:
        self.patch = patch
        self.stray = stray
        self.empty = patch.cut(reference)


class CardReader:
    """
    Finds and reads cards.

    Attributes:
        threshold: The minimum confidence of an accepted card.
    """

    def __init__(self, profile: Profile, reader: CardRecogniser) -> None:
        self._card = profile.card.width, profile.card.height
        self._reader = reader
        self._blur = profile.reading.blur
        self._window = profile.window
        self.threshold = reader.threshold

    def find_card(
        self,
        area: SearchArea,
        image: Image,
        gain: float,
        before: Sighting | None = None,
        shift: PixelShift = NO_SHIFT,
    ) -> Sighting:
        """
        Find and read the card in an area.

        Args:
            area: The area.
            image: The frame.
            gain: Brightness of the table, as a multiple of the empty table's.
            before: The last sighting, where nothing has moved since.
            shift: Shift of the table in the image.
        """
        patch = area.patch.cut(image, shift)
        if (
            before is not None
            and before.kind is SightingKind.BACK
            and _is_unchanged(patch, before.patch)
        ):
            return before._replace(patch=patch)
        bounds = CardBounds(area.patch.scale, self._card, area.stray)
        found = find_card(patch, area.empty, bounds, gain)
        if found is None:
            return Sighting(SightingKind.NOTHING, patch=patch)
        quad = area.patch.to_picture(found.quad) + shift
        return self._read(image, quad, patch, is_whole=found.is_whole)

    def _read(self, image: Image, quad: Floats, patch: Image, *, is_whole: bool) -> Sighting:
        flat = crop_card(image, quad, self._card[1] / self._card[0])
        reading = self._reader.read(image, quad.astype(np.float32))
        blur = measure_blur(flat)
        is_sharp = self.is_sharp(blur)
        sighting = Sighting(
            SightingKind.UNSURE,
            None,
            reading.best,
            round(reading.confidence, 4),
            round(blur, 4),
            patch,
            tuple(end.believed for end in reading.ends) if is_sharp and reading.is_clear else (),
        )
        if reading.card is not None:
            return (
                sighting._replace(kind=SightingKind.FACE, card=reading.card)
                if is_sharp
                else sighting
            )
        if not is_whole and reading.confidence < _MIN_PARTIAL_CONFIDENCE:
            return Sighting(
                SightingKind.NOTHING, patch=patch
            )  # two straight edges may be anything
        if is_whole and is_back(flat):
            return sighting._replace(kind=SightingKind.BACK)
        return sighting

    def is_sharp(self, blur: float) -> bool:
        """True if a reading counts at this blur."""
        return blur <= self._blur

    def index_window(self, quad: Floats, end: int) -> Floats:
        """Return the index window of one end: 0 for the upper, 1 for the lower."""
        return np.asarray(window_quads(quad.astype(np.float32), self._window)[end], np.float64)

    def index_blur(self, image: Image, window: Floats) -> float:
        """Return the blur of an index, as a share of the card's width."""
        width = round(CARD_WIDTH_PX * self._window.width)
        ratio = self._window.height * self._card[1] / (self._window.width * self._card[0])
        return measure_blur(crop_card(image, window, ratio, width)) * self._window.width

    def read_index(self, image: Image, window: Floats) -> Reading:
        """Read one index."""
        return self._reader.read_window(image, window.astype(np.float32))

    def combine(self, one: Sequence[Reading], other: Sequence[Reading]) -> Reading | None:
        """Combine the readings of both ends; either may be missing."""
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
    """True if an upright card shows its back."""
    return _paper_share(card) < _MIN_PAPER_SHARE


def _paper_share(card: Image) -> float:
    """
    Return the share of bare paper beside the pips: large on a face, small on a back, which is
    printed up to a narrow edge.
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
    Result of a search: nothing that is a card, a back, an accepted face, or a card that cannot
    be read.
    """

    NOTHING = "nothing"
    BACK = "back"
    FACE = "face"
    UNSURE = "unsure"


class Sighting(NamedTuple):
    """
    One sighting of a place.

    Attributes:
        kind: Result of the search.
        card: The accepted face.
        best: The most likely card.
        confidence: From 0 to 1.
        blur: As a share of the card's width.
        patch: Image of the place.
        ends: The probabilities of its indexes; empty where the image is no evidence.
    """

    kind: SightingKind
    card: Card | None = None
    best: Card | None = None
    confidence: float = 0.0
    blur: float = 0.0
    patch: Image | None = None
    ends: tuple[Belief, ...] = ()

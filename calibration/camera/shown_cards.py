"""
Cards shown to the camera one by one: found on their place, measured, read; and the settings of a
reading that follow: minimum pixels, threshold, and the index window that fits the deck.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import cv2
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from calibration.camera.layout import MORE_PIXELS_ADVICE, PixelBudget, index_pixels
from drivers.camera.image import Image
from drivers.camera.profile.sections import CardSize, IndexWindow, Place
from drivers.camera.recognition.blur import crop_card, measure_blur
from drivers.camera.recognition.card_reader import CardRecogniser
from drivers.camera.recognition.confidence import CURVE_FILE, CurvePoint, combine_ends, load_curve
from drivers.camera.recognition.outline_search import CardBounds, find_card
from drivers.camera.recognition.recogniser import (
    WEIGHTS_FILE,
    WEIGHTS_INFO,
    CardReading,
    Recogniser,
)
from drivers.camera.recognition.table_projection import Floats, TableProjection, place_patch
from shoe_daemon.game import RANKS, SUITS, Card

_SUIT_SYMBOLS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}

_MAX_STRAY_MM: Final = 28.0
"""Maximum distance of a shown card from its place."""

_MIN_DIFFERENCE: Final = 20
_MIN_DIFFERENT_SHARE: Final = 0.4
"""Grey difference from the empty table, and the share of a card's surface that has to have it."""

_RIM_PX: Final = 3
_MIN_RIM_SHARE: Final = 0.33
"""Width of a rim along the sides of an upright card, and its minimum difference as a share of the
whole card's: no card on 32 simulated places had less than 0.7."""


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

    def upright_image(self, width: int) -> Image:
        """Return the image of the card, upright and of a width in pixels."""
        return crop_card(self.image, self.quad, width=width)


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
    ground: TableProjection, place: Place, image: Image, empty: Image, card: CardSize, gain: float
) -> Floats | None:
    """Find the corners, in the frame, of the whole card on a place; None without one."""
    patch = place_patch(ground, place, card)
    bounds = CardBounds(patch.scale, (card.width, card.height), _MAX_STRAY_MM)
    found = find_card(patch.cut(image), patch.cut(empty), bounds, gain)
    if found is None:
        return None
    quad = patch.to_picture(found.quad)
    return quad if _is_card_there(image, empty, quad) else None


def _is_card_there(image: Image, empty: Image, quad: Floats) -> bool:
    """
    True if a card differs from the empty table on its surface and at each side, beyond a change
    of light.

    The throat is as dark as print and hides parts of cards: an outline may begin where no card
    does.
    """
    apart = cv2.absdiff(crop_card(image, quad), crop_card(empty, quad)).max(axis=2)
    sides = apart[:_RIM_PX], apart[-_RIM_PX:], apart[:, :_RIM_PX], apart[:, -_RIM_PX:]
    least = min(float(np.median(side)) for side in sides)
    lies = float(np.mean(apart > _MIN_DIFFERENCE)) > _MIN_DIFFERENT_SHARE
    return lies and least > _MIN_RIM_SHARE * float(np.median(apart))


def read_shown_card(
    shown: ShownCard, reader: CardRecogniser, window: IndexWindow, least: float, most_blur: float
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


_DEFAULT_GOOD_PX: Final = 36.0
"""Pixels from which nearly all cards are read, where the weights state no value."""


def min_index_pixels() -> float:
    """Return the minimum height of an index window in the image."""
    return float(WEIGHTS_INFO.pixels)


def good_index_pixels() -> float:
    """Return the height from which nearly all cards of the test were read."""
    known = json.loads(WEIGHTS_FILE.with_name("index.json").read_text())
    pixels = known.get("test", {}).get("limits", {}).get("pixels", _DEFAULT_GOOD_PX)
    return max(float(pixels), min_index_pixels())


def risk_curve() -> tuple[CurvePoint, ...]:
    """Return the measured curve of the weights; empty where there is none."""
    return load_curve() if CURVE_FILE.is_file() else ()


class Threshold(Struct, frozen=True):
    """
    A threshold, and its measured risk.

    Attributes:
        value: Minimum confidence of an accepted card.
        stated: Requested share of wrong cards; None for the threshold of the weights.
        risk: Upper limit of the share of wrong cards, at 95 per cent; None where it was not
            measured.
        accepted: Share of readable cards that it accepts; None where it was not measured.
    """

    value: float
    stated: float | None
    risk: float | None = None
    accepted: float | None = None

    @property
    def is_proven(self) -> bool:
        """True if the measurement proves the requested risk."""
        return self.stated is None or (self.risk is not None and self.risk <= self.stated)

    @property
    def summary(self) -> str:
        """Description for people."""
        head = f"{self.value:g}, that of the weights"
        if self.stated is not None:
            head = f"{self.value:g} for at most one wrong card in {1 / self.stated:,.0f}"
        if self.risk is None or self.accepted is None:
            return f"{head}; no curve was measured with these weights"
        wrong = f"at most one in {1 / self.risk:,.0f} wrong (95% sure)"
        proven = "" if self.is_proven else "; NOT proven"
        return f"{head}; measured: {wrong}, {self.accepted:.1%} accepted{proven}"


def best_proven_point() -> CurvePoint | None:
    """Return the point with the smallest proven risk, from the threshold of the weights on."""
    return min(_permitted_points(), key=lambda point: point.risk, default=None)


def _permitted_points() -> list[CurvePoint]:
    return [point for point in risk_curve() if point.threshold >= WEIGHTS_INFO.threshold]


def choose_threshold(risk: float | None) -> Threshold:
    """
    Choose the lowest threshold whose measured risk is at most the requested one.

    Without a request, that of the weights is used; if the measurement is too small to
    prove the requested risk, the strictest. Never a lower one than that of the weights: the risk
    was measured with ordinary decks, and below it cards of strange decks get wrong names
    (`bench.vision.strange_decks`).
    """
    points, value = _permitted_points(), WEIGHTS_INFO.threshold
    if points and risk is not None:
        fitting = [point.threshold for point in points if point.risk <= risk]
        value = min(fitting, default=points[-1].threshold)
    for point in points:
        if point.threshold == value:
            return Threshold(value, risk, point.risk, point.accepted)
    return Threshold(value, risk)


_SHIFTS: Final = (-0.04, 0.0, 0.04, 0.08, 0.12)
"""Shares of a card by which the window is moved along each side: some indexes are far inside."""

_SCALES: Final = (0.72, 0.85, 1.0, 1.18, 1.4)
"""Multiples of the default window's width and height that are tried."""

_FIRST_SCALES: Final = (0.72, 1.0)
"""Those that are tried with every shift; the others only with the best shift."""

_DOUBTFUL, _CERTAIN = 2.0, 5.0
"""
Logarithms of the odds (0.88 and 0.993) between which a window is judged.

A card that no window reads must not decide: the window with the best probability of it reads the
others worse. Nor a card that is certain with both: up to odds of 7.0, 216 of 312 cards of
`python -m bench.vision.calibration window --decks 12` were accepted with the chosen
windows, up to 5.0 219, and 183 with the usual one.
"""

_MIN_GAIN: Final = 0.05
"""Minimum gain of a window over the default one, as a mean of these logarithms."""


class WindowFit(Struct, frozen=True):
    """
    A window that fits a deck.

    Attributes:
        window: The best window.
        cards: Number of shown cards.
        usual: How many of them get their name with the default window.
        fitted: The same with the best window.
    """

    window: IndexWindow
    cards: int
    usual: int
    fitted: int

    @property
    def summary(self) -> str:
        """Description for people."""
        certain = f"{self.fitted} of {self.cards} cards certain"
        usual = IndexWindow()
        if self.window == usual:
            return f"the usual one fits this deck: {certain}"
        across, along = self.window.width / usual.width, self.window.height / usual.height
        size = f"{across:g} times the usual width, {along:g} the height"
        shift = (
            f"moved by {self.window.x:.0%} of the card's width, {self.window.y:.0%} of its height"
        )
        return f"{size}, {shift}: {certain}, {self.usual} with the usual one"


def fit_window(recogniser: Recogniser, shown: Sequence[ShownCard]) -> WindowFit:
    """
    Try windows of several sizes and positions on known cards.

    The best window is the one with which most cards come nearest to a certain reading.
    """
    usual = IndexWindow()
    trials = {usual: _try(recogniser, shown, usual)}
    # The least certain first: they show soonest that a window is no better.
    shown = [shown[place] for place in np.argsort(trials[usual].odds)]

    def best_of(best: IndexWindow, others: Iterable[IndexWindow]) -> IndexWindow:
        for window in others:
            trial = _try(recogniser, shown, window, trials[best].score)
            if trial.score > trials[best].score:
                trials[window] = trial
                best = window
        return best

    best = usual
    if trials[usual].score + _MIN_GAIN <= _CERTAIN:
        moved = [replace(usual, x=x, y=y) for x in _SHIFTS for y in _SHIFTS]
        first = (each.scaled(size, size) for each in moved for size in _FIRST_SCALES)
        best = best_of(usual, first)
        there = replace(usual, x=best.x, y=best.y)
        best = best_of(best, (there.scaled(x, y) for x in _SCALES for y in _SCALES))
    if trials[best].score - trials[usual].score < _MIN_GAIN:
        best = usual
    return WindowFit(best, len(shown), trials[usual].accepted, trials[best].accepted)


class _Trial(NamedTuple):
    """
    Readings of the shown cards through a window.

    Attributes:
        score: How near they come to a certain reading.
        accepted: How many got their true name.
        odds: Logarithm of the odds of each card's true value; infinite where it was not read.
    """

    score: float
    accepted: int
    odds: Floats


def _try(
    recogniser: Recogniser,
    shown: Sequence[ShownCard],
    window: IndexWindow,
    beat: float = -math.inf,
) -> _Trial:
    """Read the shown cards through a window until it cannot beat a given score."""
    recogniser.window = window
    odds, accepted = np.full(len(shown), np.inf), 0
    for number, each in enumerate(shown):
        reading = recogniser.read(each.image, np.asarray(each.quad, np.float32))
        odds[number] = _odds(reading, each.card)
        accepted += reading.card == each.card
        if _score(odds) <= beat:
            break
    return _Trial(_score(odds), accepted, odds)


def _score(odds: Floats) -> float:
    return float(np.clip(odds, _DOUBTFUL, _CERTAIN).mean())


def _odds(reading: CardReading, card: Card) -> float:
    """Return the logarithm of the odds of a card's true value."""
    both = combine_ends([end.believed for end in reading.ends])
    row, column = RANKS.index(card.rank), SUITS.index(card.suit)
    return _log_odds(float(both.cards[row, column]))


def _log_odds(probability: float) -> float:
    near = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(near / (1 - near))

"""
Comparison of the deck on the table with the deck of the profile, by the print of its cards.

One card proves little, because figures of many makers are alike. Each further card adds
certainty, and a back most of all. `bench.vision.calibration` measures how often
another deck passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera.frame_source import encode_png
from calibration.camera.reference_comparison import Finding, FindingKind
from drivers.camera.image import Image, read_image
from drivers.camera.recognition.blur import CARD_WIDTH_PX
from drivers.camera.recognition.table_projection import Floats
from shoe_daemon.game import RANKS

BACK_NAME: Final = "back"
"""File name of the deck's back; the other files have the names of the ranks."""

MIN_FACES: Final = 3
"""Faces that, with a back, make a comparison certain."""

MIN_BACK_LIKENESS: Final = 0.72
"""Minimum likeness, of 1, of two backs of one deck."""

_MAX_OFFSET_PX: Final = 5
"""Maximum offset of a card's image against another, in either direction."""

_ADVICE: Final = "take the deck of the profile, or calibrate with this one"

_FIGURE, _PATTERN, _INK, _NONE = 23.3, 7.6, -11.4, -25.5
"""Logistic weights from cards of simulated decks: above 0 a card is rather of the same deck."""

_MAX_LOG_ODDS: Final = 6.0
"""Limit of the log odds of one card."""

_MIN_MEAN_LOG_ODDS: Final = (-1.7, -0.7, -0.3, 0.0)
"""Minimum mean by number of faces: a smaller mean is another deck's, and that of 1 in 100 same
decks in worse light and focus than a check accepts."""


class Certainty(StrEnum):
    """Certainty of a comparison: certain, by too few cards, or none."""

    SURELY = "surely"
    UNSURE = "unsure"
    NOT = "not"


FaceUpCard = tuple[Image, str]
"""Upright image of a card that lies face up, and its rank."""


class ReferenceDeck:
    """The cards of a profile."""

    def __init__(self, cards: Mapping[str, Image]) -> None:
        self.back = cards.get(BACK_NAME)
        self._faces: dict[str, CardPrint] = {
            name: print_of(flat) for name, flat in cards.items() if name != BACK_NAME
        }

    def has_rank(self, rank: str) -> bool:
        """True if there is a card of this rank."""
        return rank in self._faces

    def log_odds(self, now: CardPrint, rank: str) -> float:
        """Return the log odds that a card of a rank is of this deck."""
        before = self._faces[rank]
        found = (
            _NONE
            + _FIGURE * _figure_likeness(now, before)
            + _PATTERN * _pattern_likeness(now, before)
            + _INK * math.log1p(_ink_distance(now, self._faces.values()))
        )
        return max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, found))


def card_files(folder: Path, cards: Mapping[str, Image]) -> dict[Path, bytes | None]:
    """Return the files of upright cards by name; None for each other file, of another deck."""
    return {
        path: encode_png(cards[name]) if name in cards else None
        for name, path in _card_paths(folder).items()
    }


def load_cards(folder: Path) -> dict[str, Image]:
    """Load the cards of a folder; missing ones are left out."""
    found = {name: read_image(path) for name, path in _card_paths(folder).items()}
    return {name: image for name, image in found.items() if image is not None}


def _card_paths(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.png" for name in (*RANKS, BACK_NAME)}


def compare_deck(
    faces: Sequence[FaceUpCard], backs: Sequence[Image], deck: ReferenceDeck, *, alone: bool
) -> tuple[list[Finding], Certainty]:
    """
    Compare the faces and the upright backs that lie on the table with the profile's deck; return
    the findings and their certainty. In the throat, only one card can be shown at a time: `alone`.
    """
    known = [(flat, rank) for flat, rank in faces if deck.has_rank(rank)]
    known_backs = backs if deck.back is not None else []
    found = _face_findings(known, deck) if known else []
    if backs and deck.back is not None:
        found += _back_findings(backs, deck.back)
    if len(known) >= MIN_FACES and known_backs:
        return found, Certainty.SURELY
    missing = (_missing_side if alone else _missing_cards)(known, known_backs, deck)
    found.append(Finding(FindingKind.NOTE, missing, bad=False))
    return found, Certainty.UNSURE if known or known_backs else Certainty.NOT


def _face_findings(faces: Sequence[FaceUpCard], deck: ReferenceDeck) -> list[Finding]:
    odds = [deck.log_odds(print_of(flat), rank) for flat, rank in faces]
    if not is_other_deck(odds):
        return []
    mean = sum(odds) / len(odds)
    same = round(1 / (1 + math.exp(-mean)), 3)
    ranks = ", ".join(rank for _, rank in faces)
    many, one = ("s", "") if len(faces) > 1 else ("", "s")
    text = (
        f"other deck: figure, place and ink of the card{many} that lie{one} there ({ranks}) are "
        f"those of the profile's deck with {same:.0%} likelihood: {_ADVICE}"
    )
    return [Finding(FindingKind.OTHER_DECK, text, amount=same, unit="likelihood")]


def is_other_deck(odds: Sequence[float]) -> bool:
    """True if cards with these log odds are of another deck."""
    return sum(odds) / len(odds) < _MIN_MEAN_LOG_ODDS[min(len(odds), len(_MIN_MEAN_LOG_ODDS)) - 1]


def _back_findings(backs: Sequence[Image], known: Image) -> list[Finding]:
    same = min(back_likeness(flat, known) for flat in backs)
    if same >= MIN_BACK_LIKENESS:
        return []
    text = f"other back: it is {same:.0%} alike the profile's: {_ADVICE}"
    return [Finding(FindingKind.OTHER_BACK, text, amount=same, unit="likeness")]


def _missing_cards(
    faces: Sequence[FaceUpCard], backs: Sequence[Image], deck: ReferenceDeck
) -> str:
    missing = []
    if len(faces) < MIN_FACES:
        more = MIN_FACES - len(faces)
        missing.append(f"{more} more card{'s' if more > 1 else ''} face up")
    if deck.back is None:
        missing.append("a profile that knows its back")
    elif not backs:
        missing.append("one face down")
    return f"the deck was not compared surely: that takes {' and '.join(missing)}"


def _missing_side(faces: Sequence[FaceUpCard], backs: Sequence[Image], deck: ReferenceDeck) -> str:
    if not faces and not backs:
        return "the deck was not compared: show one card at a time, each at a check of its own"
    side = "down" if faces and deck.back is not None else "up"
    text = f"the deck was not compared surely, by one card: check once more with one face {side}"
    return text if deck.back is not None else f"{text}; the profile knows no back"


def back_likeness(now: Image, before: Image) -> float:
    """Return the likeness of two upright backs, at the better end; at most 1."""
    wanted = _without_rim(_smoothed(before))
    ends = (now, np.ascontiguousarray(now[::-1, ::-1]))
    return round(max(_best_match(_smoothed(each), wanted) for each in ends), 3)


def _smoothed(flat: Image) -> NDArray[np.uint8]:
    flat = np.asarray(cv2.resize(flat, (CARD_WIDTH_PX, round(CARD_WIDTH_PX * 88 / 63))), np.uint8)
    return np.asarray(cv2.GaussianBlur(flat, (0, 0), 1.2), np.uint8)


Single = NDArray[np.float32]

CARD_SIZE_PX: Final = (160, 224)
"""Width and height to which a card's image is scaled."""

_INDEX_SIZE_PX: Final = (round(CARD_SIZE_PX[0] * 0.25), round(CARD_SIZE_PX[1] * 0.43))
"""Size of the index area, from the card's corner."""

_MIN_INK: Final = 0.5
_PURE_INK: Final = 0.8
"""Shares of the darkest print: above the first a pixel is print, above the second only ink."""

_MIN_FIGURE_ROWS: Final = 3
_FIGURE_MARGIN_PX: Final = 4
"""Minimum height of a figure, and the margin around it."""

_COARSE_BLUR_PX: Final = 2.5
"""Blur of whole faces before their comparison."""

_MIN_INK_PIXELS: Final = 8
"""Pixels of pure ink without which its colour is unknown."""

_GREY_OFFSET: Final = 8.0
"""Added to ink and paper, so that black is not infinitely far from grey."""

_MIN_RED_RATIO: Final = 1.35
"""Minimum brightness of red ink in the red channel, as a multiple of the blue channel's."""


class CardPrint(NamedTuple):
    """
    Print of an upright card, seen from either end.

    Attributes:
        ends: Amount of ink at each pixel, from 0 to 1.
        colour: Blue, green and red of the ink, as shares of the paper's; None where there is
            too little ink.
    """

    ends: tuple[Single, Single]
    colour: Floats | None

    @property
    def is_red(self) -> bool:
        """True if the ink is red."""
        return self.colour is not None and bool(self.colour[2] > _MIN_RED_RATIO * self.colour[0])


def print_of(flat: Image) -> CardPrint:
    """Return the print of an upright card, independent of the light."""
    card = np.asarray(cv2.resize(flat, CARD_SIZE_PX, interpolation=cv2.INTER_CUBIC), np.uint8)
    turned = np.ascontiguousarray(card[::-1, ::-1])
    upper, lower = _ink(card), _ink(turned)
    colours = [each for each in (_colour(card, upper), _colour(turned, lower)) if each is not None]
    return CardPrint((upper, lower), np.median(colours, axis=0) if colours else None)


def _ink(card: Image) -> Single:
    dark = cv2.GaussianBlur(card, (0, 0), 1.0).min(axis=2).astype(np.float32)
    paper = max(float(np.percentile(dark, 85)), 1.0)
    ink = np.clip((paper - dark) / paper, 0, 1)
    darkest = float(np.percentile(ink[: _INDEX_SIZE_PX[1], : _INDEX_SIZE_PX[0]], 99))
    return np.asarray(np.clip(ink / max(darkest, 0.15), 0, 1), np.float32)


def _colour(card: Image, ink: Single) -> Floats | None:
    paper = np.percentile(card.reshape(-1, 3), 85, axis=0)
    corner = card[: _INDEX_SIZE_PX[1], : _INDEX_SIZE_PX[0]]
    printed = ink[: _INDEX_SIZE_PX[1], : _INDEX_SIZE_PX[0]] > _PURE_INK
    if printed.sum() < _MIN_INK_PIXELS:
        return None
    return np.asarray(
        (corner[printed].mean(axis=0) + _GREY_OFFSET) / (paper + _GREY_OFFSET), np.float64
    )


def _figure_likeness(now: CardPrint, before: CardPrint) -> float:
    """Return the likeness of two indexes' figures and of their positions; 1 for the same."""
    found = [0.0]
    for end in before.ends:
        figure = _figure(end)
        if figure is None:
            continue
        left, top, right, bottom = figure
        wanted = end[top:bottom, left:right]
        rows = slice(top - _FIGURE_MARGIN_PX, bottom + _FIGURE_MARGIN_PX)
        columns = slice(left - _FIGURE_MARGIN_PX, right + _FIGURE_MARGIN_PX)
        found += [_best_match(each[rows, columns], wanted) for each in now.ends]
    return max(found)


def _figure(ink: Single) -> tuple[int, int, int, int] | None:
    """Find the figure: the uppermost print in the index, with a margin."""
    printed = ink[2 : _INDEX_SIZE_PX[1], 2 : _INDEX_SIZE_PX[0]] > _MIN_INK
    top, bottom = _first_run(np.asarray(printed.any(axis=1)), _MIN_FIGURE_ROWS, 0)
    if top == bottom:
        return None
    left, right = _first_run(np.asarray(printed[top:bottom].any(axis=0)), 1, _MIN_FIGURE_ROWS)
    x, y = (max(_FIGURE_MARGIN_PX, each + 2 - _FIGURE_MARGIN_PX) for each in (left, top))
    return x, y, right + 2 + _FIGURE_MARGIN_PX, bottom + 4


def _first_run(printed: NDArray[Any], least: int, gap: int) -> tuple[int, int]:
    """Find the first run of a minimum length, which may have gaps; (0, 0) where there is none."""
    first = last = -1
    for place, value in enumerate(printed):
        if value:
            first = place if first < 0 else first
            last = place
        elif first >= 0 and place - last > gap:
            if last + 1 - first >= least:
                break
            first = -1
    return (first, last + 1) if first >= 0 else (0, 0)


def _without_rim(flat: NDArray[Any]) -> NDArray[Any]:
    return flat[_MAX_OFFSET_PX:-_MAX_OFFSET_PX, _MAX_OFFSET_PX:-_MAX_OFFSET_PX]


def _best_match(where: NDArray[Any], wanted: NDArray[Any]) -> float:
    where, wanted = np.ascontiguousarray(where), np.ascontiguousarray(wanted)
    return float(cv2.matchTemplate(where, wanted, cv2.TM_CCOEFF_NORMED).max())


def _pattern_likeness(now: CardPrint, before: CardPrint) -> float:
    """Return the approximate likeness of the faces of two cards of one rank; 1 for the same."""
    wanted = _without_rim(_coarse(before.ends[0]))
    return max(_best_match(_coarse(each), wanted) for each in now.ends)


def _coarse(ink: Single) -> Single:
    return np.asarray(cv2.GaussianBlur(ink, (0, 0), _COARSE_BLUR_PX), np.float32)


def _ink_distance(now: CardPrint, others: Iterable[CardPrint]) -> float:
    """
    Return the distance of an ink from that of the other cards of its colour: 0 for the same, 0.7
    for twice the brightness in one channel.
    """
    colours = [
        each.colour for each in others if each.colour is not None and each.is_red is now.is_red
    ]
    if now.colour is None or not colours:
        return 0.1
    apart = np.log(now.colour) - np.log(np.median(colours, axis=0))
    return min(4.0, float(np.abs(apart).max()))

"""
Comparison of the deck on the table with the deck of the profile.

One card proves little, because figures of many makers are alike. Each further card adds
certainty, and a back most of all. `bench.vision.calibration_benchmarks` measures how often
another deck passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera.card_print import (
    CardPrint,
    figure_likeness,
    ink_distance,
    pattern_likeness,
    print_of,
)
from calibration.camera.frame_source import encode_png
from calibration.camera.profile_check import Finding, FindingKind
from drivers.camera.recognition.card_finder import is_back
from drivers.camera.recognition.confidence import CARD_WIDTH_PX
from drivers.camera.sources.video_frame import Image
from shoe_daemon.game import RANKS

__all__ = [
    "BACK_NAME",
    "MIN_BACK_LIKENESS",
    "MIN_FACES",
    "Certainty",
    "FaceUpCard",
    "ReferenceDeck",
    "back_likeness",
    "card_files",
    "compare_deck",
    "is_back",
    "is_other_deck",
    "load_cards",
]

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


class FaceUpCard(NamedTuple):
    """Upright image of a card that lies face up, and its rank."""

    flat: Image
    rank: str


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
            + _FIGURE * figure_likeness(now, before)
            + _PATTERN * pattern_likeness(now, before)
            + _INK * math.log1p(ink_distance(now, self._faces.values()))
        )
        return max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, found))


def card_files(folder: Path, cards: Mapping[str, Image]) -> dict[Path, bytes | None]:
    """
    Return the files of a deck's upright cards, by rank or ``back``, and None for each other file,
    which may be of another deck.
    """
    return {
        path: encode_png(cards[name]) if name in cards else None
        for name, path in _card_paths(folder).items()
    }


def load_cards(folder: Path) -> dict[str, Image]:
    """Load the cards of a folder; missing ones are left out."""
    cards = {}
    for name, path in _card_paths(folder).items():
        image = cv2.imread(str(path), cv2.IMREAD_COLOR) if path.is_file() else None
        if image is not None:
            cards[name] = np.asarray(image, np.uint8)
    return cards


def _card_paths(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.png" for name in (*RANKS, BACK_NAME)}


def compare_deck(
    faces: Sequence[FaceUpCard],
    backs: Sequence[Image],
    deck: ReferenceDeck,
    *,
    alone: bool = False,
) -> tuple[list[Finding], Certainty]:
    """
    Compare the cards on the table with the profile's; return the findings and their certainty.

    Args:
        faces: Cards that lie face up, and were read.
        backs: Upright images of cards that lie face down.
        deck: The deck of the profile.
        alone: Whether only one card can be shown at a time, as in the throat.
    """
    known = [face for face in faces if deck.has_rank(face.rank)]
    known_backs = backs if deck.back is not None else []
    found = [
        *(_face_findings(known, deck) if known else []),
        *(_back_findings(known_backs, deck.back) if known_backs and deck.back is not None else []),
    ]
    if len(known) >= MIN_FACES and known_backs:
        return found, Certainty.SURELY
    missing = (
        _missing_side(known, known_backs, deck)
        if alone
        else _missing_cards(known, known_backs, deck)
    )
    found.append(Finding(FindingKind.NOTE, missing, bad=False))
    return found, Certainty.UNSURE if known or known_backs else Certainty.NOT


def _face_findings(faces: Sequence[FaceUpCard], deck: ReferenceDeck) -> list[Finding]:
    odds = [deck.log_odds(print_of(face.flat), face.rank) for face in faces]
    if not is_other_deck(odds):
        return []
    mean = sum(odds) / len(odds)
    same = round(1 / (1 + math.exp(-mean)), 3)
    ranks = ", ".join(face.rank for face in faces)
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
    """Return the note that asks for the other side of a card: only one can be shown at a time."""
    if not faces and not backs:
        return "the deck was not compared: show one card at a time, each at a check of its own"
    side = "down" if faces and deck.back is not None else "up"
    text = f"the deck was not compared surely, by one card: check once more with one face {side}"
    return text if deck.back is not None else f"{text}; the profile knows no back"


def back_likeness(now: Image, before: Image) -> float:
    """Return the likeness of two upright backs, at the better end; at most 1."""
    template = np.ascontiguousarray(
        _smoothed(before)[_MAX_OFFSET_PX:-_MAX_OFFSET_PX, _MAX_OFFSET_PX:-_MAX_OFFSET_PX]
    )
    ends = (now, np.ascontiguousarray(now[::-1, ::-1]))
    return round(max(_likeness(_smoothed(each), template) for each in ends), 3)


def _smoothed(flat: Image) -> NDArray[np.uint8]:
    flat = np.asarray(cv2.resize(flat, (CARD_WIDTH_PX, round(CARD_WIDTH_PX * 88 / 63))), np.uint8)
    return np.asarray(cv2.GaussianBlur(flat, (0, 0), 1.2), np.uint8)


def _likeness(now: NDArray[np.uint8], template: NDArray[np.uint8]) -> float:
    return float(cv2.matchTemplate(now, template, cv2.TM_CCOEFF_NORMED).max())

"""
Is it still the same deck: cards that lie there now, compared with those of the profile.

One card says little: figures of many makers are alike. Each further one says more, and a
back most of all. How often another deck passes is measured by `bench.vision.calibration_accuracy`.
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
from drivers.camera.recognition.card_reader import is_back
from drivers.camera.recognition.confidence import CARD_WIDTH_PX
from drivers.camera.sources.frame_quality import Image
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
"""The name of the picture of the deck's back; the others have their rank's."""

MIN_FACES: Final = 3
"""Faces from which on, with a back, a check is said to have compared the deck."""

MIN_BACK_LIKENESS: Final = 0.72
"""Likeness, of 1, from which two backs are taken to be of one deck."""

_MAX_OFFSET_PX: Final = 5
"""Pixels by which a card that was cut out may lie beside another, either way."""

_ADVICE: Final = "take the deck of the profile, or calibrate with this one"

_FIGURE, _PATTERN, _INK, _NONE = 23.3, 7.6, -11.4, -25.5
"""Logistic weights, from cards of simulated decks: above 0 a card is rather of the same."""

_MAX_LOG_ODDS: Final = 6.0
"""The most that the logarithm of one card's odds counts, either way."""

_MIN_MEAN_LOG_ODDS: Final = (-1.7, -0.7, -0.3, 0.0)
"""By the number of faces: a mean below is another deck's; so are 1 in 100 of the same
in worse light and focus than a check lets pass."""


class Certainty(StrEnum):
    """
    How far a check compared the deck: surely, by too few cards, or not at all.
    """

    SURELY = "surely"
    UNSURE = "unsure"
    NOT = "not"


class FaceUpCard(NamedTuple):
    """
    A card that lies there now, upright, and its rank.
    """

    flat: Image
    rank: str


class ReferenceDeck:
    """
    The cards of a profile.
    """

    def __init__(self, cards: Mapping[str, Image]) -> None:
        self.back = cards.get(BACK_NAME)
        self._faces: dict[str, CardPrint] = {
            name: print_of(flat) for name, flat in cards.items() if name != BACK_NAME
        }

    def has_rank(self, rank: str) -> bool:
        """
        Whether there is a card of this rank.
        """
        return rank in self._faces

    def log_odds(self, now: CardPrint, rank: str) -> float:
        """
        Say how likely a card of a rank is of this deck: the logarithm of the odds.
        """
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
    Give the files of a deck's upright cards, by rank or ``back``, and None for each other that
    was kept before: it may be of another deck.
    """
    return {
        path: encode_png(cards[name]) if name in cards else None
        for name, path in _card_paths(folder).items()
    }


def load_cards(folder: Path) -> dict[str, Image]:
    """
    Read them; those that are there.
    """
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
    Compare the cards that lie there with the profile's; say what is unlike, and how sure
    that is.

    Args:
        faces: Cards that lie face up, and were read.
        backs: Cards that lie face down, upright.
        deck: That of the profile.
        alone: Whether no more than one card can be shown at a time, as in a shoe's mouth.
    """
    known = [face for face in faces if deck.has_rank(face.rank)]
    there = backs if deck.back is not None else []
    found = [
        *(_face_findings(known, deck) if known else []),
        *(_back_findings(there, deck.back) if there and deck.back is not None else []),
    ]
    if len(known) >= MIN_FACES and there:
        return found, Certainty.SURELY
    wanting = _missing_side(known, there, deck) if alone else _missing_cards(known, there, deck)
    found.append(Finding(FindingKind.NOTE, wanting, bad=False))
    return found, Certainty.UNSURE if known or there else Certainty.NOT


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
    """
    Whether cards of such likelihoods are another deck's.
    """
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
    wanting = []
    if len(faces) < MIN_FACES:
        more = MIN_FACES - len(faces)
        wanting.append(f"{more} more card{'s' if more > 1 else ''} face up")
    if deck.back is None:
        wanting.append("a profile that knows its back")
    elif not backs:
        wanting.append("one face down")
    return f"the deck was not compared surely: that takes {' and '.join(wanting)}"


def _missing_side(faces: Sequence[FaceUpCard], backs: Sequence[Image], deck: ReferenceDeck) -> str:
    """
    Ask for the other side of a card: one says little, and no two can be shown.
    """
    if not faces and not backs:
        return "the deck was not compared: show one card at a time, each at a check of its own"
    side = "down" if faces and deck.back is not None else "up"
    text = f"the deck was not compared surely, by one card: check once more with one face {side}"
    return text if deck.back is not None else f"{text}; the profile knows no back"


def back_likeness(now: Image, before: Image) -> float:
    """
    Return how alike two upright backs are, at either end; 1 at most.
    """
    wanted = np.ascontiguousarray(
        _smoothed(before)[_MAX_OFFSET_PX:-_MAX_OFFSET_PX, _MAX_OFFSET_PX:-_MAX_OFFSET_PX]
    )
    ends = (now, np.ascontiguousarray(now[::-1, ::-1]))
    return round(max(_likeness(_smoothed(each), wanted) for each in ends), 3)


def _smoothed(flat: Image) -> NDArray[np.uint8]:
    flat = np.asarray(cv2.resize(flat, (CARD_WIDTH_PX, round(CARD_WIDTH_PX * 88 / 63))), np.uint8)
    return np.asarray(cv2.GaussianBlur(flat, (0, 0), 1.2), np.uint8)


def _likeness(now: NDArray[np.uint8], wanted: NDArray[np.uint8]) -> float:
    return float(cv2.matchTemplate(now, wanted, cv2.TM_CCOEFF_NORMED).max())

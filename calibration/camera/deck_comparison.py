"""
Is it still the same deck: cards that lie there now, compared with those of the profile.

One card says little: figures of many makers are alike. Each further one says more, and a
back most of all. How often another deck passes is measured by `bench.calibration_camera`.
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
    Print,
    apart_in_ink,
    figures_alike,
    ink_of,
    patterns_alike,
)
from calibration.camera.frame_source import picture_data
from calibration.camera.profile_check import Finding, Kind
from drivers.camera.recognition.card_reader import is_back
from drivers.camera.recognition.confidence import WIDTH
from drivers.camera.sources.frame_quality import Image
from shoe_daemon.game.cards import RANKS

__all__ = [
    "BACK",
    "SAME_BACK",
    "SURE",
    "Compared",
    "Deck",
    "Face",
    "are_others",
    "back_likeness",
    "card_files",
    "compare_deck",
    "is_back",
    "kept_cards",
]

BACK: Final = "back"
"""The name of the picture of the deck's back; the others have their rank's."""

SURE: Final = 3
"""Faces from which on, with a back, a check is said to have compared the deck."""

SAME_BACK: Final = 0.72
"""Likeness, of 1, from which two backs are taken to be of one deck."""

_STRAY: Final = 5
"""Pixels by which a card that was cut out may lie beside another, either way."""

_ADVICE: Final = "take the deck of the profile, or calibrate with this one"

_FIGURE, _PATTERN, _INK, _NONE = 23.3, 7.6, -11.4, -25.5
"""Logistic weights, from cards of simulated decks: above 0 a card is rather of the same."""

_MOST: Final = 6.0
"""The most that the logarithm of one card's odds counts, either way."""

_LEAST: Final = (-1.7, -0.7, -0.3, 0.0)
"""By the number of faces: a mean below is another deck's; so are 1 in 100 of the same
in worse light and focus than a check lets pass."""


class Compared(StrEnum):
    """
    How far a check compared the deck: surely, by too few cards, or not at all.
    """

    SURELY = "surely"
    UNSURE = "unsure"
    NOT = "not"


class Face(NamedTuple):
    """
    A card that lies there now, upright, and its rank.
    """

    flat: Image
    rank: str


class Deck:
    """
    The cards of a profile.
    """

    def __init__(self, cards: Mapping[str, Image]) -> None:
        self.back = cards.get(BACK)
        self._faces: dict[str, Print] = {
            name: ink_of(flat) for name, flat in cards.items() if name != BACK
        }

    def has(self, rank: str) -> bool:
        """
        Whether there is a card of this rank.
        """
        return rank in self._faces

    def likelihood(self, now: Print, rank: str) -> float:
        """
        Say how likely a card of a rank is of this deck: the logarithm of the odds.
        """
        before = self._faces[rank]
        found = (
            _NONE
            + _FIGURE * figures_alike(now, before)
            + _PATTERN * patterns_alike(now, before)
            + _INK * math.log1p(apart_in_ink(now, self._faces.values()))
        )
        return max(-_MOST, min(_MOST, found))


def card_files(folder: Path, cards: Mapping[str, Image]) -> dict[Path, bytes | None]:
    """
    Give the files of a deck's upright cards, by rank or ``back``, and None for each other that
    was kept before: it may be of another deck.
    """
    return {
        path: picture_data(cards[name]) if name in cards else None
        for name, path in _kept(folder).items()
    }


def kept_cards(folder: Path) -> dict[str, Image]:
    """
    Read them; those that are there.
    """
    cards = {}
    for name, path in _kept(folder).items():
        image = cv2.imread(str(path), cv2.IMREAD_COLOR) if path.is_file() else None
        if image is not None:
            cards[name] = np.asarray(image, np.uint8)
    return cards


def _kept(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.png" for name in (*RANKS, BACK)}


def compare_deck(
    faces: Sequence[Face], backs: Sequence[Image], deck: Deck, *, alone: bool = False
) -> tuple[list[Finding], Compared]:
    """
    Compare the cards that lie there with the profile's; say what is unlike, and how sure
    that is.

    Args:
        faces: Cards that lie face up, and were read.
        backs: Cards that lie face down, upright.
        deck: That of the profile.
        alone: Whether no more than one card can be shown at a time, as in a shoe's mouth.
    """
    known = [face for face in faces if deck.has(face.rank)]
    there = backs if deck.back is not None else []
    found = [
        *(_faces(known, deck) if known else []),
        *(_backs(there, deck.back) if there and deck.back is not None else []),
    ]
    if len(known) >= SURE and there:
        return found, Compared.SURELY
    wanting = _wanting_alone(known, there, deck) if alone else _wanting(known, there, deck)
    found.append(Finding(Kind.NOTE, wanting, bad=False))
    return found, Compared.UNSURE if known or there else Compared.NOT


def _faces(faces: Sequence[Face], deck: Deck) -> list[Finding]:
    odds = [deck.likelihood(ink_of(face.flat), face.rank) for face in faces]
    if not are_others(odds):
        return []
    mean = sum(odds) / len(odds)
    same = round(1 / (1 + math.exp(-mean)), 3)
    ranks = ", ".join(face.rank for face in faces)
    many, one = ("s", "") if len(faces) > 1 else ("", "s")
    text = (
        f"other deck: figure, place and ink of the card{many} that lie{one} there ({ranks}) are "
        f"those of the profile's deck with {same:.0%} likelihood: {_ADVICE}"
    )
    return [Finding(Kind.OTHER_DECK, text, amount=same, unit="likelihood")]


def are_others(odds: Sequence[float]) -> bool:
    """
    Whether cards of such likelihoods are another deck's.
    """
    return sum(odds) / len(odds) < _LEAST[min(len(odds), len(_LEAST)) - 1]


def _backs(backs: Sequence[Image], known: Image) -> list[Finding]:
    same = min(back_likeness(flat, known) for flat in backs)
    if same >= SAME_BACK:
        return []
    text = f"other back: it is {same:.0%} alike the profile's: {_ADVICE}"
    return [Finding(Kind.OTHER_BACK, text, amount=same, unit="likeness")]


def _wanting(faces: Sequence[Face], backs: Sequence[Image], deck: Deck) -> str:
    wanting = []
    if len(faces) < SURE:
        more = SURE - len(faces)
        wanting.append(f"{more} more card{'s' if more > 1 else ''} face up")
    if deck.back is None:
        wanting.append("a profile that knows its back")
    elif not backs:
        wanting.append("one face down")
    return f"the deck was not compared surely: that takes {' and '.join(wanting)}"


def _wanting_alone(faces: Sequence[Face], backs: Sequence[Image], deck: Deck) -> str:
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
    wanted = np.ascontiguousarray(_soft(before)[_STRAY:-_STRAY, _STRAY:-_STRAY])
    ends = (now, np.ascontiguousarray(now[::-1, ::-1]))
    return round(max(_alike(_soft(each), wanted) for each in ends), 3)


def _soft(flat: Image) -> NDArray[np.uint8]:
    flat = np.asarray(cv2.resize(flat, (WIDTH, round(WIDTH * 88 / 63))), np.uint8)
    return np.asarray(cv2.GaussianBlur(flat, (0, 0), 1.2), np.uint8)


def _alike(now: NDArray[np.uint8], wanted: NDArray[np.uint8]) -> float:
    return float(cv2.matchTemplate(now, wanted, cv2.TM_CCOEFF_NORMED).max())

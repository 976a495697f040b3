"""
Is it still the same deck: a card that lies there now, compared with those of the profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera.drift import Finding, Kind
from drivers.camera.eye import paper_of
from drivers.camera.frames import Image
from drivers.camera.profile import Profile
from drivers.camera.sharpness import WIDTH
from shoe_daemon.game.cards import RANKS

__all__ = ["BACK", "compare_card", "is_back", "keep_cards", "kept_cards", "likeness"]

BACK: Final = "back"
"""The name of the picture of the deck's back; the others have their rank's."""

_PAPER: Final = 0.45
_SAME_BACK: Final = 0.6
_SAME_FIGURE: Final = 0.85
_STRAY: Final = 5


def is_back(flat: Image) -> bool:
    """
    Whether an upright card shows its back.
    """
    return paper_of(flat) < _PAPER


def keep_cards(folder: Path, cards: Mapping[str, Image]) -> None:
    """
    Write upright pictures of a deck's cards, by rank or ``back``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, flat in cards.items():
        cv2.imwrite(str(folder / f"{name}.png"), flat)


def kept_cards(folder: Path) -> dict[str, Image]:
    """
    Read them; those that are there.
    """
    cards = {}
    for name in (*RANKS, BACK):
        path = folder / f"{name}.png"
        image = cv2.imread(str(path), cv2.IMREAD_COLOR) if path.is_file() else None
        if image is not None:
            cards[name] = np.asarray(image, np.uint8)
    return cards


def compare_card(
    flat: Image, rank: str, profile: Profile, cards: Mapping[str, Image]
) -> Finding | None:
    """
    Compare an upright card with the profile's deck; None where it is of the same one.

    Args:
        flat: The card as it is seen now.
        rank: What it looks most like, where it shows its face.
        profile: Where indexes stand.
        cards: The deck of the profile.
    """
    name = BACK if is_back(flat) else rank
    if name not in cards:
        text = f"the profile has no picture of this deck's {name}: it was not compared"
        return Finding(Kind.NOTE, text, bad=False)
    same = likeness(flat, cards[name], None if name == BACK else profile)
    if name == BACK and same < _SAME_BACK:
        text = f"other back: {same:.2f} alike the profile's, 1 is the same"
        return Finding(Kind.OTHER_BACK, f"{text}: {_ADVICE}", amount=same, unit="likeness")
    if name != BACK and same < _SAME_FIGURE:
        text = f"other deck: its {rank} is {same:.2f} alike the profile's, 1 is the same"
        return Finding(Kind.OTHER_DECK, f"{text}: {_ADVICE}", amount=same, unit="likeness")
    return None


_ADVICE: Final = "take the deck of the profile, or calibrate with this one"


def likeness(now: Image, before: Image, profile: Profile | None) -> float:
    """
    Return how alike two upright cards are: the figures of their indexes where a profile says
    where those are, the whole cards where not. At either end; 1 at most.
    """
    turned = np.ascontiguousarray(now[::-1, ::-1])
    parts = [_part(each, profile) for each in (now, turned)]
    return round(max(_alike(part, _part(before, profile)) for part in parts), 3)


def _part(flat: Image, profile: Profile | None) -> NDArray[np.uint8]:
    flat = np.asarray(cv2.resize(flat, (WIDTH, round(WIDTH * 88 / 63))), np.uint8)
    if profile is None:
        return np.asarray(cv2.GaussianBlur(flat, (0, 0), 1.2), np.uint8)
    high, wide = flat.shape[:2]
    window = profile.window
    # The figure is in the upper part of the window; below it the pips of suits differ.
    rows = slice(0, round(high * (window.y + window.height * 0.45)))
    return np.asarray(flat[rows, : round(wide * (window.x + window.width * 0.8))].min(axis=2))


def _alike(now: NDArray[np.uint8], before: NDArray[np.uint8]) -> float:
    inner = np.ascontiguousarray(before[_STRAY:-_STRAY, _STRAY:-_STRAY])
    return float(cv2.matchTemplate(now, inner, cv2.TM_CCOEFF_NORMED).max())

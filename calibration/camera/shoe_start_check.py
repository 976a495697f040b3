"""
The check at the start of a shoe: is all still as it was when the profile was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from calibration.camera.calibration_result import card_folder
from calibration.camera.deck_comparison import (
    Compared,
    Deck,
    Face,
    compare_deck,
    is_back,
    kept_cards,
)
from calibration.camera.image_measures import Flicker, flicker_of, mean_of
from calibration.camera.profile_check import Finding, Kind, compare, gain_of
from calibration.camera.registration import moved_by
from calibration.camera.shown_cards import find_on
from calibration.camera.table_layout import Plane, watched
from drivers.camera.profile.camera_profile import Place, Profile
from drivers.camera.recognition.card_reader import Reader
from drivers.camera.recognition.confidence import upright
from drivers.camera.recognition.table_geometry import Floats
from drivers.camera.sources.frame_quality import Image
from shoe_daemon.errors import UserError

__all__ = ["Checked", "check_pictures", "check_profile"]

_STILL: Final = 24.0
"""Grey values by which most of a still picture differs from the next, at the most."""

_MOST: Final = 60
"""Of 100 points of a picture, so many are most of it."""

_NEAR: Final = 15.0
"""Millimetres by which the table may have moved so that its places are still looked into."""


class Checked(Struct, frozen=True):
    """
    What a check found.

    Attributes:
        passed: Whether to play.
        findings: What changed; notes too, which forbid nothing.
        moved: By how far the table moved in its picture; None where it is not recognised.
        deck: How far the deck was compared; a check passes without.
    """

    passed: bool
    findings: tuple[Finding, ...]
    moved: float | None = None
    deck: Compared = Compared.NOT


def check_profile(
    profile: Profile, path: Path, pictures: Sequence[Image], reader: Callable[[], Reader]
) -> Checked:
    """
    Compare pictures with a profile, its empty table and its cards.

    Args:
        profile: As it was loaded.
        path: Where it is; its cards are beside it.
        pictures: Some in a row.
        reader: Gives what reads cards; asked only where one lies there.
    """
    reference = cv2.imread(str(profile.reference), cv2.IMREAD_COLOR)
    if reference is None:
        raise UserError(f"{profile.reference}: no picture; calibrate this camera again")
    return check_pictures(
        profile, np.asarray(reference, np.uint8), pictures, kept_cards(card_folder(path)), reader
    )


def check_pictures(
    profile: Profile,
    reference: Image,
    pictures: Sequence[Image],
    cards: dict[str, Image],
    reader: Callable[[], Reader],
) -> Checked:
    """
    Compare pictures with an empty table and a deck.
    """
    if len({each.shape for each in pictures}) != 1:
        raise UserError("pictures of different sizes; expected those of one camera")
    now = mean_of(pictures)
    moved = moved_by(profile, reference, now)
    found = compare(profile, reference, now, moved, _flicker(profile, pictures))
    compared = Compared.NOT
    if moved is not None and moved.far < _NEAR:
        told, compared = _deck(profile, reference, now, cards, reader)
        found += told
    return Checked(
        passed=not any(each.bad for each in found),
        findings=tuple(found),
        moved=None if moved is None else round(moved.far, 2),
        deck=compared,
    )


def _flicker(profile: Profile, pictures: Sequence[Image]) -> Flicker | None:
    """
    Look for flicker, where nobody moves: a hand is no lamp.
    """
    for first, second in pairwise(pictures):
        apart = cv2.absdiff(first[::8, ::8], second[::8, ::8])
        if float(np.percentile(apart, _MOST)) > _STILL:
            return None
    return flicker_of(pictures, profile.camera.fps)


def _unseen(profile: Profile) -> Finding:
    text = (
        "no card lies on a place: the deck was not compared; that takes three cards face up and "
        "one face down"
    )
    if profile.throat is not None:
        text = (
            "no whole card is seen in the shoe's mouth: the deck was not compared; show one card "
            "at a time, in its middle, one face up and at the next check one face down"
        )
    return Finding(Kind.NOTE, text, bad=False)


def _deck(
    profile: Profile,
    reference: Image,
    now: Image,
    cards: dict[str, Image],
    reader: Callable[[], Reader],
) -> tuple[list[Finding], Compared]:
    known = Deck(cards)
    faces: list[Face] = []
    backs: list[Image] = []
    unread: list[str] = []
    for place, quad in _lying(profile, reference, now):
        flat = upright(now, quad)
        if is_back(flat):
            backs.append(flat)
            continue
        reading = reader().read(now, np.asarray(quad, np.float32))
        if reading.card is None:
            unread.append(place.slot or "the shoe's mouth")
        else:
            faces.append(Face(flat, reading.card.rank))
    if not (faces or backs or unread):
        return [_unseen(profile)], Compared.NOT
    found, compared = compare_deck(faces, backs, known, alone=profile.throat is not None)
    return [*(_unread(name) for name in unread), *found], compared


def _unread(name: str) -> Finding:
    text = f"the card on {name} could not be read surely: it was not compared"
    return Finding(Kind.NOTE, text, bad=False)


def _lying(profile: Profile, reference: Image, now: Image) -> Iterator[tuple[Place, Floats]]:
    """
    Give the cards that lie on the places, by their corners.
    """
    size = profile.camera.width, profile.camera.height
    plane = Plane(np.array(profile.table.homography), profile.lens, None, None, size)
    gain = gain_of(profile, reference, now)
    for place in watched(profile.place, profile.throat):
        quad = find_on(plane, place, now, reference, profile.card, gain)
        if quad is not None:
            yield place, quad

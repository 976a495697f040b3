"""The check at the start of a shoe: compares camera, table and deck with the profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from calibration.camera.deck_comparison import (
    Certainty,
    FaceUpCard,
    ReferenceDeck,
    compare_deck,
    load_cards,
)
from calibration.camera.image_measures import Flicker, mean_image, measure_flicker
from calibration.camera.layout import watched_places
from calibration.camera.output import card_folder
from calibration.camera.reference_comparison import (
    Finding,
    FindingKind,
    brightness_gain,
    compare_with_profile,
)
from calibration.camera.registration import find_table_shift
from calibration.camera.shown_cards import find_card_on
from drivers.camera.image import Image, read_image
from drivers.camera.profile.sections import Place, Profile
from drivers.camera.recognition.blur import crop_card
from drivers.camera.recognition.card_reader import CardRecogniser, is_back
from drivers.camera.recognition.table_projection import Floats, TableProjection
from shoe_daemon.errors import UserError

_MAX_STILL_DIFFERENCE: Final = 24.0
"""Maximum grey difference between two frames of a still table."""

_STILL_PERCENTILE: Final = 60
"""Percentile of the points that have to be still."""

_MAX_COMPARED_SHIFT_MM: Final = 15.0
"""Shift of the table up to which cards are compared."""


class CheckResult(Struct, frozen=True):
    """
    Result of a check.

    Attributes:
        passed: Whether the table can be played.
        findings: Changes and notes; a note does not fail the check.
        moved: Shift of the table in the image, in millimetres; None where it is not recognised.
        deck: Certainty of the deck's comparison; a check passes without one.
    """

    passed: bool
    findings: tuple[Finding, ...]
    moved: float | None = None
    deck: Certainty = Certainty.NOT


def check_profile(
    profile: Profile, path: Path, frames: Sequence[Image], reader: Callable[[], CardRecogniser]
) -> CheckResult:
    """
    Compare consecutive frames with a profile, its empty table and its cards, which are beside its
    path. The reader of cards is made only where a card lies.
    """
    reference = read_image(profile.reference)
    if reference is None:
        raise UserError(f"{profile.reference}: no picture; calibrate this camera again")
    if len({each.shape for each in frames}) != 1:
        raise UserError("pictures of different sizes; expected those of one camera")
    now = mean_image(frames)
    shift = find_table_shift(profile, reference, now)
    found = compare_with_profile(profile, reference, now, shift, _flicker(profile, frames))
    compared = Certainty.NOT
    if shift is not None and shift.max_mm < _MAX_COMPARED_SHIFT_MM:
        deck = ReferenceDeck(load_cards(card_folder(path)))
        findings, compared = _compare_lying_cards(profile, reference, now, deck, reader)
        found += findings
    return CheckResult(
        passed=not any(each.bad for each in found),
        findings=tuple(found),
        moved=None if shift is None else round(shift.max_mm, 2),
        deck=compared,
    )


def _flicker(profile: Profile, frames: Sequence[Image]) -> Flicker | None:
    """Measure flicker, unless something moves: a hand is not a lamp."""
    for first, second in pairwise(frames):
        apart = cv2.absdiff(first[::8, ::8], second[::8, ::8])
        if float(np.percentile(apart, _STILL_PERCENTILE)) > _MAX_STILL_DIFFERENCE:
            return None
    return measure_flicker(frames, profile.camera.fps)


def _no_cards_finding(profile: Profile) -> Finding:
    text = (
        "no card lies on a place: the deck was not compared; that takes three cards face up and "
        "one face down"
    )
    if profile.throat is not None:
        text = (
            "no whole card is seen in the shoe's throat: the deck was not compared; show one card "
            "at a time, in its middle, one face up and at the next check one face down"
        )
    return Finding(FindingKind.NOTE, text, bad=False)


def _compare_lying_cards(
    profile: Profile,
    reference: Image,
    now: Image,
    deck: ReferenceDeck,
    reader: Callable[[], CardRecogniser],
) -> tuple[list[Finding], Certainty]:
    faces: list[FaceUpCard] = []
    backs: list[Image] = []
    unread: list[str] = []
    for place, quad in _lying_cards(profile, reference, now):
        flat = crop_card(now, quad)
        if is_back(flat):
            backs.append(flat)
            continue
        reading = reader().read(now, np.asarray(quad, np.float32))
        if reading.card is None:
            unread.append(place.slot or "the shoe's throat")
        else:
            faces.append((flat, reading.card.rank))
    if not (faces or backs or unread):
        return [_no_cards_finding(profile)], Certainty.NOT
    found, compared = compare_deck(faces, backs, deck, alone=profile.throat is not None)
    notes = (
        f"the card on {name} could not be read surely: it was not compared" for name in unread
    )
    return [*(Finding(FindingKind.NOTE, text, bad=False) for text in notes), *found], compared


def _lying_cards(profile: Profile, reference: Image, now: Image) -> Iterator[tuple[Place, Floats]]:
    ground = TableProjection(profile)
    gain = brightness_gain(profile, reference, now)
    for place in watched_places(profile.place, profile.throat):
        quad = find_card_on(ground, place, now, reference, profile.card, gain)
        if quad is not None:
            yield place, quad

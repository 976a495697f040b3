"""
Compares what a camera sees now with what its profile was made from: says what changed,
by how much, and what to do.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from calibration.camera.image_measures import Flicker, mean_brightness, measure_sharpness
from calibration.camera.registration import TableShift, is_mirrored, max_recognised_shift_mm
from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.table_geometry import Floats, TableProjection
from drivers.camera.sources.frame_quality import Image

__all__ = [
    "Finding",
    "FindingKind",
    "Limits",
    "brightness_gain",
    "compare_with_profile",
    "flicker_finding",
]

_MIN_BRIGHTNESS: Final = 8.0
"""A picture whose light, of 255, is less shows nothing."""

_THROAT_GAIN: Final = 3.5

_MIN_ROTATION_DEGREES: Final = 45.0
"""Degrees from which on a picture is rather turned round than pushed."""


class FindingKind(StrEnum):
    """
    What a finding is about.
    """

    MOVED = "moved"
    MIRRORED = "mirrored"
    COVERED = "covered"
    BLURRED = "blurred"
    DARKER = "darker"
    BRIGHTER = "brighter"
    FLICKER = "flicker"
    OTHER_DECK = "other deck"
    OTHER_BACK = "other back"
    OTHER_RESOLUTION = "other resolution"
    OTHER_CAMERA = "other camera"
    OTHER_SCENE = "other scene"
    NO_PICTURE = "no picture"
    NOTE = "note"


class Finding(Struct, frozen=True, omit_defaults=True):
    """
    One thing that changed, or could not be looked at.

    Attributes:
        kind: What.
        text: For people: what, how much, what to do.
        bad: Whether the table should not be played with this camera so.
        amount: How much, in `unit`.
        before: What the profile had, where that is a number.
    """

    kind: FindingKind
    text: str
    bad: bool = True
    amount: float | None = None
    unit: str = ""
    before: float | None = None


class Limits(Struct, frozen=True):
    """
    How much may change.

    Attributes:
        millimetres: By which the table moved, where that is most.
        sharpness: The least share that is left of what the profile had.
        darker, brighter: Times as bright as it was.
    """

    millimetres: float = 2.0
    sharpness: float = 0.75
    darker: float = 0.75
    brighter: float = 1.35


def compare_with_profile(  # noqa: PLR0913, PLR0917 - what was, what is, and what is known of it
    profile: Profile,
    reference: Image,
    now: Image,
    moved: TableShift | None,
    flicker: Flicker | None = None,
    limits: Limits | None = None,
) -> list[Finding]:
    """
    Compare a picture of the table with that of the profile.

    Args:
        profile: Where cards pass.
        reference: The profile's picture.
        now: That of today.
        moved: How the table moved between them (`moved_by`).
        flicker: What the lamps do.
        limits: How much may change.
    """
    limits = limits or Limits()
    if now.shape != reference.shape:
        return [_resolution_finding(now, reference)]
    if mean_brightness(now) < _MIN_BRIGHTNESS:
        text = "the picture is black: switch the lamp on, and take the cap off the lens"
        return [Finding(FindingKind.NO_PICTURE, text)]
    ratios = _brightness_ratios(profile, reference, now)
    lit = cv2.convertScaleAbs(now, alpha=1 / min(1.0, max(0.2, float(np.nanmedian(ratios)))))
    blurred = _blur_findings(reference, np.asarray(lit, np.uint8), limits)
    if moved is not None:
        found = _recognised_findings(moved, limits, _brightness_findings(ratios, limits), blurred)
    elif blurred and not blurred[0].amount:
        return [_nothing_visible()]
    elif blurred:
        text = "the picture is too blurred to tell where the table is"
        found = [
            *_brightness_findings(ratios, limits),
            *blurred,
            Finding(FindingKind.OTHER_SCENE, text),
        ]
    elif is_mirrored(profile, reference, now):
        found = [_mirrored_finding()]
    else:
        found = [*_brightness_findings(ratios, limits), _unrecognised_finding(profile)]
    if flicker is not None and not flicker.steady:
        found.append(flicker_finding(flicker))
    return found


def _recognised_findings(
    moved: TableShift, limits: Limits, light: list[Finding], blurred: list[Finding]
) -> list[Finding]:
    """
    Say what is unlike of a table that is recognised: what lies over half of it is no lamp.
    """
    pushed = _shift_findings(moved, limits)
    if moved.covered_side is None or blurred or pushed:
        return [*light, *blurred, *pushed]
    text = (
        f"covered: nothing of the table is found {moved.covered_side} in the picture: "
        "take away what lies there or hangs before the lens, and check once more"
    )
    return [Finding(FindingKind.COVERED, text)]


def _nothing_visible() -> Finding:
    text = (
        "nothing can be seen in the picture: is the lens covered or far out of focus, is a lamp "
        "out, is the exposure right?"
    )
    return Finding(FindingKind.NO_PICTURE, text)


def _mirrored_finding() -> Finding:
    text = (
        "mirrored: the picture shows the table as in a mirror: switch the camera's mirroring "
        "(flip) back, and check once more"
    )
    return Finding(FindingKind.MIRRORED, text)


def flicker_finding(flicker: Flicker) -> Finding:
    """
    Say that lamps flicker.
    """
    lamps = f"lamps on {flicker.mains} Hz mains" if flicker.mains else "a lamp"
    advice = (
        f"set the exposure to a multiple of 1/{2 * flicker.mains} s"
        if flicker.mains
        else "change the lamp, or set the exposure to a multiple of 1/100 s (1/120 s)"
    )
    return Finding(
        FindingKind.FLICKER,
        f"the light comes and goes by {flicker.strength:.0%} ({lamps}): {advice}",
        amount=flicker.strength,
        unit="share",
    )


def _resolution_finding(now: Image, reference: Image) -> Finding:
    wide, high = now.shape[1], now.shape[0]
    advice = "set the camera's mode back, or calibrate"
    if (high, wide) == reference.shape[1::-1]:
        advice = "the picture is turned by 90 degrees: turn it back in the camera's settings"
    return Finding(
        FindingKind.OTHER_RESOLUTION,
        f"pictures of {wide}x{high}; the profile was made with "
        f"{reference.shape[1]}x{reference.shape[0]}: {advice}",
    )


def _brightness_findings(ratios: Floats, limits: Limits) -> list[Finding]:
    gain = float(np.nanmedian(ratios))
    darkest, where = _worst_side(ratios)
    if gain > limits.brighter:
        text = f"brighter: {gain:.2f} times as bright as the profile"
        advice = "is the exposure locked, is there a new lamp or daylight?"
        return [
            Finding(FindingKind.BRIGHTER, f"{text}: {advice}", amount=round(gain, 3), unit="times")
        ]
    if min(gain, darkest) < limits.darker:
        part = f" {where}" if darkest < gain * 0.9 else ""
        amount = min(gain, darkest)
        text = f"darker{part}: {amount:.2f} times as bright as the profile"
        advice = "is a lamp out, is the exposure locked, is the lens free?"
        return [
            Finding(FindingKind.DARKER, f"{text}: {advice}", amount=round(amount, 3), unit="times")
        ]
    return []


def brightness_gain(profile: Profile, reference: Image, now: Image) -> float:
    """
    Return how many times as bright what lies below a card is taken to be as it was.

    A shoe's mouth is as dark as print: its print would not differ from it, were it not
    taken to be brighter.
    """
    brighter = 1.0 if profile.throat is None else _THROAT_GAIN
    return brighter * float(np.nanmedian(_brightness_ratios(profile, reference, now)))


def _brightness_ratios(profile: Profile, reference: Image, now: Image) -> Floats:
    """
    Compare the light part by part; a card in the shoe's mouth is no lamp.
    """
    size = (48, 27)
    before, after = (
        cv2.resize(each, size, interpolation=cv2.INTER_AREA).mean(axis=2).astype(np.float64)
        for each in (reference, now)
    )
    ratios = np.asarray((after + 1) / (before + 1))
    if profile.throat is not None:
        window = TableProjection(profile).to_pixels(profile.throat.window)
        scale = np.array([size[0] / now.shape[1], size[1] / now.shape[0]])
        hole = cv2.convexHull(np.round(window * scale).astype(np.int32))
        passed = cv2.fillConvexPoly(np.zeros(ratios.shape, np.uint8), hole, 1)
        ratios[np.asarray(passed) > 0] = np.nan
    return ratios if np.isfinite(ratios).any() else np.ones_like(ratios)


def _worst_side(ratios: Floats) -> tuple[float, str]:
    rows, columns = ratios.shape[0] // 2, ratios.shape[1] // 2
    sides = {
        "on the left": ratios[:, :columns],
        "on the right": ratios[:, columns:],
        "above": ratios[:rows],
        "below": ratios[rows:],
    }
    return min(
        (float(np.nanmedian(part)), where)
        for where, part in sides.items()
        if np.isfinite(part).any()
    )


def _blur_findings(reference: Image, now: Image, limits: Limits) -> list[Finding]:
    before, after = measure_sharpness(reference), measure_sharpness(now)
    if after >= before * limits.sharpness:
        return []
    return [
        Finding(
            FindingKind.BLURRED,
            f"the picture is blurred: sharpness {after:.2f}, this profile had {before:.2f}: "
            "clean or refocus the lens",
            amount=after,
            unit="sharpness",
            before=before,
        )
    ]


def _unrecognised_finding(profile: Profile) -> Finding:
    """
    Say what is known of a table that is not recognised.
    """
    text = (
        f"the table of the profile is not within {max_recognised_shift_mm(profile):.0f} mm "
        "of where it was: the camera was pushed further or turned away, it is another table or "
        "another camera, or something lies over the table"
    )
    if profile.throat is not None:
        # A card hides most of what would tell how far: nothing is known of that.
        text = (
            "the shoe's mouth is not recognised: the camera was pushed or turned away, it is "
            "another shoe or another camera, or something lies over it: check once more with the "
            "mouth empty"
        )
    return Finding(FindingKind.OTHER_SCENE, text)


def _shift_findings(moved: TableShift, limits: Limits) -> list[Finding]:
    if moved.max_mm < limits.millimetres:
        return []
    if abs(moved.rotation_degrees) > _MIN_ROTATION_DEGREES:
        return [_rotation_finding(moved)]
    advice = "push the camera back" if moved.max_mm < 15 else "calibrate again"  # noqa: PLR2004 - mm
    return [
        Finding(
            FindingKind.MOVED,
            f"moved: the table lies {_direction_text(moved)} in the picture, "
            f"{moved.max_mm:.1f} mm in the worst place: {advice} and check once more",
            amount=round(moved.max_mm, 2),
            unit="mm",
        )
    ]


def _rotation_finding(moved: TableShift) -> Finding:
    turned = round(abs(moved.rotation_degrees))
    way = "" if turned == 180 else f" {_rotation_direction(moved)}"  # noqa: PLR2004 - degrees: either way
    return Finding(
        FindingKind.MOVED,
        f"moved: the picture is turned by {turned} degrees{way}: turn the camera back, or its "
        "picture in its settings, and check once more",
        amount=round(moved.max_mm, 2),
        unit="mm",
    )


def _rotation_direction(moved: TableShift) -> str:
    return f"{'' if moved.rotation_degrees > 0 else 'counter'}clockwise"


def _direction_text(moved: TableShift) -> str:
    told = []
    for value, forth, back in (
        (moved.right_mm, "to the right", "to the left"),
        (moved.down_mm, "down", "up"),
    ):
        if abs(value) >= 0.5:  # noqa: PLR2004 - millimetres worth a word
            told.append(f"{abs(value):.1f} mm {forth if value > 0 else back}")
    if abs(moved.rotation_degrees) >= 0.2:  # noqa: PLR2004 - degrees likewise
        told.append(f"{abs(moved.rotation_degrees):.1f}° {_rotation_direction(moved)}")
    return " and ".join(told) or "turned or tilted"

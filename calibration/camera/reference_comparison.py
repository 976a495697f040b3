"""Compares a frame with the profile's reference image: what changed, how much, and what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from calibration.camera.image_measures import Flicker, mean_brightness, measure_sharpness
from calibration.camera.registration import TableShift, is_mirrored, max_recognised_shift_mm
from drivers.camera.image import Image
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.table_projection import Floats, TableProjection
from drivers.camera.stations.reference_check import MIN_COLOUR, measure_colour

_MIN_BRIGHTNESS: Final = 8.0
"""Brightness, of 255, below which a frame is black."""

_MAX_SHIFT_MM: Final = 2.0
"""Allowed shift of the table in the worst place."""

_MIN_SHARPNESS: Final = 0.75
_MIN_GAIN: Final = 0.75
_MAX_GAIN: Final = 1.35
"""Allowed sharpness and brightness, as multiples of the profile's."""

_THROAT_GAIN: Final = 3.5

_MIN_ROTATION_DEGREES: Final = 45.0
"""Rotation from which the image was turned rather than the camera pushed."""


class FindingKind(StrEnum):
    """Kind of a finding."""

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
    NO_COLOURS = "no colours"
    NO_PICTURE = "no picture"
    NOTE = "note"


class Finding(Struct, frozen=True, omit_defaults=True):
    """
    A change, or a part that could not be checked.

    Attributes:
        kind: Its kind.
        text: For people: the change, its amount, advice.
        bad: Whether the table should not be played with this camera.
        amount: Amount of the change, in `unit`.
        before: Value in the profile, where that is a number.
    """

    kind: FindingKind
    text: str
    bad: bool = True
    amount: float | None = None
    unit: str = ""
    before: float | None = None


_NOTHING_VISIBLE: Final = Finding(
    FindingKind.NO_PICTURE,
    "nothing can be seen in the picture: is the lens covered or far out of focus, is a lamp "
    "out, is the exposure right?",
)
_BLACK: Final = Finding(
    FindingKind.NO_PICTURE,
    "the picture is black: switch the lamp on, and take the cap off the lens",
)
_NO_COLOURS: Final = Finding(
    FindingKind.NO_COLOURS,
    "the picture has no colours, and the profile's had: is the camera in night mode (infrared)? "
    "switch that off",
)
_TOO_BLURRED: Final = Finding(
    FindingKind.OTHER_SCENE, "the picture is too blurred to tell where the table is"
)
_MIRRORED: Final = Finding(
    FindingKind.MIRRORED,
    "mirrored: the picture shows the table as in a mirror: switch the camera's mirroring "
    "(flip) back, and check once more",
)


def compare_with_profile(
    profile: Profile,
    reference: Image,
    now: Image,
    moved: TableShift | None,
    flicker: Flicker | None,
) -> list[Finding]:
    """
    Compare a frame of the table with the profile's reference image.

    `moved` is the shift of the table between them (`find_table_shift`); None where it, or the
    flicker of the lamps, is unknown.
    """
    if now.shape != reference.shape:
        return [_resolution_finding(now, reference)]
    if mean_brightness(now) < _MIN_BRIGHTNESS:
        return [_BLACK]
    ratios = _brightness_ratios(profile, reference, now)
    lit = cv2.convertScaleAbs(now, alpha=1 / min(1.0, max(0.2, float(np.nanmedian(ratios)))))
    blurred = _blur_findings(reference, np.asarray(lit, np.uint8))
    if moved is not None:
        found = _recognised_findings(moved, _brightness_findings(ratios), blurred)
    elif blurred and not blurred[0].amount:
        return [_NOTHING_VISIBLE]
    elif blurred:
        found = [*_brightness_findings(ratios), *blurred, _TOO_BLURRED]
    elif is_mirrored(profile, reference, now):
        found = [_MIRRORED]
    else:
        found = [*_brightness_findings(ratios), _unrecognised_finding(profile)]
    if measure_colour(now) < MIN_COLOUR <= measure_colour(reference):
        found.insert(0, _NO_COLOURS)
    if flicker is not None and not flicker.steady:
        found.append(flicker_finding(flicker))
    return found


def _recognised_findings(
    moved: TableShift, light: list[Finding], blurred: list[Finding]
) -> list[Finding]:
    # A cover over half of the table is no lamp fault.
    pushed = _shift_findings(moved)
    if moved.covered_side is None or blurred or pushed:
        return [*light, *blurred, *pushed]
    text = (
        f"covered: nothing of the table is found {moved.covered_side} in the picture: "
        "take away what lies there or hangs before the lens, and check once more"
    )
    return [Finding(FindingKind.COVERED, text)]


def flicker_finding(flicker: Flicker) -> Finding:
    """Report flickering lamps."""
    lamps = "a lamp"
    advice = "change the lamp, or set the exposure to a multiple of 1/100 s (1/120 s)"
    if flicker.mains:
        lamps = f"lamps on {flicker.mains} Hz mains"
        advice = f"set the exposure to a multiple of 1/{2 * flicker.mains} s"
    text = f"the light comes and goes by {flicker.strength:.0%} ({lamps}): {advice}"
    return Finding(FindingKind.FLICKER, text, amount=flicker.strength, unit="share")


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


def _brightness_findings(ratios: Floats) -> list[Finding]:
    amount = float(np.nanmedian(ratios))
    darkest, where = _worst_side(ratios)
    if amount > _MAX_GAIN:
        kind, name = FindingKind.BRIGHTER, "brighter"
        advice = "is the exposure locked, is there a new lamp or daylight?"
    elif min(amount, darkest) < _MIN_GAIN:
        kind, name = FindingKind.DARKER, "darker"
        name += f" {where}" if darkest < amount * 0.9 else ""
        amount = min(amount, darkest)
        advice = "is a lamp out, is the exposure locked, is the lens free?"
    else:
        return []
    text = f"{name}: {amount:.2f} times as bright as the profile: {advice}"
    return [Finding(kind, text, amount=round(amount, 3), unit="times")]


def brightness_gain(profile: Profile, reference: Image, now: Image) -> float:
    """
    Return the assumed brightness of the background of a card, as a multiple of the reference's.

    The throat is as dark as print: print would not differ from it unless it were taken to be
    brighter.
    """
    brighter = 1.0 if profile.throat is None else _THROAT_GAIN
    return brighter * float(np.nanmedian(_brightness_ratios(profile, reference, now)))


def _brightness_ratios(profile: Profile, reference: Image, now: Image) -> Floats:
    """Return the brightness ratio of each part; a card in the throat is not a change of light."""
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


def _blur_findings(reference: Image, now: Image) -> list[Finding]:
    before, after = measure_sharpness(reference), measure_sharpness(now)
    if after >= before * _MIN_SHARPNESS:
        return []
    text = (
        f"the picture is blurred: sharpness {after:.2f}, this profile had {before:.2f}: clean or "
        "refocus the lens"
    )
    return [Finding(FindingKind.BLURRED, text, amount=after, unit="sharpness", before=before)]


def _unrecognised_finding(profile: Profile) -> Finding:
    text = (
        f"the table of the profile is not within {max_recognised_shift_mm(profile):.0f} mm "
        "of where it was: the camera was pushed further or turned away, it is another table or "
        "another camera, or something lies over the table"
    )
    if profile.throat is not None:
        # A card hides most of the throat, so the shift is unknown.
        text = (
            "the shoe's throat is not recognised: the camera was pushed or turned away, it is "
            "another shoe or another camera, or something lies over it: check once more with the "
            "throat empty"
        )
    return Finding(FindingKind.OTHER_SCENE, text)


def _shift_findings(moved: TableShift) -> list[Finding]:
    if moved.max_mm < _MAX_SHIFT_MM:
        return []
    if abs(moved.rotation_degrees) > _MIN_ROTATION_DEGREES:
        turned = round(abs(moved.rotation_degrees))
        way = "" if turned == 180 else f" {_rotation_direction(moved)}"  # noqa: PLR2004 - degrees: either way
        what = f"the picture is turned by {turned} degrees{way}"
        advice = "turn the camera back, or its picture in its settings,"
    else:
        where = f"the table lies {_direction_text(moved)} in the picture"
        what = f"{where}, {moved.max_mm:.1f} mm in the worst place"
        advice = "push the camera back" if moved.max_mm < 15 else "calibrate again"  # noqa: PLR2004 - mm
    text = f"moved: {what}: {advice} and check once more"
    return [Finding(FindingKind.MOVED, text, amount=round(moved.max_mm, 2), unit="mm")]


def _rotation_direction(moved: TableShift) -> str:
    return f"{'' if moved.rotation_degrees > 0 else 'counter'}clockwise"


def _direction_text(moved: TableShift) -> str:
    parts = []
    for value, forth, back in (
        (moved.right_mm, "to the right", "to the left"),
        (moved.down_mm, "down", "up"),
    ):
        if abs(value) >= 0.5:  # noqa: PLR2004 - millimetres worth a word
            parts.append(f"{abs(value):.1f} mm {forth if value > 0 else back}")
    if abs(moved.rotation_degrees) >= 0.2:  # noqa: PLR2004 - degrees likewise
        parts.append(f"{abs(moved.rotation_degrees):.1f}° {_rotation_direction(moved)}")
    return " and ".join(parts) or "turned or tilted"

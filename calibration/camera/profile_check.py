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

from calibration.camera.image_measures import Flicker, light_of, sharpness_of
from calibration.camera.registration import Moved, is_mirrored, told_within
from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.table_geometry import Floats, Ground
from drivers.camera.sources.frame_quality import Image

__all__ = ["Finding", "Kind", "Limits", "compare", "flickering", "gain_of"]

_BLACK: Final = 8.0
"""A picture whose light, of 255, is less shows nothing."""

_LIT_MOUTH: Final = 3.5

_TURNED: Final = 45.0
"""Degrees from which on a picture is rather turned round than pushed."""


class Kind(StrEnum):
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

    kind: Kind
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


def compare(  # noqa: PLR0913, PLR0917 - what was, what is, and what is known of it
    profile: Profile,
    reference: Image,
    now: Image,
    moved: Moved | None,
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
        return [_resolution(now, reference)]
    if light_of(now) < _BLACK:
        text = "the picture is black: switch the lamp on, and take the cap off the lens"
        return [Finding(Kind.NO_PICTURE, text)]
    ratios = _ratios(profile, reference, now)
    lit = cv2.convertScaleAbs(now, alpha=1 / min(1.0, max(0.2, float(np.nanmedian(ratios)))))
    blurred = _blur(reference, np.asarray(lit, np.uint8), limits)
    if moved is not None:
        found = _here(moved, limits, _light(ratios, limits), blurred)
    elif blurred and not blurred[0].amount:
        return [_nothing()]
    elif blurred:
        text = "the picture is too blurred to tell where the table is"
        found = [*_light(ratios, limits), *blurred, Finding(Kind.OTHER_SCENE, text)]
    elif is_mirrored(profile, reference, now):
        found = [_mirrored()]
    else:
        found = [*_light(ratios, limits), _elsewhere(profile)]
    if flicker is not None and not flicker.steady:
        found.append(flickering(flicker))
    return found


def _here(
    moved: Moved, limits: Limits, light: list[Finding], blurred: list[Finding]
) -> list[Finding]:
    """
    Say what is unlike of a table that is recognised: what lies over half of it is no lamp.
    """
    pushed = _moved(moved, limits)
    if moved.covered is None or blurred or pushed:
        return [*light, *blurred, *pushed]
    text = (
        f"covered: nothing of the table is found {moved.covered} in the picture: take away what "
        "lies there or hangs before the lens, and check once more"
    )
    return [Finding(Kind.COVERED, text)]


def _nothing() -> Finding:
    text = (
        "nothing can be seen in the picture: is the lens covered or far out of focus, is a lamp "
        "out, is the exposure right?"
    )
    return Finding(Kind.NO_PICTURE, text)


def _mirrored() -> Finding:
    text = (
        "mirrored: the picture shows the table as in a mirror: switch the camera's mirroring "
        "(flip) back, and check once more"
    )
    return Finding(Kind.MIRRORED, text)


def flickering(flicker: Flicker) -> Finding:
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
        Kind.FLICKER,
        f"the light comes and goes by {flicker.strength:.0%} ({lamps}): {advice}",
        amount=flicker.strength,
        unit="share",
    )


def _resolution(now: Image, reference: Image) -> Finding:
    wide, high = now.shape[1], now.shape[0]
    advice = "set the camera's mode back, or calibrate"
    if (high, wide) == reference.shape[1::-1]:
        advice = "the picture is turned by 90 degrees: turn it back in the camera's settings"
    return Finding(
        Kind.OTHER_RESOLUTION,
        f"pictures of {wide}x{high}; the profile was made with "
        f"{reference.shape[1]}x{reference.shape[0]}: {advice}",
    )


def _light(ratios: Floats, limits: Limits) -> list[Finding]:
    gain = float(np.nanmedian(ratios))
    darkest, where = _worst_side(ratios)
    if gain > limits.brighter:
        text = f"brighter: {gain:.2f} times as bright as the profile"
        advice = "is the exposure locked, is there a new lamp or daylight?"
        return [Finding(Kind.BRIGHTER, f"{text}: {advice}", amount=round(gain, 3), unit="times")]
    if min(gain, darkest) < limits.darker:
        part = f" {where}" if darkest < gain * 0.9 else ""
        amount = min(gain, darkest)
        text = f"darker{part}: {amount:.2f} times as bright as the profile"
        advice = "is a lamp out, is the exposure locked, is the lens free?"
        return [Finding(Kind.DARKER, f"{text}: {advice}", amount=round(amount, 3), unit="times")]
    return []


def gain_of(profile: Profile, reference: Image, now: Image) -> float:
    """
    Return how many times as bright what lies below a card is taken to be as it was.

    A shoe's mouth is as dark as print: its print would not differ from it, were it not
    taken to be brighter.
    """
    brighter = 1.0 if profile.throat is None else _LIT_MOUTH
    return brighter * float(np.nanmedian(_ratios(profile, reference, now)))


def _ratios(profile: Profile, reference: Image, now: Image) -> Floats:
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
        window = Ground(profile).to_pixels(profile.throat.window)
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


def _blur(reference: Image, now: Image, limits: Limits) -> list[Finding]:
    before, after = sharpness_of(reference), sharpness_of(now)
    if after >= before * limits.sharpness:
        return []
    return [
        Finding(
            Kind.BLURRED,
            f"the picture is blurred: sharpness {after:.2f}, this profile had {before:.2f}: "
            "clean or refocus the lens",
            amount=after,
            unit="sharpness",
            before=before,
        )
    ]


def _elsewhere(profile: Profile) -> Finding:
    """
    Say what is known of a table that is not recognised.
    """
    text = (
        f"the table of the profile is not within {told_within(profile):.0f} mm of where it was: "
        "the camera was pushed further or turned away, it is another table or another camera, or "
        "something lies over the table"
    )
    if profile.throat is not None:
        # A card hides most of what would tell how far: nothing is known of that.
        text = (
            "the shoe's mouth is not recognised: the camera was pushed or turned away, it is "
            "another shoe or another camera, or something lies over it: check once more with the "
            "mouth empty"
        )
    return Finding(Kind.OTHER_SCENE, text)


def _moved(moved: Moved, limits: Limits) -> list[Finding]:
    if moved.far < limits.millimetres:
        return []
    if abs(moved.turned) > _TURNED:
        return [_turned(moved)]
    advice = "push the camera back" if moved.far < 15 else "calibrate again"  # noqa: PLR2004 - mm
    return [
        Finding(
            Kind.MOVED,
            f"moved: the table lies {_way(moved)} in the picture, {moved.far:.1f} mm in the worst "
            f"place: {advice} and check once more",
            amount=round(moved.far, 2),
            unit="mm",
        )
    ]


def _turned(moved: Moved) -> Finding:
    turned = round(abs(moved.turned))
    way = "" if turned == 180 else f" {_clock(moved)}"  # noqa: PLR2004 - degrees: either way
    return Finding(
        Kind.MOVED,
        f"moved: the picture is turned by {turned} degrees{way}: turn the camera back, or its "
        "picture in its settings, and check once more",
        amount=round(moved.far, 2),
        unit="mm",
    )


def _clock(moved: Moved) -> str:
    return f"{'' if moved.turned > 0 else 'counter'}clockwise"


def _way(moved: Moved) -> str:
    told = []
    for value, forth, back in (
        (moved.right, "to the right", "to the left"),
        (moved.down, "down", "up"),
    ):
        if abs(value) >= 0.5:  # noqa: PLR2004 - millimetres worth a word
            told.append(f"{abs(value):.1f} mm {forth if value > 0 else back}")
    if abs(moved.turned) >= 0.2:  # noqa: PLR2004 - degrees likewise
        told.append(f"{abs(moved.turned):.1f}° {_clock(moved)}")
    return " and ".join(told) or "turned or tilted"

"""
How the table moved in its picture: points of its print are followed from one picture to another.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.frames import Image
from drivers.camera.geometry import Floats, Ground
from drivers.camera.profile import Profile

__all__ = ["Moved", "moved_by"]

Grey = NDArray[np.uint8]

_POINTS: Final = 500
_ENOUGH: Final = 24
"""Points that are looked for at the most, and that have to be found again."""

_SHARE: Final = 0.3
"""So many of those that were found again have to agree."""

_SMALL: Final = 4
"""Times as small the pictures are made to see roughly where all of it went."""


class Moved(NamedTuple):
    """
    How the table moved in the picture.

    Attributes:
        right, down: Millimetres at the middle of the places.
        turned: Degrees, clockwise.
        far: Millimetres in the place where it is most.
    """

    right: float
    down: float
    turned: float
    far: float


def moved_by(profile: Profile, reference: Image, now: Image) -> Moved | None:
    """
    Say how the table moved in the picture; None where it is not recognised.
    """
    if now.shape != reference.shape:
        return None
    found = _registered(reference, now)
    if found is None:
        return None
    ground, middles = Ground(profile), _middles(profile)
    before = ground.to_pixels(middles)
    after = cv2.perspectiveTransform(before.reshape(-1, 1, 2), found).reshape(-1, 2)
    away = ground.to_table(after) - middles
    middle = _in_picture(ground, middles.mean(axis=0), away.mean(axis=0))
    turned = float(np.degrees(np.arctan2(found[1, 0], found[0, 0])))
    far = float(np.linalg.norm(away, axis=1).max())
    return Moved(float(middle[0]), float(middle[1]), turned, far)


def _in_picture(ground: Ground, at: Floats, away: Floats) -> Floats:
    """
    Turn millimetres on the table to millimetres to the right and down in the picture.
    """
    there = ground.to_pixels([tuple(at), tuple(at + away)])
    way = there[1] - there[0]
    length = float(np.linalg.norm(way))
    return np.asarray(way / max(length, 1e-9) * float(np.linalg.norm(away)))


def _middles(profile: Profile) -> Floats:
    if profile.throat is not None and profile.station == "throat":
        return np.asarray(profile.throat.window, np.float64)
    return np.array([place.centre for place in profile.place])


def _registered(reference: Image, now: Image) -> Floats | None:
    """
    Find how the picture's points moved: tracked from one picture to the other.
    """
    before, after = _even(reference), _even(now)
    points: Any = cv2.goodFeaturesToTrack(before, _POINTS, 0.02, 12)
    if points is None or len(points) < _ENOUGH:
        return None
    for shift in (_shift(before, after), np.zeros(2)):
        pairs = _tracked(before, after, np.asarray(points, np.float32), shift)
        if len(pairs[0]) < _ENOUGH:
            continue
        found: Any
        fitting: Any
        found, fitting = cv2.findHomography(*pairs, cv2.RANSAC, 2.0)
        inside = 0 if found is None else int(np.asarray(fitting).sum())
        if inside >= max(_ENOUGH, _SHARE * len(pairs[0])):
            return np.asarray(found, np.float64)
    return None


def _even(image: Image) -> Grey:
    """
    Take the light out of a picture: what is left is print.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)
    apart = grey - cv2.GaussianBlur(grey, (0, 0), 12)
    strength = np.sqrt(cv2.GaussianBlur(apart * apart, (0, 0), 40)) + 4
    return np.asarray(np.clip(apart / strength * 40 + 128, 0, 255), np.uint8)


def _shift(
    before: Grey,
    after: Grey,
) -> Floats:
    size = (before.shape[1] // _SMALL, before.shape[0] // _SMALL)
    small = [
        np.asarray(cv2.resize(each, size, interpolation=cv2.INTER_AREA), np.float32)
        for each in (before, after)
    ]
    window = cv2.createHanningWindow(size, cv2.CV_32F)
    found, _ = cv2.phaseCorrelate(small[0], small[1], window)
    return np.array(found) * _SMALL


def _tracked(
    before: Grey,
    after: Grey,
    points: NDArray[np.float32],
    shift: Floats,
) -> tuple[Floats, Floats]:
    """
    Follow points there and back; keep those that come back to where they were.
    """
    options = {"winSize": (31, 31), "maxLevel": 3}
    guess = (points + shift).astype(np.float32)
    there, good, _ = cv2.calcOpticalFlowPyrLK(
        before, after, points, guess.copy(), flags=cv2.OPTFLOW_USE_INITIAL_FLOW, **options
    )  # type: ignore[call-overload]
    back, again, _ = cv2.calcOpticalFlowPyrLK(
        after, before, there, points.copy(), flags=cv2.OPTFLOW_USE_INITIAL_FLOW, **options
    )  # type: ignore[call-overload]
    kept = (good.ravel() > 0) & (again.ravel() > 0)
    kept &= np.linalg.norm((back - points).reshape(-1, 2), axis=1) < 1.0
    return (
        np.asarray(points.reshape(-1, 2)[kept], np.float64),
        np.asarray(there.reshape(-1, 2)[kept], np.float64),
    )

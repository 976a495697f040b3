"""
How the table moved in its picture: its print is recognised wherever it is, and points of it are
then followed from one picture to the other.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.table_geometry import Floats, Ground
from drivers.camera.sources.frame_quality import Image

__all__ = ["Moved", "is_mirrored", "moved_by", "told_within"]

Grey = NDArray[np.uint8]

_PLAIN: Final = 128
_LESS: Final = 4
"""Grey value of what has no print, once the light is taken out; by how many times the picture is
made smaller to see the light."""

_POINTS: Final = 500
_ENOUGH: Final = 24
"""Points that are looked for at the most, and that have to be found again."""

_SHARE: Final = 0.4
"""So many of the points have to be found again and agree; one that left the picture is not found.
The print alone is no proof: of another table with the same one, 0.36 agree at the most."""

_OFF: Final = 2.0
"""Pixels by which a point that agrees may be off."""

_LOOKS: Final = 4000
_UNLIKE: Final = 0.8
_ROUGH: Final = 5.0
_FEW: Final = 8
"""Looks that are compared; one is known where the next alike is so much less alike; pixels by
which it may be off; so few are tried: whether they are right is seen by the points."""

_WITHIN: Final = 0.15
"""Share of the picture's height: what moved by less is recognised, as all simulated tables are."""


_COVERED: Final = 0.2
_JUDGED: Final = 8
"""A side where a smaller share of the points is found again is covered: nothing covered has more
than 0.16, any other at least 0.3, out of focus too; of fewer points nothing is said."""


class Moved(NamedTuple):
    """
    How the table moved in the picture.

    Attributes:
        right, down: Millimetres at the middle of the places.
        turned: Degrees, clockwise.
        far: Millimetres in the place where it is most.
        covered: On which side of the picture nothing of the table is found again; None where
            there is none, or where that cannot be told.
    """

    right: float
    down: float
    turned: float
    far: float
    covered: str | None = None


class _Known(NamedTuple):
    """
    A profile, what of its picture is compared, the print there, and points of it.
    """

    profile: Profile
    seen: Grey
    print: Grey
    points: Floats


class _Found(NamedTuple):
    """
    How points moved: in the straightened picture, and roughly in the picture itself; how many
    of them agree, and on which side they are not found.
    """

    matrix: Floats
    rough: Floats
    agreed: int
    covered: str | None


def moved_by(profile: Profile, reference: Image, now: Image) -> Moved | None:
    """
    Say how the table moved in the picture; None where it is not recognised.
    """
    if now.shape != reference.shape:
        return None
    found = _registered(profile, reference, now)
    if found is None:
        return None
    ground, middles = Ground(profile), _middles(profile)
    table = np.array(profile.table.homography)
    before = _through(table, middles)
    after = _through(found.matrix, before)
    away = _through(np.linalg.inv(table), after) - middles
    middle = _in_picture(ground, middles.mean(axis=0), away.mean(axis=0))
    far = float(np.linalg.norm(away, axis=1).max())
    turned = _turn(before, after)
    return Moved(float(middle[0]), float(middle[1]), turned, far, found.covered)


def is_mirrored(profile: Profile, reference: Image, now: Image) -> bool:
    """
    Whether the table is recognised in the mirrored picture.
    """
    return moved_by(profile, reference, np.ascontiguousarray(now[:, ::-1])) is not None


def told_within(profile: Profile) -> float:
    """
    Return by how many millimetres a table may have moved, at least, and is still recognised.
    """
    x, y = _middles(profile).mean(axis=0)
    return _WITHIN * profile.camera.height / Ground(profile).scale((float(x), float(y)))


def _turn(before: Floats, after: Floats) -> float:
    """
    Say by how many degrees points were turned, all in all.
    """
    (x, y), (u, v) = (before - before.mean(axis=0)).T, (after - after.mean(axis=0)).T
    return float(np.degrees(np.arctan2((x * v - y * u).sum(), (x * u + y * v).sum())))


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


def _registered(profile: Profile, reference: Image, now: Image) -> _Found | None:
    """
    Find how the straightened picture's points moved.

    First roughly, by what is recognised; where nothing is, as of a picture out of focus, the
    table is taken to be where it was. Then points are followed from whichever of these more
    of them agree from, and once more from where they led: exactly.
    """
    before, after = _grey(reference), _grey(now)
    known = _known(profile, before)
    if known is None:
        return None
    starts = (_recognised(_even(before), _even(after)), np.eye(3))
    found = [_followed(known, after, start) for start in starts if start is not None]
    best = max((each for each in found if each), key=lambda each: each.agreed, default=None)
    return best and (_followed(known, after, best.rough) or best)


def _known(profile: Profile, before: Grey) -> _Known | None:
    """
    Choose points of the table; None where it has too few.
    """
    seen = _free(profile, before)
    even = _even(before, seen)
    points: Any = cv2.goodFeaturesToTrack(even, _POINTS, 0.02, 12, mask=seen)
    if points is None or len(points) < _ENOUGH:
        return None
    return _Known(profile, seen, even, np.asarray(points, np.float64).reshape(-1, 2))


def _free(profile: Profile, before: Grey) -> Grey:
    """
    Tell what of a picture no card may hide: not the shoe's mouth, which is most of it.
    """
    seen: Grey = np.full(before.shape, 255, np.uint8)
    if profile.throat is not None:
        window = np.round(Ground(profile).to_pixels(profile.throat.window)).astype(np.int32)
        cv2.fillPoly(seen, [window], (0,))
    return seen


def _grey(image: Image) -> Grey:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)


def _even(grey: Grey, seen: Grey | None = None) -> Grey:
    """
    Take the light out of a picture: what is left is print. What is not to be seen is plain, as
    cloth, and what lies beside it is as if it were not there, such as a bright card.
    """
    share = np.ones(grey.shape, np.float32) if seen is None else (seen > 0).astype(np.float32)
    apart = (grey - _about(grey, share, 12 / _LESS)) * share
    strength = np.sqrt(_about(apart * apart, share, 40 / _LESS)) + 4
    return np.asarray(np.clip(apart / strength * 40 + _PLAIN, 0, 255), np.uint8)


def _about(values: NDArray[Any], share: NDArray[np.float32], wide: float) -> NDArray[np.float32]:
    """
    Take the mean about each pixel, of what is to be seen: of a smaller picture, which is as good
    and takes a tenth of the time.
    """
    size = values.shape[1], values.shape[0]
    small = max(1, size[0] // _LESS), max(1, size[1] // _LESS)
    there, part = (
        cv2.GaussianBlur(cv2.resize(each, small, interpolation=cv2.INTER_AREA), (0, 0), wide)
        for each in (values * share, share)
    )
    return np.asarray(cv2.resize(there / np.maximum(part, 1e-3), size), np.float32)


def _recognised(before: Grey, after: Grey) -> Floats | None:
    """
    Find roughly where all of it went, however far and turned, by how its points look.
    """
    eye = cv2.ORB.create(_LOOKS)
    (here, looks), (there, others) = (
        eye.detectAndCompute(each, np.ones_like(each)) for each in (before, after)
    )
    if min(len(here), len(there)) < _FEW:
        return None
    alike = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(looks, others, k=2)
    known = [first for first, next_ in alike if first.distance < _UNLIKE * next_.distance]
    if len(known) < _FEW:
        return None
    start = np.array([here[each.queryIdx].pt for each in known])
    end = np.array([there[each.trainIdx].pt for each in known])
    found: Any = cv2.findHomography(start, end, cv2.RANSAC, _ROUGH)[0]
    return None if found is None else np.asarray(found, np.float64)


def _followed(known: _Known, after: Grey, rough: Floats) -> _Found | None:
    """
    Follow points from where they roughly went; None where too few of them are found to agree.
    """
    points = known.points
    there, kept = _tracked(known.print, _laid_over(after, rough, known.seen), points)
    if np.count_nonzero(kept) < _ENOUGH:
        return None
    there = _through(rough, there)
    start, end = (_straight(known.profile, each[kept]) for each in (points, there))
    found: Any
    fitting: Any
    found, fitting = cv2.findHomography(start, end, cv2.RANSAC, _OFF)
    agree = kept.copy()
    agree[kept] = False if found is None else np.asarray(fitting).ravel() > 0
    agreed = int(np.count_nonzero(agree))
    if agreed < max(_ENOUGH, _SHARE * len(points)):
        return None
    led: Any = cv2.findHomography(points[agree], there[agree])[0]
    if led is None:
        return None
    size = after.shape[1], after.shape[0]
    return _Found(np.asarray(found, np.float64), led, agreed, _covered(points, agree, size))


def _covered(points: Floats, agree: NDArray[np.bool_], size: tuple[int, int]) -> str | None:
    """
    Say on which side of the picture nearly none of the points agree.
    """
    (x, y), (wide, high) = points.T, size
    sides = {
        "on the left": x < wide / 2,
        "on the right": x >= wide / 2,
        "above": y < high / 2,
        "below": y >= high / 2,
    }
    shares = {
        where: float(agree[there].mean())
        for where, there in sides.items()
        if np.count_nonzero(there) >= _JUDGED
    }
    least = min(shares, key=lambda where: shares[where], default=None)
    return least if least is not None and shares[least] < _COVERED else None


def _laid_over(after: Grey, rough: Floats, seen: Grey) -> Grey:
    """
    Lay a picture's print back to where the other's is; what lay beyond the picture is not seen.
    """
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = after.shape[1], after.shape[0]
    back, inside = (
        np.asarray(cv2.warpPerspective(each, rough, size, flags=flags), np.uint8)
        for each in (after, np.full_like(after, 255))
    )
    return _even(back, np.where(inside == 255, seen, 0).astype(np.uint8))  # noqa: PLR2004 - whole pixels


def _through(matrix: Floats, points: Floats) -> Floats:
    there = cv2.perspectiveTransform(points.reshape(-1, 1, 2), matrix)
    return np.asarray(there, np.float64).reshape(-1, 2)


def _straight(profile: Profile, points: Floats) -> Floats:
    """
    Take out of points what the lens bends: a plane's move is a homography only so.
    """
    if profile.lens is None:
        return points
    matrix, bent = np.array(profile.lens.matrix), np.array(profile.lens.distortion)
    straight = cv2.undistortPoints(points.reshape(-1, 1, 2), matrix, bent, None, matrix)
    return np.asarray(straight, np.float64).reshape(-1, 2)


def _tracked(before: Grey, after: Grey, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """
    Follow points there and back; say which come back to where they were.
    """
    options: Any = {"winSize": (31, 31), "maxLevel": 3}
    start: Any = points.astype(np.float32).reshape(-1, 1, 2)
    there, good, _ = cv2.calcOpticalFlowPyrLK(before, after, start, start.copy(), **options)
    back, again, _ = cv2.calcOpticalFlowPyrLK(after, before, there, there.copy(), **options)
    kept = (good.ravel() > 0) & (again.ravel() > 0)
    kept &= np.linalg.norm((back - start).reshape(-1, 2), axis=1) < 1.0
    return np.asarray(there.reshape(-1, 2), np.float64), kept

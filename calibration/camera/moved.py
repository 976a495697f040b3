"""
How the table moved in its picture: its print is recognised wherever it is, and points of it are
then followed from one picture to the other.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.frames import Image
from drivers.camera.geometry import Floats, Ground
from drivers.camera.profile import Profile

__all__ = ["Moved", "is_mirrored", "moved_by", "told_within"]

Grey = NDArray[np.uint8]

_PLAIN: Final = 128
"""Grey value of what has no print, once the light is taken out."""

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


class _Found(NamedTuple):
    """
    How the straightened picture's points moved, and on which side they are not found.
    """

    matrix: Floats
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
    table is taken to be where it was. Then exactly, by points followed from there.
    """
    before, after = _even(reference), _even(now)
    points: Any = cv2.goodFeaturesToTrack(before, _POINTS, 0.02, 12)
    if points is None or len(points) < _ENOUGH:
        return None
    points = np.asarray(points, np.float64).reshape(-1, 2)
    for rough in (_recognised(before, after), np.eye(3)):
        found = None if rough is None else _followed(profile, before, after, points, rough)
        if found is not None:
            return found
    return None


def _even(image: Image) -> Grey:
    """
    Take the light out of a picture: what is left is print.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)
    apart = grey - cv2.GaussianBlur(grey, (0, 0), 12)
    strength = np.sqrt(cv2.GaussianBlur(apart * apart, (0, 0), 40)) + 4
    return np.asarray(np.clip(apart / strength * 40 + _PLAIN, 0, 255), np.uint8)


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


def _followed(
    profile: Profile,
    before: Grey,
    after: Grey,
    points: Floats,
    rough: Floats,
) -> _Found | None:
    """
    Follow points from where they roughly went; None where too few of them are found to agree.
    """
    there, kept = _tracked(before, _laid_over(after, rough), points)
    if np.count_nonzero(kept) < _ENOUGH:
        return None
    start, end = (_straight(profile, each[kept]) for each in (points, _through(rough, there)))
    found: Any
    fitting: Any
    found, fitting = cv2.findHomography(start, end, cv2.RANSAC, _OFF)
    agree = kept.copy()
    agree[kept] = False if found is None else np.asarray(fitting).ravel() > 0
    ought = np.count_nonzero(kept | ~_hidden(profile, points))
    if np.count_nonzero(agree) < max(_ENOUGH, _SHARE * ought):
        return None
    size = before.shape[1], before.shape[0]
    free = ~_hidden(profile, points, out=profile.card.height)
    return _Found(np.asarray(found, np.float64), _covered(points[free], agree[free], size))


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


def _laid_over(after: Grey, rough: Floats) -> Grey:
    """
    Lay a picture back to where the other is; what lies beyond it is plain, as cloth.
    """
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = after.shape[1], after.shape[0]
    back = cv2.warpPerspective(after, rough, size, flags=flags, borderValue=(_PLAIN,))
    return np.asarray(back, np.uint8)


def _hidden(profile: Profile, points: Floats, out: float = 0.0) -> NDArray[np.bool_]:
    """
    Tell which points a card may hide: the one in a shoe's mouth, or so many millimetres out of
    it, covers most of what is seen.
    """
    if profile.throat is None:
        return np.zeros(len(points), np.bool_)
    window, way = np.array(profile.throat.window), np.array(profile.throat.direction)
    passed = np.vstack([window, window + out * way])
    there = Ground(profile).to_table(points)
    return np.asarray(((there > passed.min(axis=0)) & (there < passed.max(axis=0))).all(axis=1))


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

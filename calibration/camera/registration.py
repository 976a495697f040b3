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
from drivers.camera.recognition.table_geometry import Floats, TableProjection
from drivers.camera.sources.frame_quality import Image

__all__ = ["TableShift", "find_table_shift", "is_mirrored", "max_recognised_shift_mm"]

Grey = NDArray[np.uint8]

_PLAIN_GREY: Final = 128
_SHRINK_FACTOR: Final = 4
"""Grey value of what has no print, once the light is taken out; by how many times the picture is
made smaller to see the light."""

_MAX_POINTS: Final = 500
_MIN_POINTS: Final = 24
"""Points that are looked for at the most, and that have to be found again."""

_MIN_AGREEING_SHARE: Final = 0.4
"""So many of the points have to be found again and agree; one that left the picture is not found.
The print alone is no proof: of another table with the same one, 0.36 agree at the most."""

_MAX_POINT_ERROR_PX: Final = 2.0
"""Pixels by which a point that agrees may be off."""

_MAX_FEATURES: Final = 4000
_MATCH_RATIO: Final = 0.8
_MAX_FEATURE_ERROR_PX: Final = 5.0
_MIN_FEATURES: Final = 8
"""Looks that are compared; one is known where the next alike is so much less alike; pixels by
which it may be off; so few are tried: whether they are right is seen by the points."""

_MAX_SHIFT_SHARE: Final = 0.15
"""Share of the picture's height: what moved by less is recognised, as all simulated tables are."""


_MIN_VISIBLE_SHARE: Final = 0.2
_MIN_SIDE_POINTS: Final = 8
"""A side where a smaller share of the points is found again is covered: nothing covered has more
than 0.16, any other at least 0.3, out of focus too; of fewer points nothing is said."""


class TableShift(NamedTuple):
    """
    How the table moved in the picture.

    Attributes:
        right, down: Millimetres at the middle of the places.
        turned: Degrees, clockwise.
        far: Millimetres in the place where it is most.
        covered: On which side of the picture nothing of the table is found again; None where
            there is none, or where that cannot be told.
    """

    right_mm: float
    down_mm: float
    rotation_degrees: float
    max_mm: float
    covered_side: str | None = None


class _Reference(NamedTuple):
    """
    A profile, what of its picture is compared, the print there, and points of it.
    """

    profile: Profile
    seen: Grey
    print: Grey
    points: Floats


class _Registration(NamedTuple):
    """
    How points moved: in the straightened picture, and roughly in the picture itself; how many
    of them agree, and on which side they are not found.
    """

    matrix: Floats
    rough: Floats
    agreed: int
    covered_side: str | None


def find_table_shift(profile: Profile, reference: Image, now: Image) -> TableShift | None:
    """
    Say how the table moved in the picture; None where it is not recognised.
    """
    if now.shape != reference.shape:
        return None
    found = _register(profile, reference, now)
    if found is None:
        return None
    ground, middles = TableProjection(profile), _place_centres(profile)
    table = np.array(profile.table.homography)
    before = _transform(table, middles)
    after = _transform(found.matrix, before)
    away = _transform(np.linalg.inv(table), after) - middles
    middle = _to_image_axes(ground, middles.mean(axis=0), away.mean(axis=0))
    far = float(np.linalg.norm(away, axis=1).max())
    turned = _rotation_degrees(before, after)
    return TableShift(float(middle[0]), float(middle[1]), turned, far, found.covered_side)


def is_mirrored(profile: Profile, reference: Image, now: Image) -> bool:
    """
    Whether the table is recognised in the mirrored picture.
    """
    return find_table_shift(profile, reference, np.ascontiguousarray(now[:, ::-1])) is not None


def max_recognised_shift_mm(profile: Profile) -> float:
    """
    Return by how many millimetres a table may have moved, at least, and is still recognised.
    """
    x, y = _place_centres(profile).mean(axis=0)
    return (
        _MAX_SHIFT_SHARE
        * profile.camera.height
        / TableProjection(profile).scale((float(x), float(y)))
    )


def _rotation_degrees(before: Floats, after: Floats) -> float:
    """
    Say by how many degrees points were turned, all in all.
    """
    (x, y), (u, v) = (before - before.mean(axis=0)).T, (after - after.mean(axis=0)).T
    return float(np.degrees(np.arctan2((x * v - y * u).sum(), (x * u + y * v).sum())))


def _to_image_axes(ground: TableProjection, at: Floats, away: Floats) -> Floats:
    """
    Turn millimetres on the table to millimetres to the right and down in the picture.
    """
    there = ground.to_pixels([tuple(at), tuple(at + away)])
    way = there[1] - there[0]
    length = float(np.linalg.norm(way))
    return np.asarray(way / max(length, 1e-9) * float(np.linalg.norm(away)))


def _place_centres(profile: Profile) -> Floats:
    if profile.throat is not None and profile.station == "throat":
        return np.asarray(profile.throat.window, np.float64)
    return np.array([place.centre for place in profile.place])


def _register(profile: Profile, reference: Image, now: Image) -> _Registration | None:
    """
    Find how the straightened picture's points moved.

    First roughly, by what is recognised; where nothing is, as of a picture out of focus, the
    table is taken to be where it was. Then points are followed from whichever of these more
    of them agree from, and once more from where they led: exactly.
    """
    before, after = _grey(reference), _grey(now)
    known = _reference_points(profile, before)
    if known is None:
        return None
    starts = (_match_features(_without_lighting(before), _without_lighting(after)), np.eye(3))
    found = [_track_points(known, after, start) for start in starts if start is not None]
    best = max((each for each in found if each), key=lambda each: each.agreed, default=None)
    return best and (_track_points(known, after, best.rough) or best)


def _reference_points(profile: Profile, before: Grey) -> _Reference | None:
    """
    Choose points of the table; None where it has too few.
    """
    seen = _card_free_mask(profile, before)
    even = _without_lighting(before, seen)
    points: Any = cv2.goodFeaturesToTrack(even, _MAX_POINTS, 0.02, 12, mask=seen)
    if points is None or len(points) < _MIN_POINTS:
        return None
    return _Reference(profile, seen, even, np.asarray(points, np.float64).reshape(-1, 2))


def _card_free_mask(profile: Profile, before: Grey) -> Grey:
    """
    Tell what of a picture no card may hide: not the shoe's mouth, which is most of it.
    """
    seen: Grey = np.full(before.shape, 255, np.uint8)
    if profile.throat is not None:
        window = np.round(TableProjection(profile).to_pixels(profile.throat.window)).astype(
            np.int32
        )
        cv2.fillPoly(seen, [window], (0,))
    return seen


def _grey(image: Image) -> Grey:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)


def _without_lighting(grey: Grey, seen: Grey | None = None) -> Grey:
    """
    Take the light out of a picture: what is left is print. What is not to be seen is plain, as
    cloth, and what lies beside it is as if it were not there, such as a bright card.
    """
    share = np.ones(grey.shape, np.float32) if seen is None else (seen > 0).astype(np.float32)
    apart = (grey - _local_mean(grey, share, 12 / _SHRINK_FACTOR)) * share
    strength = np.sqrt(_local_mean(apart * apart, share, 40 / _SHRINK_FACTOR)) + 4
    return np.asarray(np.clip(apart / strength * 40 + _PLAIN_GREY, 0, 255), np.uint8)


def _local_mean(
    values: NDArray[Any], share: NDArray[np.float32], wide: float
) -> NDArray[np.float32]:
    """
    Take the mean about each pixel, of what is to be seen: of a smaller picture, which is as good
    and takes a tenth of the time.
    """
    size = values.shape[1], values.shape[0]
    small = max(1, size[0] // _SHRINK_FACTOR), max(1, size[1] // _SHRINK_FACTOR)
    there, part = (
        cv2.GaussianBlur(cv2.resize(each, small, interpolation=cv2.INTER_AREA), (0, 0), wide)
        for each in (values * share, share)
    )
    return np.asarray(cv2.resize(there / np.maximum(part, 1e-3), size), np.float32)


def _match_features(before: Grey, after: Grey) -> Floats | None:
    """
    Find roughly where all of it went, however far and turned, by how its points look.
    """
    eye = cv2.ORB.create(_MAX_FEATURES)
    (here, looks), (there, others) = (
        eye.detectAndCompute(each, np.ones_like(each)) for each in (before, after)
    )
    if min(len(here), len(there)) < _MIN_FEATURES:
        return None
    alike = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(looks, others, k=2)
    known = [first for first, next_ in alike if first.distance < _MATCH_RATIO * next_.distance]
    if len(known) < _MIN_FEATURES:
        return None
    start = np.array([here[each.queryIdx].pt for each in known])
    end = np.array([there[each.trainIdx].pt for each in known])
    found: Any = cv2.findHomography(start, end, cv2.RANSAC, _MAX_FEATURE_ERROR_PX)[0]
    return None if found is None else np.asarray(found, np.float64)


def _track_points(known: _Reference, after: Grey, rough: Floats) -> _Registration | None:
    """
    Follow points from where they roughly went; None where too few of them are found to agree.
    """
    points = known.points
    there, kept = _optical_flow(known.print, _warp_back(after, rough, known.seen), points)
    if np.count_nonzero(kept) < _MIN_POINTS:
        return None
    there = _transform(rough, there)
    start, end = (_undistort(known.profile, each[kept]) for each in (points, there))
    found: Any
    fitting: Any
    found, fitting = cv2.findHomography(start, end, cv2.RANSAC, _MAX_POINT_ERROR_PX)
    agree = kept.copy()
    agree[kept] = False if found is None else np.asarray(fitting).ravel() > 0
    agreed = int(np.count_nonzero(agree))
    if agreed < max(_MIN_POINTS, _MIN_AGREEING_SHARE * len(points)):
        return None
    led: Any = cv2.findHomography(points[agree], there[agree])[0]
    if led is None:
        return None
    size = after.shape[1], after.shape[0]
    return _Registration(
        np.asarray(found, np.float64), led, agreed, _covered_side(points, agree, size)
    )


def _covered_side(points: Floats, agree: NDArray[np.bool_], size: tuple[int, int]) -> str | None:
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
        if np.count_nonzero(there) >= _MIN_SIDE_POINTS
    }
    least = min(shares, key=lambda where: shares[where], default=None)
    return least if least is not None and shares[least] < _MIN_VISIBLE_SHARE else None


def _warp_back(after: Grey, rough: Floats, seen: Grey) -> Grey:
    """
    Lay a picture's print back to where the other's is; what lay beyond the picture is not seen.
    """
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = after.shape[1], after.shape[0]
    back, inside = (
        np.asarray(cv2.warpPerspective(each, rough, size, flags=flags), np.uint8)
        for each in (after, np.full_like(after, 255))
    )
    return _without_lighting(back, np.where(inside == 255, seen, 0).astype(np.uint8))  # noqa: PLR2004 - whole pixels


def _transform(matrix: Floats, points: Floats) -> Floats:
    there = cv2.perspectiveTransform(points.reshape(-1, 1, 2), matrix)
    return np.asarray(there, np.float64).reshape(-1, 2)


def _undistort(profile: Profile, points: Floats) -> Floats:
    """
    Take out of points what the lens bends: a plane's move is a homography only so.
    """
    if profile.lens is None:
        return points
    matrix, bent = np.array(profile.lens.matrix), np.array(profile.lens.distortion)
    straight = cv2.undistortPoints(points.reshape(-1, 1, 2), matrix, bent, None, matrix)
    return np.asarray(straight, np.float64).reshape(-1, 2)


def _optical_flow(before: Grey, after: Grey, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
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

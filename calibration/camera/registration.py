"""
Registration of the table in two images: its print is recognised at any position, then points
are tracked from one image to the other.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.table_projection import Floats, TableProjection, transform_points

Grey = NDArray[np.uint8]

_PLAIN_GREY: Final = 128
_SHRINK_FACTOR: Final = 4
"""Grey value of areas without print after the lighting is removed, and factor by which the image
is shrunk to measure the lighting."""

_MAX_POINTS: Final = 500
_MIN_POINTS: Final = 24
"""Maximum number of points, and the number that has to be found again."""

_MIN_AGREEING_SHARE: Final = 0.4
"""Share of the points that has to agree; points that left the image do not. The print alone is
not enough: of another table with the same print, at most 0.36 agree."""

_SURE_SHARE: Final = 0.95
"""Share of the points from which on nothing else is tried."""

_MAX_POINT_ERROR_PX: Final = 2.0
"""Maximum error of a point that agrees."""

_MAX_FEATURES: Final = 4000
_MATCH_RATIO: Final = 0.8
_MAX_FEATURE_ERROR_PX: Final = 5.0
_MIN_FEATURES: Final = 8
"""Limits of the feature matching: number of features, ratio of the distances to the best and the
second match, error, and minimum of matches. Few are enough, because the points verify them."""

_MAX_SHIFT_SHARE: Final = 0.15
"""Share of the image's height: all simulated tables that moved by less are recognised."""

_MIN_VISIBLE_SHARE: Final = 0.2
_MIN_SIDE_POINTS: Final = 8
"""Share of points found on a side below which the side is covered, and the minimum of points:
covered sides have at most 0.16, others at least 0.3, also out of focus."""


class TableShift(NamedTuple):
    """
    Shift of the table in the image.

    Attributes:
        right_mm, down_mm: Millimetres at the middle of the places.
        rotation_degrees: Rotation, clockwise.
        max_mm: Millimetres in the worst place.
        covered_side: Side of the image on which the table is not found; None where there is
            none, or where it is unknown.
    """

    right_mm: float
    down_mm: float
    rotation_degrees: float
    max_mm: float
    covered_side: str | None = None


class _Reference(NamedTuple):
    """A profile, the compared part of its image, the print there, and its points."""

    profile: Profile
    mask: Grey
    print: Grey
    points: Floats


class _Registration(NamedTuple):
    """
    Homography of the points in the undistorted image, that in the image itself, the number of
    points that agree, and the covered side.
    """

    matrix: Floats
    rough: Floats
    agreed: int
    covered_side: str | None


def find_table_shift(profile: Profile, reference: Image, now: Image) -> TableShift | None:
    """Return the shift of the table; None where it is not recognised."""
    if now.shape != reference.shape:
        return None
    found = _register(profile, reference, now)
    if found is None:
        return None
    ground, middles = TableProjection(profile), _place_centres(profile)
    table = np.array(profile.table.homography)
    before = transform_points(table, middles)
    after = transform_points(found.matrix, before)
    away = transform_points(np.linalg.inv(table), after) - middles
    middle = _to_image_axes(ground, middles.mean(axis=0), away.mean(axis=0))
    far = float(np.linalg.norm(away, axis=1).max())
    turned = _rotation_degrees(before, after)
    return TableShift(float(middle[0]), float(middle[1]), turned, far, found.covered_side)


def is_mirrored(profile: Profile, reference: Image, now: Image) -> bool:
    """True if the table is recognised in the mirrored image."""
    return find_table_shift(profile, reference, np.ascontiguousarray(now[:, ::-1])) is not None


def max_recognised_shift_mm(profile: Profile) -> float:
    """Return the shift up to which a table is certainly recognised."""
    x, y = _place_centres(profile).mean(axis=0)
    scale = TableProjection(profile).scale((float(x), float(y)))
    return _MAX_SHIFT_SHARE * profile.camera.height / scale


def _rotation_degrees(before: Floats, after: Floats) -> float:
    (x, y), (u, v) = (before - before.mean(axis=0)).T, (after - after.mean(axis=0)).T
    return float(np.degrees(np.arctan2((x * v - y * u).sum(), (x * u + y * v).sum())))


def _to_image_axes(ground: TableProjection, at: Floats, away: Floats) -> Floats:
    """Convert a vector on the table to millimetres to the right and down in the image."""
    tracked = ground.to_pixels([tuple(at), tuple(at + away)])
    way = tracked[1] - tracked[0]
    length = float(np.linalg.norm(way))
    return np.asarray(way / max(length, 1e-9) * float(np.linalg.norm(away)))


def _place_centres(profile: Profile) -> Floats:
    if profile.throat is not None and profile.station == "throat":
        return np.asarray(profile.throat.window, np.float64)
    return np.array([place.centre for place in profile.place])


def _register(profile: Profile, reference: Image, now: Image) -> _Registration | None:
    """
    Find the homography of the undistorted image's points.

    Points are tracked from their places: of a table that has hardly moved, nearly all agree.
    Otherwise it is found approximately by features, if they match, which they may not in an
    image out of focus. Points are then tracked from there, too, and once more from the start
    from which more of them agree.
    """
    before, after = _grey(reference), _grey(now)
    points = _reference_points(profile, before)
    if points is None:
        return None
    best = _track_points(points, after, np.eye(3))
    if best is None or best.agreed < _SURE_SHARE * len(points.points):
        start = _match_features(_without_lighting(before), _without_lighting(after))
        moved = None if start is None else _track_points(points, after, start)
        if moved is not None and (best is None or moved.agreed >= best.agreed):
            best = moved
    return best and (_track_points(points, after, best.rough) or best)


def _reference_points(profile: Profile, before: Grey) -> _Reference | None:
    """Choose points of the table; None where there are too few."""
    mask = _card_free_mask(profile, before)
    even = _without_lighting(before, mask)
    points: Any = cv2.goodFeaturesToTrack(even, _MAX_POINTS, 0.02, 12, mask=mask)
    if points is None or len(points) < _MIN_POINTS:
        return None
    return _Reference(profile, mask, even, np.asarray(points, np.float64).reshape(-1, 2))


def _card_free_mask(profile: Profile, before: Grey) -> Grey:
    """Return a mask of the image without the throat, where cards hide most of it."""
    mask: Grey = np.full(before.shape, 255, np.uint8)
    if profile.throat is not None:
        window = np.round(TableProjection(profile).to_pixels(profile.throat.window)).astype(
            np.int32
        )
        cv2.fillPoly(mask, [window], (0,))
    return mask


def _grey(image: Image) -> Grey:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)


def _without_lighting(grey: Grey, mask: Grey | None = None) -> Grey:
    """
    Remove the lighting from an image, leaving the print. Masked areas become plain, and do not
    affect their surroundings, as a bright card would.
    """
    share = np.ones(grey.shape, np.float32) if mask is None else (mask > 0).astype(np.float32)
    apart = (grey - _local_mean(grey, share, 12 / _SHRINK_FACTOR)) * share
    strength = np.sqrt(_local_mean(apart * apart, share, 40 / _SHRINK_FACTOR)) + 4
    return np.asarray(np.clip(apart / strength * 40 + _PLAIN_GREY, 0, 255), np.uint8)


def _local_mean(
    values: NDArray[Any], share: NDArray[np.float32], wide: float
) -> NDArray[np.float32]:
    """Return the mean around each pixel of the visible area, from a smaller image for speed."""
    size = values.shape[1], values.shape[0]
    small = max(1, size[0] // _SHRINK_FACTOR), max(1, size[1] // _SHRINK_FACTOR)
    tracked, part = (
        cv2.GaussianBlur(cv2.resize(each, small, interpolation=cv2.INTER_AREA), (0, 0), wide)
        for each in (values * share, share)
    )
    return np.asarray(cv2.resize(tracked / np.maximum(part, 1e-3), size), np.float32)


def _match_features(before: Grey, after: Grey) -> Floats | None:
    """Find the approximate homography, at any shift and rotation, by matching features."""
    detector = cv2.ORB.create(_MAX_FEATURES)
    (keypoints, descriptors), (tracked, other_descriptors) = (
        detector.detectAndCompute(each, np.ones_like(each)) for each in (before, after)
    )
    if min(len(keypoints), len(tracked)) < _MIN_FEATURES:
        return None
    alike = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(descriptors, other_descriptors, k=2)
    reference = [first for first, next_ in alike if first.distance < _MATCH_RATIO * next_.distance]
    if len(reference) < _MIN_FEATURES:
        return None
    start = np.array([keypoints[each.queryIdx].pt for each in reference])
    end = np.array([tracked[each.trainIdx].pt for each in reference])
    found: Any = cv2.findHomography(start, end, cv2.RANSAC, _MAX_FEATURE_ERROR_PX)[0]
    return None if found is None else np.asarray(found, np.float64)


def _track_points(reference: _Reference, after: Grey, rough: Floats) -> _Registration | None:
    """Track points from their approximate positions; None where too few agree."""
    points = reference.points
    tracked, kept = _optical_flow(
        reference.print, _warp_back(after, rough, reference.mask), points
    )
    if np.count_nonzero(kept) < _MIN_POINTS:
        return None
    tracked = transform_points(rough, tracked)
    # Without lens distortion, a shift of the plane is a homography.
    undistort = TableProjection(reference.profile).undistort
    start, end = (undistort(each[kept]) for each in (points, tracked))
    found: Any
    fitting: Any
    found, fitting = cv2.findHomography(start, end, cv2.RANSAC, _MAX_POINT_ERROR_PX)
    agree = kept.copy()
    agree[kept] = False if found is None else np.asarray(fitting).ravel() > 0
    agreed = int(np.count_nonzero(agree))
    if agreed < max(_MIN_POINTS, _MIN_AGREEING_SHARE * len(points)):
        return None
    led: Any = cv2.findHomography(points[agree], tracked[agree])[0]
    if led is None:
        return None
    size = after.shape[1], after.shape[0]
    return _Registration(
        np.asarray(found, np.float64), led, agreed, _covered_side(points, agree, size)
    )


def _covered_side(points: Floats, agree: NDArray[np.bool_], size: tuple[int, int]) -> str | None:
    """Return the side of the image on which hardly any point agrees."""
    (x, y), (wide, high) = points.T, size
    sides = {
        "on the left": x < wide / 2,
        "on the right": x >= wide / 2,
        "above": y < high / 2,
        "below": y >= high / 2,
    }
    shares = {
        where: float(agree[tracked].mean())
        for where, tracked in sides.items()
        if np.count_nonzero(tracked) >= _MIN_SIDE_POINTS
    }
    least = min(shares, key=lambda where: shares[where], default=None)
    return least if least is not None and shares[least] < _MIN_VISIBLE_SHARE else None


def _warp_back(after: Grey, rough: Floats, mask: Grey) -> Grey:
    """Warp an image's print back onto the other's, masking what was outside the image."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = after.shape[1], after.shape[0]
    back, inside = (
        np.asarray(cv2.warpPerspective(each, rough, size, flags=flags), np.uint8)
        for each in (after, np.full_like(after, 255))
    )
    return _without_lighting(back, np.where(inside == 255, mask, 0).astype(np.uint8))  # noqa: PLR2004 - whole pixels


def _optical_flow(before: Grey, after: Grey, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Track points there and back; return which of them come back to their start."""
    options: Any = {"winSize": (31, 31), "maxLevel": 3}
    start: Any = points.astype(np.float32).reshape(-1, 1, 2)
    tracked, good, _ = cv2.calcOpticalFlowPyrLK(before, after, start, start.copy(), **options)
    back, again, _ = cv2.calcOpticalFlowPyrLK(after, before, tracked, tracked.copy(), **options)
    kept = (good.ravel() > 0) & (again.ravel() > 0)
    kept &= np.linalg.norm((back - start).reshape(-1, 2), axis=1) < 1.0
    return np.asarray(tracked.reshape(-1, 2), np.float64), kept

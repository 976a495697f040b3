"""Effects of a cheap camera: lens, lamp, felt, shadow, motion, noise, JPEG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from calibration.training.chance import Chance
from calibration.training.faces import Face
from drivers.simulators.card_artwork import ASPECT
from drivers.simulators.card_artwork.drawing_tools import Image

_Floats = NDArray[np.float32]
_NOISE: Final[_Floats] = np.random.default_rng(7).standard_normal((700, 700, 3)).astype(np.float32)
_GRAIN: Final[_Floats] = np.asarray(cv2.GaussianBlur(_NOISE, (0, 0), 1.2) * 4, np.float32)
_UNIT: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)


class Conditions(Struct, frozen=True, kw_only=True):
    """
    The conditions of one picture; lengths in parts of the card's width.

    Attributes:
        width: The card's width in pixels.
        turn: The card's rotation in degrees.
        tilt: Shortening along the picture's height.
        lean: Perspective shortening of the far side.
        blur: Sigma of the lens blur.
        motion: Length of the motion blur.
        light: 1 for a well-lit table.
        noise: Sensor noise in grey levels.
    """

    width: float
    turn: float
    tilt: float
    lean: float
    blur: float
    motion: float
    light: float
    noise: float


class Photo(Struct, frozen=True, kw_only=True):
    """
    A picture of a card.

    Attributes:
        quad: The card's corners.
        covers: The corners of cards that cover it.
        softness: Total blur in pixels (sigma).
    """

    image: Image
    quad: NDArray[np.float32]
    covers: tuple[NDArray[np.float32], ...]
    softness: float


def chosen(chance: Chance, least: float = 28, most: float = 220) -> Conditions:
    """Choose realistic conditions, including bad ones."""
    kind = chance.random()
    upright = chance.random() < 0.4  # noqa: PLR2004 - a share of the pictures
    return Conditions(
        width=float(np.exp(chance.uniform(np.log(least), np.log(most)))),
        turn=float(chance.normal(0, 6) if upright else chance.uniform(0, 360)),
        tilt=float(chance.uniform(0.55, 1.0) if chance.random() < 0.5 else 1.0),  # noqa: PLR2004 - as above
        lean=float(chance.uniform(0, 0.12)),
        blur=float(abs(chance.normal(0, 0.012)) if kind < 0.4 else 0.0),  # noqa: PLR2004 - as above
        motion=float(chance.uniform(0.01, 0.09) if 0.4 <= kind < 0.58 else 0.0),  # noqa: PLR2004 - as above
        light=float(chance.uniform(*((0.1, 0.4) if chance.integers(4) == 0 else (0.35, 1.1)))),
        noise=float(chance.uniform(0, 9)),
    )


def sharpness_limit(photo: Photo, face: Face, width: float) -> float:
    """Return a picture's blur relative to its figures: sigma in parts of a figure's height."""
    return photo.softness / max(face.figure * width, 1.0)


def photograph(
    chance: Chance,
    face: Face,
    how: Conditions,
    over: Sequence[Face] = (),
    under: Sequence[Face] = (),
) -> Photo:
    """Photograph a card, with other cards over and under it as in a fan."""
    quad, size = _placed(chance, how, 0.08 if over or under else 0.0)
    scene = _table(chance, size)
    for other in under:
        _lay(chance, scene, other, _shifted(chance, quad, other, -1))
    _lay(chance, scene, face, quad)
    covers = tuple(_shifted(chance, quad, face, 1) for _ in over)
    for other, where in zip(over, covers, strict=True):
        _lay(chance, scene, other, where)
    scene = _lit(chance, scene, how)
    scene, softness = _through_lens(chance, scene, how)
    image = _sensed(chance, scene, how)
    return Photo(image=image, quad=quad, covers=covers, softness=softness)


def enlarged(chance: Chance, photo: Photo) -> Photo:
    """Make a picture that looks enlarged from a smaller JPEG."""
    share = float(chance.uniform(0.4, 0.85))
    height, width = photo.image.shape[:2]
    small = cv2.resize(photo.image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(chance.integers(40, 95))]
    packed = cv2.imdecode(cv2.imencode(".jpg", small, quality)[1], cv2.IMREAD_COLOR)
    large = cv2.resize(np.asarray(packed), (width, height), interpolation=cv2.INTER_LINEAR)
    softness = float(np.hypot(photo.softness, 0.6 / share))
    return structs.replace(photo, image=np.asarray(large, np.uint8), softness=softness)


def _placed(
    chance: Chance, how: Conditions, around: float
) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """Place the card's corners in a slightly larger picture."""
    corners = (_UNIT - 0.5) * np.array([1.0, ASPECT], np.float32) * how.width
    turn = np.radians(how.turn)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    seen = corners @ spin.T * [1.0, how.tilt]
    depth = 1 + how.lean * seen[:, 1:] / (how.width * ASPECT)
    seen = seen * depth
    margin = (0.07 + around + chance.uniform(0, 0.05)) * how.width + 3
    low = seen.min(0) - margin
    size = np.ceil(np.ptp(seen, axis=0) + 2 * margin).astype(int)
    return np.asarray(seen - low, np.float32), (int(size[0]), int(size[1]))


def _table(chance: Chance, size: tuple[int, int]) -> _Floats:
    """Draw felt, wood or clutter."""
    width, height = size
    felt = chance.random() < 0.6  # noqa: PLR2004 - most tables have felt
    base = chance.uniform((20, 40, 10), (110, 160, 90)) if felt else chance.uniform(0, 255, 3)
    if chance.random() < 0.15:  # noqa: PLR2004 - a desk as bright as the cards, or a grey one
        base = chance.uniform(110, 255) + chance.uniform(-12, 12, 3)
    coarse = chance.normal(0, chance.uniform(1, 20), (height // 6 + 2, width // 6 + 2, 3))
    table = np.asarray(cv2.resize(coarse.astype(np.float32), size), np.float32)
    table += base.astype(np.float32)
    if chance.random() < 0.3:  # noqa: PLR2004 - a share of the pictures
        for _ in range(int(chance.integers(1, 5))):
            ends = chance.integers(-50, max(size) + 50, 4)
            colour = tuple(float(v) for v in chance.integers(0, 256, 3))
            thick = int(chance.integers(2, 30))
            cv2.line(
                table, (int(ends[0]), int(ends[1])), (int(ends[2]), int(ends[3])), colour, thick
            )
    return table


def _shifted(
    chance: Chance, quad: NDArray[np.float32], lower: Face, side: int
) -> NDArray[np.float32]:
    """
    Place a card over or under another so that the lower card's index stays visible.

    Beside it as in a fan, diagonally as dealers do, or across its lower end; a share of them at
    random, so that the index may be hidden, or another card's index may lie beside it.
    """
    right, down = quad[1] - quad[0], quad[3] - quad[0]
    (x, y), (wide, tall) = (lower.places or _NOWHERE)[1]
    kind = chance.random()
    if side > 0 and kind < 0.15:  # noqa: PLR2004 - a share of the pictures
        corner = quad[0] + down * (y + tall / 2 + chance.uniform(0.0, 0.15))
        corner = corner - right * chance.uniform(0.0, 0.3)
        across, along = down / ASPECT, right * ASPECT
        laid = np.array([corner + across, corner, corner + along, corner + along + across])
        return _turned(laid, corner, chance.normal(0, 6))
    if side > 0 and kind < 0.25:  # noqa: PLR2004 - as above
        middle = quad[0] + right * chance.uniform(-0.3, 0.6) + down * chance.uniform(-0.2, 0.5)
        return _turned(quad - quad.mean(0) + middle, middle, chance.uniform(25, 155))
    if side > 0 and kind < 0.42:  # noqa: PLR2004 - anywhere near the index, over a part of it or beside
        middle = right * chance.uniform(0.06, 0.45) + down * chance.uniform(-0.1, 0.3)
        return _turned(quad + middle, quad[0], chance.normal(0, 5))
    if side > 0 and kind < 0.6:  # noqa: PLR2004 - almost over it, with its own index where the other was
        middle = right * chance.uniform(0.04, 0.22) + down * chance.uniform(-0.1, 0.15)
        return _turned(quad + middle, quad[0], chance.normal(0, 3))
    strip = right * (x + wide / 2 + chance.uniform(0.01, 0.14))
    step = chance.normal(-0.02, 0.05) if kind < 0.78 else chance.uniform(-0.3, 0.4)  # noqa: PLR2004 - as above
    laid = quad + side * (strip + down * step)
    return _turned(laid, quad[3], side * chance.normal(5, 8))


_NOWHERE: Final = (((0.1, 0.1), (0.1, 0.1)), ((0.1, 0.2), (0.1, 0.1)))


def _turned(
    quad: NDArray[np.float32], about: NDArray[np.float32], degrees: float
) -> NDArray[np.float32]:
    turn = np.radians(degrees)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.asarray((quad - about) @ spin.T + about, np.float32)


def _lay(chance: Chance, scene: _Floats, face: Face, quad: NDArray[np.float32]) -> None:
    height, width = face.image.shape[:2]
    corners = _UNIT * np.array([width, height], np.float32)
    plane = cv2.getPerspectiveTransform(corners, np.ascontiguousarray(quad))
    size = (scene.shape[1], scene.shape[0])
    picture = cv2.warpPerspective(face.image, plane, size, flags=cv2.INTER_LINEAR)
    mask = cv2.warpPerspective(face.mask, plane, size, flags=cv2.INTER_LINEAR)
    cover = mask.astype(np.float32)[..., None] / 255
    if chance.random() < 0.5:  # noqa: PLR2004 - every second card throws a shadow
        reach = chance.uniform(-0.03, 0.03, 2) * width
        shade = np.roll(cover[..., 0], (int(reach[0]), int(reach[1])), (0, 1))
        soft = np.asarray(cv2.GaussianBlur(shade, (0, 0), chance.uniform(1, 4)), np.float32)
        scene *= 1 - soft[..., None] * np.float32(chance.uniform(0.2, 0.7))
    scene += (picture.astype(np.float32) - scene) * cover
    if chance.random() < 0.4:  # noqa: PLR2004 - the edge of many a card is a thin line
        line = np.zeros(scene.shape[:2], np.uint8)
        edge = np.round(_inset(quad) * 16).astype(np.int32)
        cv2.polylines(line, [edge], True, 255, 1, cv2.LINE_AA, 4)  # noqa: FBT003 - OpenCV knows it by position
        seen = line.astype(np.float32)[..., None] / 255 * np.float32(chance.uniform(0.3, 1))
        scene += (np.float32(chance.uniform(40, 170)) - scene) * seen


def _inset(quad: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move corners inwards by half a pixel or so."""
    middle = quad.mean(0)
    return np.asarray(middle + (quad - middle) * 0.995, np.float32)


def _lit(chance: Chance, scene: _Floats, how: Conditions) -> _Floats:
    """Light the scene: unevenly, with the edge of a shadow, glare and colour."""
    height, width = scene.shape[:2]
    x = np.linspace(0, 1, width, dtype=np.float32)[None]
    y = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    turn = chance.uniform(0, 2 * np.pi)
    across = (np.cos(turn) * (x - 0.5) + np.sin(turn) * (y - 0.5)).astype(np.float32)
    light = 1 + across * chance.uniform(-0.5, 0.5)
    if chance.random() < 0.25:  # noqa: PLR2004 - a share of the pictures
        edge = 1 / (1 + np.exp(-(across - chance.uniform(-0.35, 0.35)) * chance.uniform(10, 80)))
        light = light * (1 - edge * chance.uniform(0.2, 0.65))
    colour = np.array(
        [chance.uniform(0.7, 1.2), chance.uniform(0.85, 1.12), chance.uniform(0.75, 1.2)]
    )
    lit = scene * (light[..., None] * (colour * how.light)).astype(np.float32)
    if chance.random() < 0.15:  # noqa: PLR2004 - as above
        at, size = chance.uniform(0, 1, 2), chance.uniform(0.04, 0.3)
        spot = np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2 * size * size))
        lit += (spot * chance.uniform(30, 190)).astype(np.float32)[..., None]
    return np.asarray(lit, np.float32)


def _through_lens(chance: Chance, scene: _Floats, how: Conditions) -> tuple[_Floats, float]:
    """Blur by lens and motion; return the total blur too."""
    sigma = max(0.35, how.blur * how.width)
    scene = np.asarray(cv2.GaussianBlur(scene, (0, 0), sigma), np.float32)
    trail = how.motion * how.width
    if trail > 1:
        scene = np.asarray(cv2.filter2D(scene, -1, trail_kernel(chance, trail)), np.float32)
    if chance.random() < 0.25:  # noqa: PLR2004 - cheap cameras sharpen
        softer = cv2.GaussianBlur(scene, (0, 0), 1.0)
        scene = np.asarray(scene + (scene - softer) * chance.uniform(0.3, 1.5), np.float32)
    return scene, float(np.sqrt(0.5**2 + sigma**2 + trail**2 / 12))


def trail_kernel(chance: Chance, length: float) -> Any:  # noqa: ANN401 - what OpenCV's stubs take
    """Return the filter of a motion of a length in pixels, in a direction by chance."""
    side = int(length) + 2
    kernel = np.zeros((side, side), np.float32)
    turn, middle = chance.uniform(0, np.pi), side / 2 - 0.5
    step = np.array([np.cos(turn), np.sin(turn)]) * length / 2
    ends = [tuple(round(v * 16) for v in middle + sign * step) for sign in (-1, 1)]
    cv2.line(kernel, ends[0], ends[1], (1.0,), 1, cv2.LINE_8, 4)
    return kernel / kernel.sum()


def _sensed(chance: Chance, scene: _Floats, how: Conditions) -> Image:
    scene = scene + _bank(chance, _NOISE, scene) * np.float32(how.noise)
    if chance.random() < 0.3:  # noqa: PLR2004 - a share of the cameras
        scene = scene + _bank(chance, _GRAIN, scene) * np.float32(chance.uniform(1, 6))
    curve = (np.arange(256) / 255) ** chance.uniform(0.75, 1.35) * 255
    picture = cv2.LUT(np.clip(scene, 0, 255).astype(np.uint8), curve.astype(np.uint8))
    if chance.random() < 0.6:  # noqa: PLR2004 - most streams are compressed
        quality = int(chance.integers(25, 95))
        packed = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    return np.asarray(picture, np.uint8)


def _bank(chance: Chance, bank: _Floats, like: _Floats) -> _Floats:
    height, width = like.shape[:2]
    y, x = (int(v) for v in chance.integers(0, 60, 2))
    part = bank[y : y + height, x : x + width]
    if part.shape[:2] != (height, width):
        part = np.resize(bank, like.shape)
    return part

"""
Training patches: pictures of an index, and the expected answer.

Illegible patches have the answer "no index": backs, blank paper, other parts of a card, a hidden
index or one outside the window, and pictures too blurred for the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from calibration.photo_labels import index_window
from calibration.training.chance import Chance
from calibration.training.covers import Cover, with_covers
from calibration.training.faces import (
    Face,
    Source,
    draw_back,
    draw_face,
    draw_nameless_face,
)
from calibration.training.parallel import together
from calibration.training.photo import Photo, chosen, enlarged, photograph, sharpness_limit
from drivers.camera.image import Image
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.recogniser import (
    PATCH_SIZE_PX,
    Quad,
    crop_window,
    normalise_patch,
    window_quads,
)
from drivers.simulators.card_artwork.card_drawing import Place
from shoe_daemon.game import RANKS, SUITS

SHARD: Final = 5_000
"""Patches per file of lessons."""
_STEPS: Final = 63.75
NO_INDEX: Final = len(RANKS)
"""The network's fourteenth rank."""
_LEGIBLE, _ILLEGIBLE = 0.095, 0.15
_FIGURE_SEEN, _PIP_SEEN = (0.72, 0.96), (0.4, 0.8)
"""
Visible shares of figure and pip: below the first value illegible, above the second fully legible.
"""
_DARK: Final = 9.0
"""Contrast in grey levels that is lost in noise and compression; twice that is fully visible."""
_MAX_WIDTH_PX = 240
_UNIT: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_TARGET: Final = _UNIT * np.array(PATCH_SIZE_PX, np.float32)
_GRID: Final = (np.array([(x, y) for x in range(5) for y in range(5)], np.float32) / 4 - 0.5) * 0.9
_USUAL: Final = (((0.1, 0.1), (0.1, 0.1)), ((0.1, 0.2), (0.1, 0.1)))
"""Usual places of an index, for sides without one."""
_Floats = NDArray[np.float32]


class Patch(Struct, frozen=True, kw_only=True):
    """One lesson: picture, answer, and legibility (0 to 1)."""

    image: Image
    rank: int
    suit: int
    legible: float


def patches(chance: Chance, source: Source) -> Iterator[Patch]:
    """Yield patches endlessly, about five per picture."""
    while True:
        kind = chance.random()
        if kind < 0.06:  # noqa: PLR2004 - the shares of the lessons
            yield from _of_nothing(chance, source)
        else:
            yield from _of_card(chance, source, named=kind > _NAMELESS)


_NAMELESS: Final = 0.2
"""Share of the pictures without a card's name: backs, and below this figures that are no rank and
emblems that are no suit."""
_COVERED: Final = 0.2
"""Share of the cards with a straight cover over the index, or beside it."""


def _of_card(chance: Chance, source: Source, *, named: bool) -> Iterator[Patch]:
    how = chosen(chance)
    width = int(np.clip(how.width * 1.25, 72, _MAX_WIDTH_PX))
    face = (draw_face if named else draw_nameless_face)(chance, source, width)
    over, under = _others(chance, source, width)
    covers: list[Cover] = []
    if face.places and chance.random() < _COVERED:
        face, covers = with_covers(chance, face)
    photo = photograph(chance, face, how, over, under)
    plane = cv2.getPerspectiveTransform(_UNIT, np.ascontiguousarray(photo.quad, np.float32))
    laid = [np.asarray(cv2.perspectiveTransform(each[None], plane)[0]) for each in covers]
    photo = structs.replace(photo, covers=(*photo.covers, *laid))
    if chance.random() < 0.12:  # noqa: PLR2004 - as above
        photo = enlarged(chance, photo)
    soft = sharpness_limit(photo, face, how.width)
    legible = float(np.clip((_ILLEGIBLE - soft) / (_ILLEGIBLE - _LEGIBLE), 0, 1))
    fan = bool(over or under)
    for end in (0,) if fan else (0, 1):
        yield lesson(chance, photo, face, _fitted(chance, photo, end), (end, legible))
    for end in (0, 0) if fan else (int(chance.integers(2)),):
        yield lesson(chance, photo, face, _loose(chance, photo, face, end), (end, legible))
        seen = _cornered(face) if face.four and chance.random() < 0.6 else face  # noqa: PLR2004 - as above
        yield lesson(chance, photo, seen, _pointed(chance, photo, seen, end), (end, legible))
    if chance.random() < 0.2:  # noqa: PLR2004 - as above
        yield _elsewhere(chance, photo)


def _cornered(face: Face) -> Face:
    """Return the face with the index of its right corner."""
    figure, pip = (((1 - x, y), size) for (x, y), size in face.places or _USUAL)
    return structs.replace(face, places=(figure, pip))


def _others(chance: Chance, source: Source, width: int) -> tuple[list[Face], list[Face]]:
    """Draw the cards over and under the card; usually none."""
    if chance.random() > 0.28:  # noqa: PLR2004 - the share of the lessons
        return [], []
    kind = chance.random()
    over = [draw_face(chance, source, width)] if kind < 0.75 else []  # noqa: PLR2004 - as above
    under = [draw_face(chance, source, width)] if kind > 0.4 else []  # noqa: PLR2004 - as above
    return over, under


def _fitted(chance: Chance, photo: Photo, end: int) -> Quad:
    """Return a window as cut by a reader that knows the corners, of any size."""
    both = float(np.exp(chance.uniform(np.log(0.75), np.log(1.65))))
    across, along = (both * float(np.exp(chance.normal(0, 0.08))) for _ in range(2))
    off = chance.normal(0, 0.015 if chance.random() < 0.7 else 0.035, 2)  # noqa: PLR2004 - most are well aligned
    window = IndexWindow(x=float(off[0]), y=float(off[1])).scaled(across, along)
    return _shaken(chance, photo, window_quads(photo.quad, window)[end])


def _loose(chance: Chance, photo: Photo, face: Face, end: int) -> Quad:
    """Return a window as at a shoe's exit: of any size, with the index somewhere inside."""
    both = float(np.exp(chance.uniform(np.log(0.68), np.log(1.5))))
    across, along = (both * float(np.exp(chance.normal(0, 0.06))) for _ in range(2))
    ((x, _), (wide, _)), ((_, y), (_, tall)) = face.places or _USUAL
    # A window of another size has the index at roughly the same relative place.
    middle = np.array([x + wide / 2, y + tall / 2]) / 2
    shift = middle * (1 - np.array([across, along])) * chance.uniform(0.3, 1)
    off = chance.normal(0, 0.018 if chance.random() < 0.6 else 0.035, 2) + shift  # noqa: PLR2004 - as above
    window = IndexWindow(x=float(off[0]), y=float(off[1])).scaled(across, along)
    return _shaken(chance, photo, window_quads(photo.quad, window)[end])


def _pointed(chance: Chance, photo: Photo, face: Face, end: int) -> Quad:
    """
    Return a window as cut by a reader that knows only the centres of figure and pip.

    It is an upright rectangle, so the index may be skewed in it.
    """
    figure, pip = (place[0] for place in face.places or _USUAL)
    if abs(figure[0] - pip[0]) > abs(figure[1] - pip[1]):  # the pip is beside the figure
        return _loose(chance, photo, face, end)
    ends = _seen_at(photo.quad, np.array([figure, pip], np.float32), end)
    ends = ends + chance.normal(0, 0.05, (2, 2)) * np.linalg.norm(ends[1] - ends[0])
    height = float(np.exp(chance.uniform(np.log(2.2), np.log(4.7))))
    spread = 0.03 if chance.random() < 0.75 else 0.1  # noqa: PLR2004 - as above
    off = chance.normal(0, spread, 2)
    window = index_window(np.asarray(ends, np.float32), height, (float(off[0]), float(off[1])))
    middle, right = window.mean(0), (window[1] - window[0]) / 2
    wider = (np.exp(chance.normal(0, 0.15)) - 1) * right
    return np.asarray(window + np.where(((window - middle) @ right)[:, None] > 0, wider, -wider))


def _shaken(chance: Chance, photo: Photo, corners: Quad) -> Quad:
    side = float(np.linalg.norm(photo.quad[1] - photo.quad[0]))
    return np.asarray(corners + chance.normal(0, 0.008 * side, (4, 2)), np.float32)


def lesson(
    chance: Chance, photo: Photo, face: Face, window: Quad, known: tuple[int, float]
) -> Patch:
    """Cut a window at an end, and compute the legibility of its index."""
    image = crop_window(photo.image, window)
    hidden = _hand(chance, image)
    end, legible = known
    legible *= float(np.clip((_contrast(image) - _DARK) / _DARK, 0, 1))
    if face.card is None or face.places is None:
        return _nothing(image)
    for place, (least, enough) in zip(face.places, (_FIGURE_SEEN, _PIP_SEEN), strict=True):
        share = _share(photo, place, end, window, hidden)
        legible *= float(np.clip((share - least) / (enough - least), 0, 1))
    if legible <= 0:
        return _nothing(image)
    rank, suit = RANKS.index(face.card.rank), SUITS.index(face.card.suit)
    return Patch(image=image, rank=rank, suit=suit, legible=legible)


def _contrast(image: Image) -> float:
    low, high = np.percentile(image[::3, ::2].mean(2), (2, 98))
    return float(high - low)


def _share(photo: Photo, place: Place, end: int, window: Quad, hidden: Image) -> float:
    """Return the share of a figure or pip that is in the window and not covered."""
    (x, y), (wide, tall) = place
    printed = (np.array([x, y]) + _GRID * np.array([wide, tall])).astype(np.float32)
    points = _seen_at(photo.quad, printed, end)
    seen = np.ones(len(points), np.bool_)
    for cover in photo.covers:
        along = np.roll(cover, -1, 0) - cover
        off = points[:, None] - cover
        side = along[:, 0] * off[..., 1] - along[:, 1] * off[..., 0]
        seen &= ~(np.all(side > 0, axis=1) | np.all(side < 0, axis=1))
    at = np.floor(_moved(points, window, _TARGET)).astype(int)
    seen &= np.all((at >= 0) & (at < PATCH_SIZE_PX), axis=1)
    at = np.clip(at, 0, np.array(PATCH_SIZE_PX) - 1)
    return float((seen & (hidden[at[:, 1], at[:, 0]] == 0)).mean())


def _seen_at(quad: Quad, points: _Floats, end: int) -> _Floats:
    """Project points of the card's plane, or of its other end, into the picture."""
    return _moved(1 - points if end else points, _UNIT, quad)


def _moved(points: _Floats, start: Quad, target: Quad) -> _Floats:
    plane = cv2.getPerspectiveTransform(
        np.ascontiguousarray(start, np.float32), np.ascontiguousarray(target, np.float32)
    )
    moved = cv2.perspectiveTransform(np.asarray(points, np.float32)[None], plane)
    return np.asarray(moved[0], np.float32)


def _hand(chance: Chance, image: Image) -> Image:
    """Sometimes draw a hand over the picture; return its mask."""
    width, height = PATCH_SIZE_PX
    hidden: Image = np.zeros((height, width), np.uint8)
    if chance.random() > 0.09:  # noqa: PLR2004 - the share of the lessons
        return hidden
    colour = tuple(int(v) for v in chance.uniform((70, 90, 130), (190, 210, 255)))
    if chance.random() < 0.3:  # noqa: PLR2004 - as above
        colour = tuple(int(v) for v in chance.integers(0, 256, 3))
    place, size = chance.uniform(0.1, 0.9, 2), chance.uniform(0.35, 0.9, 2)
    centre = (int(place[0] * width * 0.7), int(place[1] * height))
    axes = (int(size[0] * width * 0.9), int(size[1] * height * 0.45))
    turn = float(chance.uniform(-40, 40))
    cv2.ellipse(image, centre, axes, turn, 0, 360, colour, -1, cv2.LINE_AA)
    cv2.ellipse(hidden, centre, axes, turn, 0, 360, (255,), -1)
    return hidden


def _elsewhere(chance: Chance, photo: Photo) -> Patch:
    """Cut a window without an upright index: a rotated card, or another part of it."""
    quad = photo.quad
    if chance.random() < 0.5:  # noqa: PLR2004 - as above
        quad = np.asarray(np.roll(quad, int(chance.choice([1, 3])), 0), np.float32)
        window = IndexWindow()
    else:
        x, y = chance.uniform(0.28, 0.6), chance.uniform(0.3, 0.5)
        window = IndexWindow(x=float(x), y=float(y))
    return _nothing(crop_window(photo.image, window_quads(quad, window)[0]))


def _nothing(image: Image) -> Patch:
    return Patch(image=image, rank=NO_INDEX, suit=0, legible=0.0)


def _of_nothing(chance: Chance, source: Source) -> Iterator[Patch]:
    """Yield backs, blank cards, and the table."""
    how = chosen(chance)
    width = int(np.clip(how.width * 1.25, 72, _MAX_WIDTH_PX))
    face = draw_back(chance, source, width)
    if chance.random() < 0.25:  # noqa: PLR2004 - as above
        image: Image = np.full_like(face.image, int(chance.integers(200, 256)))
        face = Face(card=None, image=image, mask=face.mask, figure=0, places=None, kind="blank")
    photo = photograph(chance, face, how)
    for end in (0, 1):
        loose = chance.integers(2) > 0
        window = _loose(chance, photo, face, end) if loose else _fitted(chance, photo, end)
        yield lesson(chance, photo, face, window, (end, 0.0))


class Lessons(Struct, frozen=True):
    """Normalised patches as bytes, with rank, suit and legibility per row."""

    images: NDArray[np.uint8]
    answers: NDArray[np.float32]


def generate(folder: Path, source: Source, shards: int, *, workers: int = 2) -> None:
    """Render the missing shards of a folder; a shard of a number is always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = [n for n in range(shards) if not (folder / f"{n:03}.npy").exists()]
    make = partial(_make, folder, source)
    if workers == 1:
        list(map(make, numbers))
        return
    together(make, [(each,) for each in numbers], workers)


def _make(folder: Path, source: Source, number: int) -> None:
    cv2.setNumThreads(1)
    chance = np.random.default_rng([0, number, int(source.held_out)])
    images = np.empty((SHARD, 3, PATCH_SIZE_PX[1], PATCH_SIZE_PX[0]), np.uint8)
    answers = np.empty((SHARD, 3), np.float32)
    for place, patch in enumerate(islice(patches(chance, source), SHARD)):
        images[place] = packed(patch)
        answers[place] = patch.rank, patch.suit, patch.legible
    np.save(_answers(folder / f"{number:03}.npy"), answers)
    unfinished = folder / f"{number:03}.part"
    with unfinished.open("wb") as file:
        np.save(file, images)
    unfinished.rename(folder / f"{number:03}.npy")


def _answers(path: Path) -> Path:
    folder = path.parent / "answers"
    folder.mkdir(exist_ok=True)
    return folder / path.name


def packed(patch: Patch) -> NDArray[np.uint8]:
    """Normalise a patch as the recogniser does, and convert it to bytes."""
    return np.round((normalise_patch(patch.image) + 2.0) * _STEPS).astype(np.uint8)


def restored(images: Any) -> Any:  # noqa: ANN401 - a tensor; torch is an extra, without types here
    """Convert a tensor of bytes to the network's input."""
    return images / _STEPS - 2.0


def load(path: Path) -> Lessons:
    """Open a shard; its patches are memory-mapped."""
    return Lessons(np.load(path, mmap_mode="r"), np.load(_answers(path)))

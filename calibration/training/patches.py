"""
Patches as the network is taught with: what it sees of an index, and what it should say.

What cannot be read is taught as "no index": backs, blank paper, other parts of
a card, a hand over the index, and pictures so soft that the figures are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from calibration.training.faces import Chance, Face, Source, draw_back, draw_face
from calibration.training.photo import Photo, chosen, photograph, sharpness_limit
from drivers.camera.windows import PATCH, CropWindow, Image, cut, window_quads
from shoe_daemon.game.cards import RANKS, SUITS, Card

__all__ = ["NO_INDEX", "Patch", "patches"]

NO_INDEX: Final = len(RANKS)
"""The network's fourteenth rank."""
_LEGIBLE, _ILLEGIBLE = 0.095, 0.15
_MOST = 240


class Patch(Struct, frozen=True, kw_only=True):
    """
    One lesson: what is seen, what it is, and how much of that can be known (0 to 1).
    """

    image: Image
    rank: int
    suit: int
    legible: float


def patches(chance: Chance, source: Source) -> Iterator[Patch]:
    """
    Give patches without end, six or so of every picture.
    """
    while True:
        kind = chance.random()
        if kind < 0.07:  # noqa: PLR2004 - the shares of the lessons
            yield from _of_nothing(chance, source)
        else:
            yield from _of_card(chance, source)


def _of_card(chance: Chance, source: Source) -> Iterator[Patch]:
    how = chosen(chance)
    width = int(np.clip(how.width * 1.25, 72, _MOST))
    face = draw_face(chance, source, width)
    fan = chance.random() < 0.2  # noqa: PLR2004 - as above
    over = draw_face(chance, source, width) if fan else None
    photo = photograph(chance, face, how, over)
    soft = sharpness_limit(photo, face, how.width)
    legible = float(np.clip((_ILLEGIBLE - soft) / (_ILLEGIBLE - _LEGIBLE), 0, 1))
    for loose in (False, True, True):
        for end in (0,) if fan else (0, 1):
            image = _window(chance, photo, face, end, loose=loose)
            yield _lesson(chance, image, face.card, legible)
    if chance.random() < 0.25:  # noqa: PLR2004 - as above
        yield _elsewhere(chance, photo)


def _lesson(chance: Chance, image: Image, card: Card | None, legible: float) -> Patch:
    if card is None or _covered(chance, image):
        return Patch(image=image, rank=NO_INDEX, suit=0, legible=0.0)
    rank, suit = RANKS.index(card.rank), SUITS.index(card.suit)
    return Patch(image=image, rank=rank, suit=suit, legible=legible)


def _window(chance: Chance, photo: Photo, face: Face, end: int, *, loose: bool) -> Image:
    """
    Cut an index as a reader does whose corners are off, or who knows the index alone.
    """
    spread = 0.07 if not loose else 0.0
    both = float(np.exp(chance.uniform(np.log(0.68), np.log(1.5)))) if loose else 1.0
    across, along = (both * float(np.exp(chance.normal(0, spread or 0.06))) for _ in range(2))
    # A window of another size has the index at the same place of it, more or less.
    middle = np.array([face.index[0] / 2, face.index[1] / 2])
    shift = middle * (1 - np.array([across, along])) * (chance.uniform(0.3, 1) if loose else 0.0)
    off = chance.normal(0, 0.018 if chance.random() < 0.6 else 0.035, 2) + shift  # noqa: PLR2004 - most are well aligned
    window = CropWindow(x=float(off[0]), y=float(off[1])).scaled(across, along)
    corners = window_quads(photo.quad, window)[end]
    side = float(np.linalg.norm(photo.quad[1] - photo.quad[0]))
    return cut(
        photo.image, np.asarray(corners + chance.normal(0, 0.008 * side, (4, 2)), np.float32)
    )


def _covered(chance: Chance, image: Image) -> bool:
    """
    Sometimes lay a hand over what is seen; say whether the index is gone by that.
    """
    if chance.random() > 0.09:  # noqa: PLR2004 - the share of the lessons
        return False
    width, height = PATCH
    colour = tuple(int(v) for v in chance.uniform((70, 90, 130), (190, 210, 255)))
    if chance.random() < 0.3:  # noqa: PLR2004 - as above
        colour = tuple(int(v) for v in chance.integers(0, 256, 3))
    place, size = chance.uniform(0.1, 0.9, 2), chance.uniform(0.35, 0.9, 2)
    centre = (int(place[0] * width * 0.7), int(place[1] * height))
    axes = (int(size[0] * width * 0.9), int(size[1] * height * 0.45))
    before = image[: height * 3 // 4, : width * 3 // 4].copy()
    cv2.ellipse(
        image, centre, axes, float(chance.uniform(-40, 40)), 0, 360, colour, -1, cv2.LINE_AA
    )
    changed = np.any(before != image[: height * 3 // 4, : width * 3 // 4], axis=2).mean()
    return bool(changed > 0.3)  # noqa: PLR2004 - a third of the index is gone


def _elsewhere(chance: Chance, photo: Photo) -> Patch:
    """
    Cut a window where no upright index is: the card turned by a quarter, or another part of it.
    """
    quad = photo.quad
    if chance.random() < 0.5:  # noqa: PLR2004 - as above
        quad = np.asarray(np.roll(quad, int(chance.choice([1, 3])), 0), np.float32)
        window = CropWindow()
    else:
        x, y = chance.uniform(0.28, 0.6), chance.uniform(0.3, 0.5)
        window = CropWindow(x=float(x), y=float(y))
    return _nothing(cut(photo.image, window_quads(quad, window)[0]))


def _nothing(image: Image) -> Patch:
    return Patch(image=image, rank=NO_INDEX, suit=0, legible=0.0)


def _of_nothing(chance: Chance, source: Source) -> Iterator[Patch]:
    """
    Backs, blank cards, the table.
    """
    how = chosen(chance)
    width = int(np.clip(how.width * 1.25, 72, _MOST))
    face = draw_back(chance, source, width)
    if chance.random() < 0.25:  # noqa: PLR2004 - as above
        image: NDArray[np.uint8] = np.full_like(face.image, int(chance.integers(200, 256)))
        face = Face(card=None, image=image, mask=face.mask, figure=0, index=(0, 0), kind="blank")
    photo = photograph(chance, face, how)
    for end in (0, 1):
        yield _nothing(_window(chance, photo, face, end, loose=bool(chance.integers(2))))

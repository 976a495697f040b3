"""Covers with a straight edge over a part of an index: paper, a card's margin, felt, a finger."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from calibration.training.chance import Chance, happens
from calibration.training.faces import Face
from drivers.simulators.card_artwork import ASPECT
from drivers.simulators.card_artwork.drawing_tools import Image

Cover = NDArray[np.float32]
"""Four corners in parts of the card's sides."""
_FAR: Final = 0.12
"""How far a cover reaches beyond the index, in parts of the card's width."""


def with_covers(chance: Chance, face: Face) -> tuple[Face, list[Cover]]:
    """Cover a part of the index at one end or at both; return the covers too."""
    if face.places is None:
        return face, []
    image = face.image.copy()
    cover = _cover(chance, face)
    both = happens(chance, 0.7)  # most covers hide the same at both ends
    end = int(chance.integers(2))
    covers = [cover, 1 - cover] if both else [1 - cover if end else cover]
    colour, edge = _colour(chance, image), happens(chance, 0.3)  # a share of the edges shows
    for each in covers:
        _paint(chance, image, each, colour, edge=edge)
    if face.four:  # the index of the right corners
        other = np.asarray(cover * (-1, 1) + (1, 0), np.float32)
        covers += [other, 1 - other]
        for each in covers[-2:]:
            _paint(chance, image, each, colour, edge=edge)
    return structs.replace(face, image=image), [np.asarray(each, np.float32) for each in covers]


def _cover(chance: Chance, face: Face) -> Cover:
    """Choose a rectangle that hides a part of figure or pip, or nearly so."""
    figure, pip = face.places or (((0.1, 0.1), (0.1, 0.1)),) * 2
    kind = chance.random()
    target = pip if kind > 0.8 else figure  # noqa: PLR2004 - the shares of the lessons
    (x, y), (wide, tall) = target
    hidden = float(
        chance.uniform(-0.25, 0.35) if happens(chance, 0.3) else chance.uniform(0.2, 0.9)
    )
    boxes = [figure, pip] if happens(chance, 0.75) else [target]
    left = min(bx - bw / 2 for (bx, _), (bw, _) in boxes) - _FAR * chance.uniform(0.2, 1)
    right = max(bx + bw / 2 for (bx, _), (bw, _) in boxes) + _FAR * chance.uniform(0.2, 1)
    top = min(by - bh / 2 for (_, by), (_, bh) in boxes) - _FAR * chance.uniform(0.1, 1)
    bottom = max(by + bh / 2 for (_, by), (_, bh) in boxes) + _FAR * chance.uniform(0.1, 1)
    side = chance.random()
    if side < 0.45:  # noqa: PLR2004 - from the left
        left, right = min(left, 0) - 0.02, x - wide / 2 + wide * hidden
    elif side < 0.65:  # noqa: PLR2004 - from the right
        left, right = x + wide / 2 - wide * hidden, right + chance.uniform(0, 0.3)
    elif side < 0.82:  # noqa: PLR2004 - from above
        top, bottom = min(top, 0) - 0.02, y - tall / 2 + tall * hidden
    else:
        top, bottom = y + tall / 2 - tall * hidden, bottom + chance.uniform(0, 0.2)
    corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
    turn = np.radians(chance.normal(0, 5))
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    about = np.array([x, y]) * (1, ASPECT)
    return np.asarray(((corners * (1, ASPECT) - about) @ spin.T + about) / (1, ASPECT), np.float32)


def _colour(chance: Chance, image: Image) -> Any:  # noqa: ANN401 - three numbers
    kind = chance.random()
    paper = np.percentile(image[::3, ::3].reshape(-1, 3), 90, axis=0)
    if kind < 0.5:  # noqa: PLR2004 - the card's own paper
        return paper
    if kind < 0.72:  # noqa: PLR2004 - another white
        return np.clip(paper + chance.uniform(-25, 8), 0, 255) + chance.uniform(-6, 0, 3)
    if kind < 0.86:  # noqa: PLR2004 - a finger
        return chance.uniform((70, 90, 130), (190, 210, 255))
    return chance.uniform((20, 40, 10), (130, 160, 110))


def _paint(chance: Chance, image: Image, cover: Cover, colour: Any, *, edge: bool) -> None:  # noqa: ANN401 - as above
    size = np.array(image.shape[1::-1])
    corners = np.round(cover * size * 16).astype(np.int32)
    cv2.fillPoly(image, [corners], [float(value) for value in colour], cv2.LINE_AA, 4)
    if edge:
        shade = [float(value) for value in np.asarray(colour) * chance.uniform(0.2, 0.85)]
        cv2.polylines(image, [corners], True, shade, 1, cv2.LINE_AA, 4)  # noqa: FBT003 - OpenCV knows it by position

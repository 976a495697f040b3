"""Images of a deck's cards, drawn once, and placed into the picture rotated or bent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.camera.animated_round import FACE, Pose
from drivers.simulators.camera.projection import Camera, Floats
from drivers.simulators.camera.sprites import STILL, Box, Light, Sprite, lay, shade, sprite
from drivers.simulators.camera.table_layout import CARD, Point, turned
from drivers.simulators.card_artwork import UNSEEN_LAYOUTS, UNSEEN_SEED, Layout, Style, back, face
from drivers.simulators.card_artwork import outline as card_outline
from drivers.simulators.card_artwork import style as style_of
from shoe_daemon.game import Card

_MAX_BEND_DEG: Final = 150.0
_BEND_DEG_PER_SHARE: Final = 420.0
"""Degrees of bend per share of the card that is bent."""

_MIN_ROWS: Final = 4
_GLOSS: Final = 1.0
_CASINO: Final = (Layout.JUMBO, *UNSEEN_LAYOUTS)


class _Piece(NamedTuple):
    """A flat part of a card: its range along the card's length, and its corners."""

    first: float
    last: float
    corners: Floats


class Deck:
    """One deck, at the resolution of a camera."""

    def __init__(self, style: Style, width: int) -> None:
        self.style = style
        self._width = width
        self._mask = card_outline(style, width)
        self._back = self._sprite(back(style, width))
        self._faces: dict[Card, Sprite] = {}

    def _sprite(self, picture: NDArray[np.uint8]) -> Sprite:
        rim = cv2.erode(self._mask, np.ones((3, 3), np.uint8), borderValue=(0,))
        edge = cv2.multiply(picture, np.full_like(picture, 205), scale=1 / 255)
        drawn = np.where(rim[..., None] > 127, picture, edge)  # noqa: PLR2004 - half
        soft = cv2.GaussianBlur(np.asarray(drawn, np.uint8), (0, 0), 0.6)
        return sprite(np.asarray(soft, np.uint8), self._mask, _GLOSS)

    def face(self, card: Card) -> Sprite:
        """Return a face, drawn on first use."""
        if card not in self._faces:
            self._faces[card] = self._sprite(face(card, self.style, self._width))
        return self._faces[card]

    def lay(  # noqa: PLR0913 - what a card is laid with
        self,
        picture: NDArray[np.uint8],
        card: Card,
        pose: Pose,
        camera: Camera,
        light: Light | None,
        *,
        shadow: bool = True,
        way: Point = STILL,
    ) -> list[Box]:
        """
        Lay a card into a picture, with its shadow where it throws one.

        Returns:
            The rectangles in which the picture changed.
        """
        changed: list[Box | None] = []
        for piece in _pieces(pose):
            quad = camera.project(piece.corners)
            if shadow:
                changed.append(_cast(picture, piece.corners, camera, pose))
            shown = self.face(card)
            if _area(quad) <= 0:
                # Seen from behind: left and right are swapped.
                shown, quad = self._back, quad[[1, 0, 3, 2]]
            changed.append(lay(picture, _part(shown, piece), quad, light, way))
        return [box for box in changed if box is not None]


def _cast(picture: NDArray[np.uint8], corners: Floats, camera: Camera, pose: Pose) -> Box | None:
    high = float(corners[:, 2].max()) + 1.0
    fallen = corners * np.array([1.0, 1.0, 0.0])
    fallen[:, :2] += corners[:, 2:] * np.array([0.18, 0.30]) + 0.7
    soft = (0.8 + high * 0.12) * camera.focal / camera.height
    return shade(picture, camera.project(fallen), soft, 0.42 if pose.up < 1 else 0.36)


def _part(whole: Sprite, piece: _Piece) -> Sprite:
    if piece.last - piece.first == 1:
        return whole
    rows = whole.paint.shape[0]
    # Even a minimal bend needs some rows.
    first = min(round(piece.first * rows), rows - _MIN_ROWS)
    last = max(round(piece.last * rows), first + _MIN_ROWS)
    return Sprite(np.ascontiguousarray(whole.paint[first:last]), whole.gloss)


def _pieces(pose: Pose) -> Iterator[_Piece]:
    half = CARD[1] / 2
    if pose.peel < 0.02:  # noqa: PLR2004 - as good as flat
        yield _Piece(0.0, 1.0, _corners(pose, (-half, 0.0), (half, 0.0)))
        return
    fold = half - CARD[1] * pose.peel
    bend = math.radians(min(_MAX_BEND_DEG, pose.peel * _BEND_DEG_PER_SHARE))
    share = 1 - pose.peel
    yield _Piece(0.0, share, _corners(pose, (-half, 0.0), (fold, 0.0)))
    last = (fold, 0.0)
    for number in (1, 2, 3):
        # A card bends in a curve, not at an edge.
        angle, length = bend * number / 3, CARD[1] * pose.peel / 3
        end = (last[0] + length * math.cos(angle), last[1] + length * math.sin(angle))
        first = share + pose.peel * (number - 1) / 3
        yield _Piece(first, first + pose.peel / 3, _corners(pose, last, end))
        last = end


def _corners(pose: Pose, start: Point, end: Point) -> Floats:
    """
    Return the corners of a part: upper left, upper right, lower right, lower left of its face.

    Args:
        pose: The card's pose.
        start: Begin of the part along the card, and its height.
        end: End of the part, likewise.
    """
    half, turn = CARD[0] / 2, math.radians(pose.turn)
    points = []
    for side, (along, up) in ((-1, start), (1, start), (1, end), (-1, end)):
        x, y = turned(side * half * -math.cos(turn), along, pose.heading, pose.at)
        # The card turns over its lower edge, which stays on the table.
        lift = half * math.sin(turn) * (1 + side)
        points.append((x, y, pose.up + up + lift))
    return np.array(points)


def _area(quad: Floats) -> float:
    x, y = quad[:, 0], quad[:, 1]
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def card_quad(pose: Pose, camera: Camera) -> Floats:
    """Return the corners of a flat card in the picture; in reading order if it lies face up."""
    half = CARD[1] / 2
    quad = camera.project(_corners(pose, (-half, 0.0), (half, 0.0)))
    return quad if pose.turn == FACE else quad[[1, 0, 3, 2]]


@lru_cache(maxsize=8)
def choose_deck(seed: int, chosen: int | None, number: int, width: int) -> Deck:
    """
    Choose a deck, the same one for the same arguments.

    Args:
        seed: Determines the deck if `chosen` is None.
        chosen: The deck's number.
        number: 0 for the table's first deck; each other number is another maker's deck.
        width: Card width in pixels.
    """
    which = (seed if chosen is None else chosen) + 7919 * number
    layout = _CASINO[which % len(_CASINO)]
    return Deck(style_of(UNSEEN_SEED + which % UNSEEN_SEED, layout), width)

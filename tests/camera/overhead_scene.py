"""
A small table: felt with lettering, places, cards, a hand, chips, light and a sensor's noise; and
the profile of the camera above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.profile.file import load_profile, write_profile
from drivers.camera.profile.sections import Camera, Place, Profile, Table
from drivers.simulators.card_artwork import Style, back, face, outline, styles
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot

WIDTH, HEIGHT = 1280, 720
_SHADOW = 24
"""Pixels: the shadow of a card ends within this distance of it."""

Point = tuple[float, float]
Colour = tuple[int, int, int]
CENTRES: dict[str, tuple[float, float, int]] = {
    "P2": (120, 150, 0),
    "P1": (200, 150, 0),
    "B1": (480, 150, 0),
    "B2": (560, 150, 0),
    "P3": (160, 290, 90),
    "B3": (520, 290, 90),
}
"""Middle in millimetres, and turn."""

_CORNERS = [(-40, -20), (720, -20), (720, 407), (-40, 407)]
_SEEN_AT = [(60, 30), (1230, 10), (1270, 715), (10, 700)]


def homography() -> NDArray[np.float64]:
    source, target = (np.array(each, np.float32) for each in (_CORNERS, _SEEN_AT))
    return np.asarray(cv2.getPerspectiveTransform(source, target), np.float64)


def box(centre: tuple[float, float], turn: int) -> tuple[tuple[float, float], ...]:
    x, y = centre
    w, h = (35.0, 47.0) if turn == 0 else (47.0, 35.0)
    return ((x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h))


@lru_cache(maxsize=4)
def deck(number: int = 0) -> Style:
    return next(islice(styles(), number, None))


@lru_cache(maxsize=256)
def card_face(name: str | None, number: int) -> tuple[Image, Image]:
    style = deck(number)
    drawn = back(style, 240) if name is None else face(Card(name), style, 240)
    height, width = drawn.shape[:2]
    return drawn, np.asarray(cv2.resize(outline(style, 240), (width, height)), np.uint8)


@dataclass(frozen=True)
class CardTruth:
    """A card on the table; without a name it lies face down."""

    name: str | None
    x: float
    y: float
    turn: float = 0.0


def on(slot: str, name: str | None, dx: float = 0, dy: float = 0, turn: float = 0) -> CardTruth:
    x, y, base = CENTRES[slot]
    return CardTruth(name, x + dx, y + dy, base + turn)


@dataclass(frozen=True)
class Scene:
    """One state of the table; `drawn` draws it with the noise of a number."""

    cards: tuple[CardTruth, ...] = ()
    hands: tuple[Point, ...] = ()
    chips: tuple[Point, ...] = ()
    light: float = 1.0
    blur: float = 0.0
    shift: Point = (0.0, 0.0)
    style: int = 0
    noise: float = 2.0

    def but(self, **changes: object) -> Scene:
        return replace(self, **changes)  # type: ignore[arg-type]

    def drawn(self, number: int = 0) -> Image:
        return _seen(_noiseless(self), self.light, self.noise, number)

    def noiseless(self) -> Image:
        image = _felt().copy()
        for lying in self.cards:
            _lay(image, lying, self.style)
        for middle in self.chips:
            _disc(image, middle, 20, (40, 40, 200))
            _disc(image, middle, 13, (230, 230, 230))
        for middle in self.hands:
            _hand(image, middle)
        if any(self.shift):
            image = _pushed(image, self.shift)
        if self.blur:
            image = np.asarray(cv2.GaussianBlur(image, (0, 0), self.blur), np.uint8)
        return image


@lru_cache(maxsize=16)
def _noiseless(scene: Scene) -> Image:
    return scene.noiseless()


def _pushed(image: Image, shift: tuple[float, float]) -> Image:
    moved = np.eye(3)
    moved[:2, 2] = shift
    whole = homography() @ moved @ np.linalg.inv(homography())
    pushed = cv2.warpPerspective(image, whole, (WIDTH, HEIGHT), borderValue=(35, 40, 45))
    return np.asarray(pushed, np.uint8)


@lru_cache(maxsize=1)
def _felt() -> Image:
    flat = np.full((430 * 2, 760 * 2, 3), (60, 95, 30), np.uint8)
    for slot, (x, y, turn) in CENTRES.items():
        corners = (np.array(box((x, y), turn)) + np.array((40, 20))) * 2
        line = corners.astype(np.int32)
        cv2.polylines(flat, [line], isClosed=True, color=(150, 200, 160), thickness=3)
        place = (int((x + 20) * 2), int((y + 30) * 2))
        cv2.putText(flat, slot, place, cv2.FONT_HERSHEY_DUPLEX, 1.6, (150, 200, 160), 2)
    cv2.putText(flat, "BACCARAT", (430, 180), cv2.FONT_HERSHEY_TRIPLEX, 3, (60, 190, 210), 4)
    weave = np.random.default_rng(5).normal(0, 3, flat.shape[:2])
    flat = np.clip(flat + weave[..., None], 0, 255).astype(np.uint8)
    to_flat = np.array([[0.5, 0, -40], [0, 0.5, -20], [0, 0, 1.0]])
    seen = cv2.warpPerspective(
        flat,
        homography() @ to_flat,
        (WIDTH, HEIGHT),
        borderValue=(35, 40, 45),
        flags=cv2.INTER_AREA,
    )
    return np.asarray(seen, np.uint8)


def _lay(image: Image, lying: CardTruth, style: int) -> None:
    drawn, mask = card_face(lying.name, style)
    height, width = drawn.shape[:2]
    angle = math.radians(lying.turn)
    cos, sin = math.cos(angle), math.sin(angle)
    scale_x, scale_y = 63 / width, 88 / height
    to_table = np.array(
        [
            [cos * scale_x, -sin * scale_y, lying.x - cos * 31.5 + sin * 44],
            [sin * scale_x, cos * scale_y, lying.y - sin * 31.5 - cos * 44],
            [0, 0, 1],
        ]
    )
    whole = homography() @ to_table
    small = cv2.GaussianBlur(drawn, (0, 0), 0.9)
    size = (WIDTH, HEIGHT)
    covered = np.asarray(cv2.warpPerspective(mask, whole, size, flags=cv2.INTER_AREA), np.uint8)
    there = np.asarray(cv2.warpPerspective(small, whole, size, flags=cv2.INTER_AREA), np.uint8)
    x, y, w, h = cv2.boundingRect(covered)
    # Only the card and its shadow change, and floating point over a whole picture is slow.
    part = np.s_[max(0, y - _SHADOW) : y + h + _SHADOW, max(0, x - _SHADOW) : x + w + _SHADOW]
    cover = covered[part][..., None] / 255.0
    dark = cv2.GaussianBlur(np.roll(cover[..., 0], (2, 2), (0, 1)), (0, 0), 2)[..., None]
    image[part] = np.clip(
        image[part] * (1 - 0.25 * dark) * (1 - cover) + there[part] * cover, 0, 255
    )


def _disc(image: Image, middle: Point, radius: float, colour: Colour) -> None:
    turn = np.linspace(0, 2 * np.pi, 40)
    _fill(image, np.column_stack([np.cos(turn), np.sin(turn)]) * radius + middle, colour)


def _hand(image: Image, middle: Point) -> None:
    skin = (120, 150, 200)
    x, y = middle
    _disc(image, middle, 34, skin)
    arm = [(x - 26, y), (x + 26, y), (x + 60, y + 400), (x - 10, y + 400)]
    _fill(image, np.array(arm, np.float64), skin)
    for finger in range(4):
        tip = np.array([(x - 28 + finger * 16, y), (x - 16 + finger * 16, y)])
        _fill(image, np.vstack([tip, tip[::-1] - (0, 62)]), skin)


def _fill(image: Image, points: NDArray[np.float64], colour: Colour) -> None:
    seen = cv2.perspectiveTransform(points.reshape(-1, 1, 2).astype(np.float64), homography())
    cv2.fillPoly(image, [np.round(seen).astype(np.int32)], colour, cv2.LINE_AA)


@lru_cache(maxsize=4)
def _grain(noise: float) -> NDArray[np.int16]:
    """Draw the noise once; each picture has another part of it."""
    grain = np.random.default_rng(1).normal(0, noise, (HEIGHT + 64, WIDTH + 64))
    return np.repeat(grain.round().astype(np.int16)[..., None], 3, axis=2)


def _seen(image: Image, light: float, noise: float, number: int) -> Image:
    y, x = (number * 37) % 64, (number * 53) % 64
    if light != 1:
        image = np.asarray(cv2.convertScaleAbs(image, alpha=light), np.uint8)
    part = _grain(noise)[y : y + HEIGHT, x : x + WIDTH]
    return np.asarray(cv2.add(image, part, dtype=cv2.CV_8U), np.uint8)


def profile(folder: Path, **changes: object) -> Path:
    """Write the profile of this table, and the image of the empty table."""
    cv2.imwrite(str(folder / "empty.png"), Scene().drawn(99))
    rows = tuple(tuple(float(each) for each in row) for row in homography())
    made = Profile(
        version=1,
        station="overhead",
        camera=Camera(width=WIDTH, height=HEIGHT),
        table=Table(homography=rows, reference="empty.png"),  # type: ignore[arg-type]
        place=tuple(
            Place(slot=Slot(slot), polygon=box((x, y), turn), turn=turn)  # type: ignore[arg-type]
            for slot, (x, y, turn) in CENTRES.items()
        ),
    )
    path = folder / "profile.toml"
    write_profile(msgspec.structs.replace(made, **changes), path)
    return path


def loaded(folder: Path) -> Profile:
    return load_profile(profile(folder))

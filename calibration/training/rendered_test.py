"""
The test: photographed cards of decks, fonts, seeds and layouts never seen in training.

The threshold is chosen with one set of cards, and the figures are stated for the other. Each card
is stored as a small JPEG with slightly inexact corners, as a finder would return them, and with
its conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from calibration.training.chance import Chance
from calibration.training.faces import Source, draw_face
from calibration.training.parallel import together
from calibration.training.photo import Conditions, chosen, photograph
from drivers.camera.image import Image
from drivers.camera.recognition.recogniser import Quad, Recogniser
from shoe_daemon.game import DECK, Card

CARDS: Final = 30_000
"""Cards per seed."""
CHOICE, TEST = (2, 3, 4, 5), (6,)
"""Seeds of the cards for choosing, and of the cards for the figures."""
_WITHIN: Final = 0.6
"""Share of cards within the limits; the others have arbitrary conditions."""
_SHARD: Final = 500
_OFF: Final = 0.012
"""Error of a corner in parts of the card's width (sigma)."""
_WIDTH: Final = 84.0
"""Card width in pixels at which the index window is usually high enough."""
FIELDS: Final = ("width", "blur", "motion", "light", "tilt", "noise", "figure")
"""Conditions stored with a card; see `photo.Conditions`."""


class Limits(Struct, frozen=True, kw_only=True):
    """
    The conditions in which a card should be read.

    Attributes:
        pixels: Minimum height of the index window in pixels.
        blur: Maximum lens blur (sigma), in parts of the card's width.
        motion: Maximum motion blur, in parts of the card's width.
        light: Minimum light; 1 is a well-lit table.
    """

    pixels: float = 46
    blur: float = 0.01
    motion: float = 0.03
    light: float = 0.3


LIMITS: Final = Limits()


def within(chance: Chance, limits: Limits = LIMITS) -> Conditions:
    """Choose conditions within the limits; only the index's height may fall short."""
    while True:
        how = chosen(chance, _WIDTH)
        lit = how.light >= limits.light
        if lit and how.blur <= limits.blur and how.motion <= limits.motion:
            return how


class Results(Struct, frozen=True):
    """
    The readings, one row per card.

    Attributes:
        right: The most probable card is right.
        accepted_up_to: See `CardReading.accepted_up_to`.
        sharpness: As measured by the recogniser.
        pixels: Height of the index window in pixels.
        conditions: By the names of `FIELDS`.
    """

    right: NDArray[np.bool_]
    accepted_up_to: NDArray[np.float64]
    sharpness: NDArray[np.float64]
    pixels: NDArray[np.float64]
    conditions: dict[str, NDArray[np.float64]]


def make(
    folder: Path,
    decks: Path,
    *,
    cards: int = CARDS,
    seeds: tuple[int, ...] = TEST,
    workers: int = 2,
) -> None:
    """Photograph a set of cards for each seed; existing files are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    every = [(seed, number) for seed in seeds for number in range(cards // _SHARD)]
    wanted = [shard for shard in every if not _file(folder, *shard).exists()]
    work = partial(make_shard, folder, Source(decks=decks, held_out=True))
    together(work, wanted, workers)


def _file(folder: Path, seed: int, number: int) -> Path:
    return folder / f"{seed}-{number:03}.npz"


def make_shard(folder: Path, source: Source, seed: int, number: int) -> None:
    """Photograph one shard of some hundred cards."""
    cv2.setNumThreads(1)
    chance = np.random.default_rng([seed, number, 2])
    files, quads, rows = [], [], []
    for _ in range(_SHARD):
        card, file, quad, row = _taken(chance, source)
        files.append(file)
        quads.append(quad)
        rows.append([card.index, *row])
    done = _file(folder, seed, number)
    unfinished = done.with_suffix(".part")
    with unfinished.open("wb") as out:
        np.savez(
            out,
            bytes=np.concatenate(files),
            ends=np.cumsum([len(file) for file in files]),
            quads=np.array(quads, np.float32),
            rows=np.array(rows, np.float64),
        )
    unfinished.rename(done)


def _taken(
    chance: Chance, source: Source
) -> tuple[Card, NDArray[np.uint8], NDArray[np.float32], list[float]]:
    how = within(chance) if chance.random() < _WITHIN else chosen(chance)
    face = draw_face(
        chance, source, int(np.clip(how.width * 1.25, 72, 260)), DECK[int(chance.integers(52))]
    )
    photo = photograph(chance, face, how)
    quad = photo.quad + chance.normal(0, _OFF * how.width, (4, 2))
    file = cv2.imencode(".jpg", photo.image, [cv2.IMWRITE_JPEG_QUALITY, 97])[1]
    row = [how.width, how.blur, how.motion, how.light, how.tilt, how.noise, face.figure]
    return face.card or DECK[0], np.asarray(file.ravel(), np.uint8), quad.astype(np.float32), row


def score(folder: Path, weights: Path | None, workers: int = 2) -> Results:
    """Read all cards of a set with some weights."""
    shards = sorted(folder.glob("*.npz"))
    rows = together(partial(score_shard, weights), [(each,) for each in shards], workers)
    return results_of(np.concatenate(rows))


def score_shard(weights: Path | None, path: Path) -> NDArray[np.float64]:
    """Read the cards of a shard: right, accepted up to, sharpness, pixels, conditions."""
    cv2.setNumThreads(1)
    recogniser = Recogniser(weights, pixels=0)  # what small cards would give is measured too
    rows = []
    for image, quad, row in _kept(path):
        reading = recogniser.read(image, quad)
        right = float(reading.best is DECK[int(row[0])])
        measured = (reading.accepted_up_to, reading.sharpness, reading.index_pixels)
        rows.append([right, *measured, *row[1:]])
    return np.array(rows, np.float64)


def results_of(rows: NDArray[np.float64]) -> Results:
    """Name the columns returned by `score_shard`."""
    return Results(
        right=rows[:, 0] > 0,
        accepted_up_to=rows[:, 1],
        sharpness=rows[:, 2],
        pixels=rows[:, 3],
        conditions={name: rows[:, 4 + n] for n, name in enumerate(FIELDS)},
    )


def _kept(path: Path) -> Iterator[tuple[Image, Quad, NDArray[np.float64]]]:
    with np.load(path) as shard:
        files = np.split(shard["bytes"], shard["ends"][:-1])
        quads, rows = shard["quads"], shard["rows"]
    for file, quad, row in zip(files, quads, rows, strict=True):
        image = cv2.imdecode(np.ascontiguousarray(file), cv2.IMREAD_COLOR)
        yield np.asarray(image, np.uint8), quad, row

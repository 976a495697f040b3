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

from calibration.training.photo_effects import chosen, photograph
from calibration.training.process_pool import together
from calibration.training.readable_conditions import within
from calibration.training.training_card_faces import Chance, Source, draw_face
from drivers.camera.recognition.corner_index_reader import Quad, Recogniser
from drivers.camera.sources.frame_capture_and_checks import Image
from shoe_daemon.game import DECK, Card

__all__ = [
    "CARDS",
    "CHOICE",
    "FIELDS",
    "TEST",
    "Results",
    "make",
    "results_of",
    "score",
    "score_shard",
]

CARDS: Final = 30_000
"""Cards per seed."""
CHOICE, TEST = (2, 3, 4, 5), (6,)
"""Seeds of the cards for choosing, and of the cards for the figures."""
_WITHIN: Final = 0.6
"""Share of cards within the limits; the others have arbitrary conditions."""
_SHARD: Final = 500
_OFF: Final = 0.012
"""Error of a corner in parts of the card's width (sigma)."""
FIELDS: Final = ("width", "blur", "motion", "light", "tilt", "noise", "figure")
"""Conditions stored with a card; see `photo_effects.Conditions`."""


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

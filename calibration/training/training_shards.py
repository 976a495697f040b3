"""Lessons on disk, in shards of some thousand patches, rendered by several processes."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from calibration.training.process_pool import together
from calibration.training.training_card_faces import Source
from calibration.training.training_patches import Patch, patches
from drivers.camera.recognition.corner_index_reader import PATCH_SIZE_PX, normalise_patch

__all__ = ["SHARD", "Lessons", "generate", "load", "restored"]

SHARD: Final = 5_000
_STEPS: Final = 63.75


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

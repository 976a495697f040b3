"""
Third-party decks, downloaded from packages when needed, never shipped.

Debian's `gnome-cards-data` (GPL-3+) contains grids of 13 by 5 cards; `rsvg-convert` renders them
into the working folder.
"""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.card_artwork.card_drawing import IndexMasks, Place
from drivers.simulators.card_artwork.drawing_tools import Image, Mask, cropped
from shoe_daemon.errors import UserError
from shoe_daemon.game import RANKS, SUITS, Card

SEEN: Final = (
    "anglo",
    "anglo_modern",
    "anglo_modern_4_color",
    "anglo_poker",
    "atlasnye",
    "bellot",
    "gnomangelo",
    "neoclassical",
    "orell",
    "ornamental",
    "plastic",
    "simplistic",
)
"""Decks for training."""
HELD_OUT: Final = ("dondorf", "paris", "tigullio", "tango")
"""Decks for the test only."""
ORNATE: Final = ("ornamental", "plastic", "tango")
"""Decks whose figures only work in their own place and colours."""
_PACKAGE: Final = "gnome-cards-data"
_INSTALLED: Final = Path("/usr/share/aisleriot/cards")
_ROWS, _COLUMNS, _WIDTH = 5, 13, 240
_ROW_SUITS: Final = "CDHS"
_INK, _CRUMB = 40, 0.05
Deck = dict[str, Image]
"""The faces by `Card`, and ``back``."""


def fetch(folder: Path) -> None:
    """
    Render all decks into a folder; download the package if it is not installed.

    Raises:
        UserError: A required program is missing or fails.
    """
    folder = folder.resolve()  # the programs run in another folder
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in (*SEEN, *HELD_OUT) if not (folder / f"{name}.png").exists()]
    if not missing:
        return
    source = _INSTALLED if _INSTALLED.exists() else _unpacked(folder)
    for name in missing:
        _run("rsvg-convert", "-w", str(_COLUMNS * _WIDTH), "-o", str(folder / f"{name}.png"),
             str(source / f"{name}.svgz"), where=folder)  # fmt: skip


def _unpacked(folder: Path) -> Path:
    _run("apt-get", "download", _PACKAGE, where=folder)
    archive = next(folder.glob(f"{_PACKAGE}_*.deb"))
    _run("dpkg", "-x", archive.name, "package", where=folder)
    return folder / "package" / _INSTALLED.relative_to("/")


def _run(*command: str, where: Path) -> None:
    try:
        subprocess.run(command, cwd=where, check=True, capture_output=True)  # noqa: S603 - fixed programs
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(
            f"the decks of {_PACKAGE}: `{command[0]}` failed ({error}); "
            "install gnome-cards-data and librsvg2-bin"
        ) from error


@lru_cache(maxsize=32)
def deck(folder: Path, name: str) -> Deck:
    """
    Slice the picture of a deck into faces and back, 240 pixels wide.

    Raises:
        UserError: The picture is missing.
    """
    grid = cv2.imread(str(folder / f"{name}.png"), cv2.IMREAD_UNCHANGED)
    if grid is None:
        raise UserError(f"{folder / name}.png: no such deck; run `fetch` first")
    cover = grid[..., 3:].astype(np.float32) / 255
    flat = np.asarray(grid[..., :3] * cover + 255 * (1 - cover), np.uint8)
    height, width = flat.shape[0] / _ROWS, flat.shape[1] / _COLUMNS
    cards = {
        Card(rank + suit): _cell(flat, row, column, height, width)
        for row, suit in enumerate(_ROW_SUITS)
        for column, rank in enumerate(RANKS)
    }
    faces: Deck = {str(card): image for card, image in cards.items()}
    faces["back"] = _cell(flat, _ROWS - 1, 2, height, width)
    return faces


def _cell(grid: Image, row: int, column: int, height: float, width: float) -> Image:
    top, left = round(row * height), round(column * width)
    return np.ascontiguousarray(grid[top : top + int(height), left : left + int(width)])


@lru_cache(maxsize=32)
def index_places(folder: Path, name: str) -> tuple[Place, Place]:
    """
    Locate figure and pip of a deck's index, in parts of the card's sides.

    The height is measured on the eights, the width on the fives, whose other pips are far away.
    """
    faces = deck(folder, name)
    height, width = faces["5S"].shape[:2]
    eights, fives = (
        np.sum([_ink(faces[f"{rank}{suit}"]) for suit in SUITS], axis=0) > 1 for rank in "85"
    )
    column = eights[:, round(0.04 * width) : round(0.17 * width)].any(1)
    places = []
    for top, bottom in _runs(column, round(0.03 * height))[:2]:
        across = fives[top:bottom].any(0)
        across[: round(0.02 * width)] = False
        left, right = _runs(across, round(0.03 * width))[0]
        centre = ((left + right) / 2 / width, (top + bottom) / 2 / height)
        places.append((centre, ((right - left) / width, (bottom - top) / height)))
    return places[0], places[1]


@lru_cache(maxsize=1024)
def index_masks(folder: Path, name: str, card: str) -> IndexMasks:
    """Cut figure and pip out of a card's index, for printing elsewhere."""
    image = deck(folder, name)[card]
    height, width = image.shape[:2]
    masks = []
    for (x, y), (wide, tall) in index_places(folder, name):
        half = min(x - 0.01, 0.115) if card.startswith("10") else min(x - 0.02, wide * 0.66)
        rows = slice(round((y - tall * 0.54) * height), round((y + tall * 0.54) * height))
        part = image[rows, round((x - half) * width) : round((x + half) * width)]
        masks.append(_traced(part))
    return masks[0], masks[1]


def _traced(part: Image) -> Mask:
    """Enlarge a small picture's ink to a sharp mask."""
    paper = np.percentile(part.reshape(-1, 3), 90, axis=0)
    ink = np.abs(part - paper).max(2)
    ink = np.asarray(ink / max(float(np.percentile(ink, 98)), 1.0), np.float32)
    large = np.asarray(cv2.resize(ink, None, fx=4, fy=4, interpolation=cv2.INTER_CUBIC))
    return cropped(_alone(np.clip((large - 0.5) * 510 + 127, 0, 255).astype(np.uint8)))


def _alone(mask: Mask) -> Mask:
    """Remove what extends into a mask from the side: frame, rim, neighbour."""
    _, parts, about, centres = cv2.connectedComponentsWithStats((mask > _INK).astype(np.uint8))
    wide = mask.shape[1]
    most = about[1:, cv2.CC_STAT_AREA].max(initial=0)
    for number, (left, _, across, _, area) in enumerate(about.tolist()):
        aside = abs(centres[number][0] / wide - 0.5) > 0.25  # noqa: PLR2004 - of the width
        rim = left == 0 or left + across == wide
        if number and ((aside and rim) or area < most * _CRUMB):
            mask = np.where(parts == number, 0, mask).astype(np.uint8)
    return mask


def _ink(face: Image) -> NDArray[np.bool_]:
    height, width = face.shape[:2]
    part = face[: round(0.45 * height), : round(0.36 * width)].astype(np.int16)
    paper = np.percentile(part.reshape(-1, 3), 75, axis=0)
    dark = np.abs(part - paper).max(2) > 60  # noqa: PLR2004 - grey levels
    dark[: round(0.015 * height)] = False
    return np.asarray(dark, np.bool_)


def _runs(marked: NDArray[np.bool_], least: int) -> list[tuple[int, int]]:
    steps = np.flatnonzero(np.diff(np.concatenate([[0], marked.astype(np.int8), [0]])))
    pairs = zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True)
    return [(start, end) for start, end in pairs if end - start >= least]

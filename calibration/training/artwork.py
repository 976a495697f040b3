"""
Decks of other people's making, fetched from packages when they are needed, never shipped.

Debian's `gnome-cards-data` (GPL-3+) has grids of 13 by 5 cards; `rsvg-convert`
turns them into pixels. They are kept below the working folder.
"""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from drivers.simulators.cards.paint import Image
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import RANKS, Card

__all__ = ["HELD_OUT", "SEEN", "Deck", "deck", "fetch"]

SEEN: Final = (
    "anglo",
    "anglo_modern",
    "anglo_modern_4_color",
    "anglo_poker",
    "atlasnye",
    "bellot",
    "gnomangelo",
    "guyenne-classic",
    "neoclassical",
    "orell",
    "ornamental",
    "plastic",
    "simplistic",
    "tango_nuevo",
)
"""Decks of training."""
HELD_OUT: Final = ("dondorf", "paris", "tigullio", "tango")
"""Decks that only the test sees."""
_PACKAGE: Final = "gnome-cards-data"
_INSTALLED: Final = Path("/usr/share/aisleriot/cards")
_ROWS, _COLUMNS, _WIDTH = 5, 13, 240
_ROW_SUITS: Final = "CDHS"
Deck = dict[str, Image]
"""The faces by `Card`, and ``back``."""


def fetch(folder: Path) -> None:
    """
    Make the pictures of all decks below a folder; takes the package where it is not installed.
    """
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
    Slice the picture of one deck into its faces and back, 240 pixels wide.
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

"""
Photos with labels: the file that says which card lies where, checked row by row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card

__all__ = ["Kind", "Label", "read_labels"]


class Kind(StrEnum):
    """
    What a row's points are.

    ``quad``: the card's four corners in reading order; ``bbox``: a box round the
    whole, maybe partly hidden card; ``corner``: the middle of the rank's figure
    and of the small pip below it, where only the index is to be seen.
    """

    QUAD = "quad"
    BBOX = "bbox"
    CORNER = "corner"


_POINTS: Final = {Kind.QUAD: 4, Kind.BBOX: 2, Kind.CORNER: 2}
_NEEDED: Final = ("file", "kind", "rank", "suit", "x0", "y0", "x1", "y1")


class Label(Struct, frozen=True):
    """
    One row: a card in a photo.
    """

    file: str
    kind: Kind
    card: Card
    points: tuple[tuple[float, float], ...]
    tags: tuple[str, ...]
    source: str


def read_labels(path: Path) -> Iterator[Label]:
    """
    Read a labels file; columns beyond those needed are left alone.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
            if missing:
                raise UserError(f"{path}: no column {', '.join(missing)}")
            for row in rows:
                yield _label(row, f"{path}:{rows.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _label(row: Mapping[str, str | None], where: str) -> Label:
    def text(name: str) -> str:
        return (row.get(name) or "").strip()

    try:
        kind = Kind(text("kind"))
        card = Card(text("rank").upper() + text("suit").upper())
        points = tuple((float(text(f"x{n}")), float(text(f"y{n}"))) for n in range(_POINTS[kind]))
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    file = text("file")
    tags = tuple(tag.strip() for tag in text("tags").split(",") if tag.strip())
    source = text("source") or text("source_repo") or file.partition("/")[0]
    return Label(file, kind, card, points, tags, source)

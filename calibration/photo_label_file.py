"""
The file of photo labels: which card is where in which photo, validated row by row.

A CSV file from a program or spreadsheet, in UTF-8 or Excel's Unicode text, with commas, semicolons
or tabs, and decimal points or commas.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import Card

__all__ = ["Kind", "Label", "read_labels"]


class Kind(StrEnum):
    """
    The meaning of a row's points.

    ``quad``: the card's four corners in reading order; ``bbox``: a box around the whole card,
    which may be partly hidden; ``corner``: the centres of the rank's figure and of the small pip
    below it, for cards of which only the index is visible.
    """

    QUAD = "quad"
    BBOX = "bbox"
    CORNER = "corner"


_POINTS: Final = {Kind.QUAD: 4, Kind.BBOX: 2, Kind.CORNER: 2}
_NEEDED: Final = ("file", "kind", "rank", "suit", "x0", "y0", "x1", "y1")
_DELIMITERS: Final = ",;\t"
_MAX_COORDINATE_PX: Final = 1e6
"""Pixel coordinates beyond any picture."""

Row = Mapping[str, str]


class Label(Struct, frozen=True):
    """One row: a card in a photo."""

    file: str
    kind: Kind
    card: Card
    points: tuple[tuple[float, float], ...]
    tags: tuple[str, ...]
    source: str


def read_labels(path: Path) -> Iterator[Label]:
    """
    Read a labels file; extra columns and empty rows are ignored.

    Raises:
        UserError: The file or a row is invalid.
    """
    try:
        lines, delimiter = _lines(_text(path))
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        names = [name.strip().lower() for name in next(filter(any, rows), [])]
        missing = [name for name in _NEEDED if name not in names]
        if missing:
            raise UserError(f"{path}: no column {', '.join(missing)}")
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield _label(dict(zip(names, cells, strict=False)), f"{path}:{rows.line_num}")
    except (OSError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _text(path: Path) -> str:
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: no text in UTF-8; expected a CSV file of labels") from error


def _lines(text: str) -> tuple[io.StringIO, str]:
    """Return the lines from the header on, and the separator."""
    lines = io.StringIO(text, newline="")
    while (line := lines.readline()) and not line.strip():
        pass
    if line.lower().startswith("sep="):
        return lines, line[4:5].strip() or ","
    lines.seek(0)
    return lines, max(_DELIMITERS, key=line.count)


def _label(row: Row, where: str) -> Label:
    try:
        kind = Kind(row["kind"].lower())
    except (KeyError, ValueError) as error:
        found = row.get("kind", "")
        raise UserError(f"{where}: kind: {found!r}; expected quad, bbox or corner") from error
    file = row.get("file", "")
    tags = tuple(dict.fromkeys(filter(None, map(str.strip, row.get("tags", "").split(",")))))
    source = row.get("source") or row.get("source_repo") or file.lstrip("/").partition("/")[0]
    points = tuple(
        (_pixels(row, f"x{n}", where), _pixels(row, f"y{n}", where)) for n in range(_POINTS[kind])
    )
    return Label(file, kind, _card(row, where), points, tags, source)


def _card(row: Row, where: str) -> Card:
    found = f"{row.get('rank', '')}{row.get('suit', '')}".upper()
    try:
        return Card(found)
    except ValueError as error:
        message = f"rank and suit: {found!r}; expected a card such as 9 and h"
        raise UserError(f"{where}: {message}") from error


def _pixels(row: Row, name: str, where: str) -> float:
    found = row.get(name, "")
    try:
        value = float(found.replace(",", "."))
    except ValueError:
        value = _MAX_COORDINATE_PX
    # Also false for nan.
    if abs(value) < _MAX_COORDINATE_PX:
        return value
    raise UserError(f"{where}: {name}: {found!r}; expected pixels of the photo")

"""
Photo labels: which card is where in which photo. Reads the file of labels, and the labelled cards.

The file is CSV of a program or spreadsheet, in UTF-8 or Excel's Unicode text, with commas,
semicolons or tabs, and decimal points or commas.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.recognition.confidence import count_visible_ends
from drivers.camera.recognition.recogniser import CardReading, Quad, Recogniser
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card


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


_Points = NDArray[np.float32]
# Index windows in units of the distance from rank to pip: height, and position of the rank's
# centre; from small figures to jumbo.
_HEIGHTS: Final = (2.5, 3.0, 3.6, 4.2)
_ACROSS: Final = (0.40, 0.36, 0.31, 0.28)
_ALONG: Final = (0.29, 0.26, 0.22, 0.20)
_WIDTHS: Final = (0.8, 1.0, 1.25)
_SHAPE: Final = 0.30 / 0.42 * 63 / 88
_UNIT: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_MIN_PAPER_SHARE: Final = 0.25
"""Minimum share of a box covered by the card's paper."""

_MIN_PAPER_BRIGHTNESS: Final = 0.62
"""Minimum brightness of paper, as a share of the brightest paper."""

_CERTAIN_CONFIDENCE: Final = 0.98
"""Confidence above which no other outline is tried."""


def read_label(recogniser: Recogniser, image: Image, label: Label) -> CardReading:
    """Read the card of a label in its photo."""
    points = np.array(label.points, np.float32)
    match label.kind:
        case Kind.QUAD:
            return _read_by_corners(recogniser, image, points)
        case Kind.BBOX:
            return _read_in_box(recogniser, image, points)
        case Kind.CORNER:
            return recogniser.read_windows(image, list(index_windows(points)))


def _read_by_corners(recogniser: Recogniser, image: Image, points: _Points) -> CardReading:
    """Read a card by its corners; corners in the opposite direction are only listed so."""
    (x, y) = (points - points.mean(0)).T
    clockwise = np.dot(x, np.roll(y, -1)) >= np.dot(y, np.roll(x, -1))
    return recogniser.read(image, points if clockwise else points[[0, 3, 2, 1]])


def index_windows(points: _Points) -> Iterator[Quad]:
    """
    Yield windows for an index of unknown size, from the centres of its figure and pip.

    Several widths are tried too: the two points do not determine tilt or stretch.
    """
    for height in _HEIGHTS:
        for width in _WIDTHS:
            yield index_window(points, height, width=width)


def index_window(
    points: _Points, height: float, off: tuple[float, float] = (0.0, 0.0), width: float = 1.0
) -> Quad:
    """
    Return the window for a height in units of the distance from figure to pip.

    The width is relative to the one that fits the height.
    """
    rank, pip = points
    down = pip - rank
    right = np.array([down[1], -down[0]], np.float32)
    across = right * height * _SHAPE * width
    x, y = (float(np.interp(height, _HEIGHTS, share)) for share in (_ACROSS, _ALONG))
    origin = rank - across * (x + off[0]) - down * height * (y + off[1])
    return np.asarray(origin + _UNIT[:, :1] * across + _UNIT[:, 1:] * down * height, np.float32)


def _read_in_box(recogniser: Recogniser, image: Image, points: _Points) -> CardReading:
    """
    Read a card within a box, after searching its outline in any orientation.

    The search may fail, and an index in the box may be a neighbour's: a card is named only if both
    ends show the same card.
    """
    readings: list[CardReading] = []
    for quad in _outlines(image, points):
        readings.append(recogniser.read(image, quad))
        if readings[-1].confidence > _CERTAIN_CONFIDENCE:
            break
    best = max(readings, key=lambda reading: reading.confidence)
    both = count_visible_ends([end.believed for end in best.ends]) > 1
    return best if both else replace(best, card=None)


def _outlines(image: Image, points: _Points) -> Iterator[Quad]:
    """Yield candidates for the card's corners: the paper in the box, then the box itself."""
    (x0, y0), (x1, y1) = points
    box = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float32)
    for quad in (*_papers(image, points), box):
        for turn in (0, 1):
            yield np.asarray(np.roll(quad, turn, 0), np.float32)


def _papers(image: Image, points: _Points) -> Iterator[Quad]:
    """Yield the rectangle of the largest bright, colourless area in the box."""
    height, width = image.shape[:2]
    low = np.clip(points.min(0) - 4, 0, [width - 2, height - 2]).astype(int)
    high = np.clip(points.max(0) + 4, low + 2, [width, height]).astype(int)
    part = image[low[1] : high[1], low[0] : high[0]]
    for mask in _masks(part):
        shapes = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
        largest = max(shapes, key=cv2.contourArea, default=None)
        if largest is None or cv2.contourArea(largest) < _MIN_PAPER_SHARE * mask.size:
            continue
        offset = low.astype(np.float32)
        for quad in _rectangles(np.asarray(largest)):
            yield _upright(quad) + offset


def _masks(part: Image) -> Iterator[NDArray[np.uint8]]:
    darkest = part.min(axis=2)
    level, _ = cv2.threshold(darkest, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    paper = float(np.percentile(darkest, 95)) * _MIN_PAPER_BRIGHTNESS
    for limit in (level, paper):
        mask = (darkest > limit).astype(np.uint8)
        yield np.asarray(cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)))


def _rectangles(shape: NDArray[np.int32]) -> Iterator[Quad]:
    hull = cv2.convexHull(shape)
    yield np.asarray(cv2.boxPoints(cv2.minAreaRect(hull)), np.float32)
    corners = cv2.approxPolyDP(hull, 0.04 * cv2.arcLength(hull, closed=True), closed=True)
    if len(corners) == 4:  # noqa: PLR2004 - a quadrangle
        yield np.asarray(corners.reshape(4, 2), np.float32)


def _upright(quad: Quad) -> Quad:
    """Order corners clockwise so that the first side is a short one."""
    middle = quad.mean(0)
    turn = np.argsort(np.arctan2(quad[:, 1] - middle[1], quad[:, 0] - middle[0]))
    ordered = quad[turn]
    sides = np.linalg.norm(np.roll(ordered, -1, 0) - ordered, axis=1)
    long_first = sides[0] + sides[2] > sides[1] + sides[3]
    return np.asarray(np.roll(ordered, -1, 0) if long_first else ordered, np.float32)

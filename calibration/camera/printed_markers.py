"""
Printed markers: sheets to print at true size, and the detection of the markers in an image.

A page is drawn once, in millimetres, as rectangles and lines of text; each file format (PDF, SVG,
HTML) writes the same page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.camera.recognition.table_projection import Floats
from drivers.camera.sources.frame_capture_and_checks import Image
from shoe_daemon.errors import UserError, one_line

_PAPER_SIZES_MM: Final = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}
_FILE_SUFFIXES: Final = (".pdf", ".svg", ".html")

_MARGIN_MM: Final = 14.0
_FOOTER_MM: Final = 62.0
"""Margin of a page, and height of its footer."""

_MARKER_CELLS: Final = 6
"""Cells of a 4x4 marker with its black rim."""

_POINTS_PER_MM: Final = 72 / 25.4
"""PDF points per millimetre."""

_RULER_MM: Final = 100
"""Length of the ruler in the footer."""

_QUIET_ZONE: Final = 0.25
"""White margin around a marker, as a share of its side: markers without one are not detected."""

_INSTRUCTIONS: Final = (
    "Print at 100 %, not “fit to page”. The scale above must be 100 mm long: measure it.",
    "Where it is not, measure the black edge of a marker: that is its --size, not {side}.",
    "1  Where several are on a sheet, cut midway between them: each needs its white rim.",
    "2  Empty the table. Glue each marker to something stiff, or press it flat.",
    "3  Lay all markers flat on the felt, far apart: into the corners of what is seen",
    "    and one into the middle. They may be turned anyhow. Nothing is measured.",
    "4  Leave the white rim uncovered. No glare, no shadow edge, no hand over them.",
)
"""Instructions in the footer of each page; the first line is bold."""


class _Rectangle(NamedTuple):
    x: float
    y: float
    width: float
    height: float


class _Text(NamedTuple):
    x: float
    y: float
    size: float
    words: str
    bold: bool = False


class SheetPage(NamedTuple):
    """
    One page.

    Attributes:
        paper: Its width and height in millimetres.
        blocks: Black cells of markers.
        marks: Lines of the ruler.
        texts: Lines of text.
    """

    paper: tuple[float, float]
    blocks: list[_Rectangle]
    marks: list[_Rectangle]
    texts: list[_Text]


def draw_sheets(count: int, side: float, paper: str) -> list[SheetPage]:
    """
    Draw markers, numbered from 0, as many on a page of ``a4`` or ``letter`` as fit. The side is
    that of their black edges, in millimetres.

    Raises:
        UserError: They are too large for the paper.
    """
    size = _PAPER_SIZES_MM[paper]
    room = size[0] - 2 * _MARGIN_MM, size[1] - _MARGIN_MM - _FOOTER_MM - 10
    gap = side * _QUIET_ZONE
    across, down = (int((each + gap) // (side * (1 + _QUIET_ZONE))) for each in room)
    if across < 1 or down < 1:
        raise UserError(
            f"--size {side:g}: too large for {paper}; expected at most {min(room):.0f}"
        )
    # Large markers are printed one per page, small ones are cut out, to lie far apart.
    each = across * down
    numbers = range(count)
    return [
        _draw_page([*numbers[first : first + each]], across, side, size)
        for first in range(0, count, each)
    ]


def _draw_page(
    numbers: Sequence[int], across: int, side: float, paper: tuple[float, float]
) -> SheetPage:
    sheet = SheetPage(paper, [], [], [])
    step = side * (1 + _QUIET_ZONE)
    columns = min(across, len(numbers))
    left = (paper[0] - columns * step + side * _QUIET_ZONE) / 2
    for place, number in enumerate(numbers):
        x, y = left + place % across * step, _MARGIN_MM + place // across * step
        sheet.blocks.extend(_marker_rectangles(number, x, y, side))
        label = f"marker {number}   {side:g} mm"
        sheet.texts.append(_Text(x, y + side + min(5.0, side * 0.14), 3.4, label))
    _draw_footer(sheet, side)
    return sheet


def _marker_rectangles(number: int, x: float, y: float, side: float) -> Iterator[_Rectangle]:
    drawn = cv2.aruco.generateImageMarker(
        cv2.aruco.getPredefinedDictionary(DICTIONARY), number, _MARKER_CELLS
    )
    cell = side / _MARKER_CELLS
    for row, line in enumerate(np.asarray(drawn) == 0):
        ends = np.flatnonzero(np.diff(np.pad(line, 1).astype(np.int8))).tolist()
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            # Rows overlap slightly, so that no printer leaves white lines between them.
            yield _Rectangle(x + first * cell, y + row * cell, (last - first) * cell, cell + 0.02)


def _draw_footer(sheet: SheetPage, side: float) -> None:
    top = sheet.paper[1] - _FOOTER_MM + 4
    _draw_ruler(sheet, (sheet.paper[0] - _RULER_MM) / 2, top)
    for number, words in enumerate(_INSTRUCTIONS):
        line = words.format(side=f"{side:g}")
        text = _Text(_MARGIN_MM + 4, top + 17 + number * 5, 3.3, line, bold=number == 0)
        sheet.texts.append(text)


def _draw_ruler(sheet: SheetPage, left: float, top: float) -> None:
    for mark in range(_RULER_MM + 1):
        long = 5.0 if mark % 10 == 0 else 3.5 if mark % 5 == 0 else 2.2
        sheet.marks.append(_Rectangle(left + mark - 0.075, top, 0.15, long))
        if mark % 10 == 0:
            sheet.texts.append(_Text(left + mark - 1.2, top + 8.2, 2.6, str(mark)))


def write_sheets(sheets: Sequence[SheetPage], path: Path) -> list[Path]:
    """
    Write the pages in the format of the file's suffix; return the files.

    SVG has one page per file: the second is called ``…-2.svg``.

    Raises:
        UserError: The suffix is unknown, or the file cannot be written.
    """
    form = path.suffix.lower()
    if form not in _FILE_SUFFIXES:
        raise UserError(f"{path}: expected a name ending in {', '.join(_FILE_SUFFIXES)}")
    if form == ".svg":
        others = (path.with_stem(f"{path.stem}-{number}") for number in range(2, len(sheets) + 1))
        pages = (_svg(sheet).encode() for sheet in sheets)
        files = dict(zip((path, *others), pages, strict=True))
    else:
        files = {path: _pdf(sheets) if form == ".pdf" else _html(sheets).encode()}
    for file, data in files.items():
        try:
            file.write_bytes(data)
        except OSError as error:
            raise UserError(f"{file}: {one_line(error)}") from error
    return list(files)


def _svg(sheet: SheetPage) -> str:
    wide, high = sheet.paper
    texts = "".join(map(_svg_text, sheet.texts))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}mm" height="{high}mm" '
        f'viewBox="0 0 {wide} {high}" font-family="Helvetica, Arial, sans-serif">'
        '<rect width="100%" height="100%" fill="#fff"/>'
        # Crisp edges leave no seams between cells, but could drop lines of the ruler on a screen.
        f'<g shape-rendering="crispEdges">{_svg_rectangles(sheet.blocks)}</g>'
        f"{_svg_rectangles(sheet.marks)}{texts}</svg>"
    )


def _svg_text(text: _Text) -> str:
    # Browsers collapse consecutive spaces.
    words = escape(text.words.replace("  ", "\N{NO-BREAK SPACE}" * 2))
    weight = ' font-weight="700"' if text.bold else ""
    return (
        f'<text x="{text.x:.2f}" y="{text.y:.2f}" font-size="{text.size}"{weight}>{words}</text>'
    )


def _svg_rectangles(blocks: Sequence[_Rectangle]) -> str:
    return "".join(
        f'<rect x="{b.x:.3f}" y="{b.y:.3f}" width="{b.width:.3f}" height="{b.height:.3f}"/>'
        for b in blocks
    )


def _html(sheets: Sequence[SheetPage]) -> str:
    wide, high = sheets[0].paper
    pages = "\n".join(_svg(sheet) for sheet in sheets)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Markers</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>@page {{ size: {wide}mm {high}mm; margin: 0 }} body {{ margin: 0 }}
svg {{ display: block; break-after: page }}</style></head><body>
{pages}
</body></html>
"""


def _pdf(sheets: Sequence[SheetPage]) -> bytes:
    """Write a PDF: rectangles, and text in the standard fonts."""
    pages = [4 + 2 * number + 1 for number in range(len(sheets))]
    kids = " ".join(f"{page} 0 R" for page in pages)
    font = "/Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(sheets)} >>",
        f"<< {font} /BaseFont /Helvetica >>",
        f"<< {font} /BaseFont /Helvetica-Bold >>",
    ]
    for page, sheet in zip(pages, sheets, strict=True):
        box = " ".join(f"{side * _POINTS_PER_MM:.3f}" for side in sheet.paper)
        fonts = "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
        kind = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 {box}]"
        objects += [f"<< {kind} /Contents {page + 1} 0 R {fonts} >>", _pdf_content(sheet)]
    return _pdf_document(objects)


def _pdf_content(sheet: SheetPage) -> str:
    high = sheet.paper[1]
    drawn = [
        f"{b.x * _POINTS_PER_MM:.3f} {(high - b.y - b.height) * _POINTS_PER_MM:.3f} "
        f"{b.width * _POINTS_PER_MM:.3f} {b.height * _POINTS_PER_MM:.3f} re f"
        for b in (*sheet.blocks, *sheet.marks)
    ]
    for text in sheet.texts:
        words = text.words.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        drawn.append(
            f"BT /F{2 if text.bold else 1} {text.size * _POINTS_PER_MM:.2f} Tf "
            f"{text.x * _POINTS_PER_MM:.3f} {(high - text.y) * _POINTS_PER_MM:.3f} Td "
            f"({words}) Tj ET"
        )
    whole = "\n".join(drawn)
    return f"<< /Length {len(whole.encode('cp1252'))} >>\nstream\n{whole}\nendstream"


def _pdf_document(objects: Sequence[str]) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{text}\nendobj\n".encode("cp1252")
    start = len(data)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    count = len(objects) + 1
    data += f"xref\n0 {count}\n0000000000 65535 f \n{table}".encode()
    return data + f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


DICTIONARY: Final = cv2.aruco.DICT_4X4_50

_EDGE_POSITIONS: Final = np.linspace(0.12, 0.88, 40)
_EDGE_OFFSETS_PX: Final = np.arange(-4.0, 4.01, 0.25)
"""Positions along an edge, and offsets in pixels to either side, at which it is sampled."""

_MIN_SLOPE_SHARE: Final = 0.3
"""Minimum slope of an edge, as a share of the steepest."""

_MAX_CORRECTION_PX: Final = 2.0
"""Maximum correction of a corner."""


class Marker(NamedTuple):
    """A detected marker: its number, and its corners in the image, starting at the upper left."""

    number: int
    corners: Floats


def find_markers(image: Image) -> list[Marker]:
    """Detect the printed markers in an image, each once, sorted by number."""
    settings = cv2.aruco.DetectorParameters()
    settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(DICTIONARY), settings)
    found: Any = detector.detectMarkers(image)
    corners, numbers = found[0], found[1]
    if numbers is None:
        return []
    soft = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (0, 0), 0.8)
    grey = np.asarray(soft, np.float32)
    markers = {
        int(number): Marker(int(number), _refine_corners(grey, np.asarray(quad, np.float64)[0]))
        for number, quad in zip(np.asarray(numbers).ravel(), corners, strict=True)
    }
    return [markers[number] for number in sorted(markers)]


def _refine_corners(grey: NDArray[np.float32], quad: Floats) -> Floats:
    """
    Return the corners as intersections of the edges.

    A blurred corner is round and appears too far inside: all markers would be measured too
    small, and the table too large.
    """
    lines = [
        _fit_edge(grey, quad[side], quad[(side + 1) % 4], quad.mean(axis=0)) for side in range(4)
    ]
    if any(line is None for line in lines):
        return quad
    found = np.stack([_intersection(lines[side - 1], lines[side]) for side in range(4)])
    return found if np.linalg.norm(found - quad, axis=1).max() < _MAX_CORRECTION_PX else quad


def _fit_edge(
    grey: NDArray[np.float32], first: Floats, last: Floats, middle: Floats
) -> tuple[Floats, Floats] | None:
    """Fit a line to the change from dark inside to bright outside: a point and a direction."""
    along = (last - first) / np.linalg.norm(last - first)
    outwards = np.array([-along[1], along[0]])
    if outwards @ ((first + last) / 2 - middle) < 0:
        outwards = -outwards
    base = first + (last - first) * _EDGE_POSITIONS[:, None]
    points = base[:, None] + _EDGE_OFFSETS_PX[None, :, None] * outwards
    x, y = (points[..., axis].astype(np.float32) for axis in (0, 1))
    seen = cv2.remap(grey, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    climb: Floats = np.asarray(np.gradient(np.asarray(seen, np.float64), axis=1), np.float64)
    slopes: Floats = np.clip(climb, 0, None)
    slopes[slopes < slopes.max() * _MIN_SLOPE_SHARE] = 0
    weight = slopes.sum(axis=1)
    clear = weight > 0
    if clear.sum() < len(_EDGE_POSITIONS) / 2:
        return None
    off = np.asarray(slopes @ _EDGE_OFFSETS_PX, np.float64)[clear] / weight[clear]
    line = (base[clear] + off[:, None] * outwards).astype(np.float32)
    right, down, left, top = cv2.fitLine(line, cv2.DIST_HUBER, 0, 0.01, 0.01).ravel()
    return np.array([left, top], np.float64), np.array([right, down], np.float64)


def _intersection(one: Any, other: Any) -> Floats:  # noqa: ANN401 - two lines
    (point, way), (other_point, across) = one, other
    steps = np.linalg.solve(np.column_stack([way, -across]), other_point - point)
    return np.asarray(point + way * steps[0], np.float64)

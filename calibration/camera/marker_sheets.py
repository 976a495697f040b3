"""Sheets of markers: SVG in millimetres, to be printed at true size by a browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from calibration.camera.markers import DICTIONARY
from shoe_daemon.errors import UserError, one_line

_PAPER_SIZES_MM: Final = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}

_MARGIN_MM: Final = 14.0
_FOOTER_MM: Final = 62.0
"""Margin of a sheet, and height of its footer."""

_MARKER_CELLS: Final = 6
"""Cells of a 4x4 marker with its black rim."""

_RULER_MM: Final = 100
"""Length of the ruler in the footer."""

_QUIET_ZONE: Final = 0.25
"""White margin around a marker, as a share of its side: markers without one are not detected."""

_INSTRUCTIONS: Final = (
    "Print at 100 %, not “fit to page”. The scale above must be 100 mm long: measure it.",
    "Where it is not, measure the black edge of a marker: that is its --size, not {side:g}.",
    "1  Where several are on a sheet, cut midway between them: each needs its white rim.",
    "2  Empty the table. Glue each marker to something stiff, or press it flat.",
    "3  Lay all markers flat on the felt, far apart: into the corners of what is seen",
    "    and one into the middle. They may be turned anyhow. Nothing is measured.",
    "4  Leave the white rim uncovered. No glare, no shadow edge, no hand over them.",
)
"""Instructions in the footer of each sheet; the first line is bold."""

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Markers</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>@page {{ size: {wide}mm {high}mm; margin: 0 }} body {{ margin: 0 }}
svg {{ display: block; break-after: page }}</style></head><body>
{sheets}
</body></html>
"""


def write_sheets(path: Path, count: int, side: float, paper: str) -> list[Path]:
    """
    Write markers, numbered from 0, as many on a sheet of ``a4`` or ``letter`` as fit; return the
    files. The side is that of their black edges, in millimetres.

    HTML has all sheets in one file; SVG has one in each: the second is called ``…-2.svg``.

    Raises:
        UserError: The markers are too large for the paper, the suffix is unknown, or a file
            cannot be written.
    """
    form = path.suffix.lower()
    if form not in {".html", ".svg"}:
        raise UserError(
            f"{path}: expected a name ending in .html or .svg; a browser prints it, also to a PDF"
        )
    sheets = list(_draw_sheets(count, side, paper))
    wide, high = _PAPER_SIZES_MM[paper]
    files = {path: _PAGE.format(wide=wide, high=high, sheets="\n".join(sheets))}
    if form == ".svg":
        others = (path.with_stem(f"{path.stem}-{number}") for number in range(2, len(sheets) + 1))
        files = dict(zip((path, *others), sheets, strict=True))
    for file, text in files.items():
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{file}: {one_line(error)}") from error
    return list(files)


def _draw_sheets(count: int, side: float, paper: str) -> Iterator[str]:
    wide, high = _PAPER_SIZES_MM[paper]
    room = wide - 2 * _MARGIN_MM, high - _MARGIN_MM - _FOOTER_MM - 10
    step = side * (1 + _QUIET_ZONE)
    across, down = (int((each + side * _QUIET_ZONE) // step) for each in room)
    if across < 1 or down < 1:
        raise UserError(
            f"--size {side:g}: too large for {paper}; expected at most {min(room):.0f}"
        )
    # Large markers are printed one per sheet, small ones are cut out, to lie far apart.
    numbers = range(count)
    for first in range(0, count, across * down):
        yield _draw_sheet(numbers[first : first + across * down], across, side, (wide, high))


def _draw_sheet(
    numbers: Sequence[int], across: int, side: float, paper: tuple[float, float]
) -> str:
    wide, high = paper
    step = side * (1 + _QUIET_ZONE)
    left = (wide - min(across, len(numbers)) * step + side * _QUIET_ZONE) / 2
    markers = (
        _draw_marker(
            number, side, left + place % across * step, _MARGIN_MM + place // across * step
        )
        for place, number in enumerate(numbers)
    )
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}mm" height="{high}mm" '
        f'viewBox="0 0 {wide} {high}" font-family="Helvetica, Arial, sans-serif" '
        'font-size="3.3"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(markers)}{_draw_footer(wide, high - _FOOTER_MM + 4, side)}</svg>"
    )
    # Browsers collapse consecutive spaces.
    return drawn.replace("  ", "\N{NO-BREAK SPACE}" * 2)


def _draw_marker(number: int, side: float, x: float, y: float) -> str:
    drawn = cv2.aruco.generateImageMarker(
        cv2.aruco.getPredefinedDictionary(DICTIONARY), number, _MARKER_CELLS
    )
    # Rows overlap slightly, so that no printer leaves white lines between them.
    cells = "".join(f"M{x} {y}h1v1.001h-1z" for y, x in np.argwhere(np.asarray(drawn) == 0))
    return (
        f'<path shape-rendering="crispEdges" d="{cells}" '
        f'transform="translate({x:.3f} {y:.3f}) scale({side / _MARKER_CELLS:.5f})"/>'
        f'<text x="{x:.2f}" y="{y + side + min(5.0, side * 0.14):.2f}">'
        f"marker {number}   {side:g} mm</text>"
    )


def _draw_footer(wide: float, top: float, side: float) -> str:
    left = (wide - _RULER_MM) / 2
    lengths = (
        (mark, 2.2 if mark % 5 else 3.5 if mark % 10 else 5.0) for mark in range(_RULER_MM + 1)
    )
    marks = "".join(f"M{left + mark:.3f} {top}v{length}" for mark, length in lengths)
    numbers = "".join(
        f'<text x="{left + mark:.3f}" y="{top + 8.2}" font-size="2.6" text-anchor="middle">'
        f"{mark}</text>"
        for mark in range(0, _RULER_MM + 1, 10)
    )
    lines = "".join(
        f'<text x="{_MARGIN_MM + 4}" y="{top + 17 + number * 5}" '
        f'font-weight="{400 if number else 700}">{line.format(side=side)}</text>'
        for number, line in enumerate(_INSTRUCTIONS)
    )
    return f'<path d="{marks}" stroke="#000" stroke-width="0.15"/>{numbers}{lines}'

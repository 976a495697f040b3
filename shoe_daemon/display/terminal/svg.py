"""
A canvas as an SVG picture that looks the same everywhere.

Blocks, lines and signs are drawn as shapes, since fonts differ in them; what is
left to a font are letters and figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape

from shoe_daemon.display.terminal.canvas import Canvas, width_of
from shoe_daemon.display.terminal.styles import Style

__all__ = ["to_svg"]

_W: Final = 10
_H: Final = 20
_BASE: Final = 15
_FONT: Final = "'DejaVu Sans Mono','Menlo','Consolas','Liberation Mono',monospace"

# In tenths of a cell: x, y, width, height.
_BLOCKS: Final[dict[str, tuple[tuple[int, int, int, int], ...]]] = {
    "█": ((0, 0, 10, 10),),
    "▀": ((0, 0, 10, 5),),
    "▄": ((0, 5, 10, 5),),
    "▌": ((0, 0, 5, 10),),
    "▐": ((5, 0, 5, 10),),
    "▖": ((0, 5, 5, 5),),
    "▗": ((5, 5, 5, 5),),
    "▘": ((0, 0, 5, 5),),
    "▝": ((5, 0, 5, 5),),
    "▚": ((0, 0, 5, 5), (5, 5, 5, 5)),
    "▇": ((0, 1, 10, 9),),
}
_LINES: Final = {
    "/": "M1.5 17 8.5 3",
    "\\": "M1.5 3 8.5 17",
    "─": "M0 10H10",
    "│": "M5 0V20",
    "╭": "M5 20V15Q5 10 10 10",
    "╮": "M5 20V15Q5 10 0 10",
    "╰": "M5 0V5Q5 10 10 10",
    "╯": "M5 0V5Q5 10 0 10",
}
_STROKES: Final = "/\\"
_SIGNS: Final = {
    "♥": "M5 16.5C1 12.5 .2 10.6 .2 8.8 .2 5.6 3.9 5.2 5 8 6.1 5.2 9.8 5.6 9.8 8.8"
    " 9.8 10.6 9 12.5 5 16.5Z",
    "♦": "M5 5 9.4 10.8 5 16.6 .6 10.8Z",
    "♠": "M5 5C9 9 9.8 10.6 9.8 12.2 9.8 14.9 6.7 15.2 5.5 13.2 5.6 14.9 6 16 7 16.8H3"
    "C4 16 4.4 14.9 4.5 13.2 3.3 15.2 .2 14.9 .2 12.2 .2 10.6 1 9 5 5Z",
    "♣": "M5 5A2.4 2.4 0 0 1 6.8 9A2.5 2.5 0 1 1 5.5 12.9C5.6 14.8 6 16 7 16.8H3"
    "C4 16 4.4 14.8 4.5 12.9A2.5 2.5 0 1 1 3.2 9A2.4 2.4 0 0 1 5 5Z",
    "▸": "M2 6 8.6 10.4 2 14.8Z",
    "✓": "M.8 10.6 2.2 9 4 11.2 8.2 5.4 9.6 6.6 4.1 14Z",
    "●": "M5 6A4 4 0 1 1 4.99 6Z",
    "•": "M5 7.5A2.5 2.5 0 1 1 4.99 7.5Z",
    "○": "M5 6A4 4 0 1 1 4.99 6ZM5 7.4A2.6 2.6 0 1 0 5.01 7.4Z",
    "◦": "M5 7.2A2.8 2.8 0 1 1 4.99 7.2ZM5 8.5A1.5 1.5 0 1 0 5.01 8.5Z",
    "★": "M5 4.7 6.3 8.7H10L7 11.1 8.1 15.2 5 12.7 1.9 15.2 3 11.1 0 8.7H3.7Z",
}


def to_svg(canvas: Canvas) -> str:
    """
    Draw a canvas that has colours everywhere.
    """
    width, height = canvas.width * _W, canvas.height * _H
    shapes = "\n".join(_shapes(canvas))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 {width + 24} {height + 24}" '
        f'width="{width + 24}" height="{height + 24}" '
        f'xml:space="preserve" font-family="{_FONT}" font-size="16.6">\n'
        f'<rect x="-12" y="-12" width="{width + 24}" height="{height + 24}" rx="10" '
        f'fill="{_back(canvas.rows[0][0][1])}"/>\n{shapes}\n</svg>\n'
    )


def _shapes(canvas: Canvas) -> Iterator[str]:
    for number, row in enumerate(canvas.rows):
        y = number * _H
        yield from _backgrounds(row, y)
    for number, row in enumerate(canvas.rows):
        y = number * _H
        column = 0
        for (style, kind), found in groupby(row, key=lambda cell: (cell[1], _kind(*cell))):
            cells = [character for character, _ in found]
            yield from _run("".join(cells), kind, style, (column * _W, y))
            column += len(cells)


def _backgrounds(row: list[tuple[str, Style]], y: int) -> Iterator[str]:
    column = 0
    for back, cells in groupby(row, key=lambda cell: _back(cell[1])):
        count = len(list(cells))
        yield (
            f'<rect x="{column * _W}" y="{y}" width="{count * _W}" height="{_H}" fill="{back}"/>'
        )
        column += count


def _kind(character: str, style: Style) -> str:
    if character in _STROKES and not style.bold:
        return "text"  # it is no mark but stands in an address
    for kind, known in (("block", _BLOCKS), ("line", _LINES), ("sign", _SIGNS)):
        if character in known:
            return kind
    return "text"


def _run(text: str, kind: str, style: Style, at: tuple[int, int]) -> Iterator[str]:
    x, y = at
    colour = _hex(style.color)
    if kind == "text":
        x += (len(text) - len(text.lstrip())) * _W
        text = text.strip()
        if not text:
            return
        weight = ' font-weight="bold"' if style.bold else ""
        weight += ' text-decoration="underline"' if style.underline else ""
        yield (
            f'<text x="{x}" y="{y + _BASE}" fill="{colour}"{weight} '
            f'textLength="{width_of(text) * _W}">{escape(text)}</text>'
        )
    else:
        for number, character in enumerate(text):
            yield from _shape(character, kind, colour, (x + number * _W, y))


def _shape(character: str, kind: str, colour: str, at: tuple[int, int]) -> Iterator[str]:
    x, y = at
    if kind == "block":
        for left, top, width, height in _BLOCKS[character]:
            yield (
                f'<rect x="{x + left * _W // 10}" y="{y + top * _H // 10}" '
                f'width="{width * _W // 10}" height="{height * _H // 10}" '
                f'fill="{colour}"/>'
            )
    elif kind == "line":
        yield (
            f'<path transform="translate({x} {y})" d="{_LINES[character]}" fill="none" '
            f'stroke="{colour}" stroke-width="1.4"/>'
        )
    else:
        yield f'<path transform="translate({x} {y})" d="{_SIGNS[character]}" fill="{colour}"/>'


def _back(style: Style) -> str:
    return _hex(style.bgcolor)


def _hex(colour: str | None) -> str:
    return "#000000" if colour is None else colour

"""
A canvas as lines for the shell, coloured with click as far as the terminal can.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, TextIO

import click

from shoe_daemon.display.terminal.canvas import Canvas
from shoe_daemon.display.terminal.styles import Style

__all__ = ["Colours", "colours_of", "lines"]

Colours = Literal["none", "16", "256", "all"]
_RGB = tuple[int, int, int]

_STEPS: Final = (0, 95, 135, 175, 215, 255)
_CUBE: Final[dict[_RGB, int]] = {
    (red, green, blue): 16 + 36 * r + 6 * g + b
    for r, red in enumerate(_STEPS)
    for g, green in enumerate(_STEPS)
    for b, blue in enumerate(_STEPS)
} | {(level, level, level): 232 + n for n, level in enumerate(range(8, 239, 10))}
_NAMED: Final[dict[_RGB, str]] = {
    (0, 0, 0): "black",
    (205, 0, 0): "red",
    (0, 160, 0): "green",
    (205, 160, 0): "yellow",
    (0, 0, 205): "blue",
    (229, 229, 229): "white",
    (127, 127, 127): "bright_black",
    (255, 255, 255): "bright_white",
}
_MANY: Final = re.compile(r"256|direct|kitty|alacritty")


def colours_of(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Colours:
    """
    Say which colours a stream shows: none where it is no terminal, or none are wanted.
    """
    terminal = environment.get("TERM", "dumb")
    if environment.get("NO_COLOR") or terminal == "dumb" or not stream.isatty():
        return "none"
    if environment.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return "all"
    return "256" if _MANY.search(terminal) else "16"


def lines(canvas: Canvas, colours: Colours) -> Iterator[str]:
    """
    Give the rows of a canvas; without colours they have nothing at their end.
    """
    for row in range(canvas.height):
        if colours == "none":
            yield "".join(text for text, _ in canvas.runs(row)).rstrip()
        else:
            yield "".join(_styled(text, style, colours) for text, style in canvas.runs(row))


def _styled(text: str, style: Style, colours: Colours) -> str:
    if style == Style():
        return text
    front, back = (_colour(each, colours) for each in (style.color, style.bgcolor))
    return click.style(
        text, fg=front, bg=back, bold=style.bold or None, underline=style.underline or None
    )


@lru_cache(maxsize=1000)
def _colour(colour: str | None, colours: Colours) -> _RGB | int | str | None:
    if colour is None:
        return None
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    if colours == "all":
        return red, green, blue
    known: Mapping[_RGB, int | str] = _CUBE if colours == "256" else _NAMED
    return known[min(known, key=lambda each: _distance(each, (red, green, blue)))]


def _distance(one: _RGB, other: _RGB) -> int:
    red, green, blue = (a - b for a, b in zip(one, other, strict=True))
    return 3 * red * red + 4 * green * green + 2 * blue * blue

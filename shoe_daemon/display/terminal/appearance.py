"""
Appearance of the boards in a terminal: colours, and characters for outcomes and marks.

Outcomes and marks differ without colour too: an outcome is a letter, and the blue mark of
a derived road is smaller than the red one, or leans the other way.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from rich.color import Color
from rich.style import Style

from shoe_daemon.display.languages import BASE, language
from shoe_daemon.game import Mark, Outcome

_PLAYER: Final = "#1f5fd1"
_BANKER: Final = "#b3202c"
_TIE: Final = "#167a32"
_RED: Final = "#c1121f"
_WHITE: Final = "#ffffff"
_INK: Final = "#16161a"
_GOOD: Final = "#4cd07d"
_FELT: Final = "#0d4d32"
_RAIL: Final = "#08281b"
_PAPER: Final = "#fbfaf5"
_GOLD: Final = "#f2c14e"

RAIL: Final = Style(color="#cfe3d8", bgcolor=_RAIL)
RAIL_TITLE: Final = Style(color=_GOLD, bold=True)
RAIL_DIM: Final = Style(color="#7fa391")
RAIL_BRIGHT: Final = Style(color=_WHITE, bold=True)
GOOD: Final = Style(color=_GOOD, bold=True)
BAD: Final = Style(color="#ff6b6b", bold=True)

FELT: Final = Style(color="#d8efe2", bgcolor=_FELT)
FELT_LINE: Final = Style(color="#2f7a57")
FELT_TEXT: Final = Style(color="#eaf6ef")
FELT_DIM: Final = Style(color="#8fbfa7")
DUE: Final = Style(color=_GOLD, bold=True)

CARD_EDGE: Final = Style(color=_PAPER)
CARD_RED: Final = Style(color=_RED, bgcolor=_PAPER, bold=True)
CARD_BLACK: Final = Style(color=_INK, bgcolor=_PAPER, bold=True)
BACK_EDGE: Final = Style(color="#e6ecf5")
BACK: Final = Style(color="#7d9bd1", bgcolor="#1f3f77")
UNREAD_EDGE: Final = Style(color="#8d8674")
UNREAD: Final = Style(color="#4a463d", bgcolor="#e9e6dc", bold=True)

PLAYER: Final = Style(color=_WHITE, bgcolor=_PLAYER, bold=True)
BANKER: Final = Style(color=_WHITE, bgcolor=_BANKER, bold=True)
TIE: Final = Style(color=_WHITE, bgcolor=_TIE, bold=True)
UNKNOWN: Final = Style(color=_WHITE, bgcolor="#5c6b64", bold=True)
OUTCOMES: Final[dict[Outcome | None, Style]] = {
    Outcome.PLAYER: PLAYER,
    Outcome.BANKER: BANKER,
    Outcome.TIE: TIE,
    None: UNKNOWN,
}
FADED: Final = Style(color="#8fbfa7", bgcolor="#0a3d28")

ALARM: Final = Style(color="#ffe9e6", bgcolor="#8c1420")
ALARM_EDGE: Final = Style(color="#ff8a80", bold=True)
ALARM_TITLE: Final = Style(color=_WHITE, bold=True)
VERIFIED: Final = Style(color="#b9f5cf", bold=True)
UNVERIFIED: Final = Style(color=_GOLD, bold=True)
HELD: Final = Style(color="#2b1d00", bgcolor=_GOLD, bold=True)
SETTLED: Final = Style(color="#dff5e6", bgcolor="#14512f")
SETTLED_EDGE: Final = Style(color=_GOOD)
CALM_EDGE: Final = Style(color="#1d5a40")


class Tones(NamedTuple):
    """Styles of the words beside the roads."""

    title: Style
    text: Style
    dim: Style


ON_RAIL: Final = Tones(RAIL_BRIGHT, RAIL, RAIL_DIM)
ON_TERMINAL: Final = Tones(Style(bold=True), Style(), Style(color="#808080"))
BARS: Final[dict[Outcome, Style]] = {
    Outcome.PLAYER: Style(color="#3f7ff0"),
    Outcome.BANKER: Style(color="#d8343f"),
    Outcome.TIE: Style(color="#1e9e4a"),
}
PAPER: Final = Style(color=_INK, bgcolor=_PAPER)
PAPER_SHADE: Final = Style(color=_INK, bgcolor="#efece2")
BEAD_MARK: Final = Style(color=_GOLD)
NATURAL: Final = Style(color="#ffd76a", underline=True)
ON_PAPER: Final[dict[Outcome, Style]] = {
    Outcome.PLAYER: Style(color=_PLAYER, bold=True),
    Outcome.BANKER: Style(color=_BANKER, bold=True),
    Outcome.TIE: Style(color=_TIE, bold=True),
}
PAIR_ON_PAPER: Final = Style(color="#8a6a10")
MARKS: Final[dict[Mark, Style]] = {
    Mark.RED: Style(color=_RED, bold=True),
    Mark.BLUE: Style(color=_PLAYER, bold=True),
}


@lru_cache(maxsize=1000)
def grey(style: Style) -> Style:
    """Replace the colours of a style by greys of similar lightness, with less contrast."""
    return style + Style(color=_grey(style.color), bgcolor=_grey(style.bgcolor))


def _grey(color: Color | None) -> str | None:
    if color is None or color.triplet is None:
        return None
    red, green, blue = color.triplet
    level = 40 + (3 * red + 6 * green + blue) // 10 * 5 // 10
    return f"#{level:02x}{level:02x}{level:02x}"


class Symbols(Struct, frozen=True, kw_only=True):
    """
    A set of characters.

    Attributes:
        outcomes: Letter of each outcome.
        wide: Columns of one letter.
        edges: Left and right edge of a bead; blanks for output without colours.
        lines: A natural is an underlined letter, otherwise a corner mark.
        pairs: Marks in the big road: none, Banker pair, Player pair, both.
        corners: Marks right of a bead: none, Player pair, natural, both.
        empty: Placeholder for a missing mark.
        earlier: Stands before the number of hidden columns.
        bar: Unit of a bar.
        marks: Character of each mark, by derived road.
    """

    outcomes: dict[Outcome, str]
    wide: int = 1
    edges: tuple[str, str] = ("▐", "▌")
    lines: bool = True
    pairs: tuple[str, str, str, str] = (" ", "▘", "▗", "▚")
    corners: tuple[str, str, str, str] = ("", "▗", "▝", "▐")
    empty: str = "·"
    earlier: str = "←"
    bar: str = "▇"
    marks: dict[str, dict[Mark, str]]


LETTERS: Final = Symbols(
    outcomes={Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T"},
    marks={
        "big_eye": {Mark.RED: "○", Mark.BLUE: "◦"},
        "small": {Mark.RED: "●", Mark.BLUE: "•"},
        "cockroach": {Mark.RED: "/", Mark.BLUE: "\\"},
    },
)
ASCII: Final = Symbols(
    outcomes=LETTERS.outcomes,
    edges=(" ", " "),
    lines=False,
    pairs=(" ", "b", "p", "&"),
    corners=("", "p", "n", "&"),
    empty="-",
    earlier="<",
    bar="#",
    marks={
        "big_eye": {Mark.RED: "O", Mark.BLUE: "o"},
        "small": {Mark.RED: "@", Mark.BLUE: "."},
        "cockroach": {Mark.RED: "/", Mark.BLUE: "\\"},
    },
)


@cache
def chinese() -> Symbols:
    """Return a set with the Chinese letters of the language files."""
    words = language(BASE).words
    letters = {each: words[f"glyph_chinese_{each.value}"] for each in Outcome}
    return replace(LETTERS, outcomes=letters, wide=2)


def plain(symbols: Symbols) -> Symbols:
    """Return a set for output without colours."""
    return replace(symbols, edges=(" ", " "), lines=False)


class Theme(NamedTuple):
    """Characters and text styles of a picture."""

    symbols: Symbols
    tones: Tones

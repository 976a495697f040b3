"""
Characters for outcomes and road marks: letters, Chinese or ASCII.

Outcomes and marks differ without colour too: an outcome is a letter, and the blue mark of
a derived road is smaller than the red one, or leans the other way.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.display.terminal.palette import Tones
from shoe_daemon.game import Mark, Outcome

__all__ = ["ASCII", "CHINESE", "LETTERS", "Symbols", "Theme", "plain"]

Marks = dict[str, dict[Mark, str]]

_SHAPES: Final[Marks] = {
    "big_eye": {Mark.RED: "○", Mark.BLUE: "◦"},
    "small": {Mark.RED: "●", Mark.BLUE: "•"},
    "cockroach": {Mark.RED: "/", Mark.BLUE: "\\"},
}


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
        marks: Marks by derived road.
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
    marks: Marks


LETTERS: Final = Symbols(
    outcomes={Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T"},
    marks=_SHAPES,
)
CHINESE: Final = Symbols(
    outcomes={Outcome.PLAYER: "閒", Outcome.BANKER: "莊", Outcome.TIE: "和"},
    wide=2,
    marks=_SHAPES,
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


def plain(symbols: Symbols) -> Symbols:
    """
    Return a set for output without colours.
    """
    return replace(symbols, edges=(" ", " "), lines=False)


class Theme(NamedTuple):
    """
    Characters and text styles of a picture.
    """

    symbols: Symbols
    tones: Tones

"""
The characters that stand for results and marks.

Colour is never all that tells them apart: a side is a letter, and of the two marks of a
derived road the blue one is smaller, or leans the other way.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.display.terminal.palette import Tones
from shoe_daemon.game import Mark, Outcome

__all__ = ["ASCII", "CHINESE", "LETTERS", "Look", "Signs", "plain"]


Marks = dict[str, dict[Mark, str]]

_SHAPES: Final[Marks] = {
    "big_eye": {Mark.RED: "○", Mark.BLUE: "◦"},
    "small": {Mark.RED: "●", Mark.BLUE: "•"},
    "cockroach": {Mark.RED: "/", Mark.BLUE: "\\"},
}


class Signs(Struct, frozen=True, kw_only=True):
    """
    One set of characters.

    Attributes:
        outcomes: What stands for a side.
        wide: Columns that each of these takes.
        edges: The left and the right edge of a bead; blanks where nothing has colours.
        lines: Whether a natural is a line below the letter, in place of a mark.
        pairs: Marks of the big road: none, Banker's, Player's, both.
        corners: Marks at the right of a bead: none, Player's pair, natural, both.
        empty: Where a mark would be and is none.
        earlier: Before the number of columns that have no room.
        bar: A length of what is counted.
        marks: By road, then by mark.
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


LETTERS: Final = Signs(
    outcomes={Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T"},
    marks=_SHAPES,
)
CHINESE: Final = Signs(
    outcomes={Outcome.PLAYER: "閒", Outcome.BANKER: "莊", Outcome.TIE: "和"},
    wide=2,
    marks=_SHAPES,
)
ASCII: Final = Signs(
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


def plain(signs: Signs) -> Signs:
    """
    Leave out what is only there to be coloured.
    """
    return replace(signs, edges=(" ", " "), lines=False)


class Look(NamedTuple):
    """
    In which characters and tones something is drawn.
    """

    signs: Signs
    tones: Tones

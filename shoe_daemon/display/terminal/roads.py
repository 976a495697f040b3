"""
The roads, drawn on paper: six rows, as many columns as there is room for.

Where there are more, whole columns go at the left, and the caption says how many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit, width_of
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.display.terminal.symbols import Look, Signs
from shoe_daemon.game import ROWS, BeadCell, BigCell, LeadingTies, MarkCell, Outcome, Roads

__all__ = [
    "DERIVED",
    "HEIGHT",
    "Road",
    "bead_plate",
    "big_road",
    "derived_road",
    "draw_cells",
    "draw_road",
]

HEIGHT: Final = ROWS + 1
"""Rows of a road and its caption."""

DERIVED: Final = {
    "big_eye": ("Big eye boy", "Big eye"),
    "small": ("Small road", "Small"),
    "cockroach": ("Cockroach pig", "Cockroach"),
}
"""The names of the derived roads, long and short."""

_MANY_TIES: Final = 9
_ROOM_FOR_PAIRS: Final = 2


class Cell(Protocol):
    """
    What is drawn at a place.
    """

    @property
    def col(self) -> int:
        """
        From 0.
        """
        ...

    @property
    def row(self) -> int:
        """
        From 0 to 5.
        """
        ...


Ink = tuple[str, Style]


class Drawn(NamedTuple):
    """
    A cell's place, and what stands in it.
    """

    col: int
    row: int
    ink: tuple[Ink, ...]


class Road(NamedTuple):
    """
    A road that can be drawn.

    Attributes:
        name: What it is called.
        short: The same where there is little room.
        pitch: Columns of characters that a column takes.
        cells: What is on it.
    """

    name: str
    short: str
    pitch: int
    cells: tuple[Drawn, ...]

    @property
    def columns(self) -> int:
        """
        How many columns are to be drawn, with one that is free.
        """
        return max((cell.col for cell in self.cells), default=-1) + 2

    @property
    def width(self) -> int:
        """
        The columns of characters that all of it takes.
        """
        return self.columns * self.pitch


def bead_plate(cells: Iterable[BeadCell], signs: Signs) -> Road:
    """
    Make the bead plate ready.
    """
    pitch = signs.wide + 2
    drawn = tuple(Drawn(each.col, each.row, _bead(each, signs)) for each in cells)
    return Road("Bead plate", "Beads", pitch, drawn)


def _bead(cell: BeadCell, signs: Signs) -> tuple[Ink, ...]:
    fill = palette.OUTCOMES[cell.outcome]
    edge = Style(color=fill.bgcolor)
    mark = fill + palette.BEAD_MARK
    lined = cell.natural and signs.lines
    corner = signs.corners[cell.player_pair + 2 * (cell.natural and not signs.lines)]
    left = (signs.pairs[1], mark) if cell.banker_pair else (signs.edges[0], edge)
    right = (corner, mark) if corner else (signs.edges[1], edge)
    letter = fill + palette.NATURAL if lined else fill
    return (left, (signs.outcomes[cell.outcome], letter), right)


def big_road(roads: Roads, ties: LeadingTies, signs: Signs, *, pairs: bool) -> Road:
    """
    Make the big road ready, with or without room for pairs.
    """
    pitch = signs.wide + (_ROOM_FOR_PAIRS if pairs else 1)
    drawn = tuple(
        Drawn(each.col, each.row, tuple(_big(each, ties, signs, pairs=pairs)))
        for each in roads.big
    )
    return Road("Big road", "Big", pitch, drawn)


def _big(cell: BigCell, ties: LeadingTies, signs: Signs, *, pairs: bool) -> Iterator[Ink]:
    style = palette.ON_PAPER[cell.side]
    if pairs:
        mark = signs.pairs[cell.banker_pair + 2 * cell.player_pair]
        yield mark, palette.PAIR_ON_PAPER
    yield signs.outcomes[cell.side], style
    # A tie that stands on its own is the letter already, not a stroke through it.
    alone = cell.side is Outcome.TIE and ties is LeadingTies.MERGE
    yield _ties(cell.ties - alone), palette.ON_PAPER[Outcome.TIE]


def _ties(count: int) -> str:
    if count <= 0:
        return " "
    if count == 1:
        return "/"
    return str(count) if count <= _MANY_TIES else "+"


def derived_road(road: str, cells: Iterable[MarkCell], signs: Signs, *, pitch: int = 1) -> Road:
    """
    Make a derived road ready: ``big_eye``, ``small`` or ``cockroach``.
    """
    drawn = tuple(
        Drawn(each.col, each.row, ((signs.marks[road][each.mark], palette.MARKS[each.mark]),))
        for each in cells
    )
    return Road(*DERIVED[road], pitch, drawn)


def draw_road(canvas: Canvas, box: Box, road: Road, look: Look, *, reserve: int = 0) -> None:
    """
    Draw a road below its caption, its last columns where there is no room for all.

    Of the caption's row so many columns are left to others, as `reserve` says.
    """
    columns = max(box.width // road.pitch, 1)
    first = max(road.columns - columns, 0)
    # A shoe that is too long for its message has lost its first columns before.
    hidden = max(first, min((cell.col for cell in road.cells), default=0))
    caption = _caption(road, hidden, box.width - reserve, look.signs)
    canvas.put(box.x, box.y, fit(caption, box.width), look.tones.title)
    draw_cells(canvas, Box(box.x, box.y + 1, box.width, ROWS), road)


def draw_cells(canvas: Canvas, box: Box, road: Road) -> None:
    """
    Draw a road alone, where it has no row for a caption.
    """
    columns = max(box.width // road.pitch, 1)
    first = max(road.columns - columns, 0)
    for column in range(columns):
        x = box.x + column * road.pitch
        paper = palette.PAPER if (first + column) % 2 else palette.PAPER_SHADE
        canvas.fill(x, box.y, road.pitch, ROWS, paper)
    for cell in road.cells:
        if cell.col >= first and 0 <= cell.row < ROWS:
            x = box.x + (cell.col - first) * road.pitch
            _put(canvas, x, box.y + cell.row, cell.ink)


def _put(canvas: Canvas, x: int, y: int, ink: Sequence[Ink]) -> None:
    for text, style in ink:
        canvas.put(x, y, text, style)
        x += width_of(text)


def _caption(road: Road, hidden: int, width: int, signs: Signs) -> str:
    if not hidden:
        return road.name if width_of(road.name) <= width else road.short
    columns = "1 earlier column" if hidden == 1 else f"{hidden} earlier columns"
    for text in (
        f"{road.name}  {signs.earlier} {columns}",
        f"{road.name} {signs.earlier}{hidden}",
    ):
        if width_of(text) <= width:
            return text
    return f"{road.short} {signs.earlier}{hidden}"

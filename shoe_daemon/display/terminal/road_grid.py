"""
Roads drawn on paper: a caption and six rows, as many columns as fit.

Columns that do not fit are hidden at the left, and the caption states their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.appearance import Symbols, Theme
from shoe_daemon.display.terminal.text import line, line_with_end
from shoe_daemon.game import ROWS, BeadCell, BigCell, LeadingTies, MarkCell, Outcome, Roads

HEIGHT: Final = ROWS + 1
"""Rows of a road with its caption."""

DERIVED: Final = {
    "big_eye": ("Big eye boy", "Big eye"),
    "small": ("Small road", "Small"),
    "cockroach": ("Cockroach pig", "Cockroach"),
}
"""Names of the derived roads, long and short."""

_MAX_TIES: Final = 9
_ASIDE_GAP: Final = 2

Ink = tuple[tuple[str, Style], ...]
"""Styled characters of a cell."""


class Road(NamedTuple):
    """
    Content of a road.

    Attributes:
        name: Its caption.
        short: Its caption where there is little room.
        pitch: Characters per column.
        cells: Ink by column and row.
    """

    name: str
    short: str
    pitch: int
    cells: dict[tuple[int, int], Ink]

    @property
    def columns(self) -> int:
        """Number of columns, with a free one at the end."""
        return max((column for column, _ in self.cells), default=-1) + 2

    @property
    def width(self) -> int:
        """Characters that all columns take."""
        return self.columns * self.pitch


def bead_plate(cells: Iterable[BeadCell], symbols: Symbols) -> Road:
    """Make the bead plate."""
    ink = {(each.col, each.row): _bead(each, symbols) for each in cells}
    return Road("Bead plate", "Beads", symbols.wide + 2, ink)


def _bead(cell: BeadCell, symbols: Symbols) -> Ink:
    fill = appearance.OUTCOMES[cell.outcome]
    edge, mark = Style(color=fill.bgcolor), fill + appearance.BEAD_MARK
    underlined = cell.natural and symbols.lines
    corner = symbols.corners[cell.player_pair + 2 * (cell.natural and not symbols.lines)]
    return (
        (symbols.pairs[1], mark) if cell.banker_pair else (symbols.edges[0], edge),
        (symbols.outcomes[cell.outcome], fill + appearance.NATURAL if underlined else fill),
        (corner, mark) if corner else (symbols.edges[1], edge),
    )


def big_road_for(roads: Roads, ties: LeadingTies, symbols: Symbols, width: int) -> Road:
    """Make the big road; its pairs are left out where `width` has no room for them."""
    with_pairs = big_road(roads, ties, symbols, pairs=True)
    return with_pairs if with_pairs.width <= width else big_road(roads, ties, symbols, pairs=False)


def big_road(roads: Roads, ties: LeadingTies, symbols: Symbols, *, pairs: bool) -> Road:
    """Make the big road, with or without marks for pairs."""
    ink = {(cell.col, cell.row): _big(cell, ties, symbols, pairs=pairs) for cell in roads.big}
    return Road("Big road", "Big", symbols.wide + 1 + pairs, ink)


def _big(cell: BigCell, ties: LeadingTies, symbols: Symbols, *, pairs: bool) -> Ink:
    mark = symbols.pairs[cell.banker_pair + 2 * cell.player_pair]
    # A leading tie is drawn as a letter, so that its stroke would count it twice.
    alone = cell.side is Outcome.TIE and ties is LeadingTies.MERGE
    letter = (symbols.outcomes[cell.side], appearance.ON_PAPER[cell.side])
    stroke = (_tie_mark(cell.ties - alone), appearance.ON_PAPER[Outcome.TIE])
    return ((mark, appearance.PAIR_ON_PAPER), letter, stroke) if pairs else (letter, stroke)


def _tie_mark(count: int) -> str:
    if count <= 0:
        return " "
    if count == 1:
        return "/"
    return str(count) if count <= _MAX_TIES else "+"


def derived_roads(roads: Roads, symbols: Symbols, pitch: int) -> list[Road]:
    """Make the three derived roads."""
    return [
        Road(*names, pitch, {(each.col, each.row): _mark(each, key, symbols) for each in cells})
        for key, names in DERIVED.items()
        for cells in [getattr(roads, key)]
    ]


def _mark(cell: MarkCell, road: str, symbols: Symbols) -> Ink:
    return ((symbols.marks[road][cell.mark], appearance.MARKS[cell.mark]),)


class RoadGrid:
    """
    A road as rich draws it, in the width that it is given.

    Args:
        theme: Of the caption; None for a road without one.
        aside: Stands at the right end of the caption's row.
    """

    def __init__(self, road: Road, theme: Theme | None = None, aside: Text | None = None) -> None:
        self._road, self._theme, self._aside = road, theme, aside or Text()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the caption and the latest columns."""
        width, road = options.max_width, self._road
        columns = max(width // road.pitch, 1)
        first = max(road.columns - columns, 0)
        if self._theme is not None:
            # The message of a long shoe starts with a later column than 0.
            hidden = max(first, min((column for column, _ in road.cells), default=0))
            yield self._caption(self._theme, hidden, width)
        for row in range(ROWS):
            yield from _row(road, row, range(first, first + columns))
            yield Segment.line()

    def _caption(self, theme: Theme, hidden: int, width: int) -> Text:
        reserved = self._aside.cell_len + _ASIDE_GAP if self._aside else 0
        text = _caption_text(self._road, hidden, width - reserved, theme.symbols)
        caption = line(text, theme.tones.title)
        return line_with_end(caption, self._aside, width) if self._aside else caption


def _row(road: Road, row: int, columns: range) -> Iterator[Segment]:
    for column in columns:
        paper = appearance.PAPER if column % 2 else appearance.PAPER_SHADE
        room = road.pitch
        for text, style in road.cells.get((column, row), ()):
            yield Segment(text, paper + style)
            room -= cell_len(text)
        yield Segment(" " * room, paper)


def _caption_text(road: Road, hidden: int, width: int, symbols: Symbols) -> str:
    if not hidden:
        return road.name if len(road.name) <= width else road.short
    columns = "1 earlier column" if hidden == 1 else f"{hidden} earlier columns"
    for text in (
        f"{road.name}  {symbols.earlier} {columns}",
        f"{road.name} {symbols.earlier}{hidden}",
    ):
        if len(text) <= width:
            return text
    return f"{road.short} {symbols.earlier}{hidden}"

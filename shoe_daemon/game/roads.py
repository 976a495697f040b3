"""
The roads: the past results of a shoe, as players read them.

All roads are functions of the results of one shoe. They are built again after every change,
because an incremental road cannot follow a correction, and every derived road is read from the
logical columns of the big road, never from the six rows on which it is drawn.

The bead plate has every round. The big road has one cell a Player or Banker win, a column a
streak. A derived road compares each such cell with the columns one, two or three before it (big
eye boy, small road, cockroach pig): red where the shoe repeats itself, blue where it does not;
these colours are independent of Player and Banker.

The rules are those of the roads of a live casino, compared over eight shoes; where displays
differ there is an option.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.result_notation import Result

ROWS: Final = 6
"""Rows of every road."""


class LeadingTies(StrEnum):
    """
    Where ties go that come before any win.

    ``merge``: onto the first win's cell. ``own_column``: into a column of their own, of
    which the derived roads take account.
    """

    MERGE = "merge"
    OWN_COLUMN = "own_column"


class Tail(StrEnum):
    """
    How a streak goes on that was turned to the right before the lowest row.

    ``flat``: along its row. ``drop``: down again as soon as there is room.
    """

    FLAT = "flat"
    DROP = "drop"


class Mark(StrEnum):
    """What a derived road says of a cell: ``red`` repeats, ``blue`` does not."""

    RED = "red"
    BLUE = "blue"


class BeadCell(Struct, frozen=True):
    """A round on the bead plate, which fills column by column."""

    banker_pair: bool
    col: int
    natural: bool
    outcome: Outcome
    player_pair: bool
    row: int


class BigCell(Struct, frozen=True):
    """
    A win on the big road: where it is drawn, and where it stands in its streak.

    Attributes:
        banker_pair: Of the win itself: the pairs of a tie are only on the bead plate.
        col: Where it is drawn, from 0.
        column: The streak, from 0.
        depth: Its place in the streak, from 0.
        player_pair: As `banker_pair`.
        row: Where it is drawn, 0 to 5.
        side: Who won; ``tie`` for ties with no win before them.
        ties: Ties since this win, and before it those that lead the shoe. In a column
            of their own the first leading tie is the cell itself and is not counted.
    """

    banker_pair: bool
    col: int
    column: int
    depth: int
    player_pair: bool
    row: int
    side: Outcome
    ties: int


class MarkCell(Struct, frozen=True):
    """A mark on a derived road; `column` and `depth` are those of marks of one colour."""

    col: int
    column: int
    depth: int
    mark: Mark
    row: int


class Place(Struct, frozen=True):
    """Where a cell would be drawn."""

    col: int
    row: int


class MarkPlace(Struct, frozen=True):
    """What a mark would be, and where it would be drawn."""

    col: int
    mark: Mark
    row: int


class Ask(Struct, frozen=True):
    """What every road would get if the next round went to one side; None: no mark."""

    big: Place
    big_eye: MarkPlace | None
    cockroach: MarkPlace | None
    small: MarkPlace | None


class Asks(Struct, frozen=True):
    """What the next round would bring."""

    banker: Ask
    player: Ask


class RoadCounts(Struct, frozen=True):
    """The rounds on the roads."""

    banker: int
    banker_pair: int
    natural: int
    player: int
    player_pair: int
    rounds: int
    tie: int


class Roads(Struct, frozen=True):
    """All roads of a shoe, laid out on six rows."""

    ask: Asks
    bead: tuple[BeadCell, ...]
    big: tuple[BigCell, ...]
    big_eye: tuple[MarkCell, ...]
    cockroach: tuple[MarkCell, ...]
    counts: RoadCounts
    small: tuple[MarkCell, ...]


def build_roads(
    results: Sequence[Result],
    *,
    leading_ties: LeadingTies = LeadingTies.MERGE,
    tail: Tail = Tail.FLAT,
) -> Roads:
    """Return the roads of a shoe's results, the oldest first."""
    columns = _streaks(results, leading_ties)
    heights = [len(column) for column in columns]
    big, derived = _RoadGrid(tail), [_DerivedRoad(back, tail) for back in _COLUMNS_BACK]
    for road in derived:
        road.draw(heights)
    cells = tuple(_big_cells(columns, big))
    big_eye, small, cockroach = (tuple(road.cells) for road in derived)
    banker, player = (
        _ask_of_side(_streaks([*results, Result(side)], leading_ties), heights, big, derived)
        for side in (Outcome.BANKER, Outcome.PLAYER)
    )
    return Roads(
        ask=Asks(banker=banker, player=player),
        bead=tuple(_bead_cells(results)),
        big=cells,
        big_eye=big_eye,
        cockroach=cockroach,
        counts=_counts(results),
        small=small,
    )


_COLUMNS_BACK: Final = (1, 2, 3)
"""Columns back with which big eye boy, small road and cockroach pig compare."""


class _RoadGrid:
    """
    The grid of one road, filled cell by cell.

    A column goes down and, where the way is barred, to the right: the dragon's tail. The next
    one begins right of its head, beside the tail or below it.
    """

    def __init__(self, tail: Tail) -> None:
        self._drops = tail is Tail.DROP
        self._taken: set[tuple[int, int]] = set()
        self._head = -1
        self._last = (-1, 0)

    def next_cell(self, depth: int) -> tuple[int, int]:
        """
        Return the next cell, (col, row).

        For `depth` 0 it is the first cell of a new column, else the next cell of the last
        column.
        """
        col, row = self._last
        if depth == 0:
            col, row = self._head + 1, 0
        elif (
            (self._drops or col == self._head)
            and row + 1 < ROWS
            and (col, row + 1) not in self._taken
        ):
            return col, row + 1
        while (col, row) in self._taken:
            col += 1
        return col, row

    def add_cell(self, depth: int) -> tuple[int, int]:
        """Occupy the next cell and return it."""
        self._last = self.next_cell(depth)
        self._taken.add(self._last)
        if depth == 0:
            self._head = self._last[0]
        return self._last


class _StreakCell(Struct):
    result: Result
    ties: int = 0


def _streaks(results: Iterable[Result], leading_ties: LeadingTies) -> list[list[_StreakCell]]:
    """Return the streaks, each a list of its cells; no row ends them."""
    columns: list[list[_StreakCell]] = []
    for result in results:
        tie = result.outcome is Outcome.TIE
        if not columns:
            waits = tie and leading_ties is LeadingTies.MERGE
            columns.append([_StreakCell(Result(Outcome.TIE), 1) if waits else _StreakCell(result)])
            continue
        last = columns[-1][-1]
        if tie:
            last.ties += 1
        elif last.result.outcome is Outcome.TIE and leading_ties is LeadingTies.MERGE:
            last.result = result
        elif last.result.outcome is result.outcome:
            columns[-1].append(_StreakCell(result))
        else:
            columns.append([_StreakCell(result)])
    return columns


class _DerivedRoad:
    """A derived road, which compares every win with the column `back` before it."""

    def __init__(self, back: int, tail: Tail) -> None:
        self._back = back
        self._grid = _RoadGrid(tail)
        self.cells: list[MarkCell] = []

    def draw(self, heights: Sequence[int]) -> None:
        """Draw the marks of a big road with columns of these heights."""
        for n, height in enumerate(heights):
            for depth in range(height):
                cell = self.next(heights, n, depth)
                if cell is not None:
                    self._grid.add_cell(cell.depth)
                    self.cells.append(cell)

    def next(self, heights: Sequence[int], n: int, depth: int) -> MarkCell | None:
        """Return what the cell at this depth of column `n` adds; None: the road has not begun."""
        mark = self._mark(heights, n, depth)
        if mark is None:
            return None
        column = inside = 0
        if self.cells:
            last = self.cells[-1]
            goes_on = last.mark is mark
            column = last.column if goes_on else last.column + 1
            inside = last.depth + 1 if goes_on else 0
        col, row = self._grid.next_cell(inside)
        return MarkCell(col=col, column=column, depth=inside, mark=mark, row=row)

    def _mark(self, heights: Sequence[int], n: int, depth: int) -> Mark | None:
        """
        Compare a cell with the columns before it.

        A streak that goes on: blue one cell below the end of the column `back` before
        it, red beside that column and further down. A new streak: red where the two
        columns before it, `back` apart, are of one height.
        """
        back = self._back
        if n < back or (n == back and depth == 0):
            return None
        if depth == 0:
            repeats = heights[n - 1] == heights[n - 1 - back]
        else:
            repeats = depth != heights[n - back]
        return Mark.RED if repeats else Mark.BLUE


def _bead_cells(results: Iterable[Result]) -> Iterable[BeadCell]:
    for n, result in enumerate(results):
        yield BeadCell(
            banker_pair=result.banker_pair,
            col=n // ROWS,
            natural=result.natural,
            outcome=result.outcome,
            player_pair=result.player_pair,
            row=n % ROWS,
        )


def _big_cells(columns: Iterable[Iterable[_StreakCell]], grid: _RoadGrid) -> Iterable[BigCell]:
    for n, column in enumerate(columns):
        for depth, cell in enumerate(column):
            col, row = grid.add_cell(depth)
            yield BigCell(
                banker_pair=cell.result.banker_pair,
                col=col,
                column=n,
                depth=depth,
                player_pair=cell.result.player_pair,
                row=row,
                side=cell.result.outcome,
                ties=cell.ties,
            )


def _ask_of_side(
    asked: Sequence[Sequence[_StreakCell]],
    heights: Sequence[int],
    big: _RoadGrid,
    derived: Iterable[_DerivedRoad],
) -> Ask:
    """Return the cells that one more win adds to every road."""
    n, depth = len(asked) - 1, len(asked[-1]) - 1
    # The first win may take over the square of the ties before it.
    col, row = big.next_cell(depth) if n or depth else (0, 0)
    big_eye, small, cockroach = (_mark_place(road.next(heights, n, depth)) for road in derived)
    return Ask(big=Place(col=col, row=row), big_eye=big_eye, cockroach=cockroach, small=small)


def _mark_place(cell: MarkCell | None) -> MarkPlace | None:
    return None if cell is None else MarkPlace(col=cell.col, mark=cell.mark, row=cell.row)


def _counts(results: Sequence[Result]) -> RoadCounts:
    outcomes = Counter(result.outcome for result in results)
    return RoadCounts(
        banker=outcomes[Outcome.BANKER],
        banker_pair=sum(result.banker_pair for result in results),
        natural=sum(result.natural for result in results),
        player=outcomes[Outcome.PLAYER],
        player_pair=sum(result.player_pair for result in results),
        rounds=len(results),
        tie=outcomes[Outcome.TIE],
    )

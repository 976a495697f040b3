"""
The roads: what players read the shoe's past from.

All of them are functions of the results of one shoe. They are made anew on every
change, because an incremental road cannot follow a correction, and every derived
road is read from the logical columns of the big road, never from the six rows on
which it is drawn.

The bead plate has every round. The big road has one cell a Player or Banker win, a
column a streak. A derived road compares each such cell with the columns one, two or
three before it (big eye boy, small road, cockroach pig): red where the shoe repeats
itself, blue where it does not; these colours say nothing of Player and Banker.

The rules are those of the roads of a live casino, which they were compared with over
eight shoes; where displays differ there is an option.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple

from msgspec import Struct

from shoe_daemon.game.round import Outcome

__all__ = [
    "ROWS",
    "Ask",
    "Asks",
    "BeadCell",
    "BigCell",
    "LeadingTies",
    "Mark",
    "MarkCell",
    "MarkPlace",
    "Place",
    "Result",
    "RoadCounts",
    "Roads",
    "Tail",
    "roads",
]

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
    """
    What a derived road says of a cell: ``red`` repeats, ``blue`` does not.
    """

    RED = "red"
    BLUE = "blue"


class Result(NamedTuple):
    """
    What the roads need of one round.

    Attributes:
        outcome: Which hand won.
        player_pair: The Player's first two cards were a pair.
        banker_pair: The Banker's were.
        natural: Either hand was a two-card 8 or 9.
    """

    outcome: Outcome
    player_pair: bool = False
    banker_pair: bool = False
    natural: bool = False


class BeadCell(Struct, frozen=True):
    """
    A round on the bead plate, which fills column by column.
    """

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
    """
    A mark on a derived road; `column` and `depth` are those of marks of one colour.
    """

    col: int
    column: int
    depth: int
    mark: Mark
    row: int


class Place(Struct, frozen=True):
    """
    Where a cell would be drawn.
    """

    col: int
    row: int


class MarkPlace(Struct, frozen=True):
    """
    What a mark would be, and where it would be drawn.
    """

    col: int
    mark: Mark
    row: int


class Ask(Struct, frozen=True):
    """
    What every road would get if the next round went to one side; None: no mark.
    """

    big: Place
    big_eye: MarkPlace | None
    cockroach: MarkPlace | None
    small: MarkPlace | None


class Asks(Struct, frozen=True):
    """
    What the next round would bring.
    """

    banker: Ask
    player: Ask


class RoadCounts(Struct, frozen=True):
    """
    The rounds on the roads.
    """

    banker: int
    banker_pair: int
    natural: int
    player: int
    player_pair: int
    rounds: int
    tie: int


class Roads(Struct, frozen=True):
    """
    All roads of a shoe, laid out on six rows.
    """

    ask: Asks
    bead: tuple[BeadCell, ...]
    big: tuple[BigCell, ...]
    big_eye: tuple[MarkCell, ...]
    cockroach: tuple[MarkCell, ...]
    counts: RoadCounts
    small: tuple[MarkCell, ...]


def roads(
    results: Sequence[Result],
    *,
    leading_ties: LeadingTies = LeadingTies.MERGE,
    tail: Tail = Tail.FLAT,
) -> Roads:
    """
    Return the roads of a shoe's results, the oldest first.
    """
    columns = _columns(results, leading_ties)
    big_eye, small, cockroach = derived = tuple(_derived(columns, back, tail) for back in _BACK)
    banker, player = (
        _ask(results, side, [len(marks) for marks in derived], leading_ties, tail)
        for side in (Outcome.BANKER, Outcome.PLAYER)
    )
    return Roads(
        ask=Asks(banker=banker, player=player),
        bead=tuple(_bead(results)),
        big=tuple(_big(columns, tail)),
        big_eye=big_eye,
        cockroach=cockroach,
        counts=_counts(results),
        small=small,
    )


_BACK: Final = (1, 2, 3)
"""How many columns back the big eye boy, the small road and the cockroach pig look."""


class _Cell:
    __slots__ = ("result", "ties")

    def __init__(self, result: Result, ties: int = 0) -> None:
        self.result = result
        self.ties = ties


def _columns(results: Iterable[Result], leading_ties: LeadingTies) -> list[list[_Cell]]:
    """
    Return the streaks, each a list of its cells; no row ends them.
    """
    columns: list[list[_Cell]] = []
    for result in results:
        tie = result.outcome is Outcome.TIE
        if not columns:
            waits = tie and leading_ties is LeadingTies.MERGE
            columns.append([_Cell(Result(Outcome.TIE), 1) if waits else _Cell(result)])
            continue
        last = columns[-1][-1]
        if tie:
            last.ties += 1
        elif last.result.outcome is Outcome.TIE and leading_ties is LeadingTies.MERGE:
            last.result = result
        elif last.result.outcome is result.outcome:
            columns[-1].append(_Cell(result))
        else:
            columns.append([_Cell(result)])
    return columns


def _marks(columns: Sequence[Sequence[object]], back: int) -> list[Mark]:
    """
    Return a derived road's marks, the oldest first.

    A streak that goes on is compared with the column `back` before it: blue one cell
    below that column's end, red beside it and further down. A new streak is red
    where the two columns before it, `back` apart, are of one height.
    """
    heights = [len(column) for column in columns]
    marks: list[Mark] = []
    for n, height in enumerate(heights):
        if n > back:
            marks.append(Mark.RED if heights[n - 1] == heights[n - 1 - back] else Mark.BLUE)
        if n >= back:
            beside = heights[n - back]
            marks += (
                Mark.BLUE if depth == beside + 1 else Mark.RED for depth in range(2, height + 1)
            )
    return marks


def _laid_out(heights: Iterable[int], tail: Tail) -> list[list[tuple[int, int]]]:
    """
    Return where the cells of each column are drawn: (col, row) of six rows.

    A column goes down and, where the way is barred, to the right: the dragon's tail.
    The next one begins right of its head, beside the tail or below it.
    """
    taken: set[tuple[int, int]] = set()
    places: list[list[tuple[int, int]]] = []
    head = -1
    for height in heights:
        head += 1
        while (head, 0) in taken:
            head += 1
        col, row, turned = head, 0, False
        taken.add((col, row))
        here = [(col, row)]
        for _ in range(1, height):
            below = (col, row + 1)
            if (tail is Tail.DROP or not turned) and below[1] < ROWS and below not in taken:
                col, row = below
            else:
                turned = True
                col += 1
                while (col, row) in taken:
                    col += 1
            taken.add((col, row))
            here.append((col, row))
        places.append(here)
    return places


def _bead(results: Iterable[Result]) -> Iterable[BeadCell]:
    for n, result in enumerate(results):
        yield BeadCell(
            banker_pair=result.banker_pair,
            col=n // ROWS,
            natural=result.natural,
            outcome=result.outcome,
            player_pair=result.player_pair,
            row=n % ROWS,
        )


def _big(columns: list[list[_Cell]], tail: Tail) -> Iterable[BigCell]:
    for n, depth, (col, row) in _numbered(columns, tail):
        cell = columns[n][depth]
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


def _derived(columns: Sequence[Sequence[object]], back: int, tail: Tail) -> tuple[MarkCell, ...]:
    streaks: list[list[Mark]] = [list(run) for _, run in groupby(_marks(columns, back))]
    return tuple(
        MarkCell(col=col, column=n, depth=depth, mark=streaks[n][depth], row=row)
        for n, depth, (col, row) in _numbered(streaks, tail)
    )


def _numbered(
    columns: Sequence[Sequence[object]], tail: Tail
) -> Iterable[tuple[int, int, tuple[int, int]]]:
    """
    Yield every cell's column, its depth, and where it is drawn.
    """
    for n, places in enumerate(_laid_out([len(column) for column in columns], tail)):
        for depth, place in enumerate(places):
            yield n, depth, place


def _ask(
    results: Sequence[Result],
    side: Outcome,
    marks_now: Sequence[int],
    leading_ties: LeadingTies,
    tail: Tail,
) -> Ask:
    """
    Say what a win of one side would add: `marks_now` are the marks that there are.
    """
    columns = _columns([*results, Result(side)], leading_ties)
    *_, (_, _, (col, row)) = _numbered(columns, tail)
    big_eye, small, cockroach = (
        _new_mark(_derived(columns, back, tail), now)
        for back, now in zip(_BACK, marks_now, strict=True)
    )
    return Ask(big=Place(col=col, row=row), big_eye=big_eye, cockroach=cockroach, small=small)


def _new_mark(marks: Sequence[MarkCell], now: int) -> MarkPlace | None:
    if len(marks) == now:
        return None
    new = marks[-1]
    return MarkPlace(col=new.col, mark=new.mark, row=new.row)


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

"""The five roads with their counts: in rows of a board, or below one another for `roads`."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.appearance import Symbols, Theme
from shoe_daemon.display.terminal.road_grid import (
    DERIVED,
    HEIGHT,
    Road,
    RoadGrid,
    bead_plate,
    big_road_for,
    derived_roads,
)
from shoe_daemon.display.terminal.text import beside, line
from shoe_daemon.event_text import aborted_text
from shoe_daemon.game import (
    Ask,
    Asks,
    LeadingTies,
    Mark,
    MarkPlace,
    Outcome,
    RoadCounts,
    Roads,
    card_text,
)
from shoe_daemon.mqtt.documents import History, RoadsNow
from shoe_daemon.table import Counts, PastRound

COUNTS_WIDTH: Final = 26
"""Columns of the counts."""

_BAR_WIDTH: Final = 9
_GAP: Final = 2
_THREE_ROWS: Final = 3
_LOG_WIDTH: Final = 64
_MIN_BEAD_COLUMNS: Final = 15
"""Columns of the bead plate that have priority over the last rounds."""

_USUAL_WIDTH: Final = 80
_MIN_WIDTH_FOR_COUNTS: Final = 56
"""Columns from which the counts have room beside the bead plate."""


def board_rows(
    roads: RoadsNow | None, history: History | None, theme: Theme, width: int, rows: int
) -> list[RenderableType]:
    """Arrange the roads and counts of a board in one row, in two, or in three."""
    if roads is None:
        return [Padding(Text("No roads yet", appearance.RAIL_DIM, justify="center"), (3, 0, 0, 0))]
    beads = bead_plate(roads.bead, theme.symbols)
    big = big_road_for(roads, roads.options.leading_ties, theme.symbols, width)
    if rows < _THREE_ROWS:
        upper = RoadGrid(big, theme, line(counts_line(roads.counts), appearance.RAIL))
        if rows == 1:
            return [upper]
        small = width * 2 // 5 // beads.pitch * beads.pitch
        rest = width - small - _GAP
        derived = _derived(roads, theme, rest)
        lower = beside((RoadGrid(beads, theme), small), (derived, rest), gap=_GAP)
        return [upper, lower]
    room = width - COUNTS_WIDTH - 2 * _GAP - _LOG_WIDTH
    log = _last_rounds(history) if room >= beads.pitch * _MIN_BEAD_COLUMNS else None
    first = _beads_and_counts(beads, roads.counts, theme, width, log)
    return [first, RoadGrid(big, theme), _derived(roads, theme, width)]


def _beads_and_counts(
    beads: Road,
    road_counts: RoadCounts,
    theme: Theme,
    width: int,
    log: RenderableType | None = None,
) -> RenderableType:
    """Arrange the bead plate with the counts and, if given, the last rounds."""
    aside: list[tuple[RenderableType, int]] = [
        (Group("", counts_block(road_counts, theme)), COUNTS_WIDTH)
    ]
    if log is not None:
        aside.append((log, _LOG_WIDTH))
    room = width - sum(columns + _GAP for _, columns in aside)
    return beside((RoadGrid(beads, theme), room), *aside, gap=_GAP)


def _last_rounds(history: History | None) -> RenderableType:
    rounds = history.rounds[-(HEIGHT - 1) :] if history else ()
    lines = [line(_past_round(past), appearance.RAIL) for past in reversed(rounds)]
    return Group(line("Last rounds", appearance.RAIL_BRIGHT), *lines)


def _past_round(past: PastRound) -> str:
    """Write a past round in one line."""
    if past.aborted is not None:
        return f"{past.round:>4}  aborted: {aborted_text(past.aborted)}"
    if past.held:
        return f"{past.round:>4}  the result waits for a decision"
    player, banker = (
        f"{' '.join(map(card_text, cards))} = {'?' if total is None else total}"
        for cards, total in ((past.player, past.player_total), (past.banker, past.banker_total))
    )
    outcome = "void" if past.voided else past.outcome.value if past.outcome else "?"
    entered = ", by hand" if past.entered else ""
    return f"{past.round:>4}  Player {player:<16} Banker {banker:<16} {outcome}{entered}"


def _derived(roads: Roads, theme: Theme, width: int) -> RenderableType:
    """Arrange the derived roads side by side, close together where there is little room."""
    each = (width + _GAP) // len(DERIVED) - _GAP
    made = derived_roads(roads, theme.symbols, 2)
    if any(road.width > each for road in made):
        made = derived_roads(roads, theme.symbols, 1)
    return _side_by_side(made, theme, each)


def _side_by_side(roads: list[Road], theme: Theme, each: int) -> RenderableType:
    return beside(*((RoadGrid(road, theme), each) for road in roads), gap=_GAP)


def scoreboard(
    roads: Roads, ties: LeadingTies, symbols: Symbols, width: int
) -> tuple[RenderableType, int]:
    """
    Draw all roads below one another, as `shoe-daemon roads` prints them.

    Returns:
        The picture, and the columns that it takes.
    """
    width, theme = max(width, 1), Theme(symbols, appearance.ON_TERMINAL)
    beads = bead_plate(roads.bead, symbols)
    big = big_road_for(roads, ties, symbols, width)
    rows = _derived_rows(roads, symbols, width)
    usual = max(_USUAL_WIDTH, big.width, beads.width + COUNTS_WIDTH + _GAP, *map(_width, rows))
    width = min(width, usual)
    parts = [_first_rows(beads, roads, theme, width), "", RoadGrid(big, theme), ""]
    for row in rows:
        each = (width + _GAP) // len(row) - _GAP
        parts += [_side_by_side(row, theme, each), ""]
    parts += [next_round(roads.ask, theme), "", *_legend(symbols)]
    return Group(*parts), width


def _first_rows(beads: Road, roads: Roads, theme: Theme, width: int) -> RenderableType:
    if width < _MIN_WIDTH_FOR_COUNTS:
        return Group(RoadGrid(beads, theme), "", counts_block(roads.counts, theme))
    return _beads_and_counts(beads, roads.counts, theme, width)


def _derived_rows(roads: Roads, symbols: Symbols, width: int) -> list[list[Road]]:
    """Choose the arrangement of the derived roads: in one row if they fit, else in three."""
    wide, narrow = (derived_roads(roads, symbols, pitch) for pitch in (2, 1))
    for row in (wide, narrow):
        if _width(row) <= width:
            return [row]
    fits = all(road.width <= width for road in wide)
    return [[road] for road in (wide if fits else narrow)]


def _width(row: list[Road]) -> int:
    return (max(road.width for road in row) + _GAP) * len(row) - _GAP


def _legend(symbols: Symbols) -> list[Text]:
    dim = appearance.ON_TERMINAL.dim
    _, banker, player, _ = symbols.pairs
    pairs = f"{banker} Banker pair  {player} Player pair  / tie  2 two ties  "
    natural = appearance.OUTCOMES[Outcome.PLAYER] + appearance.NATURAL if symbols.lines else dim
    sign = symbols.outcomes[Outcome.PLAYER] if symbols.lines else symbols.corners[2]
    red, blue = (
        " ".join(symbols.marks[road][mark] for road in DERIVED) for mark in (Mark.RED, Mark.BLUE)
    )
    marks = f"{red}  red: as before  {blue}  blue: not as before"
    return [
        Text.assemble((pairs, dim), (sign, natural), (" natural", dim), no_wrap=True),
        Text(marks, dim, no_wrap=True),
    ]


def counts_block(counts: Counts | RoadCounts, theme: Theme) -> Text:
    """Draw the counts in six rows, the outcomes with bars."""
    rounds, tones = max(counts.rounds, 1), theme.tones
    text = Text.assemble((f"Rounds {counts.rounds:>3}\n", tones.title), no_wrap=True)
    for outcome, count in (
        (Outcome.BANKER, counts.banker),
        (Outcome.PLAYER, counts.player),
        (Outcome.TIE, counts.tie),
    ):
        length = (_BAR_WIDTH * min(count, rounds) + rounds // 2) // rounds
        bar = theme.symbols.bar * max(length, min(count, 1))
        percent = f"{(100 * count + rounds // 2) // rounds} %"
        text.append(f"{outcome.value.title():<7}{count:>3} ", tones.text)
        text.append(bar, appearance.BARS[outcome])
        text.append(f"{percent:>{COUNTS_WIDTH - 11 - len(bar)}}\n", tones.dim)
    text.append(f"Naturals {counts.natural}\n", tones.text)
    text.append(f"Pairs: Banker {counts.banker_pair}, Player {counts.player_pair}", tones.text)
    return text


def counts_line(counts: RoadCounts) -> str:
    """Write the counts in one line."""
    return (
        f"B {counts.banker} · P {counts.player} · T {counts.tie} · "
        f"pairs B {counts.banker_pair}, P {counts.player_pair} · naturals {counts.natural}"
    )


def next_round(asks: Asks, theme: Theme) -> Text:
    """Draw the marks that the derived roads would get from a win of either side."""
    text = Text("Next round", theme.tones.title, no_wrap=True)
    for start, side, ask in ((12, Outcome.BANKER, asks.banker), (24, Outcome.PLAYER, asks.player)):
        text.pad_right(start - text.cell_len)
        text.append(f" {theme.symbols.outcomes[side]} ", appearance.OUTCOMES[side])
        text.append_text(_marks(ask, theme))
    return text


def _marks(ask: Ask, theme: Theme) -> Text:
    text = Text(" ", appearance.PAPER)
    for road in DERIVED:
        found: MarkPlace | None = getattr(ask, road)
        if found is None:
            text.append(f"{theme.symbols.empty} ")
        else:
            text.append(f"{theme.symbols.marks[road][found.mark]} ", appearance.MARKS[found.mark])
    return text

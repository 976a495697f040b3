"""
Statistics beside the roads: counts of the shoe, and the marks of the next round.
"""

from __future__ import annotations

from typing import Final

from rich.text import Text

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.symbols import Theme
from shoe_daemon.game import Ask, Asks, MarkPlace, Outcome, RoadCounts
from shoe_daemon.table import Counts

__all__ = ["COUNTS_WIDTH", "counts_block", "counts_line", "next_round"]

COUNTS_WIDTH: Final = 26
"""Columns of the counts."""

_BAR_WIDTH: Final = 9
_DERIVED: Final = ("big_eye", "small", "cockroach")


def counts_block(counts: Counts | RoadCounts, theme: Theme) -> Text:
    """
    Draw the counts in six rows, the outcomes with bars.
    """
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
        text.append(bar, palette.BARS[outcome])
        text.append(f"{percent:>{COUNTS_WIDTH - 11 - len(bar)}}\n", tones.dim)
    text.append(f"Naturals {counts.natural}\n", tones.text)
    text.append(f"Pairs: Banker {counts.banker_pair}, Player {counts.player_pair}", tones.text)
    return text


def counts_line(counts: RoadCounts) -> str:
    """
    Write the counts in one line.
    """
    return (
        f"B {counts.banker} · P {counts.player} · T {counts.tie} · "
        f"pairs B {counts.banker_pair}, P {counts.player_pair} · naturals {counts.natural}"
    )


def next_round(asks: Asks, theme: Theme) -> Text:
    """
    Draw the marks that the derived roads would get from a win of either side.
    """
    text = Text("Next round", theme.tones.title, no_wrap=True)
    for start, side, ask in (
        (12, Outcome.BANKER, asks.banker),
        (24, Outcome.PLAYER, asks.player),
    ):
        text.pad_right(start - text.cell_len)
        text.append(f" {theme.symbols.outcomes[side]} ", palette.OUTCOMES[side])
        text.append_text(_marks(ask, theme))
    return text


def _marks(ask: Ask, theme: Theme) -> Text:
    text = Text(" ", palette.PAPER)
    for road in _DERIVED:
        found: MarkPlace | None = getattr(ask, road)
        if found is None:
            text.append(f"{theme.symbols.empty} ")
        else:
            text.append(f"{theme.symbols.marks[road][found.mark]} ", palette.MARKS[found.mark])
    return text

"""
What the roads come to: the counts, and what the next round would bring.
"""

from __future__ import annotations

from typing import Final, Protocol

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas
from shoe_daemon.display.terminal.symbols import Look, Signs
from shoe_daemon.game import Ask, Asks, MarkPlace, Outcome

__all__ = ["COUNTS", "Counted", "asks_width", "counts_line", "draw_asks", "draw_counts"]

COUNTS: Final = 26
"""Columns of the counts."""

_BAR: Final = 9
_ROADS: Final = ("big_eye", "small", "cockroach")


class Counted(Protocol):
    """
    The counts of a shoe, from its roads or from its table.
    """

    @property
    def banker(self) -> int:
        """
        Rounds that the Banker won.
        """
        ...

    @property
    def banker_pair(self) -> int:
        """
        Rounds with a pair of the Banker's.
        """
        ...

    @property
    def natural(self) -> int:
        """
        Rounds with a natural.
        """
        ...

    @property
    def player(self) -> int:
        """
        Rounds that the Player won.
        """
        ...

    @property
    def player_pair(self) -> int:
        """
        Rounds with a pair of the Player's.
        """
        ...

    @property
    def rounds(self) -> int:
        """
        All rounds.
        """
        ...

    @property
    def tie(self) -> int:
        """
        Ties.
        """
        ...


def draw_counts(canvas: Canvas, box: Box, counts: Counted, look: Look) -> None:
    """
    Draw the counts on six rows, the outcomes with bars.
    """
    outcomes = (
        (Outcome.BANKER, counts.banker),
        (Outcome.PLAYER, counts.player),
        (Outcome.TIE, counts.tie),
    )
    most = max(counts.rounds, 1)
    canvas.put(box.x, box.y, f"Rounds {counts.rounds:>3}", look.tones.title)
    for row, (outcome, count) in enumerate(outcomes, box.y + 1):
        canvas.put(box.x, row, f"{outcome.value.title():<7}{count:>3}", look.tones.text)
        length = max((_BAR * min(count, most) + most // 2) // most, min(count, 1))
        canvas.put(box.x + 11, row, look.signs.bar * length, palette.BARS[outcome])
        canvas.right(box.x + COUNTS, row, f"{(100 * count + most // 2) // most} %", look.tones.dim)
    canvas.put(box.x, box.y + 4, f"Naturals {counts.natural}", look.tones.text)
    pairs = f"Pairs: Banker {counts.banker_pair}, Player {counts.player_pair}"
    canvas.put(box.x, box.y + 5, pairs, look.tones.text)


def counts_line(counts: Counted) -> str:
    """
    Write the counts on one line.
    """
    return (
        f"B {counts.banker} · P {counts.player} · T {counts.tie} · "
        f"pairs B {counts.banker_pair}, P {counts.player_pair} · naturals {counts.natural}"
    )


def asks_width(signs: Signs) -> int:
    """
    Count the columns of what is next.
    """
    return 33 + signs.wide


def draw_asks(canvas: Canvas, at: tuple[int, int], ask: Asks, look: Look) -> None:
    """
    Draw what the three derived roads would get from either side.
    """
    x, y = at
    canvas.put(x, y, "Next round", look.tones.title)
    for start, side, each in (
        (x + 12, Outcome.BANKER, ask.banker),
        (x + 12 + 12, Outcome.PLAYER, ask.player),
    ):
        canvas.put(start, y, f" {look.signs.outcomes[side]} ", palette.OUTCOMES[side])
        _draw_ask(canvas, start + 2 + look.signs.wide, y, each, look.signs)


def _draw_ask(canvas: Canvas, x: int, y: int, ask: Ask, signs: Signs) -> None:
    canvas.fill(x, y, 7, 1, palette.PAPER)
    for number, road in enumerate(_ROADS, 1):
        found: MarkPlace | None = getattr(ask, road)
        sign = signs.empty if found is None else signs.marks[road][found.mark]
        style = palette.PAPER if found is None else palette.MARKS[found.mark]
        canvas.put(x + 2 * number - 1, y, sign, style)

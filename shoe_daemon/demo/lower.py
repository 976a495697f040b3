"""
Below the felt: the bead road, the counts, what happened lately, how the parts are.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.demo.board import Bead, Board
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit
from shoe_daemon.game.round import Outcome

__all__ = ["draw_foot", "draw_log", "draw_road"]

_DEEP: Final = 6
"""Rows of a bead road, as on every table."""

NO_BROKER_FOR_A_TABLE: Final = "demo broker: no keepalive wills, no access control"
_LEAST_FOOT: Final = 3
_BEAD: Final = 4
_COUNTS: Final = 26
_BAR: Final = 10
_LETTERS: Final = {Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T", None: "?"}


def draw_road(canvas: Canvas, box: Box, board: Board) -> None:
    """
    Draw the last results, column by column, and what they come to.
    """
    y = box.y + (box.height - _DEEP) // 2
    columns = (box.width - _COUNTS - 4) // _BEAD
    beads = board.beads
    # Whole columns fall off at the left, so that a bead never changes its row.
    first = max(-(-len(beads) // _DEEP) - columns, 0) * _DEEP
    for number in range(columns * _DEEP):
        x, row = 2 + number // _DEEP * _BEAD, y + number % _DEEP
        if first + number < len(beads):
            _draw_bead(canvas, x, row, beads[first + number])
        else:
            canvas.put(x, row, " · ", palette.CALM_EDGE)
    _draw_counts(canvas, Box(box.width - _COUNTS - 1, y, _COUNTS, _DEEP), board)


def _draw_bead(canvas: Canvas, x: int, y: int, bead: Bead) -> None:
    style = palette.OUTCOMES[bead.outcome]
    left = "•" if bead.player_pair else " "
    right = "•" if bead.banker_pair else " "
    canvas.put(x, y, f"{left}{_LETTERS[bead.outcome]}{right}", style)


def _draw_counts(canvas: Canvas, box: Box, board: Board) -> None:
    counts = board.table.counts
    outcomes = (
        (Outcome.PLAYER, counts.player),
        (Outcome.BANKER, counts.banker),
        (Outcome.TIE, counts.tie),
    )
    most = max(counts.rounds, 1)
    canvas.put(box.x, box.y, f"Rounds {counts.rounds:>3}", palette.RAIL_BRIGHT)
    for row, (outcome, count) in enumerate(outcomes, box.y + 1):
        canvas.put(box.x, row, f"{outcome.value.title():<7}{count:>3}", palette.RAIL)
        length = round(_BAR * count / most)
        canvas.put(box.x + 11, row, " " * length, palette.OUTCOMES[outcome])
        canvas.right(box.x + box.width, row, f"{round(100 * count / most)} %", palette.RAIL_DIM)
    more = f"Naturals {counts.natural}"
    pairs = f"Pairs: Player {counts.player_pair}, Banker {counts.banker_pair}"
    canvas.put(box.x, box.y + 4, more, palette.RAIL)
    canvas.put(box.x, box.y + 5, pairs, palette.RAIL)


def draw_log(canvas: Canvas, box: Box, board: Board) -> None:
    """
    Tell what happened lately, where there is room for it.
    """
    if box.height < 2:  # noqa: PLR2004 - a heading and a line
        return
    canvas.put(2, box.y, "Lately", palette.RAIL_BRIGHT)
    for row, line in enumerate(board.lines[-(box.height - 1) :], box.y + 1):
        style = palette.BAD if line.lstrip().startswith("!") else palette.RAIL_DIM
        canvas.put(2, row, fit(line, box.width - 4), style)


def draw_foot(canvas: Canvas, box: Box, board: Board) -> None:
    """
    Tell how shoe and broker are, and where to look for oneself.
    """
    health, places = board.health, board.places
    parts = (
        (health.reader_up, _shoe_line(board), f"journal {places.journal}"),
        (health.broker_up, _broker_line(board), "Ctrl-C ends"),
    )
    for row, (up, text, aside) in enumerate(parts, box.y):
        canvas.put(1, row, "●" if up else "✗", palette.GOOD if up else palette.BAD)
        canvas.put(3, row, fit(text, box.width - 4), palette.RAIL if up else palette.BAD)
        if len(text) + len(aside) + 5 <= box.width:
            canvas.right(box.width - 1, row, aside, palette.RAIL_DIM)
    canvas.put(1, box.y + 2, fit(places.subscribe, box.width - 2), palette.RAIL)
    if box.height > _LEAST_FOOT:
        canvas.put(1, box.y + 3, NO_BROKER_FOR_A_TABLE, palette.RAIL_DIM)


def _shoe_line(board: Board) -> str:
    health, places = board.health, board.places
    if not health.reader_up:
        return f"shoe {places.shoe} lost: {health.reader_detail}"
    heard = "silent so far" if health.silence is None else f"heard {health.silence} s ago"
    return f"shoe {places.shoe}, {heard}"


def _broker_line(board: Board) -> str:
    health, places = board.health, board.places
    where = f"broker {places.host}:{places.port}"
    if not health.broker_up:
        return f"{where} lost, {health.queued} events wait for it"
    return f"{where}, {health.published} events acknowledged, {health.seen} seen"

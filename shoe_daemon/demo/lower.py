"""
Below the felt: the bead road, the counts, what is wrong, and how the parts are.
"""

from __future__ import annotations

import textwrap
from itertools import chain
from typing import Final, NamedTuple

from rich.style import Style

from shoe_daemon.demo import palette
from shoe_daemon.demo.board import Bead, Board, name_of
from shoe_daemon.demo.canvas import Canvas, fit
from shoe_daemon.demo.cards import Box
from shoe_daemon.game.irregularities import IRREGULARITIES, SEVERITY, IrregularityKind
from shoe_daemon.game.round import Outcome
from shoe_daemon.table.events import Irregularity

__all__ = ["draw_foot", "draw_log", "draw_panel", "draw_road"]

_DEEP: Final = 6
"""Rows of a bead road, as on every table."""

NO_BROKER_FOR_A_TABLE: Final = "demo broker: no keepalive wills, no access control"
_LEAST_FOOT: Final = 3
_BEAD: Final = 4
_COUNTS: Final = 26
_BAR: Final = 10
_LETTERS: Final = {Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T", None: "?"}
_WORST: Final = max(SEVERITY.values())


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


class Notice(NamedTuple):
    """
    What stands in the panel, in the colours that it takes.
    """

    title: str
    text: str
    inside: Style
    edge: Style
    badge: str = ""


def draw_panel(canvas: Canvas, box: Box, board: Board) -> None:
    """
    Draw what is irregular, loudly; or what was, for a while; or that all is well.
    """
    notice = _notice(board)
    x, y, width, height = box.x + 1, box.y, box.width - 2, box.height
    _draw_frame(canvas, Box(x, y, width, height), notice)
    wrapped = (textwrap.wrap(part, width - 6) or [""] for part in notice.text.split("\n"))
    lines = list(chain.from_iterable(wrapped))
    room = height - 2
    for row, line in enumerate(lines[:room], y + 1):
        canvas.put(x + 3, row, line, notice.inside)
    if len(lines) > room:
        canvas.right(x + width - 2, y + room, "…", notice.inside)


def _draw_frame(canvas: Canvas, box: Box, notice: Notice) -> None:
    x, y, width, height = box
    canvas.fill(*box, palette.RAIL + notice.inside)
    across = "─" * (width - 2)
    canvas.put(x, y, f"╭{across}╮", notice.edge)
    canvas.put(x, y + height - 1, f"╰{across}╯", notice.edge)
    for row in range(y + 1, y + height - 1):
        canvas.put(x, row, "│", notice.edge)
        canvas.put(x + width - 1, row, "│", notice.edge)
    if notice.title:
        canvas.put(x + 2, y, f" {fit(notice.title, width - 6)} ", palette.ALARM_TITLE)
    if notice.badge:
        canvas.right(x + width - 2, y, f" {notice.badge} ", notice.edge)


def _notice(board: Board) -> Notice:
    if board.health.alarm is not None:
        return Notice("⚠  ALARM", board.health.alarm, palette.ALARM, palette.ALARM_EDGE)
    if board.table.alerts:
        return _open_alert([alert.data for alert in board.table.alerts])
    if board.settled:
        settled = board.settled[-1]
        title = f"✓ {name_of(settled.kind).capitalize()}: dealt with"
        text = f"{settled.detail}\n{_as_sentence(settled.reason or 'somebody closed it')}"
        return Notice(title, text, palette.SETTLED, palette.SETTLED_EDGE)
    caught = f", {board.caught} caught so far" if board.caught else ""
    text = f"\nEvery draw is checked. No irregularity is open{caught}."
    return Notice("", text, palette.RAIL_DIM, palette.CALM_EDGE)


def _open_alert(found: list[Irregularity]) -> Notice:
    newest, older = found[-1], len(found) - 1
    badge = f"severity {newest.severity} of {_WORST}"
    return Notice(
        f"⚠  {name_of(newest.kind).upper()}",
        f"{newest.detail}\n{_explanation(newest)}",
        palette.ALARM,
        palette.ALARM_EDGE,
        f"{older} more open, {badge}" if older else badge,
    )


def _explanation(found: Irregularity) -> str:
    if found.proposals:
        best = found.proposals[0]
        return f"{best.authority}, {best.section}: {best.text}"
    return IRREGULARITIES[IrregularityKind(found.kind)].text


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


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

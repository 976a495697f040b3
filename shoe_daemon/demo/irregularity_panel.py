"""
The panel: what is irregular and what the house's procedure says, loudly; who
decided what, for a while; or that all is well.
"""

from __future__ import annotations

import textwrap
from itertools import chain
from typing import Final, NamedTuple

from shoe_daemon.demo.auto_supervisor import OPERATOR
from shoe_daemon.demo.view_model import Board, Settled, name_of
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.event_text import action_text
from shoe_daemon.game import IRREGULARITIES, SEVERITY, IrregularityKind
from shoe_daemon.table import Irregularity

__all__ = ["draw_panel"]

_WORST: Final = max(SEVERITY.values())
_UNDECIDED: Final = f"the {OPERATOR.lower()} decides"


class Row(NamedTuple):
    """
    One row: what stands out, and what is beside it.
    """

    text: str
    bold: str = ""


class Edge(NamedTuple):
    """
    What stands in the lower edge, at its left and at its right.
    """

    left: str = ""
    style: Style = palette.RAIL
    right: str = ""


class Notice(NamedTuple):
    """
    What stands in the panel, in the colours that it takes.
    """

    title: str
    rows: list[Row]
    inside: Style
    edge: Style
    badge: str = ""
    lower: Edge = Edge()


def draw_panel(canvas: Canvas, box: Box, board: Board) -> None:
    """
    Draw what there is to say.
    """
    x, y, width, height = box.x + 1, box.y, box.width - 2, box.height
    room = height - 2
    notice = _notice(board, width - 6, room)
    _draw_frame(canvas, Box(x, y, width, height), notice)
    for number, row in enumerate(notice.rows[:room], y + 1):
        canvas.put(x + 3, number, fit(row.bold + row.text, width - 6), notice.inside)
        canvas.put(x + 3, number, fit(row.bold, width - 6), palette.ALARM_TITLE)
    if len(notice.rows) > room:
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
    left, style, right = notice.lower
    if right:
        canvas.right(x + width - 2, y + height - 1, f" {right} ", palette.ALARM_TITLE)
    if left:
        left = fit(left, width - len(right) - 9)
        canvas.put(x + 2, y + height - 1, f" {left} ", style)


def _notice(board: Board, width: int, room: int) -> Notice:
    if board.health.alarm is not None:
        rows = _wrapped(board.health.alarm, width)
        return Notice("⚠  ALARM", rows, palette.ALARM, palette.ALARM_EDGE)
    if board.table.alerts:
        return _open(board, width, room)
    if board.settled:
        return _settled(board.settled[-1], width, room)
    caught = f", {board.caught} caught so far" if board.caught else ""
    rows = [Row(""), Row(f"Every draw is checked. No irregularity is open{caught}.")]
    return Notice("", rows, palette.RAIL_DIM, palette.CALM_EDGE)


def _open(board: Board, width: int, room: int) -> Notice:
    alerts = board.table.alerts
    newest, older = alerts[-1].data, len(alerts) - 1
    badge = f"severity {newest.severity} of {_WORST}"
    rows = _wrapped(newest.detail, width)
    rows += _procedure(newest, width, room - len(rows))
    return Notice(
        f"⚠  {name_of(newest.kind).upper()}",
        rows,
        palette.ALARM,
        palette.ALARM_EDGE,
        f"{older} more open, {badge}" if older else badge,
        _authority(newest, board.orders.get(newest.id, _UNDECIDED)),
    )


def _procedure(found: Irregularity, width: int, room: int) -> list[Row]:
    """
    Write what the policy proposes, with its own sentences where there is room.
    """
    if not found.proposals:
        return _wrapped(IRREGULARITIES[IrregularityKind(found.kind)].text, width)
    if room < len(found.proposals):
        every = ", or ".join(action_text(each.action) for each in found.proposals)
        return [Row("", f"▸ {every}")]
    spare = room - len(found.proposals)
    rows: list[Row] = []
    for proposal in found.proposals:
        bold = f"▸ {action_text(proposal.action)}"
        text, lines = f"  {proposal.text}", _wrapped(proposal.text, width - 2)
        if len(bold + text) <= width:
            rows.append(Row(text, bold))
            continue
        rows.append(Row(f"  {proposal.section}", bold))
        if len(lines) <= spare:
            rows += [Row(f"  {line.text}") for line in lines]
            spare -= len(lines)
    return rows


def _authority(found: Irregularity, decision: str) -> Edge:
    if not found.proposals:
        return Edge("the policy proposes nothing", palette.ALARM_EDGE, decision)
    verified = all(each.verified for each in found.proposals)
    mark = "verified" if verified else "NOT VERIFIED"
    style = palette.VERIFIED if verified else palette.UNVERIFIED
    return Edge(f"{mark}: {found.proposals[0].authority}", style, decision)


def _settled(settled: Settled, width: int, room: int) -> Notice:
    rows = _wrapped(settled.detail, width)
    reason = _wrapped(_as_sentence(settled.reason or "somebody closed it"), width)
    if settled.operator is None:
        rows += reason
    elif len(rows) + 1 + len(reason) <= room:
        rows += [Row("", _decision(settled)), *reason]
    else:
        rows.append(Row(f"  {settled.reason or ''}", _decision(settled)))
    title = f"✓ {name_of(settled.kind).capitalize()}: dealt with"
    badge = f"after {settled.seconds:.1f} s"
    return Notice(title, rows, palette.SETTLED, palette.SETTLED_EDGE, badge)


def _decision(settled: Settled) -> str:
    return settled.order or f"{settled.operator}: {action_text(settled.action)}"


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _wrapped(text: str, width: int) -> list[Row]:
    parts = (textwrap.wrap(part, width) or [""] for part in text.split("\n"))
    return [Row(line) for line in chain.from_iterable(parts)]

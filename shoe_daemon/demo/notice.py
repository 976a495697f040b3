"""Panel of the demo's view: open irregularities with the house's procedure, decisions, alarms."""

from __future__ import annotations

import textwrap
from typing import Final, NamedTuple

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.style import Style
from rich.text import Text

from shoe_daemon.demo.supervisor import OPERATOR
from shoe_daemon.demo.view_model import ClosedIrregularity, DemoView
from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.text import line, line_with_end
from shoe_daemon.event_text import action_text, kind_text
from shoe_daemon.game import IRREGULARITIES, SEVERITY, IrregularityKind
from shoe_daemon.table import Irregularity

_MAX_SEVERITY: Final = max(SEVERITY.values())
_UNDECIDED: Final = f"the {OPERATOR.lower()} decides"
_EDGES: Final = 2
_FRAME: Final = 6
"""Columns of both edges with their padding."""


class Notice(NamedTuple):
    """Content of the panel: title and badge in its upper edge, authority and decision below."""

    rows: list[Text]
    style: Style
    edge: Style
    title: str = ""
    badge: str = ""
    authority: Text | None = None
    decision: str = ""


def irregularity_notice(view: DemoView, width: int, height: int) -> RenderableType:
    """Draw the most important notice."""
    room = height - _EDGES
    notice = _notice(view, width - _FRAME, room)
    rows = notice.rows
    if len(rows) > room:
        rows[room - 1] = line_with_end(rows[room - 1], Text("…"), width - _FRAME)
    title = line(notice.title, appearance.ALARM_TITLE)
    decision = line(notice.decision, appearance.ALARM_TITLE)
    return Panel(
        Group(*rows[:room]),
        ROUNDED,
        title=_edge(title, line(notice.badge, notice.edge), notice, width),
        title_align="left",
        subtitle=_edge(notice.authority or Text(), decision, notice, width),
        subtitle_align="left",
        style=notice.style,
        border_style=notice.edge,
        padding=(0, 2),
        height=height,
    )


def _edge(left: Text, right: Text, notice: Notice, width: int) -> Text | None:
    """Join two texts with a line between them."""
    if not left:
        return None
    if not right:
        return left
    room = width - _FRAME - right.cell_len - 3
    left = left.copy()
    left.truncate(room, overflow="ellipsis")
    across = ROUNDED.top * (room - left.cell_len + 1)
    return Text.assemble(left, " ", (across, notice.edge), " ", right)


def _notice(view: DemoView, width: int, room: int) -> Notice:
    if view.health.alarm is not None:
        rows = _wrapped(view.health.alarm, width)
        return Notice(rows, appearance.ALARM, appearance.ALARM_EDGE, "⚠  ALARM")
    if view.table.alerts:
        return _open(view, width, room)
    if view.closed:
        return _closed(view.closed[-1], width, room)
    caught = f", {view.caught} caught so far" if view.caught else ""
    rows = [line(""), line(f"Every draw is checked. No irregularity is open{caught}.")]
    return Notice(rows, appearance.RAIL_DIM, appearance.CALM_EDGE)


def _open(view: DemoView, width: int, room: int) -> Notice:
    alerts = view.table.alerts
    newest, older, ordered = alerts[-1].data, len(alerts) - 1, alerts[-1].ordered
    waiting = f"{ordered.operator}: {action_text(ordered.action)}" if ordered else _UNDECIDED
    badge = f"severity {newest.severity} of {_MAX_SEVERITY}"
    rows = _wrapped(newest.detail, width)
    rows += _procedure(newest, width, room - len(rows))
    return Notice(
        rows,
        appearance.ALARM,
        appearance.ALARM_EDGE,
        title=f"⚠  {kind_text(newest.kind).upper()}",
        badge=f"{older} more open, {badge}" if older else badge,
        authority=_authority(newest),
        decision=view.orders.get(newest.id, waiting),
    )


def _procedure(found: Irregularity, width: int, room: int) -> list[Text]:
    """Write the proposals of the policy, in full where there is room."""
    if not found.proposals:
        return _wrapped(IRREGULARITIES[IrregularityKind(found.kind)].text, width)
    if room < len(found.proposals):
        every = ", or ".join(action_text(each.action) for each in found.proposals)
        return [_row(f"▸ {every}")]
    spare = room - len(found.proposals)
    rows: list[Text] = []
    for proposal in found.proposals:
        bold = f"▸ {action_text(proposal.action)}"
        text, lines = f"  {proposal.text}", _wrapped(proposal.text, width - 2)
        if len(bold + text) <= width:
            rows.append(_row(bold, text))
            continue
        rows.append(_row(bold, f"  {proposal.section}"))
        if len(lines) <= spare:
            rows += [Text("  ").append_text(each) for each in lines]
            spare -= len(lines)
    return rows


def _authority(found: Irregularity) -> Text:
    if not found.proposals:
        return line("the policy proposes nothing", appearance.ALARM_EDGE)
    verified = all(each.verified for each in found.proposals)
    mark = "verified" if verified else "NOT VERIFIED"
    style = appearance.VERIFIED if verified else appearance.UNVERIFIED
    return line(f"{mark}: {found.proposals[0].authority}", style)


def _closed(past: ClosedIrregularity, width: int, room: int) -> Notice:
    found = past.incident
    operator = None if found.by is None else found.by.operator
    rows = _wrapped(found.detail, width)
    text = found.why or "somebody closed it"
    reason = _wrapped(text[:1].upper() + text[1:].rstrip(".") + ".", width)
    decision = past.order or f"{operator}: {action_text(found.action or '')}"
    if operator is None:
        rows += reason
    elif len(rows) + 1 + len(reason) <= room:
        rows += [_row(decision), *reason]
    else:
        rows.append(_row(decision, f"  {found.why or ''}"))
    title = f"✓ {kind_text(found.kind).capitalize()}: dealt with"
    badge = f"after {found.seconds or 0:.1f} s"
    return Notice(rows, appearance.SETTLED, appearance.SETTLED_EDGE, title, badge)


def _row(bold: str, text: str = "") -> Text:
    return Text.assemble(line(bold, appearance.ALARM_TITLE), line(text), no_wrap=True)


def _wrapped(text: str, width: int) -> list[Text]:
    return [line(each) for part in text.split("\n") for each in textwrap.wrap(part, width) or [""]]

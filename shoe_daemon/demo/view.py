"""
Live view of the demo's table, for 80 columns and 24 rows or more.

Smaller terminals get the most important facts as lines of text.
"""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from shoe_daemon.demo.notice import irregularity_notice
from shoe_daemon.demo.view_model import BurnedCards, DemoView
from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.appearance import LETTERS, Theme
from shoe_daemon.display.terminal.board import hand_lines, headline
from shoe_daemon.display.terminal.cards import LARGE, SMALL
from shoe_daemon.display.terminal.hands import Announcement, felt, is_held
from shoe_daemon.display.terminal.road_grid import RoadGrid, bead_plate, big_road
from shoe_daemon.display.terminal.road_layout import COUNTS_WIDTH, counts_block
from shoe_daemon.display.terminal.text import (
    MIN_SIZE,
    Part,
    beside,
    facts,
    line,
    line_with_end,
)
from shoe_daemon.event_text import WINNERS, action_text, kind_text
from shoe_daemon.game import LeadingTies, build_roads, card_text
from shoe_daemon.table import Irregularity, RoundView

BROKER_LIMITS: Final = "demo broker: no keepalive wills, no access control"

_MIN_SIZE_FOR_LARGE: Final = (100, 36)
_GAP: Final = 2
_THEME: Final = Theme(LETTERS, appearance.ON_RAIL)


def draw(view: DemoView, width: int, height: int) -> list[Part]:
    """Draw the view for a terminal of this size."""
    if width < MIN_SIZE[0] or height < MIN_SIZE[1]:
        return facts(_facts(view), height)
    large = width >= _MIN_SIZE_FOR_LARGE[0] and height >= _MIN_SIZE_FOR_LARGE[1]
    size, felt_rows, road_rows, panel_rows, foot_rows = (
        (LARGE, 15, 8, 6, 5) if large else (SMALL, 9, 6, 5, 3 + (height > MIN_SIZE[1]))
    )
    log_rows = max(height - 1 - felt_rows - road_rows - panel_rows - foot_rows, 0)
    return [
        Part(_head(view, width - 2), 1, margin=1),
        Part(felt(view.table, _announcement(view), size, width), felt_rows, appearance.FELT),
        Part(_roads(view, width - 2, captions=large), road_rows, margin=1),
        Part(irregularity_notice(view, width - 2, panel_rows), panel_rows, margin=1),
        Part(_log(view, log_rows), log_rows, margin=2),
        Part(Group(*_footer(view, width - 2)[:foot_rows]), foot_rows, margin=1),
    ]


def _head(view: DemoView, width: int) -> RenderableType:
    table = view.table
    right = line(headline(table, no_shoe="No shoe yet"), appearance.RAIL_BRIGHT)
    name = line(f"♠ {table.name or table.table}", appearance.RAIL_TITLE)
    name.truncate(width - right.cell_len - len(view.house) - 8, overflow="ellipsis")
    left = Text.assemble(name, "  ", (view.house, appearance.RAIL_DIM))
    return line_with_end(left, right, width)


def _announcement(view: DemoView) -> Announcement:
    """Choose the text for the time between two rounds."""
    if view.table.shoe is None:
        headline = "Waiting for the shoe"
    elif view.burned is not None and view.burned.remaining:
        headline = "Burning"
    else:
        headline = "Place your bets" if view.burned or view.aborted else "A new shoe"
    if view.burned is not None:
        return Announcement(headline, _burned(view.burned))
    if view.aborted:
        text = "The last round came to nothing; the next one begins with its first card."
        return Announcement(headline, text)
    return Announcement(headline, "No card has been drawn yet.")


def _burned(burned: BurnedCards) -> str:
    first = f"{card_text(burned.first)} was turned up" if burned.first else "Cards are burned"
    if burned.remaining is None:
        return f"{first}."
    if burned.remaining:
        return f"{first}: {burned.remaining} more to burn."
    return f"{first}, and as many burned as it counts."


def _roads(view: DemoView, width: int, *, captions: bool) -> RenderableType:
    """Draw the results of the shoe, and their counts."""
    drawn = build_roads(view.beads)
    beads = bead_plate(drawn.bead, LETTERS)
    counts = counts_block(view.table.counts, _THEME)
    room = width - 1 - COUNTS_WIDTH - _GAP
    grids: list[tuple[RenderableType, int]] = [(RoadGrid(beads), room), (counts, COUNTS_WIDTH)]
    if captions:
        half = room // 2 // beads.pitch * beads.pitch
        big = big_road(drawn, LeadingTies.MERGE, LETTERS, pairs=False)
        grids = [
            (RoadGrid(beads, _THEME), half),
            (RoadGrid(big, _THEME), room - half - _GAP),
            (Group("", counts), COUNTS_WIDTH),
        ]
    return Padding(beside(*grids, gap=_GAP), (0, 0, 0, 1))


def _log(view: DemoView, height: int) -> RenderableType:
    """Write the last events."""
    if height < 2:  # noqa: PLR2004 - a heading and a line
        return ""
    lines = [line("Lately", appearance.RAIL_BRIGHT)]
    for text in view.lines[-(height - 1) :]:
        style = appearance.BAD if text.lstrip().startswith("!") else appearance.RAIL_DIM
        lines.append(line(text, style))
    return Group(*lines)


def _footer(view: DemoView, width: int) -> list[Text]:
    """Write the rows, the most important first."""
    health, addresses = view.health, view.addresses
    return [
        _status_row(_shoe(view), f"journal {addresses.journal}", width, up=health.reader_up),
        _status_row(_broker(view), "Ctrl-C ends", width, up=health.broker_up),
        _status_row(_board(view, width - 2), "", width, up=health.board_up or not addresses.board),
        line(addresses.subscribe, appearance.RAIL),
        line(BROKER_LIMITS, appearance.RAIL_DIM),
    ]


def _status_row(text: str, aside: str, width: int, *, up: bool) -> Text:
    sign = Text("● " if up else "✗ ", appearance.GOOD if up else appearance.BAD)
    left = Text.assemble(sign, line(text, appearance.RAIL if up else appearance.BAD), no_wrap=True)
    right = line(aside, appearance.RAIL_DIM)
    fits = left.cell_len + right.cell_len < width
    return line_with_end(left, right, width) if fits else left


def _board(view: DemoView, room: int) -> str:
    addresses = view.addresses
    if not addresses.board:
        return addresses.no_board
    if not view.health.board_up:
        return f"board {addresses.board} lost; display.log beside the journal says why"
    whole = f"Board: {addresses.table_page}   Pit: {addresses.pit_page}"
    if addresses.camera:
        whole = f"Board: {addresses.table_page}   Camera: {addresses.camera}"
    if addresses.decide:
        whole = f"You decide: {addresses.decide}"
    return whole if len(whole) <= room else f"Board: {addresses.table_page}   Pit: …/pit"


def _shoe(view: DemoView) -> str:
    addresses, health = view.addresses, view.health
    reader = f"shoe {addresses.shoe}"
    if addresses.camera:
        reader = f"camera, seen at {addresses.camera}"
    if not health.reader_up:
        return f"{reader} lost: {health.reader_detail}"
    heard = "silent so far" if health.silence is None else f"heard {health.silence} s ago"
    return f"{reader}, {heard}"


def _broker(view: DemoView) -> str:
    health, addresses = view.health, view.addresses
    broker = f"broker {addresses.host}:{addresses.port}"
    if not health.broker_up:
        return f"{broker} lost, {health.queued} events wait for it"
    return f"{broker}, {health.published} events acknowledged, {health.seen} seen"


def _facts(view: DemoView) -> list[tuple[str, Style]]:
    """Write the most important facts first."""
    lines = [fact for alert in view.table.alerts for fact in _alert(alert.data, view)]
    if is_held(view.table):
        lines.append(("Result held", appearance.RAIL_TITLE))
    if view.health.alarm is not None:
        lines.insert(0, (view.health.alarm, appearance.BAD))
    if view.table.round is not None:
        lines += _round(view.table.round)
    last = view.table.last_result
    if last is not None:
        lines.append((f"Round {last.round}: {WINNERS[last.data.outcome]}", appearance.RAIL_TITLE))
    if view.addresses.board:
        lines.append((f"Board: {view.addresses.table_page}", appearance.RAIL))
    lines.append((view.addresses.subscribe, appearance.RAIL_DIM))
    lines.append(("The whole view needs 80 columns and 24 rows.", appearance.RAIL_DIM))
    return lines


def _alert(found: Irregularity, view: DemoView) -> list[tuple[str, Style]]:
    lines = [(f"{kind_text(found.kind).upper()}: {found.detail}", appearance.BAD)]
    proposed = ", or ".join(action_text(each.action) for each in found.proposals)
    if proposed:
        mark = "" if all(each.verified for each in found.proposals) else " (NOT VERIFIED)"
        text = f"{found.proposals[0].authority}{mark}: {proposed}"
        lines.append((text, appearance.RAIL_BRIGHT))
    if found.id in view.orders:
        lines.append((view.orders[found.id], appearance.RAIL_TITLE))
    return lines


def _round(round_: RoundView) -> list[tuple[str, Style]]:
    partial = ", partial" if round_.partial else ""
    lines = [(f"Round {round_.number}{partial}", appearance.RAIL_BRIGHT)]
    lines += [(text, appearance.RAIL) for text in hand_lines(round_)]
    lost = " ".join(card_text(card.card) for card in round_.cards if card.slot is None)
    if lost:
        lines.append((f"Place unknown: {lost}", appearance.RAIL))
    if round_.draw_due is not None:
        lines.append((round_.draw_due.text, appearance.RAIL_TITLE))
    return lines

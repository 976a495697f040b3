"""
Last rows of the demo's view: state of shoe, broker and board, and their addresses.
"""

from __future__ import annotations

from typing import Final

from rich.text import Text

from shoe_daemon.demo.view_model import DemoView
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.layout_helpers import line, line_with_end

__all__ = ["BROKER_LIMITS", "footer_rows"]

BROKER_LIMITS: Final = "demo broker: no keepalive wills, no access control"


def footer_rows(view: DemoView, width: int) -> list[Text]:
    """
    Write the rows, the most important first.
    """
    health, addresses = view.health, view.addresses
    return [
        _status_row(_shoe(view), f"journal {addresses.journal}", width, up=health.reader_up),
        _status_row(_broker(view), "Ctrl-C ends", width, up=health.broker_up),
        _status_row(_board(view, width - 2), "", width, up=health.board_up or not addresses.board),
        line(addresses.subscribe, palette.RAIL),
        line(BROKER_LIMITS, palette.RAIL_DIM),
    ]


def _status_row(text: str, aside: str, width: int, *, up: bool) -> Text:
    sign = Text("● " if up else "✗ ", palette.GOOD if up else palette.BAD)
    left = Text.assemble(sign, line(text, palette.RAIL if up else palette.BAD), no_wrap=True)
    right = line(aside, palette.RAIL_DIM)
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

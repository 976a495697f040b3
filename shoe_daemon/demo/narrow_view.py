"""
The table in words, for a terminal that has no room for more.
"""

from __future__ import annotations

import textwrap

from shoe_daemon.demo.view_model import Board, name_of
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Canvas, fit
from shoe_daemon.display.terminal.hands import is_held
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.event_text import WINNERS, action_text, card_text
from shoe_daemon.table import Irregularity, RoundView

__all__ = ["draw_small"]


def draw_small(canvas: Canvas, board: Board) -> None:
    """
    Write down what is most important first, as far as there is room.
    """
    row = 0
    for text, style in _lines(board):
        for line in textwrap.wrap(text, max(canvas.width, 1)):
            canvas.put(0, row, fit(line, canvas.width), style)
            row += 1


def _lines(board: Board) -> list[tuple[str, Style]]:
    lines = [line for alert in board.table.alerts for line in _alert(alert.data, board)]
    if is_held(board.table):
        lines.append(("Result held", palette.RAIL_TITLE))
    if board.health.alarm is not None:
        lines.insert(0, (board.health.alarm, palette.BAD))
    if board.table.round is not None:
        lines += _round(board.table.round)
    last = board.table.last_result
    if last is not None:
        lines.append((f"Round {last.round}: {WINNERS[last.data.outcome]}", palette.RAIL_TITLE))
    if board.places.board:
        lines.append((f"Board: {board.places.table_page}", palette.RAIL))
    lines.append((board.places.subscribe, palette.RAIL_DIM))
    lines.append(("The whole view needs 80 columns and 24 rows.", palette.RAIL_DIM))
    return lines


def _alert(found: Irregularity, board: Board) -> list[tuple[str, Style]]:
    lines = [(f"{name_of(found.kind).upper()}: {found.detail}", palette.BAD)]
    proposed = ", or ".join(action_text(each.action) for each in found.proposals)
    if proposed:
        mark = "" if all(each.verified for each in found.proposals) else " (NOT VERIFIED)"
        text = f"{found.proposals[0].authority}{mark}: {proposed}"
        lines.append((text, palette.RAIL_BRIGHT))
    if found.id in board.orders:
        lines.append((board.orders[found.id], palette.RAIL_TITLE))
    return lines


def _round(round_: RoundView) -> list[tuple[str, Style]]:
    partial = ", partial" if round_.partial else ""
    lines = [(f"Round {round_.number}{partial}", palette.RAIL_BRIGHT)]
    for name, total in (("Player", round_.player_total), ("Banker", round_.banker_total)):
        cards = [card for card in round_.cards if card.slot and card.slot[0] == name[0]]
        faces = " ".join(card_text(card.card) for card in cards)
        lines.append((f"{name}: {faces}{'' if total is None else f' = {total}'}", palette.RAIL))
    lost = " ".join(card_text(card.card) for card in round_.cards if card.slot is None)
    if lost:
        lines.append((f"Place unknown: {lost}", palette.RAIL))
    if round_.draw_due is not None:
        lines.append((round_.draw_due.text, palette.RAIL_TITLE))
    return lines

"""
Below the felt: the bead road, the counts, what happened lately, how the parts are.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.demo.view_model import Board
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas, fit
from shoe_daemon.display.terminal.road_counts import COUNTS, draw_counts
from shoe_daemon.display.terminal.roads import HEIGHT, bead_plate, big_road, draw_cells
from shoe_daemon.display.terminal.roads import draw_road as draw_captioned
from shoe_daemon.display.terminal.symbols import LETTERS, Look
from shoe_daemon.game import ROWS, LeadingTies, build_roads

__all__ = ["draw_foot", "draw_log", "draw_road"]

NO_BROKER_FOR_A_TABLE: Final = "demo broker: no keepalive wills, no access control"
_LOOK: Final = Look(LETTERS, palette.ON_RAIL)


def draw_road(canvas: Canvas, box: Box, board: Board) -> None:
    """
    Draw the last results, column by column, and what they come to.
    """
    drawn = build_roads(board.beads)
    beads = bead_plate(drawn.bead, LETTERS)
    y = box.y + (box.height - ROWS + 1) // 2
    width = box.width - COUNTS - 5
    if box.height > HEIGHT:
        half = width // 2 // beads.pitch * beads.pitch
        draw_captioned(canvas, Box(2, y - 1, half, HEIGHT), beads, _LOOK)
        big = big_road(drawn, LeadingTies.MERGE, LETTERS, pairs=False)
        draw_captioned(canvas, Box(half + 4, y - 1, width - half - 2, HEIGHT), big, _LOOK)
    else:
        draw_cells(canvas, Box(2, y, width // beads.pitch * beads.pitch, ROWS), beads)
    counts = Box(box.width - COUNTS - 1, y, COUNTS, ROWS)
    draw_counts(canvas, counts, board.table.counts, _LOOK)


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
    Tell how shoe, broker and board are, and where to look for oneself.
    """
    health, places = board.health, board.places
    parts = (
        (health.reader_up, _shoe_line(board), f"journal {places.journal}"),
        (health.broker_up, _broker_line(board), "Ctrl-C ends"),
        (health.board_up or not places.board, _board_line(board, box.width - 4), ""),
    )
    for row, (up, text, aside) in enumerate(parts, box.y):
        canvas.put(1, row, "●" if up else "✗", palette.GOOD if up else palette.BAD)
        canvas.put(3, row, fit(text, box.width - 4), palette.RAIL if up else palette.BAD)
        if len(text) + len(aside) + 5 <= box.width:
            canvas.right(box.width - 1, row, aside, palette.RAIL_DIM)
    more = ((places.subscribe, palette.RAIL), (NO_BROKER_FOR_A_TABLE, palette.RAIL_DIM))
    for row, (text, style) in enumerate(more[: box.height - len(parts)], box.y + len(parts)):
        canvas.put(1, row, fit(text, box.width - 2), style)


def _board_line(board: Board, room: int) -> str:
    places = board.places
    if not places.board:
        return places.no_board
    if not board.health.board_up:
        return f"board {places.board} lost; display.log beside the journal says why"
    whole = f"Board: {places.table_page}   Pit: {places.pit_page}"
    if places.camera:
        whole = f"Board: {places.table_page}   Camera: {places.camera}"
    return whole if len(whole) <= room else f"Board: {places.table_page}   Pit: …/pit"


def _shoe_line(board: Board) -> str:
    health = board.health
    if not health.reader_up:
        return f"{_reader(board)} lost: {health.reader_detail}"
    heard = "silent so far" if health.silence is None else f"heard {health.silence} s ago"
    return f"{_reader(board)}, {heard}"


def _reader(board: Board) -> str:
    places = board.places
    return f"camera, seen at {places.camera}" if places.camera else f"shoe {places.shoe}"


def _broker_line(board: Board) -> str:
    health, places = board.health, board.places
    where = f"broker {places.host}:{places.port}"
    if not health.broker_up:
        return f"{where} lost, {health.queued} events wait for it"
    return f"{where}, {health.published} events acknowledged, {health.seen} seen"

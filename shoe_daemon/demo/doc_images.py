"""
The pictures of the documents: ``python -m shoe_daemon.demo.doc_images FOLDER`` draws them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from drivers.simulators.angel_eye_scenario import Mode, Settings
from shoe_daemon.demo.sample_table import Sample, showpiece
from shoe_daemon.demo.view import draw
from shoe_daemon.display.terminal.board import draw_board
from shoe_daemon.display.terminal.canvas import Canvas
from shoe_daemon.display.terminal.scoreboard import scoreboard
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.display.terminal.svg import to_svg
from shoe_daemon.display.terminal.symbols import LETTERS
from shoe_daemon.display.terminal.view_model import Seen
from shoe_daemon.game import LeadingTies, Outcome, Slot, build_roads, parse_sequence
from shoe_daemon.table import PublicTable

_DEMO: Final = (100, 38)
_WATCH: Final = (100, 34)
_ROADS: Final = 80
"""Columns and rows of the pictures."""

_ROUNDS: Final = 62
_LIMITS: Final = {"player": "25-5000", "banker": "25-5000", "tie": "5-500"}
_SHELL: Final = Style("#d4d4d4", "#1e1e1e")
_SHOE: Final = (
    "TBnBpPPnPnTTBnBBbBpbBBnBbPBnPBTPnPBBpPnTBPPnPPPPnBBpBn"
    "PTBPBPnPBBBnPTPBPnBBPBPBnPPBPBTnBBPPBTPn"
)


def main(folder: Path) -> None:
    """
    Draw every picture into a folder.
    """
    pictures = {
        "demo": draw(showpiece(), *_DEMO),
        "watch": draw_board(_watched(), *_WATCH),
        "roads": _roads(),
    }
    for name, canvas in pictures.items():
        (folder / f"{name}.svg").write_text(to_svg(canvas), encoding="utf-8")


def _watched() -> Seen:
    """
    Give the last moment of a shoe when one hand won with all six cards.
    """
    sample = Sample("curator", "us_nj_pa")
    moments = (
        sample.seen("table-7", "127.0.0.1:1883")
        for board in sample.boards(Settings(mode=Mode.OPEN, rounds=_ROUNDS, seed=11))
        if _is_won(board.table)
    )
    *_, seen = moments
    state = seen.state
    return replace(seen, state=state and replace(state, name="Table 7", limits=_LIMITS))


def _is_won(table: PublicTable) -> bool:
    round_, last = table.round, table.last_result
    if round_ is None or last is None or len(round_.cards) < len(Slot):
        return False
    return round_.finished and last.data.outcome is not Outcome.TIE


def _roads() -> Canvas:
    drawn = build_roads(parse_sequence(_SHOE))
    canvas = scoreboard(drawn, LeadingTies.MERGE, LETTERS, _ROADS)
    canvas.underlay(_SHELL)
    return canvas


if __name__ == "__main__":
    main(Path(sys.argv[1]))

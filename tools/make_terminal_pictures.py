"""
Makes the pictures of boards in a terminal, in docs/pictures.

    python -m tools.make_terminal_pictures     all of them
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.style import Style

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Excess, Fault
from shoe_daemon.demo.notes import Told, note_rows
from shoe_daemon.demo.parts import links_of
from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.appearance import LETTERS
from shoe_daemon.display.terminal.board import TableView, board
from shoe_daemon.display.terminal.road_layout import scoreboard
from shoe_daemon.display.terminal.screen import render_rows
from shoe_daemon.game import LeadingTies, Outcome, Slot, build_roads, parse_sequence
from shoe_daemon.table import PublicTable
from tests.display.sample_table import SampleTable

__all__ = ["to_svg"]

PICTURES: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"

_DEMO_SIZE: Final = (100, 30)
_WATCH_SIZE: Final = (100, 34)
_ROADS_WIDTH: Final = 80

_SHOWPIECE: Final = Settings(
    mode=Mode.OPEN,
    rounds=80,
    warm_up=40,
    seed=108,
    faults=(Fault.OVERDRAW,),
    fault_rate=0.5,
    excess=Excess.BURNED,
)
_ROUNDS: Final = 62
_LIMITS: Final = {"player": "25-5000", "banker": "25-5000", "tie": "5-500"}
_SHELL: Final = Style(color="#d4d4d4", bgcolor="#1e1e1e")
_SHOE: Final = (
    "TBnBpPPnPnTTBnBBbBpbBBnBbPBnPBTPnPBBpPnTBPPnPPPPnBBpBn"
    "PTBPBPnPBBBnPTPBPnBBPBPBnPPBPBTnBBPPBTPn"
)

# Cells are stretched to whole pixels, and the font is slightly larger than its cell, so that
# no gaps are visible between block characters.
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="-14 -14 WIDTH HEIGHT" width="WIDTH" \
height="HEIGHT" xml:space="preserve" font-size="21.8" \
font-family="'DejaVu Sans Mono','Menlo','Consolas','Liberation Mono',monospace">
<style>{styles}</style>
<rect x="-14" y="-14" width="WIDTH" height="HEIGHT" rx="10" fill="BACKGROUND"/>
<g transform="translate(0 -1.54) scale(1 1.02459)">
<g shape-rendering="crispEdges">{backgrounds}</g>
<g class="{unique_id}-matrix" transform="translate(-.05 1.2)">{matrix}</g>
</g>
</svg>
"""
_FONT_RATIO: Final = 0.65
_CELL: Final = (13, 25)
"""Pixels of a character; rich draws 20 times the ratio, and 24.4."""

_MARGIN: Final = 14
_CLIPPING: Final = re.compile(' clip-path="[^"]*"')


def main() -> None:
    """Draw all pictures."""
    watched, demo = board(_watched(), *_WATCH_SIZE), board(_demo(), *_DEMO_SIZE)
    drawn = build_roads(parse_sequence(_SHOE))
    scores, width = scoreboard(drawn, LeadingTies.MERGE, LETTERS, _ROADS_WIDTH)
    shell = Padding(scores, 0, style=_SHELL)
    height = len(render_rows(shell, width))
    for name, svg in (
        ("demo", to_svg(demo, _DEMO_SIZE)),
        ("watch", to_svg(watched, _WATCH_SIZE)),
        ("roads", to_svg(shell, (width, height), _SHELL)),
    ):
        (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")


def to_svg(
    picture: RenderableType, size: tuple[int, int], background: Style = appearance.RAIL
) -> str:
    """Draw a picture as SVG, without fonts or styles from elsewhere."""
    console = Console(
        record=True, width=size[0], height=size[1], file=StringIO(), color_system="truecolor"
    )
    for row in render_rows(picture, *size):
        console.print(Segments([*row, Segment.line()]), end="")
    colour = background.bgcolor.name if background.bgcolor else ""
    width, height = (
        str(count * cell + 2 * _MARGIN) for count, cell in zip(size, _CELL, strict=True)
    )
    frame = _SVG.replace("BACKGROUND", colour).replace("WIDTH", width).replace("HEIGHT", height)
    svg = console.export_svg(
        code_format=frame,
        font_aspect_ratio=_FONT_RATIO,
        unique_id="terminal",
    )
    return _CLIPPING.sub("", svg)


def _demo() -> TableView:
    """Return a moment of the demo: a card too many."""
    sample = SampleTable("punto-banco", "fr_2007")
    moments = (
        sample.view("table-1", "127.0.0.1:1883")
        for table in sample.boards(_SHOWPIECE)
        if table.alerts
    )
    view = next(moments)
    told = Told(links_of("http://127.0.0.1:8080"), sample.on_table, 24)
    return replace(view, notes=note_rows(told, view.state, _DEMO_SIZE[0] - 2))


def _watched() -> TableView:
    """Return the last moment of a shoe when a hand won with all six cards."""
    sample = SampleTable("curator", "us_nj_pa")
    moments = (
        sample.view("table-7", "127.0.0.1:1883")
        for board in sample.boards(Settings(mode=Mode.OPEN, rounds=_ROUNDS, seed=11))
        if _is_won(board)
    )
    *_, view = moments
    state = view.state
    return replace(view, state=state and replace(state, name="Table 7", limits=_LIMITS))


def _is_won(table: PublicTable) -> bool:
    round_, last = table.round, table.last_result
    if round_ is None or last is None or len(round_.cards) < len(Slot):
        return False
    return round_.finished and last.data.outcome is not Outcome.TIE


if __name__ == "__main__":
    main()

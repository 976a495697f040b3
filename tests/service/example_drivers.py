"""
Two drivers of another package, found by their entry points: one without slots, one that
hangs.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from drivers.driver import Decoder, Driver, Frame, FrameKind
from shoe_daemon.game.cards import Card
from shoe_daemon.table.observations import CardDrawn

ENTRY_POINTS = f"""\
[shoe_daemon.drivers]
cards-only = {__name__}:CardsOnly
hanging = {__name__}:Hanging
"""


def installed(folder: Path) -> str:
    """Install both below a folder, and return what PYTHONPATH has to be."""
    about = folder / "hall_drivers-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hall-drivers\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return f"{folder}:{Path(__file__).parents[2]}"


class CardsOnly(Driver):
    """One card a line, as ``KD``; nothing else is ever said."""

    name: ClassVar[str] = "cards-only"

    def __init__(self, options: Struct | None = None) -> None:
        super().__init__(options)
        self._buffer = b""

    def decoder(self) -> Decoder:
        return self

    def feed(self, data: bytes, now: float) -> list[Frame]:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [
            Frame(line + b"\n", FrameKind.FRAME, (CardDrawn(card=Card(line.decode())),), now)
            for line in lines
        ]

    def reset(self) -> None:
        self._buffer = b""


class Hanging(CardsOnly):
    """Never comes back from its first byte."""

    name: ClassVar[str] = "hanging"

    def feed(self, data: bytes, now: float) -> list[Frame]:
        threading.Event().wait()
        return []

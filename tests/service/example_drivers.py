"""
Two drivers of another package, found by their entry points: one without slots, one that
hangs.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from drivers.driver_interface import Decoder, Frame, FrameKind, LineSettings
from shoe_daemon.game.cards import Card
from shoe_daemon.table.observations import CardDrawn, Signal

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


class NoOptions(Struct, forbid_unknown_fields=True):
    """There is nothing to set."""


class CardsOnly:
    """One card a line, as ``KD``; nothing else is ever said."""

    name: ClassVar[str] = "cards-only"
    line: ClassVar[LineSettings] = LineSettings()
    signals: ClassVar[tuple[Signal, ...]] = ()
    options_type: ClassVar[type[Struct]] = NoOptions

    def __init__(self, options: Struct) -> None:
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

"""Simulated tables for `bench.vision.calibration`, and their calibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from calibration.camera.output import CalibrationResult
from calibration.camera.rehearsal import layout_position
from calibration.camera.scripted_dialogue import (
    BackStep,
    CardStep,
    EmptyStep,
    LayoutStep,
    PlaneStep,
    Script,
    ScriptedDialogue,
)
from calibration.camera.simulated_table import MARKER_SHEETS, SimulatedTable, TableState
from calibration.camera.wizard import CalibrationRequest, calibrate
from drivers.camera.image import Image
from drivers.camera.profile.sections import Camera
from drivers.camera.recognition.recogniser import Recogniser
from drivers.simulators.camera.settings import Settings
from shoe_daemon.game import DEALING_ORDER, RANKS, Card, Slot

__all__ = ["FEW", "SIZE", "THIRTEEN", "calibrated", "reader", "table"]

SIZE: Final = (1280, 720)
"""Picture size in pixels."""

_LENSES: Final = (0.6, 0.3, 1.0)
"""Lens distortion of successive tables."""

THIRTEEN: Final = tuple(Card(f"{rank}{'SHDC'[n % 4]}") for n, rank in enumerate(RANKS))
"""One card of each rank."""

FEW: Final = THIRTEEN[::4]
_Laid = tuple[Card, Slot]


def table(number: int) -> SimulatedTable:
    """Create a table with its camera."""
    return SimulatedTable(Settings(seed=100 + number, lens=_LENSES[number % len(_LENSES)]))


class _Staged:
    """A simulated recording in which each step is a frame source of its own."""

    def __init__(self, here: SimulatedTable, nights: Sequence[TableState]) -> None:
        self._here = here
        self._nights = nights

    def take(self, count: int, at: float | None = None) -> list[Image]:
        night = self._nights[int(at or 0)]
        return [self._here.picture(night, number / 25) for number in range(count)]


@lru_cache(maxsize=1)
def reader() -> Recogniser:
    """Return the recogniser, loaded once."""
    return Recogniser()


def calibrated(here: SimulatedTable, cards: Sequence[Card]) -> CalibrationResult:
    """Calibrate a table with cards placed one after the other, and a card back."""
    laid = [(card, DEALING_ORDER[n % len(DEALING_ORDER)]) for n, card in enumerate(cards)]
    known = Camera(width=SIZE[0], height=SIZE[1])
    wanted = CalibrationRequest(
        "overhead", "simulated", known, None, "now", reader=lambda _: reader()
    )
    return calibrate(
        _Staged(here, _nights(here, laid)), ScriptedDialogue(_script(here, laid), None), wanted
    )


def _nights(here: SimulatedTable, laid: Sequence[_Laid]) -> list[TableState]:
    cards = [TableState(cards={slot: here.lay_like_dealer(card)}) for card, slot in laid]
    return [
        TableState(sheets=MARKER_SHEETS),
        TableState(),
        *cards,
        TableState(cards={Slot.P1: here.lay_like_dealer(None)}),
    ]


def _script(here: SimulatedTable, laid: Sequence[_Laid]) -> Script:
    x, y, turn = layout_position(here)
    return Script(
        plane=PlaneStep(at=0.0),
        empty=EmptyStep(at=1.0),
        layout=LayoutStep(x=x, y=y, turn=turn),
        card=tuple(
            CardStep(at=2.0 + n, card=card, slot=slot) for n, (card, slot) in enumerate(laid)
        ),
        back=BackStep(at=2.0 + len(laid), slot=Slot.P1),
    )

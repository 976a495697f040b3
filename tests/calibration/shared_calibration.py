"""One calibration of the simulated table, shared by the tests that inspect it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from calibration.camera.markers import find_markers
from calibration.camera.output import CalibrationResult
from calibration.camera.plane import plane_from_markers, projection_of
from calibration.camera.scripted_dialogue import (
    BackStep,
    CardStep,
    EmptyStep,
    LayoutStep,
    PlaneStep,
    Script,
    ScriptedDialogue,
)
from calibration.camera.wizard import CalibrationRequest, calibrate
from drivers.camera.profile.sections import Camera
from shoe_daemon.game.coup import Slot
from tests.calibration.simulated_scene import (
    SAMPLE,
    SHEETS,
    SIDE,
    SIZE,
    THIRTEEN,
    Shelf,
    camera,
    seen,
)

WANTED = CalibrationRequest(
    "overhead", "simulated", Camera(width=1280, height=720), 1 / 4000, "now"
)


@lru_cache(maxsize=1)
def shelf() -> Shelf:
    pictures = {0.0: seen(sheets=SHEETS), 1.0: seen(), 30.0: seen({Slot.P1: None})}
    for second, (card, slot) in enumerate((*THIRTEEN[::3], *SAMPLE), 2):
        pictures[float(second)] = seen({slot: card})
    return Shelf(pictures)


def script() -> Script:
    cards = [
        CardStep(at=float(second), card=card, slot=slot)
        for second, (card, slot) in enumerate((*THIRTEEN[::3], *SAMPLE), 2)
    ]
    plane = plane_from_markers(find_markers(shelf().pictures[0.0]), SIDE, SIZE)
    ground = projection_of(plane)
    middle, right = ground.to_table(camera().on_table(np.array([[0.0, 0.0], [100.0, 0.0]])))
    turn = math.degrees(math.atan2(*(right - middle)[::-1]))
    return Script(
        plane=PlaneStep(at=0.0, size=SIDE),
        empty=EmptyStep(at=1.0),
        layout=LayoutStep(x=float(middle[0]), y=float(middle[1]), turn=turn),
        card=tuple(cards[:-2]),
        back=BackStep(at=30.0, slot=Slot.P1),
        sample=tuple(cards[-2:]),
    )


@lru_cache(maxsize=1)
def result() -> CalibrationResult:
    return calibrate(shelf(), ScriptedDialogue(script(), None), WANTED)

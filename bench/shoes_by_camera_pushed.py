"""
Whether `calibrate camera --check` tells that a camera was pushed before the shoe.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct

from calibration.camera.check import check_profile
from calibration.camera.drift import Kind
from drivers.camera.eye import Reader
from drivers.camera.frames import Image
from drivers.camera.profile import load_profile
from drivers.camera.stations import load_reader
from drivers.simulators.table.calibrated import PROFILE
from drivers.simulators.table.camera import camera_of
from drivers.simulators.table.sensor import Sensor
from drivers.simulators.table.settings import Settings, Trouble
from drivers.simulators.table.state import moment
from drivers.simulators.table.stretch import Effect, Stretch
from drivers.simulators.table.view import TableView

__all__ = ["Pushed", "push"]

_PUSHES: Final = {0.0: None, 5.0: Trouble.BUMP, 50.0: Trouble.KNOCK}
_PICTURES: Final = 4
_NEAR: Final = 0.1
"""Share of a push by which what is told may be off; a turn comes with it …"""

_TURN: Final = 1.0
"""… and so many millimetres, whatever it is."""


class Pushed(Struct):
    """
    One push.

    Attributes:
        far: By how many millimetres.
        moved: By how many it was told; None where it was not.
        passed: Whether the check let it pass.
    """

    far: float
    moved: float | None
    passed: bool

    @property
    def is_wrong(self) -> bool:
        """
        Whether the check said something else than what happened.
        """
        if not self.far:
            return not self.passed
        off = abs(self.far - (self.moved or 0.0))
        return self.passed or off > _TURN + _NEAR * self.far


def push(settings: Settings, folder: Path) -> list[Pushed]:
    """
    Push the camera of a table, whose profile is in a folder, and have it checked.
    """
    path = folder / PROFILE
    profile = load_profile(path)
    chance = Random(f"push {settings.seed}")

    def reader() -> Reader:
        return load_reader(profile, None)

    found = []
    for far, trouble in _PUSHES.items():
        x = chance.uniform(-far, far)
        where = x, chance.choice([-1, 1]) * (far**2 - x**2) ** 0.5
        pictures = _pictures(settings, trouble, where)
        checked = check_profile(profile, path, pictures, reader)
        told = any(each.kind is Kind.MOVED and each.bad for each in checked.findings)
        found.append(Pushed(far, checked.moved if told else None, checked.passed))
    return found


def _pictures(
    settings: Settings, trouble: Trouble | None, where: tuple[float, float]
) -> list[Image]:
    view, sensor = TableView(settings, camera_of(settings)), Sensor(settings)
    stretch = Stretch(0)
    if trouble is not None:
        stretch.effects.append(Effect(trouble, 0.0, 1e9, where))
    state = moment(stretch, 1.0)
    view.push(state)
    return [
        sensor.take(view.draw(state), number / settings.fps, flicker=False, blur=0.0, torn=False)
        for number in range(_PICTURES)
    ]

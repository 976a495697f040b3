"""
Pushes of a camera before the shoe, found by `calibrate camera --check`.

    python -m bench.vision.pushed_camera_detection --shoes 200 --seed 5000

pushes the overhead cameras of `bench.vision.wrong_rounds_in_whole_shoes`; their shoes are not
played.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct

from calibration.camera.comparison_with_reference_image import FindingKind
from calibration.camera.shoe_start_check import check_profile
from drivers.camera.camera_as_line import load_recogniser
from drivers.camera.profile.profile_file import load_profile
from drivers.camera.recognition.find_and_read_card import CardRecogniser
from drivers.camera.sources.frame_capture_and_checks import Image
from drivers.simulators.camera.animated_round import AnimatedRound, Effect, scene_state
from drivers.simulators.camera.camera_projection import create_camera
from drivers.simulators.camera.light_and_sensor import Sensor
from drivers.simulators.camera.scene_settings import SceneFault, Settings
from drivers.simulators.camera.simulation_files import PROFILE, write_simulated_profile
from drivers.simulators.camera.table_image import TableImage

__all__ = ["Pushed", "print_pushed", "push"]

_PUSHES: Final = {0.0: None, 5.0: SceneFault.BUMP, 50.0: SceneFault.KNOCK}
_PICTURES: Final = 4
_TOLERANCE_SHARE: Final = 0.1
"""Tolerance of the reported push, as a share of it; a rotation comes with it …"""

_TOLERANCE_MM: Final = 1.0
"""… plus this number of millimetres."""


class Pushed(Struct):
    """
    One push.

    Attributes:
        far: Millimetres.
        moved: Reported millimetres; None if not reported.
        passed: The check passed.
    """

    far: float
    moved: float | None
    passed: bool

    @property
    def is_wrong(self) -> bool:
        """True if the check's result is wrong."""
        if not self.far:
            return not self.passed
        off = abs(self.far - (self.moved or 0.0))
        return self.passed or off > _TOLERANCE_MM + _TOLERANCE_SHARE * self.far


def push(settings: Settings, folder: Path) -> list[Pushed]:
    """Push the camera of a table with a profile, and run the check."""
    path = folder / PROFILE
    profile = load_profile(path)
    chance = Random(f"push {settings.seed}")

    def reader() -> CardRecogniser:
        return load_recogniser(profile, None)

    found = []
    for far, trouble in _PUSHES.items():
        x = chance.uniform(-far, far)
        where = x, chance.choice([-1, 1]) * (far**2 - x**2) ** 0.5
        pictures = _pictures(settings, trouble, where)
        checked = check_profile(profile, path, pictures, reader)
        reported = any(each.kind is FindingKind.MOVED and each.bad for each in checked.findings)
        found.append(Pushed(far, checked.moved if reported else None, checked.passed))
    return found


def _pictures(
    settings: Settings, trouble: SceneFault | None, where: tuple[float, float]
) -> list[Image]:
    view, sensor = TableImage(settings, create_camera(settings)), Sensor(settings)
    animation = AnimatedRound(0)
    if trouble is not None:
        animation.effects.append(Effect(trouble, 0.0, 1e9, where))
    state = scene_state(animation, 1.0)
    view.push_camera(state)
    return [
        sensor.take(view.draw(state), number / settings.fps, flicker=False, blur=0.0, torn=False)
        for number in range(_PICTURES)
    ]


def print_pushed(pushes: list[Pushed]) -> None:
    """Print the share of correct findings, and the reported distances."""
    if not pushes:
        return
    print("  `calibrate camera --check` of cameras that were pushed:")
    for far in sorted({each.far for each in pushes}):
        some = [each for each in pushes if each.far == far]
        right = sum(not each.is_wrong for each in some)
        moved = [each.moved for each in some if each.moved is not None]
        span = f"found {min(moved):.1f} to {max(moved):.1f} mm" if moved else "found nothing"
        print(f"    by {far:4.1f} mm: {right} of {len(some)} told right; {span}")


def _line(push: Pushed) -> str:
    verdict = "passed" if push.passed else "refused"
    far = "" if push.moved is None else f" as moved by {push.moved:.1f} mm"
    return f"pushed by {push.far:g} mm: {verdict}{far}{' WRONG' if push.is_wrong else ''}"


def main() -> int:
    """Push each table's camera; return 1 if a check was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.vision.pushed_camera_detection")
    parser.add_argument("--shoes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5000, help="of the first shoe")
    wishes = parser.parse_args()
    pushes: list[Pushed] = []
    for seed in range(wishes.seed, wishes.seed + wishes.shoes):
        settings = Settings(width=1280, height=720, seed=seed, shoes=1, fps=10.0)
        with tempfile.TemporaryDirectory() as folder:
            write_simulated_profile(settings, Path(folder))
            found = push(settings, Path(folder))
        pushes += found
        print(f"shoe {seed}: {', '.join(map(_line, found))}", flush=True)
    print_pushed(pushes)
    return int(any(each.is_wrong for each in pushes))


if __name__ == "__main__":
    sys.exit(main())

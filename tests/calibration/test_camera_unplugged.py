"""A step that failed is repeated alone: with an unplugged camera, or a wrong layout."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from calibration.camera.plane import Plane
from calibration.camera.scripted_dialogue import LayoutStep, Script, ScriptedDialogue
from calibration.camera.wizard import calibrate
from drivers.camera.image import Image
from shoe_daemon.errors import UserError
from tests.calibration.shared_calibration import WANTED, script, shelf
from tests.calibration.simulated_scene import Shelf


class Loose(Shelf):
    """A camera whose cable is unplugged once at each of some times."""

    def __init__(self, moments: set[float]) -> None:
        super().__init__(shelf().pictures)
        self.moments = moments

    def take(self, count: int, at: float | None = None) -> list[Image]:
        if at in self.moments:
            self.moments.remove(at)
            raise UserError("eye: no picture came: unplugged?")
        return super().take(count, at)


class Patient(ScriptedDialogue):
    """A person who plugs it in again, and whose first layout lies outside the image."""

    def __init__(self, script: Script) -> None:
        super().__init__(script, None)
        self.heard: list[str] = []
        self.planes: list[Plane] = []

    def layout(self, plane: Plane, empty: Image) -> LayoutStep:
        self.planes.append(plane)
        right = super().layout(plane, empty)
        return right if self.planes[1:] else LayoutStep(x=900.0, turn=20.0)

    def ask_retry(self, fault: str) -> bool:
        self.heard.append(fault)
        return True


def test_finished_steps_survive_a_failed_one() -> None:
    short = replace(script(), card=script().card[:2], sample=script().sample[:1])
    first, last = short.card[-1].at, short.sample[0].at
    assert short.back is not None
    assert first is not None is not last
    pulled = {first, short.back.at or 0.0, last}
    patient = Patient(short)
    found = calibrate(Loose(set(pulled)), patient, WANTED)
    outside, *unplugged = patient.heard
    assert "outside the picture" in outside
    assert unplugged == ["eye: no picture came: unplugged?"] * len(pulled)
    first_plane, second_plane = patient.planes
    assert np.array_equal(first_plane.homography, second_plane.homography)
    assert [each.card for each in found.cards] == [step.card for step in short.card]
    assert found.back is not None
    assert len(found.samples) == 1

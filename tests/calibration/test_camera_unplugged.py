"""A camera that disappears while cards are shown costs only showing that card again."""

from __future__ import annotations

from msgspec.structs import replace

from calibration.camera.scripted_dialogue import ScriptedDialogue
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
    """A person who plugs it in again."""

    heard: tuple[str, ...] = ()

    def ask_retry(self, fault: str) -> bool:
        self.heard += (fault,)
        return True


def test_finished_steps_survive_an_unplugged_camera() -> None:
    short = replace(script(), card=script().card[:2], sample=script().sample[:1])
    first, last = short.card[-1].at, short.sample[0].at
    assert short.back is not None
    assert first is not None is not last
    pulled = {first, short.back.at or 0.0, last}
    patient = Patient(short, None)
    found = calibrate(Loose(set(pulled)), patient, WANTED)
    assert patient.heard == ("eye: no picture came: unplugged?",) * len(pulled)
    assert [each.card for each in found.cards] == [step.card for step in short.card]
    assert found.back is not None
    assert len(found.samples) == 1

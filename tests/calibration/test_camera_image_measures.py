"""Image measures find the simulated values; refused controls are reported."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from calibration.camera.control_locks import lock_controls
from calibration.camera.image_measures import measure_flicker, measure_sharpness
from tests.calibration.simulated_scene import seen


def test_sharpness_falls_with_blur() -> None:
    sharp = [measure_sharpness(seen(blur=blur)) for blur in (0.0, 1.0, 2.0, 4.0)]
    assert sharp == sorted(sharp, reverse=True)
    assert sharp[0] > 0.85
    assert sharp[-1] < 0.5
    assert measure_sharpness(np.full((96, 96, 3), 90, np.uint8)) == 0


@pytest.mark.parametrize(("mains", "fps"), [(50, 30.0), (60, 25.0)])
def test_flicker_is_reported_with_the_mains_frequency(mains: int, fps: float) -> None:
    rows = np.arange(360) / 360 / fps
    pictures = []
    for number in range(24):
        wave = 1 + 0.08 * np.sin(2 * np.pi * 2 * mains * (number / fps + rows))
        pictures.append((np.full((360, 640, 3), 120.0) * wave[:, None, None]).astype(np.uint8))
    found = measure_flicker(pictures, fps)
    assert not found.steady
    assert found.strength == pytest.approx(0.08, abs=0.02)
    assert found.mains == mains
    assert measure_flicker(pictures[:1] * 24, fps).steady


class Refusing:
    """A device without focus that does not let its exposure be locked."""

    def __init__(self) -> None:
        self.values = {
            cv2.CAP_PROP_AUTO_EXPOSURE: 3.0,
            cv2.CAP_PROP_EXPOSURE: 157.0,
            cv2.CAP_PROP_AUTO_WB: 1.0,
            cv2.CAP_PROP_WB_TEMPERATURE: 4600.0,
        }

    def get(self, propId: int) -> float:  # noqa: N803 - OpenCV's name
        return self.values.get(propId, -1.0)

    def set(self, propId: int, value: float) -> bool:  # noqa: N803 - as above
        if propId != cv2.CAP_PROP_AUTO_EXPOSURE and propId in self.values:
            self.values[propId] = value
        return True


def test_refused_controls_are_reported() -> None:
    exposure, white, focus = lock_controls(Refusing())
    assert (exposure.locked, white.locked, focus.locked) == (False, True, False)
    assert "refused" in exposure.said
    assert white.controls == {"auto_wb": 0.0, "wb_temperature": 4600.0}
    assert "has none" in focus.said

"""A picture that is updated equals one drawn from nothing, and one that a shutter would see."""

from __future__ import annotations

from itertools import islice

import cv2
import numpy as np
import pytest

from drivers.simulators.camera.animated_round import scene_state
from drivers.simulators.camera.animated_shoe import animated_rounds
from drivers.simulators.camera.hands import Grip, hand
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.settings import OVERHEAD_FAULTS, Settings
from drivers.simulators.camera.sprites import lay
from drivers.simulators.camera.table_image import TableImage
from tests.camera.simulated_tables import settings
from tests.volume import sample, volume

_SIZE = (360, 640, 3)


def view(wish: Settings) -> TableImage:
    return TableImage(wish, create_camera(wish))


@pytest.mark.parametrize("seed", sample([2, 5], 2))
def test_what_was_there_before_leaves_no_trace(seed: int) -> None:
    wish = settings(seed=seed, rounds=6, faults=OVERHEAD_FAULTS, fault_rate=0.7, pause=0.1)
    playing = view(wish)
    for animation in islice(animated_rounds(wish), volume(1, 3)):
        for number, at in enumerate(np.arange(0.0, animation.seconds, 0.13)):
            state = scene_state(animation, float(at))
            playing.push_camera(state)
            drawn = playing.draw(state)
            if number % volume(24, 12) == 0:
                fresh = view(wish)
                fresh.camera = playing.camera
                assert np.array_equal(drawn, fresh.draw(state))


@pytest.mark.parametrize("way", sample([(14.0, 0.0), (-9.0, 5.0), (3.0, -30.0), (0.0, 2.0)], 2))
def test_what_moves_is_smeared_as_a_shutter_would(way: tuple[float, float]) -> None:
    arm = hand(Grip.FLAT, 3)
    quad = np.array([(200.0, 40.0), (330.0, 60.0), (310.0, 500.0), (180.0, 480.0)])
    ground = np.full(_SIZE, (60, 96, 22), np.uint8)
    smeared = ground.copy()
    lay(smeared, arm, quad, None, way)
    exposed = np.zeros(_SIZE, np.float64)
    for share in np.linspace(-0.5, 0.5, 33):
        once = ground.copy()
        lay(once, arm, quad + np.array(way) * share, None)
        exposed += once / 33
    apart = np.abs(cv2.blur(smeared, (3, 3)).astype(np.float64) - cv2.blur(exposed, (3, 3)))
    assert apart.mean() < 1.0
    assert float(np.percentile(apart, 99.5)) < 16

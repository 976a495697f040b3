"""The boxes that are printed on a felt are proposed, wherever the markers lay; nothing else is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.camera.layout import LAYOUTS, NO_SHIFT, Box, layout_named
from calibration.camera.plane import Plane
from calibration.camera.printed_boxes import BoxProposal, propose_boxes
from drivers.camera.image import Image
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.table_projection import Floats
from drivers.simulators.camera.settings import Settings
from shoe_daemon.game import Slot
from tests.camera.profiles import simulated_profile
from tests.volume import sample, volume

CLOSE_MM = 3.0
Outline = tuple[float, float, float, float]
"""Middle, width and height."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@lru_cache
def table(folder: Path, seed: int) -> tuple[Image, Profile]:
    """An empty simulated table, and its true profile."""
    profile = load_profile(simulated_profile(Settings(seed=seed), folder / str(seed)))
    return np.asarray(cv2.imread(str(profile.reference)), np.uint8), profile


def plane_of(profile: Profile) -> Plane:
    size = profile.camera.size
    return Plane(np.array(profile.table.homography), profile.lens, None, None, size)


def moved(points: Floats, x: float, y: float, degrees: float) -> Floats:
    turn = math.radians(degrees)
    along = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    return np.asarray(points @ along.T + (x, y))


def middles(found: BoxProposal, *shift: float) -> dict[Slot | None, Floats]:
    """The middles of proposed boxes on a plane that was moved by a shift."""
    return {
        box.slot: moved(moved(np.array([(box.x, box.y)]), *found.shift), *(shift or NO_SHIFT))[0]
        for box in found.boxes
    }


@pytest.mark.parametrize("seed", range(volume(1, 6)))
def test_the_boxes_of_a_felt_are_found_wherever_the_markers_lay(folder: Path, seed: int) -> None:
    image, profile = table(folder, seed)
    rng = np.random.default_rng(seed)
    shift = (*rng.uniform(-300, 300, 2), rng.integers(4) * 90 + rng.uniform(-40, 40))
    found = propose_boxes(image, plane_of(profile).moved(*shift), layout_named("six"))
    assert found is not None
    there = middles(found, *shift)
    for place in profile.place:
        if place.slot is not None:
            assert math.dist(there[place.slot], place.centre) < CLOSE_MM
            (box,) = (each for each in found.boxes if each.slot is place.slot)
            assert box.turn == place.turn


@pytest.mark.parametrize("name", sample(LAYOUTS, 3))
def test_the_slots_are_those_of_the_layout(folder: Path, name: str) -> None:
    image, profile = table(folder, 0)
    layout = layout_named(name)
    found = propose_boxes(image, plane_of(profile), layout)
    assert found is not None
    assert [box.slot for box in found.boxes] == [box.slot for box in layout]
    x_of = {box.slot: box.x for box in found.boxes}
    wanted = {box.slot: box.x for box in layout}
    for one, other in ((Slot.P1, Slot.B1), (Slot.P1, Slot.P2), (Slot.B1, Slot.B2)):
        assert (x_of[one] < x_of[other]) is (wanted[one] < wanted[other])


def drawn(rectangles: Sequence[Outline]) -> tuple[Image, Plane]:
    """A felt with outlines: middle, width and height in millimetres, at a pixel each."""
    image = np.full((720, 1280, 3), (40, 90, 40), np.uint8)
    for x, y, width, height in rectangles:
        corners = [(round(640 + x - width / 2), round(360 + y - height / 2))]
        corners.append((round(640 + x + width / 2), round(360 + y + height / 2)))
        cv2.rectangle(image, corners[0], corners[1], (220, 220, 200), 3)
    matrix = np.array([[1.0, 0, 640], [0, 1.0, 360], [0, 0, 1]])
    return image, Plane(matrix, None, None, None, (1280, 720))


SIX = [(box.x, box.y, *((112, 86) if box.turn else (82, 110))) for box in layout_named("six")]


def test_a_plain_felt_gives_no_proposal() -> None:
    assert propose_boxes(*drawn([]), layout_named("six")) is None


@pytest.mark.parametrize("missing", sample(range(6), 6))
def test_five_boxes_give_no_proposal(missing: int) -> None:
    five = [box for number, box in enumerate(SIX) if number != missing]
    assert propose_boxes(*drawn(five), layout_named("six")) is None


@pytest.mark.parametrize("seed", range(volume(2, 8)))
def test_other_outlines_do_not_hide_the_six(seed: int) -> None:
    rng = np.random.default_rng(seed)
    others = [(*rng.uniform((-500, -250), (500, 250)), *rng.uniform(60, 130, 2)) for _ in range(4)]
    apart = [each for each in others if all(math.dist(each[:2], box[:2]) > 150 for box in SIX)]
    found = propose_boxes(*drawn([*SIX, *apart]), layout_named("six"))
    assert found is not None
    there = middles(found)
    for box in layout_named("six"):
        assert math.dist(there[box.slot], (box.x, box.y)) < CLOSE_MM


def test_boxes_below_one_another_are_a_hand_too() -> None:
    # The third cards lie below the first two, as on many felts.
    six = [
        (-190, -60, 82, 110), (-95, -60, 82, 110), (-142, 80, 112, 86),
        (95, -60, 82, 110), (190, -60, 82, 110), (142, 80, 112, 86),
    ]  # fmt: skip
    found = propose_boxes(*drawn(six), layout_named("six"))
    assert found is not None
    there = middles(found)
    wanted = {
        Slot.P1: (-190, -60), Slot.P2: (-95, -60), Slot.P3: (-142, 80),
        Slot.B1: (95, -60), Slot.B2: (190, -60), Slot.B3: (142, 80),
    }  # fmt: skip
    for slot, middle in wanted.items():
        assert math.dist(there[slot], middle) < CLOSE_MM
    assert isinstance(found.boxes[0], Box)

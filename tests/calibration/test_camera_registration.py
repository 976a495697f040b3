"""
The shift of a camera is measured in any direction while most of the table is visible; another
table is rejected with a reason.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.camera.check import CheckResult, check_profile
from calibration.camera.image_measures import mean_image
from calibration.camera.reference_comparison import FindingKind
from calibration.camera.registration import (
    TableShift,
    find_table_shift,
    max_recognised_shift_mm,
)
from calibration.camera.simulated_table import LyingCard, SimulatedTable, TableState
from drivers.camera.image import Image
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.recogniser import Recogniser
from drivers.camera.recognition.table_projection import TableProjection
from drivers.simulators.camera.settings import Settings
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from tests.camera.profiles import simulated_profile
from tests.volume import sample

Push = tuple[float, float, float]
"""Millimetres to the right and down on the table, and degrees."""


class Table:
    """A simulated table with its profile."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.path = simulated_profile(settings, folder)
        self.profile: Profile = load_profile(self.path)
        self.reference = np.asarray(cv2.imread(str(self.profile.reference)), np.uint8)
        self.here = SimulatedTable(settings)

    def seen(self, push: Push = (0.0, 0.0, 0.0), **night: object) -> Image:
        there = TableState(pushed=push, **night)  # type: ignore[arg-type]
        return mean_image([self.here.picture(there, number / 25) for number in range(4)])

    def moved(self, picture: Image) -> TableShift | None:
        return find_table_shift(self.profile, self.reference, picture)

    def far(self, push: Push) -> float:
        """Return the largest shift of the places in the image."""
        middles = np.array([place.centre for place in self.profile.place])
        after = self.here.camera.moved(*push).on_table(middles)
        away = TableProjection(self.profile).to_table(after) - middles
        return float(np.linalg.norm(away, axis=1).max())

    def checked(self, picture: Image) -> CheckResult:
        return check_profile(self.profile, self.path, [picture], Recogniser)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return Table(Settings(seed=5181), tmp_path_factory.mktemp("table"))


def test_a_shift_along_equidistant_lines_is_measured(table: Table) -> None:
    """
    The arcs of the felt are 52 mm apart: after a shift of 50 mm with a small rotation, each is
    nearly where the next one was. Regression: this was rejected as another table.
    """
    found = table.checked(table.seen((-10.9, 48.8, 0.8)))
    assert [each.kind for each in found.findings if each.bad] == [FindingKind.MOVED]
    assert found.moved == pytest.approx(table.far((-10.9, 48.8, 0.8)), abs=0.1)
    assert found.moved == pytest.approx(50, abs=6), "with what the turn adds at the places"


@pytest.mark.parametrize(
    "push", sample([(60.0, -70.0, 3.0), (1.5, 2.0, 0.0), (-70.0, 20.0, -5.0)], 3)
)
def test_any_shift_and_rotation_is_measured(table: Table, push: Push) -> None:
    found = table.moved(table.seen(push))
    assert found is not None
    assert found.max_mm == pytest.approx(table.far(push), abs=0.1)
    assert found.rotation_degrees == pytest.approx(-push[2], abs=0.3)


def test_a_shift_is_measured_with_cards_and_out_of_focus(table: Table) -> None:
    cards = {slot: LyingCard(Card("9D")) for slot in Slot}
    found = table.moved(table.seen((30.0, 20.0, 1.0), cards=cards, blur=1.5, light=0.7))
    assert found is not None
    assert found.max_mm == pytest.approx(table.far((30.0, 20.0, 1.0)), abs=0.3)


def test_another_table_with_the_same_print_is_not_recognised(table: Table, tmp_path: Path) -> None:
    other = load_profile(simulated_profile(Settings(seed=5182), tmp_path))
    found = table.checked(np.asarray(cv2.imread(str(other.reference)), np.uint8))
    assert FindingKind.OTHER_SCENE in [each.kind for each in found.findings]
    assert FindingKind.MOVED not in [each.kind for each in found.findings]
    assert found.moved is None


def test_an_unrecognised_table_is_reported(table: Table) -> None:
    """The finding names a distance that every smaller shift is recognised within."""
    within = max_recognised_shift_mm(table.profile)
    assert 60 < within < 90
    covered = table.seen((10.0, 0.0, 0.0))
    covered[:, :900] = (60, 50, 40)
    told = [
        each for each in table.checked(covered).findings if each.kind is FindingKind.OTHER_SCENE
    ]
    assert f"not within {within:.0f} mm of where it was" in told[0].text
    assert "another table" in told[0].text
    assert "something lies over the table" in told[0].text


def told(found: CheckResult) -> list[tuple[FindingKind, str]]:
    return [(each.kind, each.text) for each in found.findings if each.bad]


@pytest.mark.parametrize("turns", sample([2, 1], 2))
def test_a_rotated_image_is_reported(table: Table, turns: int) -> None:
    """Regression: this was reported as a shift of 500 mm."""
    middle = table.reference.shape[1] / 2, table.reference.shape[0] / 2
    way = cv2.getRotationMatrix2D(middle, 90.0 * turns, 1.0)
    size = table.reference.shape[1::-1]
    picture = cv2.warpAffine(table.reference, way, size, borderValue=(60, 70, 60))
    found = told(table.checked(np.asarray(picture, np.uint8)))
    assert [kind for kind, _ in found] == [FindingKind.MOVED]
    assert f"turned by {90 * turns} degrees" in found[0][1]
    assert "calibrate" not in found[0][1]


@pytest.mark.parametrize("flipped", sample([0, 1], 2))
def test_a_mirrored_image_is_reported(table: Table, flipped: int) -> None:
    found = told(table.checked(np.asarray(cv2.flip(table.reference, flipped), np.uint8)))
    assert [kind for kind, _ in found] == [FindingKind.MIRRORED]
    assert "mirrored" in found[0][1]


@pytest.mark.parametrize("grey", sample([12, 120, 255], 2))
def test_a_plain_image_is_reported_in_one_line(table: Table, grey: int) -> None:
    """Regression: there were several contradicting findings."""
    found = told(table.checked(np.full_like(table.reference, grey)))
    assert [kind for kind, _ in found] == [FindingKind.NO_PICTURE]
    assert "nothing can be seen in the picture" in found[0][1]
    assert "is the lens covered" in found[0][1]


@pytest.mark.parametrize(
    ("part", "where"),
    sample(
        [((slice(None), slice(640)), "on the left"), ((slice(360, None), slice(None)), "below")], 2
    ),
)
def test_a_half_covered_table_fails_the_check(
    table: Table, part: tuple[slice, slice], where: str
) -> None:
    """Regression: it passed, because enough of the other half was found."""
    picture = table.reference.copy()
    picture[part] = (215, 220, 222)
    found = told(table.checked(picture))
    assert [kind for kind, _ in found] == [FindingKind.COVERED]
    assert f"nothing of the table is found {where} in the picture" in found[0][1]


def test_cards_in_poor_light_do_not_count_as_cover(table: Table) -> None:
    cards = {slot: LyingCard(Card("9D")) for slot in Slot}
    found = table.moved(table.seen(cards=cards, blur=2.0, lamp_out=True))
    assert found is not None
    assert found.covered_side is None

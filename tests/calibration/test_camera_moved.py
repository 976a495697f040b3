"""
A camera that was pushed is told by how far, however far and whichever way as long as most of the
table is still seen; what is not the profile's table is refused, and it is said what is known.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.camera.check import Checked, check_profile
from calibration.camera.drift import Kind
from calibration.camera.measures import mean_of
from calibration.camera.moved import Moved, moved_by, told_within
from calibration.camera.rehearsal import Lies, Night, Rehearsal
from drivers.camera.frames import Image
from drivers.camera.geometry import Ground
from drivers.camera.profile import Profile, load_profile
from drivers.camera.recogniser import Recogniser
from drivers.simulators.table.calibrated import write_simulated_profile
from drivers.simulators.table.settings import Settings
from shoe_daemon.game.cards import Card
from shoe_daemon.game.round import Slot

Push = tuple[float, float, float]
"""Millimetres to the right and down on the table, and degrees."""


class Table:
    """
    A simulated table with its profile.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.path = write_simulated_profile(settings, folder)
        self.profile: Profile = load_profile(self.path)
        self.reference = np.asarray(cv2.imread(str(self.profile.reference)), np.uint8)
        self.here = Rehearsal(settings)

    def seen(self, push: Push = (0.0, 0.0, 0.0), **night: object) -> Image:
        there = Night(pushed=push, **night)  # type: ignore[arg-type]
        return mean_of([self.here.picture(there, number / 25) for number in range(4)])

    def moved(self, picture: Image) -> Moved | None:
        return moved_by(self.profile, self.reference, picture)

    def far(self, push: Push) -> float:
        """
        Say how far a push moves the places, in the picture and at the most.
        """
        middles = np.array([place.centre for place in self.profile.place])
        after = self.here.camera.moved(*push).on_table(middles)
        away = Ground(self.profile).to_table(after) - middles
        return float(np.linalg.norm(away, axis=1).max())

    def checked(self, picture: Image) -> Checked:
        return check_profile(self.profile, self.path, [picture], Recogniser)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return Table(Settings(seed=5181), tmp_path_factory.mktemp("table"))


def test_a_push_along_lines_that_are_as_far_apart_is_told(table: Table) -> None:
    """
    The arcs of the felt are 52 mm apart: pushed by 50 mm, and turned a little, each lies nearly
    where the next one was. It was once refused as another table.
    """
    found = table.checked(table.seen((-10.9, 48.8, 0.8)))
    assert [each.kind for each in found.findings if each.bad] == [Kind.MOVED]
    assert found.moved == pytest.approx(table.far((-10.9, 48.8, 0.8)), abs=0.1)
    assert found.moved == pytest.approx(50, abs=6), "with what the turn adds at the places"


@pytest.mark.parametrize("push", [(1.5, 2.0, 0.0), (-70.0, 20.0, -5.0), (60.0, -70.0, 3.0)])
def test_a_push_is_told_however_far_and_turned(table: Table, push: Push) -> None:
    found = table.moved(table.seen(push))
    assert found is not None
    assert found.far == pytest.approx(table.far(push), abs=0.1)
    assert found.turned == pytest.approx(-push[2], abs=0.3)


def test_cards_on_the_places_and_a_lens_out_of_focus_hide_no_push(table: Table) -> None:
    cards = {slot: Lies(Card("9D")) for slot in Slot}
    found = table.moved(table.seen((30.0, 20.0, 1.0), cards=cards, blur=1.5, light=0.7))
    assert found is not None
    assert found.far == pytest.approx(table.far((30.0, 20.0, 1.0)), abs=0.3)


def test_another_table_with_the_same_print_is_not_told_to_be_this_one_moved(
    table: Table, tmp_path: Path
) -> None:
    other = Table(Settings(seed=5182), tmp_path)
    found = table.checked(other.reference)
    assert Kind.OTHER_SCENE in [each.kind for each in found.findings]
    assert Kind.MOVED not in [each.kind for each in found.findings]
    assert found.moved is None


def test_what_is_not_recognised_is_said_with_what_is_known(table: Table) -> None:
    """
    No push that is shorter than what the finding names can be the cause.
    """
    within = told_within(table.profile)
    assert 60 < within < 90
    covered = table.seen((10.0, 0.0, 0.0))
    covered[:, :900] = (60, 50, 40)
    told = [each for each in table.checked(covered).findings if each.kind is Kind.OTHER_SCENE]
    assert f"not within {within:.0f} mm of where it was" in told[0].text
    assert "another table" in told[0].text
    assert "something lies over the table" in told[0].text


def test_a_black_picture_and_one_of_nothing_are_no_table(table: Table) -> None:
    black = np.zeros_like(table.reference)
    assert table.moved(black) is None
    assert table.moved(np.full_like(black, 120)) is None
    chance = np.random.default_rng(4)
    cloth = cv2.GaussianBlur(chance.normal(90, 60, black.shape), (0, 0), 1.2)
    assert table.moved(np.clip(cloth, 0, 255).astype(np.uint8)) is None

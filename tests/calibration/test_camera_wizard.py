"""
A camera is calibrated from frames alone; deficiencies, at once or at the start of a shoe, are
reported with advice.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest

from calibration.camera.check import CheckResult, check_profile
from calibration.camera.deck_comparison import Certainty
from calibration.camera.layout import (
    pixel_budgets,
    watched_places,
)
from calibration.camera.output import list_faults, reader_configuration, write_result
from calibration.camera.plane import projection_of
from calibration.camera.reference_comparison import FindingKind
from calibration.camera.report import render_report
from calibration.camera.scripted_dialogue import (
    CardStep,
    PlaneStep,
    ScriptedDialogue,
    ThroatStep,
    load_script,
)
from calibration.camera.shown_cards import (
    best_proven_point,
    choose_threshold,
)
from calibration.camera.wizard import calibrate
from drivers.camera.image import Image
from drivers.camera.options import CameraOptions
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import CardSize, Throat
from drivers.camera.recognition.recogniser import Recogniser
from drivers.simulators.camera.settings import SceneFault
from drivers.simulators.camera.table_layout import PLACES
from shoe_daemon.config.sections import ReaderSettings
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from tests.calibration.shared_calibration import WANTED, result, script, shelf
from tests.calibration.simulated_scene import SIDE, SIZE, THIRTEEN, camera, seen


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("camera") / "profile.toml"
    write_result(result(), path, "0.0")
    return path


def test_the_configuration_is_one_that_the_daemon_reads(written: Path) -> None:
    profile = load_profile(written)
    assert reader_configuration(profile, written) is None, "no table reads a recording"
    port = 'camera:/dev/v4l/by-id/usb-"odd" näme'
    seen_by = msgspec.structs.replace(profile.camera, source=port)
    live = msgspec.structs.replace(profile, camera=seen_by)
    table = tomllib.loads(reader_configuration(live, written) or "")
    (reader,) = (msgspec.convert(each, ReaderSettings) for each in table["reader"])
    assert (reader.id, reader.driver, reader.port) == ("camera", "camera", port)
    options = msgspec.convert(reader.options, CameraOptions)
    assert (options.station, options.profile) == ("overhead", str(written))


def test_the_places_are_at_their_true_positions() -> None:
    ground = projection_of(result().plane)
    for place in result().places:
        assert place.slot is not None
        box = PLACES[place.slot]
        off = ground.to_table(camera().on_table(np.array([[box.x, box.y]])))[0] - place.centre
        assert np.abs(off).max() < 1.0


@pytest.mark.parametrize("way", [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
@pytest.mark.parametrize("turn", [0, 90])
def test_the_throat_window_has_room_for_a_card(way: tuple[float, float], turn: int) -> None:
    """Regression: a card was always searched as if its short side led."""
    step = ThroatStep(direction=way, turn=90 if turn else 0)
    (left, top), _, (right, bottom), _ = step.corners
    throat = Throat(window=step.corners, direction=way, turn=step.turn)
    (place,) = watched_places((), throat)
    lies_along_x = (way[0] != 0) == (turn == 0)
    assert (place.turn == 90) == lies_along_x
    assert right - left > (88 if lies_along_x else 63)
    assert bottom - top > (63 if lies_along_x else 88)


def test_cards_are_found_measured_and_kept(written: Path) -> None:
    assert [each.card for each in result().cards] == [card for card, _ in THIRTEEN[::3]]
    assert all(each.pixels > 45 for each in result().cards)
    assert not any(each.read not in {None, each.card} for each in result().cards)
    kept = {path.stem for path in written.with_name("profile-cards").iterdir()}
    assert kept == {"A", "4", "7", "10", "K", "back"}
    assert any("not shown: 2, 3, 5" in each for each in list_faults(result()))


def test_a_written_profile_is_loaded_unchanged(written: Path) -> None:
    profile = load_profile(written)
    assert "for at most one wrong card in 4,000" in profile.made.risk
    assert len(profile.place) == 6
    assert profile.reading.threshold is not None
    reference = cv2.imread(str(profile.reference))
    assert reference is not None
    assert reference.shape == (720, 1280, 3)


def test_the_report_is_self_contained() -> None:
    page = render_report(result())
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert page.count("data:image/jpeg") == 2 + 5 + 1, "table, plane, cards, the back"
    assert page.count('class="set"') == 1


def test_an_unproven_risk_is_reported_with_the_proven_one() -> None:
    told = list_faults(replace(result(), threshold=choose_threshold(1 / 1_000_000)))
    line = next(each for each in told if "is not proven" in each)
    assert line.startswith("one wrong card in 1000000 is not proven")
    best = best_proven_point()
    assert best is not None
    assert f"--risk {1 / best.risk:.0f}" in line
    assert not any("proven" in each for each in list_faults(result()))


# The check at the start of a shoe


def checked(path: Path, *pictures: Image) -> CheckResult:
    return check_profile(load_profile(path), path, pictures, Recogniser)


def bad(found: CheckResult) -> list[FindingKind]:
    return [each.kind for each in found.findings if each.bad]


def test_an_unchanged_table_has_no_findings(written: Path) -> None:
    found = checked(written, seen(), seen())
    assert found.passed
    assert bad(found) == []
    assert [each.kind for each in found.findings] == [FindingKind.NOTE]
    assert found.deck is Certainty.NOT


@pytest.mark.parametrize(("pushed", "far"), [((-3.0, 4.0, 0.1), 5.0), ((30.0, 40.0, 0.8), 50.0)])
def test_a_moved_camera_is_reported_with_distance_and_direction(
    written: Path, pushed: tuple[float, float, float], far: float
) -> None:
    found = checked(written, seen(pushed=pushed))
    assert bad(found) == [FindingKind.MOVED]
    moved = next(each for each in found.findings if each.kind is FindingKind.MOVED)
    assert moved.amount == pytest.approx(far, rel=0.15)
    assert ("to the right" if pushed[0] < 0 else "to the left") in moved.text
    assert "mm up" in moved.text


def test_a_blurred_image_is_reported_with_both_values(written: Path) -> None:
    found = checked(written, seen(blur=2.8))
    assert bad(found) == [FindingKind.BLURRED]
    text = next(each.text for each in found.findings if each.bad)
    assert "this profile had 0.9" in text
    assert "clean or refocus the lens" in text


def test_a_failed_lamp_is_reported(written: Path) -> None:
    found = checked(written, seen(trouble=SceneFault.LAMP_OUT))
    assert bad(found) == [FindingKind.DARKER]


def test_bright_and_black_images_are_reported(written: Path) -> None:
    bright = np.clip(seen().astype(np.float64) * 1.6, 0, 255).astype(np.uint8)
    assert bad(checked(written, bright)) == [FindingKind.BRIGHTER]
    assert bad(checked(written, np.zeros_like(bright))) == [FindingKind.NO_PICTURE]


def test_a_camera_in_night_mode_is_reported(written: Path) -> None:
    assert FindingKind.NO_COLOURS in bad(checked(written, without_colours(seen())))


def without_colours(image: Image) -> Image:
    """Return what a monochrome camera shows, through the compression of a stream."""
    grey = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    packed = cv2.imencode(".jpg", grey)[1]
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)


def test_a_monochrome_camera_is_refused_by_name() -> None:
    class Monochrome:
        def take(self, count: int, at: float | None = None) -> list[Image]:
            return [without_colours(each) for each in shelf().take(count, at)]

    with pytest.raises(UserError, match="the camera is monochrome, or in night mode"):
        calibrate(Monochrome(), ScriptedDialogue(script(), None), WANTED)


def test_cards_of_the_same_deck_pass(written: Path) -> None:
    laid = {Slot.P2: Card("4H"), Slot.B1: Card("7S"), Slot.B3: Card("KC"), Slot.P1: None}
    found = checked(written, seen(laid))
    assert bad(found) == []
    assert found.deck is Certainty.SURELY


def test_another_deck_and_another_back_are_reported(written: Path) -> None:
    laid = {Slot.P2: Card("4H"), Slot.B1: Card("7S"), Slot.B3: Card("KC"), Slot.P1: None}
    assert set(bad(checked(written, seen(laid, deck=1)))) == {
        FindingKind.OTHER_DECK,
        FindingKind.OTHER_BACK,
    }


def test_images_of_another_size_or_scene_are_reported(written: Path) -> None:
    small = np.ascontiguousarray(seen()[::2, ::2])
    assert bad(checked(written, small)) == [FindingKind.OTHER_RESOLUTION]
    noise = np.random.default_rng(1).integers(0, 255, (45, 80, 3)).astype(np.uint8)
    other = np.asarray(cv2.resize(noise, SIZE), np.uint8)
    assert FindingKind.OTHER_SCENE in bad(checked(written, other))


# Scripts


def test_a_script_rejects_unknown_keys(tmp_path: Path) -> None:
    path = tmp_path / "answers.toml"
    path.write_text('[plane]\nsize = 90\n[[card]]\nat = 2.0\ncard = "AS"\nslot = "P1"\n')
    assert load_script(path).card == (CardStep(at=2.0, card=Card("AS"), slot=Slot.P1),)
    path.write_text("[plane]\nsice = 90\n")
    with pytest.raises(UserError, match=r"answers\.toml.*sice"):
        load_script(path)


def test_a_plane_that_cannot_be_fitted_ends_the_run() -> None:
    broken = msgspec.structs.replace(script(), plane=PlaneStep(at=1.0, size=SIDE))
    with pytest.raises(UserError, match="no marker found"):
        calibrate(shelf(), ScriptedDialogue(broken, None), WANTED)


def test_too_few_pixels_are_reported_with_advice() -> None:
    plane = result().plane
    told = pixel_budgets(plane, result().places, CardSize(), least=60.0)
    assert [each.passed for each in told] == [False] * 6
    poor = replace(result(), budget=told)
    assert any(each.startswith("P1: 5") and "nearer" in each for each in list_faults(poor))

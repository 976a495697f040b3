"""The camera at the shoe's throat is calibrated with a card as the rectangle, and checked."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.camera.check import CheckResult, check_profile
from calibration.camera.deck_comparison import Certainty
from calibration.camera.image_measures import mean_image
from calibration.camera.output import list_faults, write_result
from calibration.camera.plane import rectangle_corners
from calibration.camera.reference_comparison import FindingKind
from calibration.camera.registration import find_table_shift
from calibration.camera.scripted_dialogue import (
    BackStep,
    CardStep,
    EmptyStep,
    PlaneStep,
    Script,
    ScriptedDialogue,
)
from calibration.camera.simulated_table import LyingCard, SimulatedTable, TableState
from calibration.camera.wizard import CalibrationRequest, calibrate
from drivers.camera.image import Image
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Camera
from drivers.camera.recognition.recogniser import Recogniser
from drivers.simulators.camera.animated_round import (
    FACE,
    AnimatedRound,
    CardTrack,
    Key,
    Pose,
    scene_state,
)
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.settings import Settings, Station
from drivers.simulators.camera.table_layout import CARD
from drivers.simulators.camera.throat_image import ThroatImage
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from tests.calibration.simulated_scene import Shelf
from tests.camera.profiles import simulated_profile
from tests.volume import sample

SETTINGS = Settings(seed=3, station=Station.THROAT)
CAMERA = create_camera(SETTINGS)
CARDS = ("AS", "5H", "10C", "KD")
SHOWN = [("KD", FACE), ("9D", FACE), ("AS", 0.0)]


@lru_cache(maxsize=1)
def sensor() -> Sensor:
    return Sensor(SETTINGS)


@lru_cache(maxsize=1)
def view() -> ThroatImage:
    return ThroatImage(SETTINGS, CAMERA)


def seen(card: str | None = None, *, turn: float = FACE, deck: int = 0, out: float = 0.0) -> Image:
    tracks = []
    if card is not None:
        pose = Pose(out, 0.0, heading=90.0, turn=turn)
        tracks = [CardTrack(keys=[Key(0.0, pose), Key(9.0, pose)], card=Card(card))]
    drawn = view().draw(scene_state(AnimatedRound(0, cards=tracks, deck=deck), 3.0))
    return sensor().take(drawn, 0.0, flicker=False, blur=0.0, torn=False)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quad = rectangle_corners(*CARD[::-1])
    points = tuple((float(x), float(y)) for x, y in CAMERA.on_table(quad))
    pictures = {0.0: seen("AS"), 1.0: seen(), 30.0: seen("AS", turn=0.0)}
    pictures |= {2.0 + number: seen(card) for number, card in enumerate(CARDS)}
    steps = tuple(CardStep(at=2.0 + n, card=Card(card)) for n, card in enumerate(CARDS))
    script = Script(
        plane=PlaneStep(at=0.0, points=points, rectangle=(CARD[1], CARD[0])),
        empty=EmptyStep(at=1.0),
        card=steps,
        back=BackStep(at=30.0),
        sample=steps[:1],
    )
    wanted = CalibrationRequest(
        "throat", "simulated", Camera(width=1280, height=720), 1 / 4000, "now"
    )
    result = calibrate(Shelf(pictures), ScriptedDialogue(script, None), wanted)
    assert all(each.read == each.card for each in result.cards)
    assert len(list_faults(result)) == 1, "only that not every rank was shown"
    path = tmp_path_factory.mktemp("mouth") / "profile.toml"
    write_result(result, path, "0.0")
    return path


def checked(path: Path, picture: Image) -> CheckResult:
    return check_profile(load_profile(path), path, [picture] * 2, Recogniser)


def bad(found: CheckResult) -> list[FindingKind]:
    return [each.kind for each in found.findings if each.bad]


def test_the_throat_window_covers_the_path_of_the_cards(profile: Path) -> None:
    made = load_profile(profile)
    assert made.throat is not None
    assert made.throat.direction == (1.0, 0.0)
    assert made.place == ()


def test_an_unchanged_throat_passes_the_check(profile: Path) -> None:
    assert bad(checked(profile, seen())) == []
    assert bad(checked(profile, seen("KC"))) == []


def test_a_moved_camera_at_the_throat_is_reported(profile: Path) -> None:
    shift = np.array([[1.0, 0.0, 30.0], [0.0, 1.0, -5.0]])
    pushed = cv2.warpAffine(seen(), shift, (1280, 720), borderMode=cv2.BORDER_REPLICATE)
    found = checked(profile, np.asarray(pushed, np.uint8))
    assert bad(found) == [FindingKind.MOVED]
    assert found.moved == pytest.approx(3.0, abs=0.3)


def test_another_deck_in_the_throat_is_reported(profile: Path) -> None:
    assert FindingKind.OTHER_DECK in bad(checked(profile, seen("5S", deck=1)))


def test_a_throat_asks_for_one_card_at_a_time(
    profile: Path,
) -> None:
    """Regression: it asked for two more cards beside the one that fills the throat."""
    for picture, sure, wanted in (
        (seen(), Certainty.NOT, "one card at a time"),
        (seen("KC"), Certainty.UNSURE, "once more with one face down"),
        (seen("KC", turn=0.0), Certainty.UNSURE, "once more with one face up"),
    ):
        found = checked(profile, picture)
        assert found.passed
        assert found.deck is sure
        (note,) = found.findings
        assert wanted in note.text
        assert "more card" not in note.text
        assert "three" not in note.text


@pytest.mark.parametrize(
    "half", sample([np.s_[:, 640:], np.s_[:, :640], np.s_[360:], np.s_[:360]], 4), ids=str
)
def test_a_half_covered_throat_fails_the_check(profile: Path, half: tuple[slice, ...]) -> None:
    """Regression: the right half passed as a card that leaves."""
    picture = seen().copy()
    picture[half] = (215, 220, 222)
    found = checked(profile, picture)
    assert bad(found) in ([FindingKind.COVERED], [FindingKind.OTHER_SCENE])
    assert "covered" in found.findings[0].text or "lies over it" in found.findings[0].text


@pytest.mark.parametrize(
    ("shown", "out"),
    sample(
        product([("KD", FACE), ("9D", FACE), ("AS", 0.0)], [-20.0, -10.0, 10.0, 20.0, 40.0]), 7
    ),
)
def test_a_partly_hidden_card_in_the_throat_is_no_finding(
    profile: Path, shown: tuple[str, float], out: float
) -> None:
    """Regression: an outline began at the throat's edge, and its content was compared."""
    card, turn = shown
    assert bad(checked(profile, seen(card, turn=turn, out=out))) == []


def test_an_unrecognised_throat_is_reported_without_a_distance(
    profile: Path, tmp_path: Path
) -> None:
    """Regression: a distance was named although a card hid the throat."""
    other = load_profile(simulated_profile(Settings(seed=4, station=Station.THROAT), tmp_path))
    picture = np.asarray(cv2.imread(str(other.reference)), np.uint8)
    told = [
        each for each in checked(profile, picture).findings if each.kind is FindingKind.OTHER_SCENE
    ]
    assert "throat empty" in told[0].text
    assert " mm" not in told[0].text


@pytest.mark.parametrize(
    ("seed", "night"),
    sample(
        [
            (301, TableState(cards={Slot.P1: LyingCard(Card("2C"), -20, 2, 2)}, light=0.8)),
            (
                302,
                TableState(cards={Slot.P1: LyingCard(Card("KD"), 10, 0, 2)}, light=0.8, blur=1.0),
            ),
            (
                308,
                TableState(cards={Slot.P1: LyingCard(Card("KD"), 10, 0, 2)}, light=0.8, blur=1.0),
            ),
            (308, TableState(lamp_out=True)),
        ],
        4,
    ),
)
def test_a_throat_is_recognised_by_its_surroundings(
    seed: int, night: TableState, tmp_path: Path
) -> None:
    """Regression: points were chosen in the throat, where the card hid them."""
    settings = Settings(seed=seed, station=Station.THROAT)
    made = load_profile(simulated_profile(settings, tmp_path))
    reference = np.asarray(cv2.imread(str(made.reference)), np.uint8)
    here = SimulatedTable(settings)
    moved = find_table_shift(
        made, reference, mean_image([here.picture(night, n / 25) for n in range(2)])
    )
    assert moved is not None
    assert moved.max_mm < 0.5
    assert moved.covered_side is None


def test_a_failed_lamp_at_the_throat_is_reported(profile: Path) -> None:
    dark = (seen() * 0.5).astype(np.uint8)
    assert bad(checked(profile, dark)) == [FindingKind.DARKER]

"""Every card is reported once, in dealing order; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache
from itertools import product
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.camera.image import Image, VideoFrame
from drivers.camera.line import make_station
from drivers.camera.messages import Say, Statement
from drivers.camera.options import CameraOptions
from drivers.camera.profile.sections import Profile
from drivers.transport import LineError
from tests.camera.known_deck_recogniser import ByHeart
from tests.camera.overhead_scene import CENTRES, Scene, loaded, on
from tests.volume import sample

FPS = 10
Told = list[tuple[str, str | None, str | None]]


@lru_cache(maxsize=64)
def drawn(scene: Scene, number: int) -> Image:
    return scene.drawn(number)


class Watched:
    """A station that processes scenes."""

    def __init__(self, profile: Profile, evidence: Path | None = None, fps: float = FPS) -> None:
        self.fps = fps
        self.reader = ByHeart()
        self.station = make_station(profile, CameraOptions(), evidence, self.reader)
        self.said: list[Statement] = []
        self.now = 0.0

    def show(self, scene: Scene, seconds: float = 0.5) -> Told:
        images = (drawn(scene, number % 2) for number in range(round(seconds * self.fps)))
        return [said for image in images for said in self.see(image)]

    def see(self, image: Image) -> Told:
        """Process one frame."""
        self.now += 1 / self.fps
        statements = self.station.process(VideoFrame(image, self.now, 0))
        self.said += statements
        return told(statements)


def told(said: list[Statement]) -> Told:
    return [(each.say.value, each.slot, each.card) for each in said]


def placed(slot: str, card: str) -> tuple[str, str, str]:
    return ("placed", slot, card)


CLEARED = ("cleared", None, None)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return loaded(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def table(profile: Profile) -> Iterator[Watched]:
    watched = Watched(profile)
    watched.show(Scene(), 0.3)
    yield watched
    watched.station.close()


def test_a_round_is_reported_in_dealing_order(table: Watched) -> None:
    lying, heard = Scene(), []
    for slot, card in (("P1", "AS"), ("B1", "10H"), ("P2", "KD"), ("B2", "7C"), ("B3", "2D")):
        lying = lying.but(cards=(*lying.cards, on(slot, card, 4, -3, 8)))
        assert table.show(lying) == [placed(slot, card)]
        heard.append(slot)
    assert table.show(lying, 1) == []
    assert table.show(Scene(), 1.5) == [CLEARED]
    assert table.show(Scene(), 1) == []


def test_a_card_is_reported_soon_after_it_comes_to_rest(table: Watched) -> None:
    table.show(Scene((on("P1", "4H"),)))
    assert 0 < (table.said[0].late or 0) <= 250


def test_third_cards_lie_sideways_and_may_overlap(table: Watched) -> None:
    first = (on("P1", "2C"), on("P2", "3S"))
    assert table.show(Scene(first), 0.8) == [placed("P1", "2C"), placed("P2", "3S")]
    third = on("P3", "9D", 0, -22, -6)
    assert table.show(Scene((*first, third)), 0.8) == [placed("P3", "9D")]


def test_a_hand_is_neither_a_card_nor_its_removal(table: Watched) -> None:
    x, y, _ = CENTRES["P1"]
    assert table.show(Scene(hands=((x, y),)), 1.5) == []
    card = Scene((on("P1", "QH"),))
    assert table.show(card.but(hands=((x + 5, y),)), 1.2) == []
    assert table.show(card) == [placed("P1", "QH")]
    assert table.show(card.but(hands=((x + 5, y),)), 1.5) == []
    assert table.show(card, 1) == []


def test_a_slow_computer_reads_every_place_in_turn(profile: Profile) -> None:
    # One frame in two seconds: all places are due in each of them.
    table = Watched(profile, fps=0.5)
    table.show(Scene(), 4)
    table.reader.least = 2.0
    slots = ("P1", "B1", "P2", "B2")
    lying = Scene(tuple(on(slot, "8S") for slot in slots))
    told = sorted(table.show(lying, 80), key=lambda said: slots.index(said[1] or ""))
    assert told == [("unreadable", slot, None) for slot in slots]
    # All of them are looked at again.
    table.reader.least = 0.7
    assert {slot for _, slot, _ in table.show(lying, 30)} == set(slots)


def test_one_card_is_read_in_vain_in_each_frame(table: Watched) -> None:
    table.reader.least = 2.0
    lying = Scene(tuple(on(slot, "8S") for slot in CENTRES))
    counts = []
    for _ in range(20):
        before = table.reader.reads
        table.show(lying, 1 / FPS)
        counts.append(table.reader.reads - before)
    assert set(counts) == {0, 1}


def test_an_unknown_object_is_reported_as_a_possible_card(table: Watched) -> None:
    x, y, _ = CENTRES["P1"]
    over = tuple((x + dx, y + dy) for dx in (-14, 14) for dy in (-28, 0, 28))
    assert table.show(Scene(chips=over), 2.5) == []
    assert table.show(Scene(chips=over), 4) == [("unreadable", "P1", None)]
    assert table.show(Scene(chips=over), 2) == []
    assert table.show(Scene((on("P1", "QH"),)), 1) == [placed("P1", "QH")]


def test_a_torn_picture_is_neither_a_card_nor_its_removal(table: Watched) -> None:
    lying = Scene((on("P1", "QH"), on("B1", "2D")))
    assert table.show(lying, 4) == [placed("P1", "QH"), placed("B1", "2D")]
    for number in range(4):
        torn = drawn(lying, number % 2).copy()
        # Most of it is white, so that its light is measured wrongly; four places are whole.
        torn[:100] = torn[400:] = 255
        assert table.see(torn) == []
        assert table.show(lying, 0.8) == []
    assert table.show(Scene(), 1.5) == [CLEARED]


def test_chips_and_markers_are_not_cards(table: Watched) -> None:
    chips = tuple((x + 10, y) for x, y, _ in CENTRES.values())
    assert table.show(Scene(chips=chips), 2) == []


def test_later_cards_wait_for_a_face_down_card(
    table: Watched,
) -> None:
    down = (on("P1", None), on("B1", None))
    assert table.show(Scene(down[:1]), 1) == []
    assert table.show(Scene(down), 1) == []
    table.show(Scene((down[0],), hands=((480, 150),)), 0.3)
    assert table.show(Scene((down[0], on("B1", "5C", 3, 2, 4))), 1) == []
    both = (on("P1", "8S", 2, 2, -4), on("B1", "5C", 3, 2, 4))
    assert table.show(Scene(both), 1) == [placed("P1", "8S"), placed("B1", "5C")]


def test_a_card_that_is_replaced_during_a_squeeze_is_reported_too(table: Watched) -> None:
    down = on("P1", None)
    assert table.show(Scene((down, on("B1", "5C"))), 1) == []
    assert table.show(Scene((down,)), 1) == []
    # The second card on one place ends the wait for the face-down card.
    assert table.show(Scene((down, on("B1", "6D"))), 1) == [
        ("unreadable", "P1", None),
        placed("B1", "5C"),
        placed("B1", "6D"),
    ]
    assert table.show(Scene((down, on("B1", "6D"))), 5) == []
    assert table.show(Scene((on("P1", "8S"), on("B1", "6D"))), 1) == [placed("P1", "8S")]


def test_a_card_that_is_swapped_under_a_hand_during_a_squeeze_is_reported_too(
    table: Watched,
) -> None:
    down = on("P1", None)
    assert table.show(Scene((down, on("B1", "5C"))), 1) == []
    table.show(Scene((down,), hands=(CENTRES["B1"][:2],)), 0.5)
    assert table.show(Scene((down, on("B1", "6D"))), 1) == []
    turned = (on("P1", "8S"), on("B1", "6D"))
    assert table.show(Scene(turned), 1) == [
        placed("P1", "8S"),
        placed("B1", "5C"),
        placed("B1", "6D"),
    ]


def test_a_forgotten_face_down_card_withholds_no_second_round(table: Watched) -> None:
    down = on("P3", None)
    table.show(Scene((down,)), 1)
    for laid in ((on("P1", "AS"),), (on("P1", "AS"), on("B1", "5C")), ()):
        assert table.show(Scene((down, *laid)), 1) == []
    assert table.show(Scene((down, on("P1", "KD"))), 1) == [
        ("unreadable", "P3", None),
        placed("P1", "AS"),
        placed("B1", "5C"),
        placed("P1", "KD"),
    ]
    next_round = (down, on("P1", "KD"), on("B1", "9H"))
    assert table.show(Scene(next_round), 1) == [placed("B1", "9H")]


def test_a_card_that_was_taken_off_unread_withholds_no_others(table: Watched) -> None:
    x, y, _ = CENTRES["P3"]
    covered = Scene((on("P3", "6D"),), chips=((x - 30, y + 22), (x + 30, y - 22)))
    assert table.show(covered, 0.7) == []
    dealt = Scene((on("P1", "AS"),))
    assert table.show(dealt, 2) == []
    assert table.show(dealt, 2) == [("unreadable", "P3", None), placed("P1", "AS")]
    assert table.show(dealt.but(cards=(*dealt.cards, on("B1", "5C"))), 1) == [placed("B1", "5C")]


def test_removed_face_down_cards_are_reported_unreadable(table: Watched) -> None:
    table.show(Scene((on("P1", None), on("B1", "5C"))), 1)
    assert table.show(Scene(), 1.5) == [
        ("unreadable", "P1", None),
        placed("B1", "5C"),
        CLEARED,
    ]


def test_an_unreadable_card_is_reported_once_and_read_later(table: Watched) -> None:
    # A chip on both indexes of a face-up card.
    card = on("P1", "6D")
    x, y, _ = CENTRES["P1"]
    chips = ((x - 22, y - 30), (x + 22, y + 30))
    assert table.show(Scene((card,), chips=chips), 4) == [("unreadable", "P1", None)]
    assert table.said[-1].best is not None
    assert table.show(Scene((card,)), 1) == [placed("P1", "6D")]


def test_a_card_that_is_moved_is_the_same_card(table: Watched) -> None:
    table.show(Scene((on("P1", "JS"),)))
    assert table.show(Scene((on("P1", "JS", 9, 6, -9),)), 1) == []


def test_another_card_on_the_same_place_is_reported(table: Watched) -> None:
    table.show(Scene((on("P1", "JS"), on("B1", "3H"))), 0.8)
    # Behind a hand: the place is never seen empty.
    hand = Scene((on("B1", "3H"),), hands=(CENTRES["P1"][:2],))
    table.show(hand, 0.5)
    assert table.show(Scene((on("P1", "4D"), on("B1", "3H"))), 1) == [placed("P1", "4D")]


def test_the_table_is_clear_only_when_all_cards_are_gone(table: Watched) -> None:
    both = (on("P1", "JS"), on("B1", "3H"))
    table.show(Scene(both), 0.8)
    assert table.show(Scene(both[1:]), 2) == []
    assert table.show(Scene(), 1.5) == [CLEARED]
    assert table.show(Scene(both[:1]), 1) == [placed("P1", "JS")]


@pytest.mark.parametrize(
    "change",
    [{"light": 0.4}, {"light": 1.35}, {"shift": (4.0, 3.0)}, {"noise": 6.0}, {"blur": 1.0}],
    ids=str,
)
def test_light_noise_and_a_small_shift_are_tolerated(
    table: Watched, change: dict[str, object]
) -> None:
    table.show(Scene().but(**change), 0.5)
    cards = (on("P1", "AS"), on("B3", "10H"))
    assert table.show(Scene(cards).but(**change), 1) == [placed("P1", "AS"), placed("B3", "10H")]
    assert table.show(Scene().but(**change), 1.5) == [CLEARED]


def test_a_blurred_card_is_not_named(table: Watched) -> None:
    said = table.show(Scene((on("P1", "AS"),), blur=4.5), 3)
    assert [each[0] for each in said] == ["unreadable"]
    assert table.said[0].blur is not None
    assert table.said[0].blur > 0.02


def test_a_moved_camera_stops_reading_and_reports_the_shift(table: Watched) -> None:
    moved = Scene((on("P1", "AS"),), shift=(40.0, 30.0))
    with pytest.raises(LineError, match=r"the camera has moved by (49|50|51) mm"):
        assert table.show(moved, 6) == []
    assert table.said == []


@pytest.mark.parametrize("shift", sample([(5.0, 4.0), (-7.0, 6.0), (9.0, -4.0), (0.0, 12.0)], 2))
def test_a_slightly_shifted_table_is_read(table: Watched, shift: tuple[float, float]) -> None:
    def seen(*cards: object) -> Scene:
        return Scene(cards, shift=shift)  # type: ignore[arg-type] # cards

    table.show(seen(), 2.5)
    down, first = on("B1", None, 2, -3, 4), (on("P1", "2C"), on("P2", "3S"))
    assert table.show(seen(*first, down), 1) == [placed("P1", "2C"), placed("P2", "3S")]
    states = {slot: state for slot, (state, _) in table.station.states().items()}  # type: ignore[attr-defined] # of this station
    assert states["B1"] == "down"
    third = on("P3", "9D", 0, -24, -5)
    table.show(seen(*first, on("B1", "5C", 2, -3, 4)), 1)
    assert table.show(seen(*first, on("B1", "5C", 2, -3, 4), third), 1) == [placed("P3", "9D")]
    assert table.show(seen(), 1.5) == [CLEARED]


LAID = (on("P1", "10D"), on("B1", "QH"), on("P2", "5D"), on("B2", "JC"))


@pytest.mark.parametrize("far", sample([50.0, 70.0, 80.0, 110.0, 160.0, -80.0, -280.0], 2))
def test_a_camera_moved_before_opening_names_no_card(profile: Profile, far: float) -> None:
    watched = Watched(profile)
    with pytest.raises(LineError):
        watched.show(Scene(LAID, shift=(far, 5.0)), 6)
    assert watched.said == []


@pytest.mark.parametrize(
    ("phase", "far"), sample(product([0.1, 0.4, 0.7, 0.9], [50.0, 80.0, -80.0, 110.0]), 5)
)
def test_moving_the_camera_over_cards_names_none_wrongly(
    table: Watched, far: float, phase: float
) -> None:
    table.show(Scene(), 1 + phase)
    assert len(table.show(Scene(LAID), 1)) == len(LAID)
    with pytest.raises(LineError):
        table.show(Scene(LAID, shift=(far, 5.0)), 6)
    assert len(table.said) == len(LAID)


def test_a_camera_that_changes_to_night_mode_is_reported(table: Watched) -> None:
    table.show(Scene(LAID), 1)
    colour = drawn(Scene(LAID), 0)
    grey = cv2.cvtColor(cv2.cvtColor(colour, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    dark = np.asarray(colour // 64, np.uint8)  # a lamp that fails is another fault
    for image, fails in ((dark, False), (colour, False), (grey, True)):
        with pytest.raises(LineError, match="night mode") if fails else nullcontext():
            for number in range(24):
                table.now += 0.25
                table.station.process(VideoFrame(np.asarray(image, np.uint8), table.now, number))


def test_a_video_of_another_scene_is_reported(table: Watched) -> None:
    chance = np.random.default_rng(2)
    coarse = chance.integers(0, 255, (24, 40, 3)).astype(np.uint8)
    other = cv2.resize(coarse, (1280, 720), interpolation=cv2.INTER_CUBIC)
    pictures = [VideoFrame(np.asarray(other, np.uint8), 10 + n / FPS, n) for n in range(80)]
    with pytest.raises(LineError, match="something else than the profile's table"):
        table.said += [said for picture in pictures for said in table.station.process(picture)]
    assert table.said == []


def test_every_reading_stores_its_picture(profile: Profile, tmp_path: Path) -> None:
    table = Watched(profile, tmp_path / "evidence")
    table.show(Scene(), 0.3)
    table.show(Scene((on("P1", "AS"),)), 0.6)
    table.station.close()
    (said,) = table.said
    assert said.say is Say.PLACED
    assert said.patch is not None
    assert said.patch.endswith("-P1-AS.jpg")
    assert 2_000 < (tmp_path / "evidence" / said.patch).stat().st_size < 60_000


def test_nothing_is_read_while_nothing_moves(table: Watched) -> None:
    table.show(Scene((on("P1", "AS"),)), 1)
    before = table.reader.reads
    table.show(Scene((on("P1", "AS"),)), 2)
    assert table.reader.reads == before

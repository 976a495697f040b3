"""Nothing passes the throat in silence: a card that may have left unseen is reported."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.camera.image import Image
from drivers.camera.profile.sections import Profile
from drivers.camera.stations.card_track import (
    CardTrack,
    Extent,
    TrackOutcome,
    VisibilityMonitor,
)
from drivers.transport import LineError
from tests.camera import throat_images
from tests.camera.throat_images import FPS, HALF, OUT, SCALE, passing
from tests.camera.throat_scene import Watched
from tests.volume import sample

MISSED = ("missed", None)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return throat_images.profile(tmp_path_factory.mktemp("mouth"))


@pytest.fixture
def mouth(profile: Profile) -> Watched:
    watched = Watched(profile)
    watched.show(rest=0.8)
    return watched


def covered(image: Image, start: float, end: float, grey: int, width: float = 75) -> Image:
    """Hide a part of the window, in millimetres, behind a flat object."""
    high, wide = image.shape[:2]
    left, right = (round(wide / 2 + np.clip(x, -HALF[0], HALF[0]) * SCALE) for x in (start, end))
    top, bottom = (round(high / 2 + y * SCALE) for y in (-width / 2, width / 2))
    hidden = image.copy()
    hidden[max(0, top) : bottom, left:right] = grey
    return hidden


def test_a_lamp_that_fades_during_a_card_costs_no_later_one(mouth: Watched) -> None:
    track = passing("9S")
    half = len(track) // 2
    mouth.look(*[mouth.drawn(card) for card in track[:half]])
    told = mouth.show(track[half:], light=0.3)
    assert told in ([("card", "9S")], [("unreadable", None)])
    assert mouth.show(passing("KD"), light=0.3) == [("card", "KD")]


@pytest.mark.parametrize("dark", [0.0, 0.03])
def test_an_object_in_the_dark_may_be_a_card(mouth: Watched, dark: float) -> None:
    pictures = [mouth.drawn(card, light=dark) for card in passing("AS")]
    assert mouth.look(*pictures) == [MISSED]
    assert mouth.show() == []
    assert mouth.show(passing("KD")) == [("card", "KD")]


def test_a_frozen_frame_may_hide_a_card(mouth: Watched) -> None:
    frozen = mouth.drawn()
    assert MISSED in mouth.look(*[frozen] * 12)
    assert mouth.show(passing("KD")) == [("card", "KD")]


def test_a_stream_that_repeats_still_frames_is_not_frozen(profile: Profile) -> None:
    watched, still = Watched(profile), throat_images.drawn(number=1)
    assert watched.look(*[still] * 60) == []
    pictures = [watched.drawn(card) for card in passing("7H")]
    assert watched.look(*pictures, *[still] * 60) == [("card", "7H")]


@pytest.mark.parametrize("lost", sample(range(1, 8), 3))
def test_a_card_with_lost_frames_is_never_lost(mouth: Watched, lost: int) -> None:
    pictures: list[Image | None] = [mouth.drawn(card) for card in passing("AS")]
    pictures[lost : lost + 3] = [None] * 3
    told = [*mouth.look(*pictures), *mouth.show()]
    assert told
    assert set(told) <= {MISSED, ("card", "AS"), ("unreadable", None)}


@pytest.mark.parametrize("x", [-60.0, -20.0, 0.0, 25.0, 60.0])
def test_an_object_in_one_frame_is_reported(mouth: Watched, x: float) -> None:
    told = mouth.show([("AS", x)])
    assert told in ([MISSED], []) if x < -50 else told == [MISSED]


def test_a_hand_away_from_the_shoe_is_harmless(mouth: Watched) -> None:
    reach = [*np.linspace(60, -10, 8), *np.linspace(-10, 60, 8)]
    assert mouth.look(*[covered(mouth.drawn(), x, 60, 150) for x in reach]) == []
    assert mouth.show(passing("KD")) == [("card", "KD")]


@pytest.mark.parametrize("grey", [15, 70, 150])
def test_a_hand_before_the_whole_window_may_hide_a_card(mouth: Watched, grey: int) -> None:
    reach = [*np.linspace(60, -60, 8), *[-60.0] * 10, *np.linspace(-60, 60, 8)]
    pictures = [covered(mouth.drawn(), x, 60, grey) for x in reach]
    assert MISSED in [*mouth.look(*pictures), *mouth.show()]
    assert mouth.show(passing("KD")) == [("card", "KD")]


def test_an_object_left_in_the_throat_ends_the_line(mouth: Watched) -> None:
    def stays() -> None:
        for _ in range(round(15 * FPS)):
            mouth.look(covered(mouth.drawn(), 10, 30, 200))

    with pytest.raises(LineError, match="something lies in the shoe's throat"):
        stays()


def test_a_card_half_out_of_the_shoe_may_wait_for_long(mouth: Watched) -> None:
    mouth.show([("AS", float(x)) for x in np.linspace(-OUT, -70, 6)], rest=0)
    mouth.show([("AS", -70.0)] * round(15 * FPS), rest=0)
    assert mouth.show([("AS", float(x)) for x in np.linspace(-70, OUT, 9)]) == [("card", "AS")]


def test_a_failed_lamp_ends_the_line(mouth: Watched) -> None:
    def stays() -> None:
        for _ in range(round(8 * FPS)):
            mouth.look(mouth.drawn(light=0.02))

    with pytest.raises(LineError, match="does not look as in its profile"):
        stays()


@pytest.mark.parametrize("shift", sample([(60, 0), (-160, 90), (0, 180), (250, 0)], 2))
def test_a_moved_camera_does_not_see_the_throat(mouth: Watched, shift: tuple[int, int]) -> None:
    def moved() -> None:
        for _ in range(round(8 * FPS)):
            mouth.look(np.roll(mouth.drawn(), shift, axis=(1, 0)))

    with pytest.raises(LineError, match="was the camera moved"):
        moved()
    assert [each.say.value for each in mouth.said] == ["missed"]


def test_cards_in_consecutive_frames_are_two(mouth: Watched) -> None:
    first, second = passing("AS"), passing("KD")
    pictures = [mouth.drawn(card) for card in [*first[:-2], *second[2:]]]
    assert [*mouth.look(*pictures), *mouth.show()] == [("card", "AS"), ("card", "KD")]


def test_the_next_card_may_show_before_the_first_has_left(mouth: Watched) -> None:
    first, second = passing("AS"), passing("KD")
    waiting: list[throat_images.Card] = [("KD", -75.0)] * len(first)
    assert mouth.show(first, waiting, rest=0) in ([("card", "AS")], [("unreadable", None)])
    mouth.show(waiting * 3, rest=0)
    assert mouth.show([card for card in second if card[1] > -75]) == [("card", "KD")]


def test_a_back_as_dark_as_the_throat_is_detected(mouth: Watched) -> None:
    def shown(x: float) -> Image:
        return covered(mouth.drawn(), x - 44, x + 44, 62, width=63)

    pictures = [shown(x) for _, x in passing("AS")]
    assert [*mouth.look(*pictures), *mouth.show()] == [("unreadable", None)]


def test_a_card_in_the_last_frame_may_have_left(mouth: Watched) -> None:
    mouth.look(*[mouth.drawn(card) for card in passing("AS")[:5]])
    assert [each.say.value for each in mouth.station.finish()] == ["missed"]


def way(*positions: tuple[float, float], torn: bool = False) -> TrackOutcome:
    passage = CardTrack(-52, 88, before=-1 / FPS, interrupted=torn)
    for number, (start, end) in enumerate(positions):
        low, high = max(start, -52.0), min(end, 52.0)
        passage.add(Extent(number / FPS, low, high, start > -49, end < 49))
    return passage.outcome(len(positions) / FPS)


def test_a_long_object_from_the_table_may_be_a_card() -> None:
    # Damaged frames of a card: none shows it at the shoe.
    card = [(16.0, 60.0), (-22.0, 60.0), (-27.0, 60.0), (11.0, 60.0), (42.0, 60.0)]
    assert way(*card) is TrackOutcome.UNCLEAR
    assert way(*[(start + 15, end) for start, end in card]) is TrackOutcome.HARMLESS


def test_an_outcome_needs_visible_ends() -> None:
    assert way((-90, -2), (-50, 38), (0, 88)) is TrackOutcome.LEFT
    assert way((-90, -2), (-70, 18), (-80, 8), (-110, -22)) is TrackOutcome.RETURNED
    assert way((-125, -37), (-124, -36), (-125, -37)) is TrackOutcome.HARMLESS
    assert way((20, 200), (5, 200), (30, 200)) is TrackOutcome.HARMLESS
    assert way((20, 200), (-48, 200), (30, 200)) is TrackOutcome.UNCLEAR
    assert way((20, 200), (5, 200), (30, 200), torn=True) is TrackOutcome.UNCLEAR
    # An object that trembles at the table's side did not leave the shoe between two frames.
    assert way((36, 200), (40, 200), (36, 200)) is TrackOutcome.HARMLESS
    assert way((-60, 100)) is TrackOutcome.UNCLEAR
    assert way((-44, 44)) is TrackOutcome.UNCLEAR


def holes(*moments: float) -> list[float]:
    sight = VisibilityMonitor()
    told = [sight.add_usable_frame(at) for at in moments]
    return [round(hole, 2) for hole in told if hole is not None]


def test_delayed_frames_are_not_missed() -> None:
    usual = [number / 25 for number in range(30)]
    later = [usual[-1] + 0.24 + number / 25 for number in range(10)]
    assert holes(*usual, *later) == [0.24]
    # The same, but five of them arrive at once: none was lost.
    burst = [usual[-1] + 0.24 + number / 1000 for number in range(5)]
    assert holes(*usual, *burst, *[burst[-1] + 0.04, burst[-1] + 0.08]) == []


def test_a_slow_camera_misses_no_frames() -> None:
    assert holes(*[number / 8 for number in range(40)]) == []

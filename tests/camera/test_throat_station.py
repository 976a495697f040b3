"""
Each card that leaves the shoe is reported once; double feeds and returned cards are reported as
such.
"""

from __future__ import annotations

from itertools import count, product, zip_longest
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.camera.image import Image
from drivers.camera.profile.sections import Profile
from tests.camera import throat_images
from tests.camera.throat_images import LONG, OUT, SHORT, WAYS, Ahead, passing
from tests.camera.throat_scene import Told, Watched
from tests.volume import sample


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return throat_images.profile(tmp_path_factory.mktemp("mouth"))


@pytest.fixture
def mouth(profile: Profile) -> Watched:
    watched = Watched(profile)
    watched.show()
    return watched


@pytest.mark.parametrize("seconds", [0.28, 0.36, 0.8])
def test_each_card_is_reported_once_as_it_leaves(mouth: Watched, seconds: float) -> None:
    for card in ("AS", "10H", "KD"):
        assert mouth.show(passing(card, seconds)) == [("card", card)]
    late = [said.late for said in mouth.said]
    assert late
    assert all(each is not None and each <= 100 for each in late)


@pytest.mark.parametrize(
    ("ahead", "quarters"), sample(product([SHORT, LONG], range(len(WAYS))), 3)
)
def test_any_side_may_lead_in_any_direction(ahead: Ahead, quarters: int, tmp_path: Path) -> None:
    watched, number = Watched(throat_images.profile(tmp_path, ahead, quarters)), count()

    def show(track: list[throat_images.Card]) -> Told:
        together = [(card,) for card in track] + [()] * 5
        pictures = (
            throat_images.drawn(*cards, number=next(number), ahead=ahead) for cards in together
        )
        return watched.look(*[throat_images.turned(picture, quarters) for picture in pictures])

    assert show([]) == []
    for card in ("AS", "10H"):
        assert show(passing(card)) == [("card", card)]
    back = passing("9D")[:5]
    assert show([*back, *back[::-1]]) == [("returned", None)]


def test_a_card_that_rests_in_the_throat_is_reported_when_it_leaves(mouth: Watched) -> None:
    track = passing("7C")
    half = len(track) // 2
    assert mouth.show([*track[:half], *[track[half]] * 40, *track[half:]]) == [("card", "7C")]


@pytest.mark.parametrize("lag", [0.04, 0.06])
def test_two_cards_at_once_are_reported(mouth: Watched, lag: float) -> None:
    first, second, *more = mouth.show(passing("AS"), passing("10H", lag=lag))
    assert first == ("double_feed", None)
    assert second == ("card", "AS")
    assert more in ([("unreadable", None)], [("card", "10H")])
    assert mouth.show(rest=1.5) == [("over", None)]
    assert mouth.show(passing("KD")) == [("card", "KD")]


def test_each_of_two_unread_cards_has_a_picture(tmp_path: Path) -> None:
    watched = Watched(throat_images.profile(tmp_path), tmp_path / "evidence")
    watched.show()
    tracks = zip_longest(passing("AS"), passing("10H", lag=0.04))
    pictures = [_smeared(watched.drawn(*filter(None, cards))) for cards in tracks]
    told = [*watched.look(*pictures), *watched.show()]
    assert told == [("double_feed", None), ("unreadable", None), ("unreadable", None)]
    watched.station.close()
    for each in watched.said[1:]:
        assert each.patch is not None
        assert (tmp_path / "evidence" / each.patch).is_file()


def test_a_card_that_goes_back_was_not_dealt(mouth: Watched) -> None:
    track = passing("9D")
    half = track[: len(track) * 6 // 10]
    assert mouth.show([*half, *[half[-1]] * 5, *reversed(half)]) == [("returned", None)]
    assert mouth.show(passing("9D")) == [("card", "9D")]
    assert mouth.show(rest=1.5) == [("over", None)]


def test_fingers_are_not_cards(mouth: Watched) -> None:
    finger: list[throat_images.Card] = [(None, x) for x in np.linspace(OUT, 0, 8)]
    assert mouth.show([*finger, *reversed(finger)]) == []


def _smeared(image: Image) -> Image:
    window = slice(20, -20), slice(65, -65)  # the plates do not move
    image[window] = cv2.blur(image[window], (41, 1))
    return image


def test_a_smeared_card_is_unreadable(mouth: Watched) -> None:
    pictures = [_smeared(mouth.drawn(card)) for card in passing("AS")]
    assert [*mouth.look(*pictures), *mouth.show()] == [("unreadable", None)]


def test_a_gap_between_frames_may_hide_a_card(mouth: Watched) -> None:
    mouth.now += 0.6
    assert mouth.show() == [("missed", None)]


def test_the_frames_of_a_track_are_limited(profile: Profile, tmp_path: Path) -> None:
    watched = Watched(profile)
    watched.show([("AS", 0.0)] * 60)
    assert len(watched.station._frames) <= 14  # type: ignore[attr-defined]  # noqa: SLF001

"""A slot tracker and the deal order, independent of frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.camera.recognition.card_reader import Sighting, SightingKind
from drivers.camera.recognition.confidence import Belief, PooledLooks
from drivers.camera.stations.slot_tracker import SlotChange, SlotState, SlotTracker
from shoe_daemon.game.cards import RANKS, SUITS, Card

ACE = Sighting(SightingKind.FACE, Card("AS"), Card("AS"), 0.999)


def held(seen: Sighting) -> SlotTracker:
    """Return the tracker of a place with a reported card since 0.0."""
    place = SlotTracker()
    place.update(SlotChange(0.5, 0.0), 0.0)
    place.update(SlotChange(0.5, 0.0), 0.1)
    assert place.state is SlotState.SETTLED
    assert [place.add_sighting(seen, at) for at in (0.1, 0.2)] == [None, seen]
    place.mark_reported()
    return place


def look(confidence: float, card: str = "AS") -> Sighting:
    """Return a look of which one index shows a card; accepted from 0.98 on."""
    chances = np.full((13, 4), (1 - confidence) / 100)
    chances[RANKS.index(card[:-1]), SUITS.index(card[-1])] = confidence
    end = Belief(chances, 1 - float(chances.sum()))
    kind = SightingKind.FACE if confidence >= 0.98 else SightingKind.UNSURE
    name = Card(card) if kind is SightingKind.FACE else None
    return Sighting(kind, name, Card(card), confidence, ends=(end, end))


def settled(threshold: float) -> SlotTracker:
    place = SlotTracker(threshold)
    place.update(SlotChange(0.5, 0.0), 0.0)
    place.update(SlotChange(0.5, 0.0), 0.1)
    return place


def test_many_looks_do_not_turn_doubt_into_a_name() -> None:
    # Half of the looks are sure by chance: two of the last three often are.
    place = settled(0.98)
    looks = [look(confidence) for confidence in (0.6, 0.3, 0.99, 0.99, 0.5, 0.99, 0.2, 0.99) * 8]
    seen = [place.add_sighting(each, 0.2 * n) for n, each in enumerate(looks, 1)]
    reported = [each for each in seen if each is not None]
    assert [(each.kind, each.card) for each in reported] == [(SightingKind.UNSURE, None)]


@given(
    st.lists(st.tuples(st.floats(0.05, 0.999), st.sampled_from(["AS", "8D"])), max_size=60),
    st.integers(0, 60),
)
def test_a_named_card_is_what_all_looks_show(looks: list[tuple[float, str]], turn: int) -> None:
    place, pooled = settled(0.98), PooledLooks()
    for number, (confidence, card) in enumerate(looks[turn:] + looks[:turn], 1):
        sighting = look(confidence, card)
        pooled.add(sighting.ends)
        seen = place.add_sighting(sighting, 0.2 * number)
        if seen is not None and seen.kind is SightingKind.FACE:
            assert seen.card is pooled.accepted_card(0.98)
            return


def test_a_motion_forgets_the_looks_before() -> None:
    place = settled(0.98)
    for number in range(5):
        place.add_sighting(look(0.4), 0.2 + number)
    place.update(SlotChange(0.5, 6.0), 6.0)
    place.update(SlotChange(0.5, 6.0), 6.2)
    seen = look(0.99)
    assert [place.add_sighting(each, 6.3) for each in (seen, seen)] == [None, seen]


BARE, COVERED = 0.0, 0.97
"""Share of a place that differs from the empty one."""


def empty_since(since: float) -> SlotTracker:
    """Return the tracker of a place on which nothing has lain or moved since a time."""
    place = SlotTracker()
    for at in (since, since + 10):
        place.update(SlotChange(BARE, since), at)
    return place


@pytest.mark.parametrize("faulty", [1, 2])
def test_a_frame_with_a_wrong_light_shows_no_card_where_nothing_moved(faulty: int) -> None:
    place = empty_since(0.0)
    for at in range(20, 20 + faulty):
        place.update(SlotChange(COVERED, 0.0), at)
        assert place.state is SlotState.EMPTY


@pytest.mark.parametrize("faulty", [1, 2])
def test_a_frame_with_a_wrong_light_takes_no_card_off_where_nothing_moved(faulty: int) -> None:
    place = held(ACE)
    place.update(SlotChange(COVERED, 0.0), 10.0)
    for at in range(20, 20 + faulty):
        assert not place.update(SlotChange(BARE, 0.0), at)
        assert place.state is SlotState.HELD


def test_what_several_frames_show_is_believed_without_a_motion() -> None:
    place, states = empty_since(0.0), []
    for share in (COVERED, BARE):
        for at in (20.0, 20.1, 20.2):
            place.update(SlotChange(share, 0.0), at)
        states.append(place.state)
    assert states == [SlotState.SETTLED, SlotState.EMPTY]

"""A slot tracker and the deal order, independent of frames."""

from __future__ import annotations

from drivers.camera.recognition.find_and_read_card import Sighting, SightingKind
from drivers.camera.stations.overhead_station import DealOrder
from drivers.camera.stations.slot_tracker import SlotChange, SlotState, SlotTracker
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot

ACE = Sighting(SightingKind.FACE, Card("AS"), Card("AS"), 0.999)
KING = Sighting(SightingKind.FACE, Card("KD"), Card("KD"), 0.999)


def held(seen: Sighting) -> SlotTracker:
    """Return the tracker of a place with a reported card since 0.0."""
    place = SlotTracker()
    place.update(SlotChange(0.5, 0.0), 0.0)
    place.update(SlotChange(0.5, 0.0), 0.1)
    assert place.state is SlotState.SETTLED
    assert [place.add_sighting(seen, at) for at in (0.1, 0.2)] == [None, seen]
    place.mark_reported()
    return place


def test_another_card_has_to_be_seen_three_times() -> None:
    place = held(ACE)
    place.update(SlotChange(0.5, 1.0), 1.0)
    assert [place.add_sighting(KING, at) for at in (1.1, 1.2, 1.3)] == [None, None, KING]
    assert place.card is KING.card


def test_a_card_is_not_reported_again_after_a_hand_passed() -> None:
    place = held(ACE)
    place.update(SlotChange(0.5, 1.0), 1.0)
    assert [place.add_sighting(seen, at) for seen, at in ((KING, 1.1), (ACE, 1.2))] == [None, None]
    assert place.card is ACE.card
    assert not place.is_read_due(2.0)


def test_a_lifted_face_down_card_stays_pending() -> None:
    ledger = DealOrder()
    ledger.add(Slot.P1, 0.0).is_face_down = True
    ledger.add(Slot.B1, 1.0).sighting = ACE
    ledger.remove(Slot.P1)
    assert ledger.take_due(lambda _: False) == [], "it was laid before: it may come back"
    assert [(laid.slot, laid.sighting) for laid in ledger.take_all()] == [
        (Slot.P1, None),
        (Slot.B1, ACE),
    ]


def test_a_false_card_is_dropped_once_it_is_gone() -> None:
    ledger = DealOrder()
    ledger.add(Slot.P1, 0.0)
    ledger.add(Slot.B1, 1.0).sighting = ACE
    ledger.remove(Slot.P1)
    assert [laid.slot for laid in ledger.take_due(lambda _: False)] == [Slot.B1]
    assert not ledger

"""
Two cameras above one table: each sees its own places, or both see all of them and check each
other. The round ends when none of them sees a card.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.misdeals.supervised_table import SupervisedTable
from tests.misdeals.test_reader_delays import DELAYS, PACE, SHOES, Said
from tests.table import reference_rules
from tests.volume import volume

CAMERAS = ("left", "right")


def two_cameras(*checkers: str) -> SupervisedTable:
    pit = SupervisedTable(round_end=RoundEnd.DEVICE, checkers=checkers)
    for source in CAMERAS:
        pit.say(seen.Link(up=True, source=source))
    return pit


def place(pit: SupervisedTable, layout: str) -> None:
    """Show cards: those of the Player to the left camera, the others to the right one."""
    for each in layout.split(", "):
        slot, face = each.split(" ")
        source = "left" if slot.startswith("P") else "right"
        pit.say(seen.Placed(slot=Slot(slot), card=Card(face), source=source))


@given(SHOES, DELAYS, DELAYS, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=volume(20, 80))
def test_whatever_the_delays_lawful_rounds_are_lawful(
    shoe: list[Card],
    one: list[float],
    other: list[float],
    apart: bool,  # noqa: FBT001 - drawn
    checks: bool,  # noqa: FBT001 - drawn
) -> None:
    pit = two_cameras(*(["right"] if checks else []))
    late = {"left": iter(one), "right": iter(other)}
    faces, now = [str(card.value) for card in shoe], 0.0
    said: list[Said] = []
    expected = []
    for _ in range(4):
        round_ = reference_rules.deal(faces)
        expected.append(round_.outcome)
        for face, slot in zip(round_.cards, round_.slots, strict=True):
            now += PACE
            for source in CAMERAS:
                if apart and (source == "left") != slot.startswith("P"):
                    continue
                placed = seen.Placed(slot=Slot(slot), card=Card(face), source=source)
                said.append(Said(now + next(late[source]), len(said), placed))
        now += 3 * PACE
        for source in CAMERAS:
            cleared = seen.TableCleared(source=source)
            said.append(Said(now + next(late[source]), len(said), cleared))
        faces = faces[round_.used :]
        now += 3 * PACE
    before = 0.0
    for each in sorted(said):
        pit.say(each.what, each.at - before)
        before = each.at
    assert pit.kinds() == []
    assert [each.outcome for each in pit.finished()] == expected


def test_a_lifted_hand_does_not_end_the_round() -> None:
    pit = two_cameras()
    place(pit, "P1 2C, B1 KD, P2 3C, B2 7D")
    pit.say(seen.TableCleared(source="left"))  # the Player squeezes
    assert pit.finished() == []
    place(pit, "P1 2C, P2 3C, P3 9H")
    assert pit.kinds() == []
    for source in CAMERAS:
        pit.say(seen.TableCleared(source=source))
    (finished,) = pit.finished()
    assert finished.outcome == "banker"


@pytest.mark.parametrize("restart", [False, True])
def test_a_camera_that_was_away_is_not_waited_for(*, restart: bool) -> None:
    pit = two_cameras()
    place(pit, "P1 9C, B1 KD, P2 KC, B2 7D")
    pit.say(seen.Link(up=False, source="right"))
    if restart:
        pit.say(seen.Link(up=True, source="right"))
    pit.say(seen.TableCleared(source="left"))
    (finished,) = pit.finished()
    assert (finished.outcome, finished.partial) == ("player", False)


def test_cameras_that_differ_are_reported() -> None:
    pit = two_cameras("right")
    for source, face in (("left", "9C"), ("right", "8C")):
        pit.say(seen.Placed(slot=Slot.P1, card=Card(face), source=source))
    assert pit.open_kinds() == ["source_conflict"]

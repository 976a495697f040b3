"""
A result waits for a person, and comes under its own number whatever has
happened since.
"""

from __future__ import annotations

from typing import Any

import pytest

from shoe_daemon.table import observations as seen
from tests.misdeals.pit import Pit
from tests.table.dealer import BANKER_STANDS, NATURAL, SQUEEZE, house, of_type, one, types

HELD = f"{NATURAL}, P3 4C"


def held(**options: Any) -> Pit:  # noqa: ANN401 - any field of the options
    """
    Deal a natural and a card too many where the result is held for that.
    """
    pit = Pit(house(dealing_style=SQUEEZE), hold_from=3, **options)
    pit.deal(HELD)
    pit.result("player")
    assert pit.finished() == []
    return pit


def numbers(pit: Pit, kind: str) -> list[int | None]:
    """
    Return the rounds of the events of a type.
    """
    return [event.round for event in pit.events if event.type == kind]


def test_what_waits_for_what_is_said() -> None:
    pit = held()
    waits = one(pit.events, "round_held")
    assert waits.irregularities == (pit.id_of("excess_card"),)
    assert waits.reason == "an irregularity waits for a person"
    assert pit.table.public().held == (1,)
    assert pit.table.public().last_result is None
    assert pit.counts() == {}


@pytest.mark.parametrize("then", ["at once", "in the next", "after the next"])
def test_released_under_its_own_number(then: str) -> None:
    pit = held()
    if then != "at once":
        pit.draw("2S", "P1")
    if then == "after the next":
        pit.deal("B1 7H, P2 3D, B2 QC, P3 4S")
        pit.result("player")
    said = pit.cmd("acknowledge")
    assert types(said) == ["irregularity_closed", "round_released", "round_finished"]
    assert [event.round for event in said][1:] == [1, 1]
    released = one(said, "round_released")
    assert (released.operator, released.reason) == ("ann", "as seen")
    assert pit.counts()["rounds"] == len(pit.finished())


def test_the_board_shows_the_latest_round_not_the_latest_release() -> None:
    pit = held()
    pit.deal(BANKER_STANDS)
    pit.result("player")
    pit.cmd("acknowledge")
    assert numbers(pit, "round_finished") == [2, 1]
    assert pit.last().round == 2
    pit.cmd("void_round")
    assert numbers(pit, "round_voided") == [2]
    assert pit.last().round == 1


def test_what_weighs_less_holds_nothing() -> None:
    pit = Pit(house(dealing_style=SQUEEZE), hold_from=4)
    pit.deal(HELD)
    pit.result("player")
    assert len(pit.finished()) == 1


def test_a_policy_that_raises_it_holds_it() -> None:
    for policy, count in (("management", 1), ("es_melilla_2014", 0)):
        pit = Pit(policy=policy, hold_from=4, least_gap=0.3)
        pit.deal("P1 9S, B1 2H, P2 KD")
        pit.draw("3C", "B2", after=0.1)
        pit.result("player")
        assert pit.kinds() == ["double_feed"]
        assert len(pit.finished()) == count


def test_the_table_is_put_on_hold_and_goes_on() -> None:
    pit = Pit()
    pit.deal("P1 9S")
    pit.cmd("hold")
    assert pit.refused("hold") == "the table is on hold already"
    pit.deal("B1 2H, P2 KD, B2 3C")
    pit.result("player")
    waits = one(pit.events, "round_held")
    assert (waits.irregularities, waits.reason) == ((), "the table is on hold")
    assert pit.table.public().on_hold
    said = pit.cmd("resume")
    assert types(said) == ["round_released", "round_finished"]
    assert pit.refused("resume") == "the table is not on hold"


def test_held_for_both_waits_for_both() -> None:
    pit = held()
    pit.cmd("hold")
    assert types(pit.cmd("acknowledge")) == ["irregularity_closed"]
    assert types(pit.cmd("resume")) == ["round_released", "round_finished"]


def test_several_come_in_their_order() -> None:
    pit = Pit()
    pit.cmd("hold")
    for _ in range(3):
        pit.deal(NATURAL)
        pit.result("player")
    assert pit.table.public().held == (1, 2, 3)
    pit.cmd("void_round", round=2)
    pit.cmd("resume")
    assert numbers(pit, "round_finished") == [1, 3]
    assert numbers(pit, "round_voided") == [2]
    assert pit.counts()["rounds"] == 2


@pytest.mark.parametrize("on_hold", [True, False])
@pytest.mark.parametrize("how", ["order", "first card", "boot"])
def test_a_new_shoe_does_not_swallow_it(how: str, *, on_hold: bool) -> None:
    pit = held()
    if on_hold:
        pit.cmd("hold")
    if how == "boot":
        pit.say(seen.CutCardSeen())
        said = pit.say(seen.Booted())
    else:
        said = pit.cmd("new_shoe") if how == "order" else pit.burn("2S")
    assert [event.shoe for event in said if event.type == "round_finished"] == [1]
    assert types(said).index("round_finished") < types(said).index("shoe_started")
    assert pit.table.public().held == ()
    assert pit.counts() == {}
    assert pit.table.public().on_hold is on_hold


def test_void_while_held_closes_nothing_else() -> None:
    pit = held()
    pit.cmd("void_round", reason="a fight")
    voided = one(pit.events, "round_voided")
    assert (voided.before.outcome, voided.operator, voided.reason) == ("player", "ann", "a fight")
    assert pit.finished() == []
    manual = [event for event in pit.events if event.type == "irregularity"][-1]
    assert (manual.round, manual.data.kind, manual.data.detail) == (1, "manual_void", "a fight")  # type: ignore[attr-defined]


def test_the_round_that_is_voided_is_named() -> None:
    pit = Pit()
    for _ in range(2):
        pit.deal(NATURAL)
        pit.result("player")
    pit.draw("9S", "P1")
    said = pit.cmd("void_round", round=1)
    assert {event.round for event in said} - {None, 3} == {1}
    assert [event.round for event in said if event.type == "irregularity"] == [1]
    for number in (1, 9):
        why = f"no round {number} of this shoe can be voided"
        assert pit.refused("void_round", round=number) == why
    said = pit.cmd("void_round")
    assert [event.round for event in said if event.type == "round_voided"] == [3]


def test_a_card_too_many_after_the_result_holds_nothing_back() -> None:
    pit = Pit(hold_from=3)
    pit.deal(NATURAL)
    pit.draw("4C", "P3")
    assert len(pit.finished()) == 1
    assert of_type(pit.events, "round_held") == []


def test_nothing_is_ever_voided_by_itself() -> None:
    pit = held()
    for _ in range(5):
        pit.deal(HELD)
        pit.result("player")
    pit.cmd("new_shoe")
    assert of_type(pit.events, "round_voided") == []
    assert len(pit.finished()) == 6

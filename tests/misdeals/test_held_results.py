"""Held results are published later under their own round number."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_daemon.table import observations as seen
from shoe_daemon.table.ledger import MAX_HOLDING_ALERTS
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SQUEEZE, house, one, types

HELD = f"{NATURAL}, P3 4C"


def held(**options: Any) -> SupervisedTable:  # noqa: ANN401 - any field of the options
    """Deal a natural and a card too many where the result is held for that."""
    pit = SupervisedTable(house(dealing_style=SQUEEZE), hold_from=3, **options)
    pit.deal(HELD)
    pit.result("player")
    assert pit.finished() == []
    return pit


def numbers(pit: SupervisedTable, kind: str) -> list[int | None]:
    """Return the rounds of the events of a type."""
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


def test_a_policy_that_raises_it_holds_it() -> None:
    for policy, count in (("management", 1), ("es_melilla_2014", 0)):
        pit = SupervisedTable(policy=policy, hold_from=4, least_gap=0.3)
        pit.deal("P1 9S, B1 2H, P2 KD")
        pit.draw("3C", "B2", after=0.1)
        pit.result("player")
        assert pit.kinds() == ["double_feed"]
        assert len(pit.finished()) == count


def test_the_table_is_put_on_hold_and_goes_on() -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S")
    pit.cmd("hold")
    assert pit.cmd("hold") == []
    pit.deal("B1 2H, P2 KD, B2 3C")
    pit.result("player")
    waits = one(pit.events, "round_held")
    assert (waits.irregularities, waits.reason) == ((), "the table is on hold")
    assert pit.table.public().on_hold
    said = pit.cmd("resume")
    assert types(said) == ["round_released", "round_finished"]
    assert pit.refused("resume") == "the table is not on hold"


def test_several_come_in_their_order() -> None:
    pit = SupervisedTable()
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


def report(pit: SupervisedTable) -> None:
    """Report between two rounds what only a person can see."""
    pit.cmd("hold", kind="foreign_card")
    pit.cmd("resume")


def mismatched(rounds: int) -> SupervisedTable:
    """Deal so many rounds whose results wait, each for an irregularity of its own."""
    pit = SupervisedTable(house(reshuffle="per_hand"), hold_from=3, result_on="confirmed")
    for _ in range(rounds):
        pit.deal(NATURAL)
        pit.result("banker")
    assert pit.finished() == []
    return pit


def test_an_irregularity_between_two_rounds_holds_the_next() -> None:
    pit = SupervisedTable(hold_from=3)
    pit.deal(NATURAL)
    pit.result("player")
    report(pit)
    assert len(pit.finished()) == 1
    pit.deal(NATURAL)
    pit.result("player")
    assert pit.table.public().held == (2,)
    pit.deal(NATURAL)
    pit.result("player")
    assert numbers(pit, "round_finished") == [1, 3]
    pit.cmd("acknowledge")
    assert numbers(pit, "round_finished") == [1, 3, 2]


def test_what_holds_a_result_never_gives_way() -> None:
    pit = mismatched(30)
    assert len(pit.table.public().alerts) == 30
    assert pit.table.public().held == tuple(range(1, 31))
    pit.cmd("hold", kind="card_off_table")  # a warning: it holds nothing, and gives way
    pit.cmd("resume")
    assert len(pit.table.public().alerts) == 30
    assert pit.finished() == []
    while pit.table.public().alerts:
        pit.cmd("acknowledge", irregularity=pit.table.public().alerts[0].data.id)
    assert len(pit.finished()) == 30


def test_where_nobody_decides_at_all_no_result_goes_out() -> None:
    pit = mismatched(MAX_HOLDING_ALERTS + 5)
    assert pit.table.public().on_hold
    assert len(pit.table.state.alerts) == MAX_HOLDING_ALERTS
    for alert in list(pit.table.public().alerts):
        pit.cmd("acknowledge", irregularity=alert.data.id)
    assert pit.finished() == []

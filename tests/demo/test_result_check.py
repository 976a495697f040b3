"""The referee agrees with what was dealt, excuses what nobody could see, and misses nothing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.capture import observations_of
from drivers.simulators.angel_eye import Mode, Scenario, Settings, scenario
from drivers.simulators.shoe import Fault
from shoe_daemon.table import Event, RoundFinished
from shoe_daemon.table.table import Table
from tests.demo.result_check import ResultCheck

ROUNDS = 30


def dealt(*faults: Fault, mode: Mode = Mode.OPEN) -> Scenario:
    return scenario(Settings(mode=mode, rounds=ROUNDS, seed=4, faults=faults, fault_rate=0.4))


def shown(played: Scenario) -> list[Event]:
    table = Table()
    observations = observations_of(AngelEyeII(), played.stream())
    return [event for each in observations for event in table.apply(each)]


def judge(played: Scenario, events: list[Event], *, interrupted: bool = False) -> ResultCheck:
    referee = ResultCheck()
    for each in played.rounds:
        referee.deal(each)
    for event in events:
        referee.show(event)
    referee.finish(interrupted=interrupted)
    return referee


def test_a_clean_table_is_shown_as_it_is_dealt() -> None:
    played = dealt()
    referee = judge(played, shown(played))
    assert referee.passed
    assert referee.same == ROUNDS


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.UNPLUG])
def test_every_fault_is_accounted_for(fault: Fault, mode: Mode) -> None:
    played = dealt(fault, mode=mode)
    referee = judge(played, shown(played))
    assert referee.passed
    faulty = sum(each.fault is not None for each in played.rounds)
    apart = referee.counts.aborted + referee.partial + referee.misread
    assert faulty >= 5
    assert referee.same >= ROUNDS - faulty
    assert referee.same + apart >= ROUNDS - 1


def test_a_round_that_was_never_dealt_is_found() -> None:
    played = dealt()
    events = shown(played)
    place, event = next(
        (place, event) for place, event in enumerate(events) if event.type == "round_finished"
    )
    assert isinstance(event.data, RoundFinished)
    turned = replace(event.data, player=event.data.banker, banker=event.data.player)
    events[place] = replace(event, data=turned)
    referee = judge(played, events)
    assert not referee.passed
    assert (referee.wrong, referee.missed, referee.same) == (1, 1, ROUNDS - 1)


@pytest.mark.parametrize(("interrupted", "missed"), [(False, 1), (True, 0)])
def test_a_round_that_was_never_shown_is_found(interrupted: bool, missed: int) -> None:  # noqa: FBT001
    played = dealt()
    events = shown(played)
    finished = [event for event in events if event.type == "round_finished"]
    events.remove(finished[-1])
    assert judge(played, events, interrupted=interrupted).missed == missed
    events.remove(finished[0])
    assert judge(played, events, interrupted=interrupted).missed == missed + 1


def test_a_round_shown_twice_is_one_too_many() -> None:
    played = dealt()
    events = shown(played)
    again = [event for event in events if event.type == "round_finished"][4]
    events.insert(events.index(again), again)
    assert judge(played, events).wrong == 1

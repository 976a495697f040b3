"""The supervisor decides so that what is shown in the end is what was dealt."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.shoe import Excess, Fault
from shoe_daemon.demo.shoe import DemoSettings, house_of, shoe_of
from shoe_daemon.demo.supervisor import OPERATOR
from shoe_daemon.game.rulings import POLICY_IDS
from shoe_daemon.table import IrregularityClosed
from tests import volume
from tests.demo.result_check import ResultCheck
from tests.display.sample_table import SampleTable

ROUNDS = 40
CALLED_OVER = [Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.MISREAD]


def settings(*faults: Fault, policy: str = "us_nj_pa", mode: Mode = Mode.OPEN) -> Settings:
    wanted = DemoSettings(
        rounds=ROUNDS, seed=12, faults=faults, fault_rate=0.5, policy=policy, mode=mode
    )
    return shoe_of(wanted, house_of(wanted))


def performed(wanted: Settings, policy: str = "us_nj_pa") -> tuple[SampleTable, ResultCheck]:
    sample, referee = SampleTable("seven-feathers", policy), ResultCheck()
    for each in scenario(wanted).rounds:
        referee.deal(each)
    for _ in sample.boards(wanted):
        pass
    for event in sample.events:
        referee.show(event)
    referee.finish(interrupted=False)
    return sample, referee


def closed(sample: SampleTable) -> list[tuple[str, str | None]]:
    return [
        (event.data.action, event.data.operator)
        for event in sample.events
        if isinstance(event.data, IrregularityClosed)
    ]


def count(sample: SampleTable, kind: str) -> int:
    return sum(event.type == kind for event in sample.events)


@pytest.mark.parametrize(
    ("policy", "mode", "fault"), volume.sample(product(POLICY_IDS, Mode, CALLED_OVER), 11)
)
def test_every_round_is_shown_as_it_was_dealt(policy: str, mode: Mode, fault: Fault) -> None:
    sample, referee = performed(settings(fault, policy=policy, mode=mode), policy)
    assert referee.passed
    assert sample.mind.cases == {}
    assert referee.same + referee.misread == ROUNDS
    if fault is not Fault.MISREAD:
        assert referee.misread == 0
    assert count(sample, "irregularity") == count(sample, "irregularity_closed") > 3
    assert count(sample, "round_held") == count(sample, "round_released")
    assert count(sample, "round_voided") == 0


@pytest.mark.parametrize(
    ("policy", "fault", "action"),
    [
        ("us_nj_pa", Fault.OVERDRAW, "carry_to_next_hand"),
        ("it_venezia", Fault.OVERDRAW, "carry_to_next_hand"),
        ("fr_2007", Fault.OVERDRAW, "burn_card"),
        ("la_lac42", Fault.OVERDRAW, "burn_card"),
        ("management", Fault.OVERDRAW, "burn_card"),
        ("fr_2007", Fault.MISSED_DRAW, "draw_now"),
        ("management", Fault.MISSED_DRAW, "draw_now"),
        ("live_studio", Fault.UNREADABLE, "manual_entry"),
    ],
)
def test_the_first_proposal_that_can_be_done_is_chosen(
    policy: str, fault: Fault, action: str
) -> None:
    sample, _ = performed(settings(fault, policy=policy), policy)
    # After the last round of a shoe no card can be carried: it is burned.
    decided = set(closed(sample))
    assert decided - {("burn_card", OPERATOR)} <= {(action, OPERATOR)}
    assert (action, OPERATOR) in decided


def test_a_held_result_waits_for_the_supervisor() -> None:
    sample, _ = performed(settings(Fault.OVERDRAW))
    types = [event.type for event in sample.events]
    place = types.index("round_held")
    after = ["irregularity_closed", "round_released", "round_finished"]
    assert types[place + 1 : place + 4] == after


def test_a_round_that_cannot_be_restored_is_void() -> None:
    wanted = replace(settings(Fault.MISSED_DRAW, policy="fr_2007"), make_good=False)
    sample, referee = performed(wanted, "fr_2007")
    assert referee.counts.void == count(sample, "round_voided") > 3
    assert referee.passed
    assert referee.same == ROUNDS - referee.counts.void
    assert ("void_round", OPERATOR) in closed(sample)


@pytest.mark.parametrize("seed", range(volume.volume(1, 4)))
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("excess", [Excess.BURNED, Excess.CARRIED])
def test_whatever_goes_wrong_nothing_wrong_is_shown(seed: int, mode: Mode, excess: Excess) -> None:
    faults = tuple(fault for fault in Fault if fault is not Fault.UNPLUG)
    wanted = replace(settings(*faults, mode=mode), seed=seed, excess=excess)
    sample, referee = performed(wanted)
    assert referee.passed
    assert sample.mind.cases == {}

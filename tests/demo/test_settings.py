"""
The shoe of the demo: an early misdeal, and the rules of the house.
"""

from __future__ import annotations

from itertools import islice, product

import pytest
from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.simulators.angel_eye import Mode, Settings, scenes
from drivers.simulators.shoe import Excess, Fault
from shoe_daemon.demo.shoe import DemoSettings, house_of, shoe_of
from shoe_daemon.errors import UserError
from shoe_daemon.game import HOUSE_IDS, Burn, house_to_mapping, load_house
from shoe_daemon.table import Event, Session, Table, TableState, from_microseconds
from tests.display.sample_table import SampleTable
from tests.volume import sample

WHOLE_SHOES = [name for name in HOUSE_IDS if load_house(name).reshuffle == "per_shoe"]
BURNS = [
    Burn(mode="none"),
    Burn(mode="fixed", fixed=1),
    Burn(mode="fixed", fixed=20),
    Burn(mode="per_deck"),
    Burn(mode="first_card", face_value=0),
    Burn(mode="first_card", indicator_counts=True, face_down=True),
    Burn(mode="unchecked"),
]


def wanted(settings: DemoSettings) -> Settings:
    return shoe_of(settings, house_of(settings))


@pytest.mark.parametrize("warm_up", [0, 5, 40])
def test_the_second_or_third_round_at_the_pace_is_the_first_misdeal(warm_up: int) -> None:
    played = islice(scenes(wanted(DemoSettings(warm_up=warm_up))), warm_up + 4)
    faults = [scene.round.fault for scene in played if scene.round]
    place = next(place for place, fault in enumerate(faults, 1 - warm_up) if fault)
    assert place in {2, 3}
    assert faults[warm_up + place - 1] in {Fault.OVERDRAW, Fault.MISSED_DRAW}


@pytest.mark.parametrize(("house", "mode"), sample(product(WHOLE_SHOES, Mode), 3))
def test_no_house_raises_a_false_alarm(house: str, mode: Mode) -> None:
    settings = DemoSettings(house=house, mode=mode, fault_rate=0, rounds=170, seed=1)
    table = SampleTable(house, "us_nj_pa")
    last = list(table.boards(wanted(settings)))[-1]
    assert not any(event.type == "irregularity" for event in table.events)
    assert last.shoe is not None
    assert last.shoe.number == 3, "the end of a shoe was seen twice"


@pytest.mark.parametrize("burn", BURNS, ids=str)
@pytest.mark.parametrize("mode", Mode)
def test_a_shoe_is_burned_as_its_house_says(burn: Burn, mode: Mode) -> None:
    house = replace(load_house("seven-feathers"), burn=burn, decks=2)
    dealt = shoe_of(DemoSettings(mode=mode, fault_rate=0, rounds=30, seed=1), house)
    table = Table(TableState(session=Session(rules=house_to_mapping(house))))
    decoder, events = AngelEyeII().decoder(), list[Event]()
    for step in (step for scene in scenes(dealt) for step in scene.steps):
        for frame in decoder.feed(b"".join(data for _, data in step.writes(1)), step.at):
            for observation in frame.observations:
                at = from_microseconds(round(step.at * 1_000_000))
                events += table.apply(replace(observation, at=at))
    assert len([each for each in events if each.type == "shoe_started"]) > 1
    assert [each.data for each in events if each.type == "irregularity"] == []


def test_a_house_that_shuffles_every_round_is_refused() -> None:
    with pytest.raises(UserError, match="shuffled per hand"):
        house_of(DemoSettings(house="single-deck"))
    with pytest.raises(UserError, match="no such house"):
        house_of(DemoSettings(house="nowhere"))


@pytest.mark.parametrize(("camera", "excess"), [(False, Excess.CARRIED), (True, Excess.BURNED)])
def test_a_card_too_many_that_lay_there_for_all_to_see_begins_no_round(
    camera: bool,  # noqa: FBT001 - as pytest passes it
    excess: Excess,
) -> None:
    assert wanted(DemoSettings(policy="us_nj_pa", seed=1, camera=camera)).excess is excess

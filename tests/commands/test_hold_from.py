"""`hold_from`: a severe irregularity holds the result until a person has acknowledged it."""

from __future__ import annotations

import pytest

from shoe_daemon.game.coup import Outcome
from tests.commands.command_table import Pit
from tests.commands.conftest import OpenPit

pytestmark = pytest.mark.mosquitto


def misdeal(pit: Pit) -> None:
    """Deal a card too many, and the round's result."""
    pit.draw("P1:9S", "B1:2H", "P2:KD", "B2:5C")
    pit.shoe.call(Outcome.BANKER)
    pit.wait("event/irregularity")


def test_a_result_waits_for_a_person(tables: OpenPit) -> None:
    pit = tables('result_on = "confirmed"')
    misdeal(pit)
    (held,) = pit.wait("event/round_held")
    (found,) = pit.of("event/irregularity")
    assert held.json["data"]["irregularities"] == [found.json["data"]["id"]]
    assert not pit.of("event/round_finished")
    answer = pit.order("acknowledge", reason="seen on the camera")
    assert answer["ok"]
    (released,) = pit.wait("event/round_released")
    (finished,) = pit.wait("event/round_finished")
    assert released.json["data"]["operator"] == "Maria"
    assert finished.json["data"]["outcome"] == "player"
    assert {released.json["seq"], finished.json["seq"]} <= set(answer["events"])

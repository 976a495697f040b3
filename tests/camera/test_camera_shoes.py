"""
The bench of whole shoes: what it plays goes through daemon and broker, and what is silently
wrong is called so.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest
from msgspec.structs import replace

from bench.vision.shoes import play, settings_of
from bench.vision.verdicts import Dealt, Verdict, judge
from drivers.simulators.shoe import DealtRound
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import Event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, ResultOn
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.brokers import Mosquitto, mosquitto
from tests.volume import sample

__all__ = ["mosquitto"]

BEGIN = 1_800_000_000_000_000
DEALT = (Slot.P1, "9S"), (Slot.B1, "2D"), (Slot.P2, "KH"), (Slot.B2, "5C")
ROUND = DealtRound(1, 1, tuple((slot, Card(card)) for slot, card in DEALT))


@pytest.mark.parametrize("station", sample(["overhead", "throat"], 2))
def test_a_shoe_goes_from_pixels_to_the_broker(station: str, mosquitto: Mosquitto) -> None:
    wishes = Namespace(station=station, rounds=1, trouble_rate=0.0)
    verdict = play(settings_of(4, wishes), "", mosquitto.port)
    assert verdict.failed == ""
    assert (verdict.rounds, verdict.exact) == (1, 1)
    assert verdict.events > 8


def heard(*observations: seen.Observation, **options: Any) -> list[Event]:  # noqa: ANN401 - options, by their names
    table = Table()
    events: list[Event] = []
    session = seen.Session(options=Options(result_on=ResultOn.CONFIRMED, **options))
    for number, each in enumerate((session, seen.Link(up=True), *observations)):
        at = from_microseconds(BEGIN + number * 1_000_000)
        events += table.apply(replace(each, at=at))
    return events


def placed(*cards: tuple[Slot, str]) -> list[seen.Observation]:
    return [seen.Placed(slot=slot, card=Card(card)) for slot, card in cards]


def judged(events: list[Event]) -> Verdict:
    verdict = Verdict("overhead", 1)
    judge(verdict, [Dealt(ROUND, None, 0.5)], events, BEGIN)
    return verdict


OVERHEAD: dict[str, Any] = {"signals": (seen.Signal.PLACEMENT, seen.Signal.CLEARED)}


def test_a_round_that_is_shown_as_it_was_dealt_is_exact() -> None:
    events = heard(*placed(*DEALT), seen.TableCleared(), **OVERHEAD)
    assert judged(events).exact == 1


def test_a_round_with_another_card_and_no_word_is_silent() -> None:
    wrong = (*DEALT[:3], (Slot.B2, "6C"))
    verdict = judged(heard(*placed(*wrong), seen.TableCleared(), **OVERHEAD))
    assert (verdict.silent, verdict.troubles) == (1, {"none": [1, 0, 0, 0, 1]})
    assert "told NOTHING" in verdict.why[0]


def test_a_round_that_waits_for_a_person_is_held() -> None:
    unread = [*placed(*DEALT[:3]), seen.Unreadable(slot=Slot.B2), seen.TableCleared()]
    verdict = judged(heard(*unread, hold_from=3, **OVERHEAD))
    assert (verdict.held, verdict.silent) == (1, 0)
    assert "unreadable_card" in verdict.reasons

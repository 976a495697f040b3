"""
Commands in the journal: a replay gives the same bytes, refused ones change nothing, and
one that cannot be written counts as not given.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.angel_eye_ii.decoder import place_code
from shoe_daemon.game.coup import Outcome, Slot
from tests.chaos import journal_checks
from tests.commands.command_table import Pit
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


def a_bad_evening(pit: Pit) -> None:
    """Some rounds with what can go wrong, and what a supervisor does about it."""
    pit.draw("P1:9S", "B1:2H", "P2:KD", "B2:5C")
    pit.shoe.call(Outcome.BANKER)
    (wrong,) = pit.wait("event/irregularity")
    pit.order("rule", irregularity=wrong.json["data"]["id"], action="shoot")
    pit.order("rule", irregularity=wrong.json["data"]["id"], action="supervisor")
    pit.wait("event/round_finished")
    pit.order("correct-card", slot="B2", card="7C", reason="read wrongly")
    pit.draw("P1:3S")
    pit.shoe.say("D", place_code(Slot.B1), 0xFF)
    pit.wait("event/irregularity", 2)
    pit.order("enter-card", slot="B1", card="ZZ")
    pit.order("enter-card", slot="B1", card="4D")
    pit.ask("void-round", b"{")
    pit.order("void-round", operator=None)
    pit.order("void-round")
    pit.order("undo")
    pit.order("undo")
    pit.order("nonsense")
    pit.order("hold")
    pit.order("enter-result", outcome="tie")
    pit.order("resume")
    pit.order("new-shoe")


def test_a_replay_gives_the_same_bytes(pit: Pit, tmp_path: Path) -> None:
    a_bad_evening(pit)
    orders = pit.journaled()
    assert len(orders) == 15
    assert sum(order.refused is not None for order in orders) >= 5
    wait_for(lambda: pit.of("state")[-1].json["seq"] == pit.seq, "the last state")
    journal_checks.check_chain(pit.journal)
    journal_checks.check_replay(pit.journal, tmp_path)
    journal_checks.check_state(pit.journal, pit.of("state")[-1].payload)


def test_what_cannot_be_recorded_is_refused(pit: Pit, tmp_path: Path) -> None:
    away = pit.journal.rename(tmp_path / "away")
    answer = pit.order("hold", id="lost")
    assert answer["refused"].startswith("nothing can be recorded: ")
    away.rename(pit.journal)
    assert pit.journaled() == []
    # It was never given: the same id may be tried again.
    pit.order("hold", id="lost")
    assert pit.wait("reply/lost", 2)[1].json["ok"]
    journal_checks.check_chain(pit.journal)


def test_what_comes_during_the_alarm_is_refused_at_once(pit: Pit, tmp_path: Path) -> None:
    away = pit.journal.rename(tmp_path / "away")
    pit.shoe.draw("P1:9S")
    wait_for(lambda: pit.daemon.core.alarm, "the alarm")
    answer = pit.order("hold")
    assert answer["refused"].startswith("Nothing can be recorded")
    away.rename(pit.journal)
    wait_for(lambda: pit.daemon.core.alarm is None, "the end of the alarm")
    assert pit.order("hold")["ok"]
    assert [order.refused for order in pit.journaled()] == [None]

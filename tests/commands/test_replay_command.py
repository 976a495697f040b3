"""`replay` publishes events again: the same bytes, in order, without side effects."""

from __future__ import annotations

import pytest

from shoe_daemon.service import command_handler
from tests.brokers import wait_for
from tests.chaos import journal_checks
from tests.commands.command_table import Heard, Pit
from tests.commands.conftest import OpenPit

pytestmark = pytest.mark.mosquitto


def events(pit: Pit) -> list[Heard]:
    starts = (f"{pit.root}/event/", f"{pit.root}/staff/event/")
    return [each for each in pit.heard if each.topic.startswith(starts)]


def play(pit: Pit, rounds: int = 3) -> None:
    for number in range(rounds):
        pit.draw("P1:9S", "B1:2H", "P2:KD", "B2:5C")
        pit.wait("event/round_finished", number + 1)


def test_events_come_again(pit: Pit) -> None:
    play(pit)
    wait_for(lambda: len(events(pit)) == pit.seq, "all events")
    first, head = events(pit), pit.seq
    answer = pit.order("replay", from_seq=4)
    assert (answer["ok"], answer["replayed"], answer["events"]) == (True, head - 3, [])
    public = [each for each in first[3:] if "/staff/" not in each.topic]
    assert answer["replayed_public"] == len(public)
    wait_for(lambda: len(events(pit)) >= 2 * head - 3, "the events again")
    again = events(pit)[head:]
    assert [each.payload for each in again] == [each.payload for each in first[3:]]
    assert [each.topic for each in again] == [each.topic for each in first[3:]]
    assert not any(each.retain for each in again)
    lines = journal_checks.exported(pit.journal, "--events").splitlines()
    assert [each.payload for each in again] == lines[3:]
    assert pit.seq == head, "the replay itself is an event"


def test_what_is_new_comes_in_its_order(pit: Pit) -> None:
    play(pit, 2)
    before = pit.seq
    assert pit.order("replay", from_seq=1)["ok"]
    pit.draw("P1:9S", "B1:2H", "P2:KD", "B2:5C")
    wait_for(lambda: len(events(pit)) >= pit.seq + before, "everything")
    highest, seen = 0, set()
    for seq in (each.json["seq"] for each in events(pit)):
        assert seq <= highest + 1
        highest = max(highest, seq)
        seen.add(seq)
    assert seen == set(range(1, pit.seq + 1))


def test_it_is_bounded(pit: Pit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_handler, "MAX_REPLAYED_EVENTS", 5)
    play(pit, 1)
    head = pit.seq
    wait_for(lambda: len(events(pit)) == head, "all events")
    assert pit.order("replay", from_seq=2)["replayed"] == 5
    wait_for(lambda: len(events(pit)) == head + 5, "five events")
    assert pit.order("replay", from_seq=7)["replayed"] == min(5, head - 6)


def test_one_at_a_time(tables: OpenPit) -> None:
    pit = tables()
    publisher = pit.daemon.publisher
    assert publisher is not None
    play(pit, 1)
    # One that is under way for ever: nobody lets it send.
    publisher._context.outgoing.replay._read = lambda: None  # type: ignore[method-assign]  # noqa: SLF001
    publisher.replay(1, 5)
    answer = pit.order("replay", from_seq=1)
    assert answer["refused"] == "a replay is under way: wait for its end"

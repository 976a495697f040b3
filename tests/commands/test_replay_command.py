"""`replay` publishes events again: the same bytes, in order, without side effects."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from shoe_daemon.mqtt.connection import leave
from shoe_daemon.service import commands
from tests.brokers import Mosquitto
from tests.chaos import journal_checks
from tests.commands.command_table import Heard, Pit
from tests.commands.conftest import OpenPit
from tests.volume import volume
from tests.waiting import PATIENCE, wait_for

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
    monkeypatch.setattr(commands, "MAX_REPLAYED_EVENTS", 5)
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
    publisher._state.outbox.replay._read = lambda: None  # type: ignore[method-assign]  # noqa: SLF001
    publisher.replay(1, 5)
    answer = pit.order("replay", from_seq=1)
    assert answer["refused"] == "a replay is under way: wait for its end"


@contextmanager
def flooding(pit: Pit, port: int) -> Iterator[list[int]]:
    """
    Let an account of the pit's log send replays as fast as the broker takes them: refused ones,
    lawful ones, and one id again and again. Yields how many it has sent.
    """
    sent, ends = [0], threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.username_pw_set("pit-log", "pit-log")
    client.connect("127.0.0.1", port)

    def send() -> None:
        while not ends.is_set():
            number = sent[0]
            order = {"id": f"log-{number % 3 and number}", "operator": "log"}
            fields = ({}, {"from_seq": 1}, {"from_seq": 10**6}, {"from_seq": pit.seq})[number % 4]
            client.publish(f"{pit.root}/cmd/replay", json.dumps(order | fields), 0)
            sent[0] += 1
            ends.wait(0.0003)

    thread = threading.Thread(target=send)
    client.loop_start()
    thread.start()
    try:
        yield sent
    finally:
        ends.set()
        thread.join(PATIENCE)
        leave(client)


def test_a_flood_of_replays_starves_nobody_and_lets_no_order_through_twice(
    tables: OpenPit, broker: Mosquitto
) -> None:
    pit = tables()
    play(pit)
    assert pit.order("hold", id="first")["ok"]
    size, begin = pit.journal.stat().st_size, time.monotonic()
    waits: list[float] = []
    with flooding(pit, broker.port) as sent:
        wait_for(lambda: sent[0] > 500, "the flood")
        while sent[0] < volume(1500, 5000):
            asked = time.monotonic()
            assert pit.order("resume" if len(waits) % 2 == 0 else "hold")["ok"]
            waits.append(time.monotonic() - asked)
        pit.send("resume", b'{"id":"first","operator":"Maria"}')
        repeated = pit.wait("reply/first", 2)[-1].json
    assert max(waits) < 2, sorted(waits)[-5:]
    assert repeated["refused"].startswith("its id was given before"), repeated
    replays = [order for order in pit.journaled() if order.name == "replay"]
    assert not any(order.refused for order in replays)
    assert len(replays) <= 10 + (time.monotonic() - begin)
    assert pit.journal.stat().st_size - size < 1_000_000

"""A lost connection, broker or daemon loses no message and changes no order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import dropwhile

import pytest
from msgspec.structs import replace

from shoe_daemon.mqtt.publisher import Publisher
from tests.brokers import Listener, Message, Mosquitto, Relay
from tests.mqtt.memory_journal import PATIENT, QUICK, ROOT, Journal, every_protocol, publishing
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


def lay_out(publisher: Publisher) -> None:
    publisher.retain("state", b'{"seq":0}', 0)
    publisher.retain("alert/active", b'{"seq":0}', 0)


def first_arrivals(listener: Listener) -> list[int]:
    """Return the seqs of the events in the order in which they first came."""
    return list(dict.fromkeys(message.json["seq"] for message in listener.of("/card_dealt")))


@every_protocol
def test_a_killed_broker_that_kept_nothing_gets_everything_again(
    mosquitto: Mosquitto, protocol: str
) -> None:
    journal = Journal()
    with (
        Listener(mosquitto.port) as listener,
        publishing(mosquitto.port, journal, prepare=lay_out, protocol=protocol) as publisher,
    ):
        listener.wait("/status")
        for _ in range(10):
            publisher.notify(journal.add())
        listener.wait("/card_dealt", 10)
        wait_for(lambda: journal.cursor == 10, "the cursor")
        mosquitto.kill()
        wait_for(lambda: not publisher.health.connected, "a loss that is noticed")
        for _ in range(100):
            publisher.notify(journal.add())
        publisher.retain("state", b'{"seq":110}', 110)
        mosquitto.start()
        wait_for(lambda: journal.cursor == 110, "the cursor")
        with Listener(mosquitto.port, name="late") as late:
            wait_for(lambda: len(late.messages) == 3, "what is retained")
            retained = {m.topic.removeprefix(f"{ROOT}/"): m.json for m in late.messages}
            assert retained["state"] == {"seq": 110}
            assert retained["alert/active"] == {"seq": 0}
            assert retained["status"]["state"] == "online"


def test_a_line_cut_many_times_loses_nothing(mosquitto: Mosquitto, listener: Listener) -> None:
    journal = Journal()
    with (
        Relay(mosquitto.port) as relay,
        publishing(relay.port, journal, timeouts=PATIENT) as publisher,
    ):
        for cut in range(1, 5):
            wait_for(lambda: publisher.health.connected, "a connection")
            for _ in range(50):
                publisher.notify(journal.add())
            listener.wait("/card_dealt", 50 * cut - 40)
            since = publisher.health.since
            relay.cut()
            # It may be back sooner than anybody sees that it was away.
            wait_for(lambda: publisher.health.since != since, "a loss that is noticed")  # noqa: B023
        wait_for(lambda: journal.cursor == 200, "the cursor")
        # A subscriber with a session sees all that the broker acknowledged.
        wait_for(lambda: len(first_arrivals(listener)) == 200, "all events")
        assert first_arrivals(listener) == list(range(1, 201))
        bodies = {message.json["seq"]: message.payload for message in listener.of("/card_dealt")}
        assert [bodies[event.seq] for event in journal.all] == [e.body for e in journal.all]


def test_a_halted_broker_is_noticed_and_then_gets_everything(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    journal = Journal()
    with publishing(mosquitto.port, journal, prepare=lay_out, keepalive=1) as publisher:
        listener.wait("/status")
        mosquitto.halt()
        for _ in range(100):
            publisher.notify(journal.add())
        wait_for(lambda: not publisher.health.connected, "a loss that is noticed")
        assert publisher.health.alive
        mosquitto.resume()
        wait_for(lambda: journal.cursor == 100, "the cursor")
        wait_for(lambda: len(first_arrivals(listener)) == 100, "all events")
        assert first_arrivals(listener) == list(range(1, 101))


WILL_DELAYS = (1, 4, 16)
"""Seconds; on a machine too slow to be back within some, longer ones are tried."""


def test_a_short_drop_speaks_no_will(mosquitto: Mosquitto) -> None:
    def is_short(will_delay: int) -> bool:
        timeouts = replace(QUICK, will_delay_s=will_delay)
        with (
            watching(mosquitto.port) as statuses,
            Relay(mosquitto.port) as relay,
            publishing(relay.port, Journal(), timeouts=timeouts),
        ):
            wait_for(lambda: len(statuses()) == 1, "online")
            lost = time.monotonic()
            relay.cut()
            return is_back_without_a_will(statuses, lost, will_delay)

    assert any(map(is_short, WILL_DELAYS))


@contextmanager
def watching(port: int) -> Iterator[Callable[[], list[Message]]]:
    """
    Listen, and give what is said of the status from the first `online` on: before it comes,
    the will of an attempt that was too slow may be spoken.
    """

    def is_before(message: Message) -> bool:
        return message.retain or bool(message.json["state"] != "online")

    with Listener(port, name=f"watcher-{time.monotonic()}") as listener:
        yield lambda: list(dropwhile(is_before, listener.of("/status")))


def is_back_without_a_will(
    statuses: Callable[[], list[Message]], lost: float, will_delay: int
) -> bool:
    """Tell whether somebody came back in time, and see that then no will is spoken."""
    wait_for(lambda: [each.json["state"] for each in statuses()].count("online") == 2, "online")
    if statuses()[-1].at - lost >= will_delay:
        return False
    # Only the time of the will itself can show that it was not spoken.
    wait_for(lambda: time.monotonic() - lost > will_delay + 1.5)
    assert [each.json["state"] for each in statuses()] == ["online"] * 2
    return True


@every_protocol
def test_a_daemon_that_is_gone_leaves_its_will(
    mosquitto: Mosquitto, listener: Listener, protocol: str
) -> None:
    with (
        Relay(mosquitto.port) as relay,
        publishing(relay.port, Journal(), protocol=protocol),
    ):
        listener.wait("/status")
        gone = time.monotonic()
        with relay.closed():
            will = listener.wait("/status", 2)[-1]
            with Listener(mosquitto.port, name="late") as late:
                assert late.wait("/status")[0].json["state"] == "offline"
    assert will.json == {
        "head": None,
        "head_at_connect": None,
        "head_seq": None,
        "name": "Table 7",
        "schema": "1.0",
        "seq": 0,
        "session": "start-1",
        "state": "offline",
    }
    if protocol == "5":
        assert will.at - gone > 0.5


def test_a_daemon_that_is_silent_is_declared_offline_and_comes_back(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    def is_said(state: str) -> bool:
        return bool(listener.of("/status")[-1].json["state"] == state)

    with (
        Relay(mosquitto.port) as relay,
        publishing(relay.port, Journal(), keepalive=1, timeouts=PATIENT),
    ):
        listener.wait("/status")
        relay.silent = True
        wait_for(lambda: is_said("offline"), "the will")
        relay.silent = False
        wait_for(lambda: is_said("online"), "its return")


def test_a_daemon_that_restarts_at_once_is_never_offline(mosquitto: Mosquitto) -> None:
    def is_at_once(will_delay: int) -> bool:
        timeouts = replace(QUICK, will_delay_s=will_delay)
        second = Journal(session="start-2")
        with (
            watching(mosquitto.port) as statuses,
            Relay(mosquitto.port) as relay,
            publishing(relay.port, Journal(), timeouts=timeouts),
        ):
            wait_for(lambda: len(statuses()) == 1, "online")
            lost = time.monotonic()
            with relay.closed(), publishing(mosquitto.port, second, timeouts=timeouts):
                back = is_back_without_a_will(statuses, lost, will_delay)
                sessions = [each.json["session"] for each in statuses()]
                assert not back or sessions == ["start-1", "start-2"]
                return back

    assert any(map(is_at_once, WILL_DELAYS))


def test_a_start_resends_what_the_last_one_had_no_answer_for(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    journal = Journal(30)
    journal.cursors.append(12)
    with publishing(mosquitto.port, journal):
        listener.wait("/card_dealt", 18)
        assert first_arrivals(listener) == list(range(13, 31))

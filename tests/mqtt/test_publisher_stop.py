"""A stop never hangs, whatever the broker does."""

from __future__ import annotations

import socket
import time

import pytest

from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import TableIdentity
from tests.brokers import Listener, Mosquitto, free_port
from tests.mqtt.memory_journal import QUICK, Journal, Stored, publishing
from tests.waiting import PATIENCE, wait_for

SLACK = 15.0
"""Seconds that a busy machine may need besides; whatever hangs, hangs for longer."""


def span_of_stop(publisher: Publisher, timeout: float) -> float:
    """Stop, and return how long it took."""
    before = time.monotonic()
    publisher.stop(timeout)
    return time.monotonic() - before


@pytest.mark.mosquitto
def test_without_an_answer_to_offline_the_will_says_it(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    journal = Journal()
    with publishing(mosquitto.port, journal) as publisher:
        listener.wait("/status")
        mosquitto.halt()
        for _ in range(20):
            publisher.notify(journal.add())
        wait_for(lambda: publisher.health.in_flight == 20, "a full window")
        assert span_of_stop(publisher, 0.2) < SLACK
        assert not publisher.health.alive
        mosquitto.resume()
        assert listener.wait("/status", 2)[-1].json["state"] == "offline"


@pytest.mark.mosquitto
def test_after_offline_the_will_is_not_spoken_again(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    with publishing(mosquitto.port, Journal()) as publisher:
        listener.wait("/status")
        publisher.stop()
    stopped = time.monotonic()
    wait_for(lambda: time.monotonic() - stopped > QUICK.will_delay_s + 1)
    states = [message.json["state"] for message in listener.of("/status")]
    assert states == ["online", "stopping", "offline"]


@pytest.mark.mosquitto
def test_with_more_left_than_there_is_time_for(mosquitto: Mosquitto, listener: Listener) -> None:
    class Slow(Journal):
        def events(self, after_seq: int, limit: int) -> list[Stored]:
            time.sleep(0.2)
            return super().events(after_seq, min(limit, 2))

    journal = Slow()
    with publishing(mosquitto.port, journal) as publisher:
        listener.wait("/status")
        for _ in range(1000):
            journal.add()
        publisher.retain("state", b'{"seq":1000}', 1000)
        publisher.notify(1000)
        assert span_of_stop(publisher, 2.5) < 2.5 + SLACK
        assert listener.wait("/status", 3)[-1].json["state"] == "offline"
        assert 0 < len(listener.of("/card_dealt")) < 1000
        # Events are sent by the next start; what is retained stays as it is until then.
        assert [message.json["seq"] for message in listener.of("/state")] == [1000]
        assert listener.messages[-1].topic.endswith("/status")


@pytest.mark.mosquitto
def test_before_the_broker_has_accepted_the_connection(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    def prepare(publisher: Publisher) -> None:
        publisher.retain("state", b'{"seq":3}', 3)
        publisher.notify(3)

    with publishing(mosquitto.port, Journal(3), prepare=prepare) as publisher:
        publisher.stop(PATIENCE)
    wait_for(lambda: listener.of("/status"), "the farewell")
    wait_for(lambda: listener.of("/status")[-1].json["state"] == "offline", "offline")
    assert [message.json["seq"] for message in listener.of("/card_dealt")] == [1, 2, 3]
    assert listener.of("/state")[-1].json["seq"] == 3


def test_without_a_broker() -> None:
    with publishing(free_port(), Journal(10)) as publisher:
        wait_for(lambda: publisher.health.last_error, "a failure")
        assert publisher.health.alive
        assert span_of_stop(publisher, 60) < SLACK


def test_with_a_broker_that_never_answers() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        publishing(mute.getsockname()[1], Journal(10)) as publisher,
    ):
        mute.accept()[0].close()
        with mute.accept()[0]:
            assert span_of_stop(publisher, 1) < 1 + SLACK


@pytest.mark.mosquitto
def test_before_a_start_and_twice(mosquitto: Mosquitto) -> None:
    identity = TableIdentity("casino", "table-7", "start-1")
    publisher = Publisher(MqttSettings(), identity, Journal(), 0, lambda _: None)
    assert span_of_stop(publisher, 60) < SLACK
    with publishing(mosquitto.port, Journal()) as publisher:
        wait_for(lambda: publisher.health.connected, "a connection")
        publisher.stop()
        assert span_of_stop(publisher, 60) < SLACK
        publisher.notify(1)
        publisher.retain("state", b"{}", 0)

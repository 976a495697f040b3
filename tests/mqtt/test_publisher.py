"""A subscriber receives everything, in order, with `online` last."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from shoe_daemon.mqtt.connection import Connection, MessageReceived
from shoe_daemon.mqtt.publication import ChainHead
from shoe_daemon.mqtt.publisher import Publisher
from tests.brokers import Listener, Mosquitto, Refusing
from tests.mqtt.memory_journal import QUICK, ROOT, Journal, every_protocol, publishing
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


def lay_out(publisher: Publisher) -> None:
    """Retain what a service retains before it starts the publisher."""
    publisher.retain("state", b'{"seq":3}', 3)
    publisher.retain("alert/active", b'{"seq":3}', 3)
    publisher.retain("device/shoe", b'{"seq":3}', 3)


@every_protocol
def test_a_start_sends_events_then_documents_then_online(
    mosquitto: Mosquitto, listener: Listener, protocol: str
) -> None:
    with publishing(mosquitto.port, Journal(3), prepare=lay_out, protocol=protocol):
        listener.wait("/status")
        assert [message.topic.removeprefix(f"{ROOT}/") for message in listener.messages] == [
            *["event/card_dealt"] * 3,
            "state",
            "alert/active",
            "device/shoe",
            "status",
        ]
        assert {message.qos for message in listener.messages} == {1}
        assert listener.of("/status")[-1].json["name"] == "Table 7"


@every_protocol
def test_a_stop_says_stopping_then_what_is_left_then_offline(
    mosquitto: Mosquitto, listener: Listener, protocol: str
) -> None:
    journal = Journal()
    with publishing(mosquitto.port, journal, protocol=protocol) as publisher:
        listener.wait("/status")
        for _ in range(100):
            journal.add()
        publisher.notify(100)
        publisher.stop()
        listener.wait("/status", 3)
    assert [message.json["state"] for message in listener.of("/status")] == [
        "online",
        "stopping",
        "offline",
    ]
    assert {message.json["session"] for message in listener.of("/status")} == {"start-1"}
    assert len(listener.of("/card_dealt")) == 100
    assert journal.cursor == 100
    assert listener.messages[-1].json["state"] == "offline"


def test_events_go_out_when_they_are_told_not_at_the_next_look(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    journal = Journal()
    spans = []
    with publishing(mosquitto.port, journal) as publisher:
        listener.wait("/status")
        for count in range(1, 21):
            told = time.monotonic()
            publisher.notify(journal.add())
            spans.append(listener.wait("/card_dealt", count)[-1].at - told)
    # Told right after a look, it would wait a second for the next one each time.
    assert sorted(spans)[10] < 0.5


def test_of_a_document_only_the_newest_is_sent(mosquitto: Mosquitto, listener: Listener) -> None:
    with publishing(mosquitto.port, Journal()) as publisher:
        listener.wait("/status")
        mosquitto.halt()
        for _ in range(30):
            # The window is full after 20 of these; what comes then must wait.
            publisher.retain(f"device/reader-{_}", b"{}", 0)
        wait_for(lambda: publisher.health.in_flight == 20, "a full window")
        for number in range(50):
            publisher.retain("state", b'{"n":%d}' % number, 0)
        mosquitto.resume()
        listener.wait("/state")
        listener.wait("/device/reader-29")
        assert [message.json["n"] for message in listener.of("/state")] == [49]


def test_the_heartbeat_sends_state_again_with_an_expiry(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    def lay_out_state(publisher: Publisher) -> None:
        publisher.retain("state", lambda moment: b'{"published":"%s"}' % moment.encode(), 0)

    with publishing(mosquitto.port, Journal(), prepare=lay_out_state, heartbeat=1):
        messages = listener.wait("/state", 3)
        assert len({message.json["published"] for message in messages}) == len(messages)
        assert all(message.json["published"].endswith("Z") for message in messages)
        assert {message.expiry for message in messages} == {3}
        assert len(listener.of("/status")) == 1
        assert listener.of("/status")[0].expiry is None


def test_a_retained_order_is_told_as_such(mosquitto: Mosquitto, listener: Listener) -> None:
    listener.publish(f"{ROOT}/cmd/new_shoe", b"{}", retain=True)
    orders: list[MessageReceived] = []
    options = {"on_command": lambda _verb, message: orders.append(message)}
    with publishing(mosquitto.port, Journal(), options=options):
        wait_for(lambda: orders, "an order")
        assert orders[0].retained


class Comparison:
    """Notes what the broker had retained, and whether anything was published before."""

    def __init__(self, *, begins: bool = True) -> None:
        self.copies: list[dict[str, bytes]] = []
        self._begins = begins

    def __call__(self, copies: Mapping[str, bytes]) -> bool:
        self.copies.append(dict(copies))
        return self._begins


def test_nothing_is_published_before_the_comparison(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    status = b'{"schema":"1.0","seq":9,"session":"before","state":"offline"}'
    listener.publish(f"{ROOT}/status", status, retain=True)
    listener.publish(f"{ROOT}/signature", b"signed", retain=True)
    before = len(listener.messages)
    comparison = Comparison(begins=False)
    journal = Journal(5)
    with publishing(mosquitto.port, journal, options={"compare": comparison}) as publisher:
        publisher.notify(5)
        wait_for(lambda: comparison.copies, "the comparison")
        assert comparison.copies == [{"status": status, "signature": b"signed"}]
        listener.publish("end", b"")
        assert [each.topic for each in listener.messages[before:]] == ["end"]
        publisher.begin(3)
        listener.wait("/status", 2)
        assert [each.json["seq"] for each in listener.of("/card_dealt")] == [4, 5]
        wait_for(lambda: journal.cursor == 5, "the cursor")
    assert len(comparison.copies) == 1


@pytest.mark.parametrize("answer", ["none", "refused", "empty"])
def test_without_retained_messages_the_table_begins_in_time(
    tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if answer == "none":
        monkeypatch.setattr(Connection, "_on_subscribe", lambda *_: None)
    comparison = Comparison()
    kind = Refusing if answer == "refused" else Mosquitto
    timeouts = replace(QUICK, connect_s=1.0)
    with (
        kind(tmp_path) as broker,
        Listener(broker.port) as listener,
        publishing(
            broker.port, Journal(), options={"compare": comparison}, timeouts=timeouts
        ) as publisher,
    ):
        assert listener.wait("/status")[0].json["state"] == "online"
        assert comparison.copies == [{}]
        assert publisher.health.connected


def test_nobody_listening_is_known_and_counts_as_success(mosquitto: Mosquitto) -> None:
    journal = Journal(5)
    with publishing(mosquitto.port, journal) as publisher:
        wait_for(lambda: journal.cursor == 5, "the cursor")
        assert publisher.health.has_subscribers is False
        with Listener(mosquitto.port):
            publisher.notify(journal.add())
            wait_for(lambda: journal.cursor == 6, "the cursor")
            assert publisher.health.has_subscribers is True


def test_online_has_the_head_hash(mosquitto: Mosquitto, listener: Listener) -> None:
    journal = Journal()
    journal.add()
    with publishing(
        mosquitto.port,
        journal,
        options={"chain_head": lambda: ChainHead(len(journal.all), f"hash-{len(journal.all)}")},
    ):
        status = listener.wait("/status")[0].json
        assert (status["head"], status["head_seq"]) == ("hash-1", 1)


def test_the_broker_sets_the_size_of_the_window(tmp_path: Path) -> None:
    journal = Journal()
    with (
        Mosquitto(tmp_path, "allow_anonymous true\nmax_inflight_messages 3") as broker,
        publishing(broker.port, journal, keepalive=60) as publisher,
    ):
        wait_for(lambda: publisher.health.connected, "a connection")
        wait_for(lambda: publisher.health.in_flight == 0, "all acknowledged")
        broker.halt()
        for _ in range(50):
            publisher.notify(journal.add())
        wait_for(lambda: publisher.health.in_flight == 3, "a full window")
        turned = publisher.health.last_loop
        wait_for(lambda: publisher.health.last_loop > turned, "another turn")
        assert publisher.health.in_flight == 3
        broker.resume()
        wait_for(lambda: journal.cursor == 50, "all acknowledged")

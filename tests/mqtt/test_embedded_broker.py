"""
The embedded broker listens on loopback, uses another port where one is busy, logs
nothing, and serves a publisher with MQTT 3.1.1.
"""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack

import pytest

from shoe_daemon.mqtt.broker import EmbeddedBroker
from tests.brokers import Listener, free_port
from tests.mqtt.memory_journal import Journal, publishing
from tests.waiting import PATIENCE


def test_it_takes_another_port_where_one_is_busy() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy = other.getsockname()[1]
        with EmbeddedBroker(busy) as broker:
            assert broker.port != busy
            socket.create_connection((broker.host, broker.port), PATIENCE).close()


def test_it_takes_the_port_that_is_wanted_and_frees_it() -> None:
    port = free_port()
    for _ in range(2):
        with EmbeddedBroker(port) as broker:
            assert (broker.host, broker.port) == ("127.0.0.1", port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), PATIENCE)


def test_it_listens_on_loopback_only() -> None:
    with EmbeddedBroker(free_port()) as broker, pytest.raises(ConnectionRefusedError):
        # All of 127/8 reaches this machine, but only one address is listened on.
        socket.create_connection(("127.0.0.2", broker.port), PATIENCE)


def test_it_leaves_no_thread_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    # Of those of other tests some may end meanwhile.
    before = set(threading.enumerate())
    with EmbeddedBroker(free_port()) as broker:
        socket.create_connection((broker.host, broker.port), PATIENCE).close()
    assert set(threading.enumerate()) <= before
    assert capfd.readouterr() == ("", "")


def test_a_publisher_gets_everything_through_that_was_said_before_the_brokers_end() -> None:
    journal = Journal()
    running = ExitStack()
    broker = running.enter_context(EmbeddedBroker(free_port()))
    with Listener(broker.port, protocol="3.1.1") as listener:
        with publishing(broker.port, journal, protocol="3.1.1") as publisher:
            publisher.retain("state", b'{"seq":0}', 0)
            listener.wait("/status")
            for _ in range(300):
                publisher.notify(journal.add())
            publisher.stop(PATIENCE)
        running.close()
        events = listener.wait("/card_dealt", 300)
        assert [message.json["seq"] for message in events] == list(range(1, 301))
        assert listener.wait("/status", 3)[-1].json["state"] == "offline"


def test_a_client_receives_only_what_it_subscribed_to() -> None:
    journal = Journal()
    with (
        EmbeddedBroker(free_port()) as broker,
        Listener(broker.port, protocol="3.1.1") as everything,
        publishing(broker.port, journal, protocol="3.1.1") as publisher,
    ):
        publisher.retain("staff/alert/active", b'{"seq":0}', 0)
        publisher.retain("state", b'{"seq":0}', 0)
        everything.wait("/staff/alert/active")
        everything.wait("/state")
        with Listener(broker.port, "shoe/v1/+/+/state", name="board", protocol="3.1.1") as board:
            board.wait("/state")
            publisher.retain("state", b'{"seq":0,"again":1}', 0)
            board.wait("/state", 2)
        assert {message.topic.rpartition("/")[2] for message in board.messages} == {"state"}

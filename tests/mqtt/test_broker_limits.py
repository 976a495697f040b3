"""
The limits of the sample, with the real mosquitto: an account that floods does not take the broker
beyond its memory, and the events of a table reach its display meanwhile.

The numbers of the sample are divided by eight here, so that a test fills them in seconds.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion

from tests.brokers import Listener
from tests.mqtt.memory_journal import Journal
from tests.mqtt.sample_broker import SampleBroker
from tests.volume import sample
from tests.waiting import wait_for

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(120)]

LIMITS = ("memory_limit", "max_queued_bytes", "max_queued_messages", "max_connections")
EVENTS = 10
MEAN_BYTES = 1_300
"""Of the messages of a table, documents included: docs/measure.md."""

DELAY_S = 10.0
"""Within which an event reaches a display in spite of a flood, on a busy machine."""


class Limited(SampleBroker):
    """The sample broker with an eighth of each limit, and the accounts of floods."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.limits: dict[str, int] = {}
        self.add_account("table-8")
        rights = folder / "shoe.acl"
        rights.write_text(f"{rights.read_text()}\nuser auditor\ntopic read $SYS/#\n")
        self.add_account("auditor")
        for file in (folder / "conf.d").iterdir():
            text = re.sub(rf"(?m)^({'|'.join(LIMITS)}) (\d+)$", self._eighth, file.read_text())
            file.write_text(text)
        with (folder / "mosquitto.conf").open("a") as more:
            more.write("sys_interval 1\n")

    def _eighth(self, line: re.Match[str]) -> str:
        self.limits[line[1]] = int(line[2]) // 8
        return f"{line[1]} {self.limits[line[1]]}"

    def client(self, account: str, name: str) -> paho.Client:
        """Return a connected client of an account, without a thread."""
        client = paho.Client(
            CallbackAPIVersion.VERSION2, name, protocol=MQTTProtocolVersion.MQTTv5
        )
        client.username_pw_set(account, account)
        client.connect("127.0.0.1", self.port)
        while not client.is_connected():
            assert client.loop(1.0) == MQTTErrorCode.MQTT_ERR_SUCCESS
        return client


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Limited]:
    with Limited(tmp_path) as broker:
        yield broker


@contextlib.contextmanager
def flood(
    broker: Limited, account: str, topic: Callable[[int], str], size: int = 20_000
) -> Iterator[None]:
    """Publish retained messages with an account, as fast as the broker takes them."""
    stopping = threading.Event()
    payload = bytes(size)

    def run() -> None:
        number = 0
        while not stopping.is_set():
            with contextlib.suppress(OSError, AssertionError):
                client = broker.client(account, "flood")
                while not stopping.is_set() and client.is_connected():
                    number += 1
                    client.publish(topic(number), payload, 1, retain=True)
                    client.loop(0.001)
                client.disconnect()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def silent_reader(broker: Limited, qos: int) -> paho.Client:
    """Return a display's client that subscribes to all tables, and then reads nothing."""
    client = broker.client("board", f"silent-{qos}")
    client.subscribe("shoe/v1/casino/+/state", qos)
    client.loop(0.5)
    return client


def assert_events_arrive(
    broker: Limited, is_enough: Callable[[int], bool] = lambda _heap: True
) -> int:
    """
    Publish some events of a table, and more until the largest heap of the broker is enough; return
    this heap two seconds later.
    """
    journal = Journal()
    with (
        broker.listen("auditor", topic="$SYS/broker/#") as auditor,
        broker.listen("board", topic="shoe/v1/casino/table-7/event/+") as board,
        broker.publish(journal) as publisher,
    ):

        def maximum() -> int:
            return max((int(each.payload) for each in auditor.of("/heap/maximum")), default=0)

        while len(journal.all) < EVENTS or not is_enough(maximum()):
            publisher.notify(journal.add())
            board.wait("/card_dealt", len(journal.all), timeout=DELAY_S)
            time.sleep(0.1)
        # The maximum is published every second, if it has changed.
        auditor.wait("/uptime", len(auditor.of("/uptime")) + 2)
        return maximum()


def test_the_samples_have_every_limit(broker: Limited) -> None:
    assert set(broker.limits) == set(LIMITS)
    assert 8 * broker.limits["memory_limit"] <= 1 << 28
    for file in (broker.folder / "conf.d").iterdir():
        text = file.read_text()
        assert text.count("\nlistener ") == text.count("\nmax_connections ") == 1
    # systemd allows 1,024 files.
    assert 2 * 8 * broker.limits["max_connections"] <= 1_000


def test_a_display_that_publishes_takes_no_memory(broker: Limited) -> None:
    with flood(broker, "board", lambda number: f"shoe/v1/casino/board/event/{number}"):
        assert assert_events_arrive(broker) < broker.limits["memory_limit"] // 4


def test_a_table_that_fills_the_broker_is_disconnected_at_the_limit(broker: Limited) -> None:
    limit = broker.limits["memory_limit"]
    with flood(broker, "table-8", lambda number: f"shoe/v1/casino/table-8/event/{number}"):
        maximum = assert_events_arrive(broker, lambda heap: heap > 0.9 * limit)
    assert maximum <= limit
    assert "Client flood disconnected due to out of memory" in broker.log.read_text()


@pytest.mark.parametrize(("qos", "size"), sample([(1, 20_000), (0, MEAN_BYTES)], 2))
def test_a_client_that_does_not_read_has_a_limited_queue(
    broker: Limited, qos: int, size: int
) -> None:
    """Of QoS 0 the broker limits the number only, so the test has the mean size there."""
    queue = broker.limits["max_queued_messages"] * size
    if qos:
        queue = min(queue, broker.limits["max_queued_bytes"])
    reader = silent_reader(broker, qos)
    with flood(broker, "table-8", lambda _: "shoe/v1/casino/table-8/state", size):
        maximum = assert_events_arrive(broker, lambda heap: heap > queue // 2)
    # The rest is what the broker needs beside it, and what TCP holds.
    assert maximum < 2 * queue < broker.limits["memory_limit"]
    reader.disconnect()


def test_connections_above_the_limit_are_refused_and_those_that_are_stay(broker: Limited) -> None:
    with broker.listen("board") as board, broker.publish(journal := Journal()) as publisher:
        board.wait("/status")
        limit = broker.limits["max_connections"]
        with contextlib.ExitStack() as stack:
            for _ in range(limit + 10):
                stack.enter_context(socket.create_connection(("127.0.0.1", broker.port)))
            wait_for(lambda: "max_connections exceeded" in broker.log.read_text(), "a refusal")
            publisher.notify(journal.add())
            board.wait("/card_dealt", timeout=DELAY_S)
    with Listener(broker.port, username="board", password="board") as again:  # noqa: S106
        again.wait("/status")

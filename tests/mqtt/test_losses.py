"""
What becomes of everything when the line, the broker or the daemon is lost:
nothing goes missing, nothing changes its order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe_daemon.mqtt import Publisher
from tests.brokers import Listener, Mosquitto, Relay, wait_for
from tests.mqtt.helpers import PATIENT, QUICK, ROOT, Journal, publishing

pytestmark = pytest.mark.mosquitto


def lay_out(publisher: Publisher) -> None:
    publisher.retain("state", b'{"seq":0}', 0)
    publisher.retain("alert/active", b'{"seq":0}', 0)


def first_arrivals(listener: Listener) -> list[int]:
    """
    Return the seqs of the events in the order in which they first came.
    """
    return list(dict.fromkeys(message.json["seq"] for message in listener.of("/card_dealt")))


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
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
            late.wait("/status")
            retained = {m.topic.removeprefix(f"{ROOT}/"): m.json for m in late.messages}
            assert retained["state"] == {"seq": 110}
            assert retained["alert/active"] == {"seq": 0}
            assert retained["status"]["state"] == "online"


def test_a_broker_killed_in_the_middle_loses_no_event(mosquitto: Mosquitto) -> None:
    journal = Journal()
    with publishing(mosquitto.port, journal) as publisher:
        seen: list[int] = []
        for kill in range(5):
            with Listener(mosquitto.port, name=f"listener-{kill}") as listener:
                wait_for(lambda: publisher.health.connected, "a connection")
                for _ in range(200):
                    publisher.notify(journal.add())
                # In the middle of it, not after it.
                listener.wait("/card_dealt", 20)
                mosquitto.kill()
            seen += [message.json["seq"] for message in listener.of("/card_dealt")]
            mosquitto.start()
        wait_for(lambda: journal.cursor == 1000, "the cursor")
    # What the broker took before its death and did not pass on cannot be known here;
    # what came, came in order, and came again only from the cursor on.
    firsts = list(dict.fromkeys(seen))
    assert firsts == sorted(firsts)
    assert journal.cursors == sorted(journal.cursors)


def test_a_line_cut_many_times_loses_nothing(mosquitto: Mosquitto, listener: Listener) -> None:
    journal = Journal()
    with (
        Relay(mosquitto.port) as relay,
        publishing(relay.port, journal, pace=PATIENT) as publisher,
    ):
        for cut in range(1, 9):
            wait_for(lambda: publisher.health.connected, "a connection")
            for _ in range(50):
                publisher.notify(journal.add())
            listener.wait("/card_dealt", 50 * cut - 40)
            relay.cut()
            wait_for(lambda: not publisher.health.connected, "a loss that is noticed")
        wait_for(lambda: journal.cursor == 400, "the cursor")
        # A subscriber with a session sees all that the broker acknowledged.
        wait_for(lambda: len(first_arrivals(listener)) == 400, "all events")
        assert first_arrivals(listener) == list(range(1, 401))
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
        wait_for(lambda: not publisher.health.connected, "a loss that is noticed", timeout=10)
        assert publisher.health.alive
        mosquitto.resume()
        wait_for(lambda: journal.cursor == 100, "the cursor")
        wait_for(lambda: len(first_arrivals(listener)) == 100, "all events")
        assert first_arrivals(listener) == list(range(1, 101))


def test_a_short_drop_speaks_no_will(mosquitto: Mosquitto, listener: Listener) -> None:
    with Relay(mosquitto.port) as relay, publishing(relay.port, Journal()) as publisher:
        listener.wait("/status")
        relay.cut()
        cut = time.monotonic()
        listener.wait("/status", 2)
        wait_for(lambda: publisher.health.connected, "a connection")
        # Only the time of the will itself can show that it was not spoken.
        wait_for(lambda: time.monotonic() - cut > QUICK.will_delay + 1.5)
        assert [message.json["state"] for message in listener.of("/status")] == ["online"] * 2


DAEMON = """
import sys, threading
from shoe_daemon.mqtt import Identity, MqttSettings, Publisher
from tests.mqtt.helpers import QUICK, Journal
publisher = Publisher(
    MqttSettings(port=int(sys.argv[1]), protocol=sys.argv[3], keepalive=1),
    Identity("house", "table-7", sys.argv[2]), Journal(), 0, print, pace=QUICK,
)
publisher.start()
threading.Event().wait()
"""


@contextmanager
def daemon(port: int, session: str, protocol: str = "5") -> Iterator[subprocess.Popen[bytes]]:
    """
    A process with a publisher in it, killed at the end at the latest.
    """
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(port), session, protocol],
        cwd=root,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_killed_daemon_leaves_its_will(
    mosquitto: Mosquitto, listener: Listener, protocol: str
) -> None:
    with daemon(mosquitto.port, "start-1", protocol) as process:
        listener.wait("/status")
        process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        will = listener.wait("/status", 2)[-1]
    assert will.json == {
        "head": None,
        "schema": "1.0",
        "seq": 0,
        "session": "start-1",
        "state": "offline",
    }
    if protocol == "5":
        assert will.at - killed > 0.5
    with Listener(mosquitto.port, name="late") as late:
        assert late.wait("/status")[0].json["state"] == "offline"


def test_a_daemon_that_hangs_is_declared_offline_and_comes_back(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    with daemon(mosquitto.port, "start-1") as process:
        listener.wait("/status")
        process.send_signal(signal.SIGSTOP)
        assert listener.wait("/status", 2)[-1].json["state"] == "offline"
        process.send_signal(signal.SIGCONT)
        assert listener.wait("/status", 3)[-1].json["state"] == "online"


def test_a_daemon_that_restarts_at_once_is_never_offline(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    with daemon(mosquitto.port, "start-1"):
        listener.wait("/status")
    killed = time.monotonic()
    with daemon(mosquitto.port, "start-2"):
        listener.wait("/status", 2)
        wait_for(lambda: time.monotonic() - killed > QUICK.will_delay + 1.5)
    assert [(m.json["session"], m.json["state"]) for m in listener.of("/status")] == [
        ("start-1", "online"),
        ("start-2", "online"),
    ]


def test_a_start_resends_what_the_last_one_had_no_answer_for(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    journal = Journal(30)
    journal.cursors.append(12)
    with publishing(mosquitto.port, journal):
        listener.wait("/card_dealt", 18)
        assert first_arrivals(listener) == list(range(13, 31))

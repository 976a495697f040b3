"""
Refused messages hold the cursor, are logged and retried slowly; so are a client id used
twice and a refused login.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.topics import TableIdentity
from tests.brokers import Listener, Mosquitto, Refusing, Relay, set_password
from tests.mqtt.memory_journal import QUICK, ROOT, Journal, Stored, every_protocol, publishing
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

WRITE_ALL = "pattern readwrite shoe/v1/casino/%u/#\n"
NO_EVENTS = """
pattern write shoe/v1/casino/%u/state
pattern write shoe/v1/casino/%u/status
pattern read shoe/v1/casino/%u/cmd/#
"""


class Strict:
    """A broker with a password for the table and for the board, and rights in a file."""

    def __init__(self, folder: Path, rights: str) -> None:
        self._rights = folder / "rights"
        self.secret = folder / "secret"
        passwords = folder / "passwords"
        for user in ("table-7", "board"):
            set_password(passwords, user, f"pass of {user}")
        self.secret.write_text("pass of table-7\n", encoding="utf-8")
        self.allow(rights)
        self.broker = Mosquitto(
            folder,
            f"allow_anonymous false\npassword_file {passwords}\nacl_file {self._rights}",
        )

    def allow(self, rights: str) -> None:
        """Write the table's rights; a broker that runs learns of them by SIGHUP."""
        self._rights.write_text(f"user board\ntopic readwrite #\n\n{rights}", encoding="utf-8")

    @property
    def papers(self) -> dict[str, Any]:
        """Login that the table presents."""
        return {"username": "table-7", "password_file": str(self.secret)}


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Strict]:
    strict = Strict(tmp_path, NO_EVENTS)
    with strict.broker:
        yield strict


def board(strict: Strict) -> Listener:
    return Listener(strict.broker.port, username="board", password="pass of board")  # noqa: S106


def retain_state(publisher: Publisher) -> None:
    publisher.retain("state", b'{"seq":0}', 0)


def test_a_refused_event_moves_no_cursor_and_comes_when_it_may(strict: Strict) -> None:
    journal = Journal(30)
    with (
        board(strict) as listener,
        structlog.testing.capture_logs() as logs,
        publishing(
            strict.broker.port, journal, prepare=retain_state, **strict.papers
        ) as publisher,
    ):
        # The displays are served all the same.
        publisher.retain("state", b'{"seq":30}', 30)
        publisher.notify(30)
        wait_for(lambda: any(m.json["seq"] == 30 for m in listener.of("/state")), "state")
        assert listener.wait("/status")[0].json["state"] == "online"
        wait_for(lambda: publisher.health.in_flight == 0, "all answers")
        assert (journal.cursor, publisher.health.queued) == (0, 30)
        refusal = f"{ROOT}/event/card_dealt: Not authorized"
        assert (publisher.health.last_error, publisher.health.refusal) == (refusal, refusal)
        refusals = [log for log in logs if log["event"] == "publish_refused"]
        assert [log["log_level"] for log in refusals] == ["error"]

        strict.allow(WRITE_ALL)
        strict.broker.signal(signal.SIGHUP)
        wait_for(lambda: journal.cursor == 30, "the cursor")
        listener.wait("/card_dealt", 30)
        assert publisher.health.refusal is None
        assert [m.json["seq"] for m in listener.of("/card_dealt")] == list(range(1, 31))


def test_refused_replies_are_one_line_however_many_topics_they_have(strict: Strict) -> None:
    with (
        structlog.testing.capture_logs() as logs,
        publishing(strict.broker.port, Journal(0), prepare=retain_state, **strict.papers) as to,
    ):
        wait_for(lambda: to.health.connected and not to.health.in_flight, "the documents")
        for number in range(30):
            to.reply(b"{}", 0, command_id=f"order-{number}")
            refusal = f"{ROOT}/reply/order-{number}: Not authorized"
            wait_for(lambda said=refusal: to.health.last_error == said, refusal)  # type: ignore[misc]
    assert len([log for log in logs if log["event"] == "publish_refused"]) == 1


def test_a_stop_waits_for_all_that_is_not_refused(strict: Strict) -> None:
    strict.allow(f"user table-7\ntopic write {ROOT}/#\ntopic deny {ROOT}/history\n")
    strict.broker.signal(signal.SIGHUP)
    journal = Journal()
    with (
        board(strict) as listener,
        publishing(strict.broker.port, journal, **strict.papers) as publisher,
    ):
        publisher.retain("history", b"{}", 0)
        wait_for(lambda: publisher.health.last_error, "a refusal")
        listener.wait("/status")
        for _ in range(100):
            journal.add()
        publisher.retain("state", b'{"seq":100}', 100)
        publisher.notify(100)
        publisher.stop()
        assert listener.wait("/status", 3)[-1].json["state"] == "offline"
        assert [each.json["seq"] for each in listener.of("/card_dealt")] == list(range(1, 101))
        assert [each.json["seq"] for each in listener.of("/state")] == [100]


def test_wrong_papers_are_told_and_right_ones_are_taken_up(strict: Strict) -> None:
    strict.allow(WRITE_ALL)
    strict.broker.signal(signal.SIGHUP)
    strict.secret.write_text("wrong\n", encoding="utf-8")
    journal = Journal(3)
    with publishing(strict.broker.port, journal, **strict.papers) as publisher:
        wait_for(lambda: publisher.health.last_error, "a refusal")
        assert publisher.health.last_error == "the broker refuses us: Not authorized"
        assert not publisher.health.connected
        strict.secret.unlink()
        wait_for(lambda: "no such file" in (publisher.health.last_error or ""), "a failure")
        strict.secret.write_text("pass of table-7\n", encoding="utf-8")
        wait_for(lambda: journal.cursor == 3, "the cursor")


@every_protocol
def test_a_refused_subscription_to_orders_is_tried_again(tmp_path: Path, protocol: str) -> None:
    received: list[str] = []
    options = {"on_command": lambda verb, _message: received.append(verb)}
    with (
        Refusing(tmp_path) as broker,
        Listener(broker.port) as listener,
        publishing(broker.port, Journal(), protocol=protocol, options=options) as publisher,
    ):
        wait_for(lambda: publisher.health.refusal, "a refusal")
        assert listener.wait("/status")[0].json["state"] == "online"
        since = publisher.health.since
        broker.grant()
        wait_for(lambda: publisher.health.refusal is None, "an accepted subscription")
        listener.publish(f"{ROOT}/cmd/hold", b"{}")
        wait_for(lambda: received == ["hold"], "the order")
        assert publisher.health.since == since


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_what_is_above_the_packet_limit_is_not_sent_and_is_an_alarm(
    tmp_path: Path, protocol: str
) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    limit = 2000
    journal = Journal()
    with (
        structlog.testing.capture_logs() as logs,
        Mosquitto(folder, f"allow_anonymous true\nmax_packet_size {limit}") as broker,
        Listener(broker.port) as listener,
        publishing(
            broker.port, journal, prepare=retain_state, protocol=protocol, timeouts=QUICK
        ) as publisher,
    ):
        publisher.retain("roads", b"x" * limit, 0)
        wait_for(lambda: publisher.alarm, "an alarm")
        alarm = publisher.alarm
        assert alarm is not None
        assert (alarm.code, alarm.values["topics"]) == ("message_too_large", f"{ROOT}/roads")
        # The table goes on: everything else arrives, on one connection.
        wait_for(lambda: publisher.health.connected, "a connection")
        since = publisher.health.since
        publisher.notify(journal.add())
        wait_for(lambda: journal.cursor == 1, "the cursor")
        for _ in range(3):
            publisher.retain("state", b'{"seq":1}', 1)
        listener.wait("/status")
        publisher.retain("roads", b"y" * (limit - 100), 0)
        listener.wait("/roads")
        wait_for(lambda: publisher.alarm is None, "the end of the alarm")
        assert publisher.health.since == since
    assert not [log for log in logs if log["event"] == "client_id_conflict"]


def test_an_event_above_the_packet_limit_waits_and_no_document_does(tmp_path: Path) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    journal = Journal(1)
    large = Stored(2, "card_dealt", b'{"seq":2,"more":"%s"}' % (b"x" * 2000))
    journal.all.append(large)
    journal.add()
    lines = "allow_anonymous true\n"
    with (
        Mosquitto(folder, f"{lines}max_packet_size 1000") as broker,
        Relay(broker.port) as relay,
        publishing(relay.port, journal) as publisher,
        contextlib.ExitStack() as gate,
    ):
        publisher.notify(3)
        with Listener(broker.port) as listener:
            wait_for(lambda: publisher.alarm, "an alarm")
            publisher.retain("state", b'{"seq":3}', 3)
            assert listener.wait("/state")[0].json == {"seq": 3}
            wait_for(
                lambda: (journal.cursor, publisher.health.queued) == (1, 2), "the first event"
            )
            assert f"{ROOT}/event/card_dealt: 2," in (publisher.health.refusal or "")
        # Nothing is published before there is a listener.
        gate.enter_context(relay.closed())
        broker.kill()
        with (
            Mosquitto(folder, lines, broker.port) as other,
            Listener(other.port, name="second") as listener,
        ):
            gate.close()
            wait_for(lambda: journal.cursor == 3, "the cursor")
            assert [each.payload for each in listener.wait("/card_dealt", 2)] == [
                large.body,
                journal.all[2].body,
            ]


@every_protocol
def test_two_clients_with_one_id_are_noticed_and_slow_down(
    mosquitto: Mosquitto, protocol: str
) -> None:
    is_5 = protocol == "5"
    rival = paho.Client(
        CallbackAPIVersion.VERSION2,
        TableIdentity("casino", "table-7", "").client_id(),
        clean_session=None if is_5 else True,
        protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
    )
    more: dict[str, Any] = {}
    if is_5:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 60
        more = {"clean_start": False, "properties": properties}
    rival.reconnect_delay_set(1, 1)
    with (
        structlog.testing.capture_logs() as logs,
        publishing(mosquitto.port, Journal(), protocol=protocol, timeouts=QUICK) as publisher,
    ):
        wait_for(lambda: publisher.health.connected, "a connection")
        rival.connect_async("127.0.0.1", mosquitto.port, **more)
        rival.loop_start()
        try:
            wait_for(
                lambda: any(log["log_level"] == "critical" for log in logs), "a critical line"
            )
            connects = [log for log in logs if log["event"] == "broker_connected"]
            until = time.monotonic() + 1.3
            wait_for(lambda: time.monotonic() > until)
            # Now it waits 15 s and leaves the other one alone.
            assert [log for log in logs if log["event"] == "broker_connected"] == connects
            wait_for(rival.is_connected, "the other one")
            line = next(log for log in logs if log["log_level"] == "critical")
            assert line["client_id"] == TableIdentity("casino", "table-7", "").client_id()
            assert 10 < line["retry_in"] < 20
        finally:
            rival.disconnect()
            rival.loop_stop()

"""Errors of our own code do not stop the publisher and lose nothing."""

from __future__ import annotations

import random

import pytest
import structlog

from shoe_daemon.mqtt import publication
from shoe_daemon.mqtt.connection import Acknowledged, Connection, MessageReceived
from shoe_daemon.mqtt.publisher import Publisher
from tests.brokers import Listener, Mosquitto
from tests.mqtt.memory_journal import PATIENT, ROOT, Journal, Stored, publishing
from tests.volume import sample
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


def fail(*_: object) -> None:
    raise RuntimeError("on purpose")


def test_an_order_that_cannot_be_handed_over(mosquitto: Mosquitto, listener: Listener) -> None:
    journal = Journal()

    def refuse(verb: str, _message: MessageReceived) -> None:
        raise RuntimeError(verb)

    with publishing(mosquitto.port, journal, options={"on_command": refuse}) as publisher:
        listener.wait("/status")
        listener.publish(f"{ROOT}/cmd/void_round", b"{}")
        wait_for(lambda: publisher.health.last_error, "the failure")
        assert publisher.health.last_error == ("command_not_handled: RuntimeError: void_round")
        publisher.notify(journal.add())
        listener.wait("/card_dealt")
        assert len(listener.of("/status")) == 1


def test_a_cursor_that_cannot_be_handed_over(mosquitto: Mosquitto, listener: Listener) -> None:
    journal = Journal(1)
    journal.cursors = Failing()
    with publishing(mosquitto.port, journal) as publisher:
        wait_for(lambda: publisher.health.last_error, "the failure")
        publisher.notify(journal.add())
        listener.wait("/card_dealt", 2)
        wait_for(lambda: publisher.health.cursor == 2, "the cursor")


class Failing(list[int]):
    def append(self, _: int) -> None:
        fail()


def test_a_journal_that_cannot_be_read_for_a_while(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    class JournalFault(Journal):
        broken = True

        def events(self, after_seq: int, limit: int) -> list[Stored]:
            if self.broken:
                fail()
            return super().events(after_seq, limit)

    def lay_out(publisher: Publisher) -> None:
        publisher.retain("state", b'{"seq":0}', 0)

    journal = JournalFault(5)
    with publishing(mosquitto.port, journal, prepare=lay_out) as publisher:
        # The displays have what there is.
        listener.wait("/status")
        assert listener.of("/state")
        assert "journal_not_readable" in (publisher.health.last_error or "")
        journal.broken = False
        listener.wait("/card_dealt", 5)
        assert len(listener.of("/status")) == 1


def test_events_that_were_announced_too_early(mosquitto: Mosquitto, listener: Listener) -> None:
    journal = Journal()
    with publishing(mosquitto.port, journal) as publisher:
        listener.wait("/status")
        publisher.notify(1)
        turned = publisher.health.last_loop
        wait_for(lambda: publisher.health.last_loop > turned, "a turn")
        journal.add()
        listener.wait("/card_dealt")


def test_a_document_and_a_head_hash_that_cannot_be_built(
    mosquitto: Mosquitto, listener: Listener
) -> None:
    def lay_out(publisher: Publisher) -> None:
        publisher.retain("device/shoe", fail, 0)  # type: ignore[arg-type]
        publisher.retain("state", b"{}", 0)

    options = {"chain_head": fail}
    with publishing(mosquitto.port, Journal(), prepare=lay_out, options=options) as publisher:
        assert listener.wait("/status")[0].json["head"] is None
        assert listener.of("/state")
        assert publisher.health.last_error


def test_a_callback_that_fails_inside_the_client(
    mosquitto: Mosquitto, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Acknowledged.__new__
    failures = iter([True])

    def once(*arguments: object, **more: object) -> object:
        if next(failures, False):
            fail()
        return whole(*arguments, **more)  # type: ignore[arg-type]

    # In paho's own callback: its thread would be dead now, and would not say so.
    monkeypatch.setattr(Acknowledged, "__new__", once)
    journal = Journal(50)
    with publishing(mosquitto.port, journal, keepalive=1):
        wait_for(lambda: journal.cursor == 50, "the cursor")
        wait_for(lambda: len({m.payload for m in listener.of("/card_dealt")}) == 50, "all events")


@pytest.mark.parametrize("method", sample(["poll", "publish", "subscribe"], 2))
def test_a_connection_that_raises_now_and_then(
    mosquitto: Mosquitto, listener: Listener, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    whole = getattr(Connection, method)
    chance = random.Random(7)
    left = iter(range(10))

    def sometimes(*arguments: object, **more: object) -> object:
        if chance.random() < 0.2 and next(left, None) is not None:
            fail()
        return whole(*arguments, **more)

    monkeypatch.setattr(Connection, method, sometimes)
    journal = Journal(200)
    with publishing(mosquitto.port, journal, timeouts=PATIENT) as publisher:
        wait_for(lambda: journal.cursor == 200, "the cursor")
        wait_for(lambda: publisher.health.connected, "a connection")
        firsts = list(dict.fromkeys(m.json["seq"] for m in listener.of("/card_dealt")))
        wait_for(lambda: len({m.payload for m in listener.of("/card_dealt")}) == 200, "all")
        assert firsts == sorted(firsts)


def test_a_broker_that_answers_pings_and_no_publish(
    mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = publication.Publication._acknowledge  # noqa: SLF001 - the only way to be that broker
    deaf = True

    def hear(self: publication.Publication, answer: Acknowledged) -> None:
        if not deaf:
            whole(self, answer)

    monkeypatch.setattr(publication.Publication, "_acknowledge", hear)
    journal = Journal(3)
    with publishing(mosquitto.port, journal, keepalive=1) as publisher:
        wait_for(
            lambda: publisher.health.last_error == "the broker acknowledges nothing", "the loss"
        )
        deaf = False
        wait_for(lambda: journal.cursor == 3, "the cursor")


def test_complaints_come_once_a_minute(mosquitto: Mosquitto) -> None:
    with (
        structlog.testing.capture_logs() as logs,
        publishing(mosquitto.port, Journal()) as publisher,
    ):
        wait_for(lambda: publisher.health.connected, "a connection")
        mosquitto.kill()
        # Its waits are 0.05 to 0.5 s here.
        for _ in range(2):
            before = publisher.health.last_loop
            wait_for(lambda: publisher.health.last_loop > before + 0.3, "another try")  # noqa: B023
        assert [log["event"] for log in logs] == [
            "broker_connected",
            "broker_connection_lost",
            "broker_unreachable",
        ]
        assert {log["log_level"] for log in logs[1:]} == {"warning"}
        assert logs[1]["reason"] == "the line is closed"

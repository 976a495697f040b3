"""A table's `status` is its own again, whatever takes its place at the broker."""

from __future__ import annotations

import time
from contextlib import ExitStack
from itertools import pairwise
from typing import Literal

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoe_daemon.mqtt.documents import Status, encode_message
from shoe_daemon.mqtt.own_status import OwnStatus
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import TableIdentity
from tests.brokers import Listener, Mosquitto
from tests.mqtt.memory_journal import QUICK, ROOT, Journal, every_protocol, publishing
from tests.waiting import wait_for

OURS = "start-1"


def status(session: str, state: str) -> bytes:
    return encode_message(Status(seq=0, session=session, state=state))  # type: ignore[arg-type]


ONLINE, FOREIGN = status(OURS, "online"), status("foreign", "online")
MESSAGES = st.sampled_from(
    [
        *(status(each, state) for each in (OURS, "earlier") for state in ("offline", "stopping")),
        status("earlier", "online"),
        FOREIGN,
        status("foreign", "offline"),
        b"",
        b"{}",
        b"\xff",
    ]
)


@given(st.lists(MESSAGES, max_size=5), st.lists(MESSAGES, max_size=8))
def test_any_message_but_another_daemons_is_answered_once_in_five_seconds(
    before: list[bytes], after: list[bytes]
) -> None:
    own = OwnStatus(OURS)
    own.begin()
    for each in [status("earlier", "offline"), *before]:
        own.receive(each)
    own.receive(ONLINE)
    is_earlier = any(b"foreign" in each for each in before)
    answered = []
    for second, each in enumerate(after):
        own.receive(each)
        if own.is_due(float(second)):
            answered.append(second)
            own.receive(ONLINE)
    others = [n for n, each in enumerate(after) if each != FOREIGN or is_earlier]
    assert answered[:1] == others[:1]
    assert all(later - sooner >= 5 for sooner, later in pairwise(answered))
    if is_earlier or FOREIGN not in after:
        assert own.foreign is None
    elif after[-1] == FOREIGN:
        assert own.foreign == "foreign"


@pytest.mark.mosquitto
@every_protocol
def test_a_will_that_comes_late_is_answered(mosquitto: Mosquitto, protocol: str) -> None:
    with (
        Listener(mosquitto.port) as listener,
        publishing(mosquitto.port, Journal(), protocol=protocol) as publisher,
    ):
        publisher.retain("state", b'{"seq":0}', 0)
        listener.wait("/status")
        listener.publish(f"{ROOT}/status", status(OURS, "offline"), retain=True)
        told = [each.json["state"] for each in listener.wait("/status", 3)]
        assert told == ["online", "offline", "online"]
        # The documents may have been replaced too.
        listener.wait("/state", 2)


@pytest.mark.mosquitto
def test_another_daemon_is_an_alarm_and_no_war(mosquitto: Mosquitto, listener: Listener) -> None:
    with (
        structlog.testing.capture_logs() as logs,
        publishing(mosquitto.port, Journal()) as publisher,
    ):
        listener.wait("/status")
        listener.publish(f"{ROOT}/status", status("another", "online"), retain=True)
        wait_for(lambda: publisher.alarm, "an alarm")
        assert publisher.alarm is not None
        assert publisher.alarm.code == "foreign_session"
        wait_for(lambda: any(each["event"] == "foreign_session" for each in logs), "a log line")
        assert [each.json["session"] for each in listener.of("/status")] == [OURS, "another"]
        listener.publish(f"{ROOT}/status", status("another", "offline"), retain=True)
        assert listener.wait("/status", 4)[-1].json["session"] == OURS
        wait_for(lambda: publisher.alarm is None, "the end of the alarm")


TABLES = [f"table-{number}" for number in range(1, 7)]


@pytest.mark.mosquitto
@every_protocol
def test_six_tables_are_online_within_seconds_after_a_broker_hung(
    mosquitto: Mosquitto, protocol: Literal["5", "3.1.1"]
) -> None:
    """Attempts to connect wait in its queue; then it publishes wills of old connections late."""
    timeouts = replace(QUICK, connect_s=0.3)
    with ExitStack() as stack, Listener(mosquitto.port, "shoe/v1/+/+/status") as listener:
        publishers = []
        for table in TABLES:
            publisher = Publisher(
                MqttSettings(port=mosquitto.port, keepalive=1, protocol=protocol),
                TableIdentity("casino", table, OURS),
                Journal(),
                0,
                lambda _: None,
                timeouts=timeouts,
            )
            publisher.start()
            stack.callback(publisher.stop)
            publishers.append(publisher)
        listener.wait("/status", len(TABLES))
        mosquitto.halt()
        unanswered = "the broker does not answer"
        wait_for(lambda: all(each.health.last_error == unanswered for each in publishers))
        mosquitto.resume()

        def are_online() -> bool:
            last = {each.topic: each.json["state"] for each in listener.messages}
            return list(last.values()) == ["online"] * len(TABLES)

        wait_for(lambda: all(each.health.connected for each in publishers), "the connections")
        wait_for(are_online, "all online")
        for table in TABLES[::2]:
            will = status(OURS, "offline")
            listener.publish(f"shoe/v1/casino/{table}/status", will, retain=True)
        late = time.monotonic()
        wait_for(are_online, "all online again")
        assert time.monotonic() - late < 10
        with Listener(mosquitto.port, "shoe/v1/+/+/status", name="late") as other:
            assert {each.json["state"] for each in other.wait("/status", 6)} == {"online"}

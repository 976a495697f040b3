"""
What the shipped rights forbid, with the real mosquitto: each forbidden message is not delivered.

mosquitto accepts every subscription and filters the messages, so both directions are tested by
delivery: an account with all rights listens to everything, and publishes everything.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode

from tests.brokers import Listener
from tests.each_case import each_case
from tests.mqtt.sample_broker import ACCOUNTS, SampleBroker
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

TABLES = ("table-7", "table-8")
EVERY_ACCOUNT = (*ACCOUNTS, "table-8", "pit-display", "pit-log", "notify", "home-assistant")

PUBLIC = {"status", "state", "result/last", "roads", "history", "signature", "alert/active"}
PUBLIC |= {"device/shoe", "event/card_dealt", "event/irregularity"}
STAFF = {"staff/alert/active", "staff/event/staff_card_dealt", "staff/event/staff_composition"}
STAFF |= {"staff/x"}
COMMANDS = {"cmd/rule", "cmd/replay", "cmd/rule/maria"}
ENDS = PUBLIC | STAFF | COMMANDS | {"reply/1", "doctor/1", "other"}
DISCOVERY = "homeassistant/device/shoe_casino_{}/config"
NOTIFIERS = {"shoe-notify/v1/notify", "shoe-notify/v1/second"}
OUTSIDE = {
    *("anything", "shoe/v2/casino/table-7/state", "shoe-notify/v1/notify/more"),
    *("shoe/v1/other-site/table-7/state", "shoe/v1/other-site/table-7/cmd/rule"),
    "shoe-notify/v2/notify",
}
"""No account may publish or read these."""

MAY_PUBLISH = {"pit": {"cmd/rule", "cmd/replay"}, "pit-log": {"cmd/replay"}}
"""The ends below the name of any account that an account may publish to; the others: none."""

MAY_READ = {
    "board": PUBLIC,
    "pit-display": PUBLIC | {"staff/alert/active"},
    "pit": PUBLIC | STAFF | {"reply/1"},
    "pit-log": {"reply/1"},
    "notify": {"status", "alert/active"},
    "home-assistant": {"status", "state", "result/last", "alert/active", "device/shoe"},
}
OWN_READS = PUBLIC | COMMANDS | {"staff/alert/active", "reply/1"}

_AUDITOR = "user auditor\ntopic readwrite #\n"


def _topics(name: str, ends: set[str]) -> set[str]:
    return {f"shoe/v1/casino/{name}/{end}" for end in ends}


def _every_topic(ends: set[str]) -> set[str]:
    return {topic for name in EVERY_ACCOUNT for topic in _topics(name, ends)}


DISCOVERIES = {DISCOVERY.format(each) for each in EVERY_ACCOUNT}
EVERYTHING = _every_topic(ENDS) | DISCOVERIES | NOTIFIERS | OUTSIDE


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleBroker]:
    """The sample, and one account with all rights."""
    broker = SampleBroker(tmp_path_factory.mktemp("broker"))
    rights = broker.folder / "shoe.acl"
    rights.write_text(f"{rights.read_text('utf-8')}\n{_AUDITOR}", "utf-8")
    for account in (*EVERY_ACCOUNT, "auditor"):
        broker.add_account(account)
    with broker:
        yield broker


@pytest.fixture(scope="module")
def clients(broker: SampleBroker) -> Iterator[dict[str, Listener]]:
    """All accounts, each subscribed to everything that exists."""
    with ExitStack() as stack:
        names = (*EVERY_ACCOUNT, "auditor")
        yield {name: stack.enter_context(broker.listen(name)) for name in names}


def _has(listener: Listener, payload: bytes) -> bool:
    return any(message.payload == payload for message in listener.messages)


@each_case("account", EVERY_ACCOUNT)
def test_an_account_publishes_below_its_own_name_only(
    clients: dict[str, Listener], account: str
) -> None:
    """Every account tries every topic of every account, that of its own name included."""
    payload, auditor = f"publishes of {account}".encode(), clients["auditor"]
    for topic in EVERYTHING:
        clients[account].publish(topic, payload, wait=False)
    clients[account].publish("anything", payload)  # returns when the broker has judged all
    auditor.publish("end", payload + b" end")
    wait_for(lambda: _has(auditor, payload + b" end"), "the end")
    delivered = {each.topic for each in auditor.messages if each.payload == payload}
    allowed = _every_topic(MAY_PUBLISH.get(account, set()))
    if account in TABLES:
        allowed = _topics(account, ENDS) | {DISCOVERY.format(account)}
    if account == "notify":
        allowed |= NOTIFIERS
    assert delivered == allowed


def test_an_account_reads_of_others_what_it_must_only(clients: dict[str, Listener]) -> None:
    for topic in EVERYTHING:
        clients["auditor"].publish(topic, b"reads", wait=False)
    for account in EVERY_ACCOUNT:
        allowed = _every_topic(MAY_READ.get(account, set()))
        if account in TABLES:
            allowed = _topics(account, OWN_READS)
        if account == "home-assistant":
            allowed |= DISCOVERIES
        if account in {"pit", "pit-display"}:
            allowed |= NOTIFIERS
        # The order of messages to one client is that of their publishing.
        end, payload = min(allowed), f"end of {account}".encode()
        clients["auditor"].publish(end, payload)
        wait_for(lambda: _has(clients[account], payload), "the end")  # noqa: B023 - called here
        received = {each.topic for each in clients[account].messages if each.payload == b"reads"}
        assert received == allowed, account


@each_case("account, name", [("board", "board"), ("board", "table-7"), ("table-8", "table-7")])
def test_a_last_will_has_the_rights_of_its_account(
    broker: SampleBroker, clients: dict[str, Listener], account: str, name: str
) -> None:
    payload, auditor = f"will of {account} for {name}".encode(), clients["auditor"]
    _die(broker, account, f"shoe/v1/casino/{name}/status", payload)
    # The control: a table's own will arrives, after that of the client that ended before it.
    _die(broker, "table-8", "shoe/v1/casino/table-8/status", payload + b" end")
    wait_for(lambda: _has(auditor, payload + b" end"), "the will")
    assert not _has(auditor, payload)


def _die(broker: SampleBroker, account: str, topic: str, payload: bytes) -> None:
    """Connect with a will, as far as the broker takes it, and close the line without a word."""
    client = paho.Client(CallbackAPIVersion.VERSION2, "dying")
    client.username_pw_set(account, account)
    client.will_set(topic, payload, 1)
    client.connect("127.0.0.1", broker.port)
    answers: list[object] = []
    client.on_connect = lambda *arguments: answers.append(arguments)
    while not answers and client.loop(1.0) == MQTTErrorCode.MQTT_ERR_SUCCESS:
        pass
    line = client.socket()
    if isinstance(line, socket.socket):
        line.shutdown(socket.SHUT_RDWR)

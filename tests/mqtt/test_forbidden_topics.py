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

from tests.brokers import Listener, wait_for
from tests.each_case import each_case
from tests.mqtt.sample_broker import ACCOUNTS, SampleBroker

pytestmark = pytest.mark.mosquitto

OURS, THEIRS = "shoe/v1/casino/table-7", "shoe/v1/casino/table-8"

FORBIDDEN_PUBLISHES = [
    # A display publishes nothing.
    *(("board", f"{OURS}/{end}") for end in ("state", "status", "roads", "cmd/new-shoe")),
    *(("board", f"{OURS}/{end}") for end in ("alert/active", "result/last", "reply/1")),
    ("board", "anything"),
    ("pit-display", f"{OURS}/cmd/rule"),
    ("pit-display", f"{OURS}/staff/alert/active"),
    ("pit-display", f"{OURS}/state"),
    # The log of the pit orders events again, and nothing else.
    *(("pit-log", f"{OURS}/{end}") for end in ("cmd/rule", "state")),
    *(("notify", f"{OURS}/{end}") for end in ("cmd/acknowledge", "alert/active", "status")),
    # A table publishes for itself only, and gives no other an order.
    *(("table-7", f"{THEIRS}/{end}") for end in ("state", "status", "signature", "history")),
    *(("table-7", f"{THEIRS}/{end}") for end in ("cmd/void-round", "staff/event/x", "reply/1")),
    ("table-7", "shoe/v1/other-site/table-7/state"),
    ("table-7", "shoe/v2/casino/table-7/state"),
    ("table-7", "homeassistant/device/shoe_casino_table-8/config"),
    ("table-7", "anything"),
    # A supervisor gives orders, and nothing else.
    *(("pit", f"{OURS}/{end}") for end in ("state", "status", "result/last", "roads")),
    *(("pit", f"{OURS}/{end}") for end in ("staff/alert/active", "event/card_dealt", "reply/1")),
    ("pit", f"{OURS}/cmd/rule/maria"),
    ("pit", "shoe/v1/other-site/table-7/cmd/rule"),
]

NOTIFIER = "shoe-notify/v1/notify"
FORBIDDEN_PUBLISHES += [
    # Only a notifier tells how notifications are, and only as itself.
    *((each, NOTIFIER) for each in ("board", "pit-display", "pit-log", "pit", "table-7")),
    ("home-assistant", NOTIFIER),
    ("notify", f"{NOTIFIER}/more"),
    ("notify", "shoe-notify/v2/notify"),
]

FORBIDDEN_READS = [
    # Players do not learn that nobody is notified.
    *((each, NOTIFIER) for each in ("board", "home-assistant", "table-7", "pit-log", "notify")),
    # Players see a display: nothing for staff, no order (it may hold a PIN), no answer.
    *(("board", f"{OURS}/staff/{end}") for end in ("alert/active", "event/staff_card_dealt")),
    *(("board", f"{OURS}/{end}") for end in ("cmd/rule", "reply/1", "staff/x", "other")),
    ("board", "shoe/v1/other-site/table-7/state"),
    *(("pit-display", f"{OURS}/{end}") for end in ("cmd/rule", "reply/1")),
    ("pit-display", f"{OURS}/staff/event/staff_card_dealt"),
    ("pit-display", f"{OURS}/staff/event/staff_composition"),
    *(("pit-log", f"{OURS}/{end}") for end in ("cmd/replay", "staff/event/staff_card_dealt")),
    # Notifications know the public alerts, and no card.
    *(("notify", f"{OURS}/{end}") for end in ("staff/alert/active", "state", "reply/1")),
    *(("notify", f"{OURS}/event/{end}") for end in ("card_dealt", "irregularity")),
    *(("home-assistant", f"{OURS}/{end}") for end in ("staff/alert/active", "cmd/rule")),
    # A table reads its own orders and documents, no other's.
    *(("table-7", f"{THEIRS}/{end}") for end in ("cmd/rule", "state", "status", "signature")),
    *(("table-7", f"{THEIRS}/{end}") for end in ("reply/1", "staff/alert/active", "roads")),
    ("table-7", f"{OURS}/staff/event/staff_card_dealt"),
    # A supervisor does not read the PINs of others.
    ("pit", f"{OURS}/cmd/rule"),
    ("pit", f"{THEIRS}/cmd/rule"),
    ("pit", "shoe/v1/other-site/table-7/state"),
    ("pit", "anything"),
]

ALLOWED_PUBLISHES = [
    ("table-7", f"{OURS}/state"),
    ("table-7", f"{OURS}/signature"),
    ("table-7", "homeassistant/device/shoe_casino_table-7/config"),
    ("table-7", f"{OURS}/staff/event/staff_card_dealt"),
    ("pit", f"{THEIRS}/cmd/rule"),
    ("pit-log", f"{OURS}/cmd/replay"),
    ("notify", NOTIFIER),
    ("notify", "shoe-notify/v1/second"),
]
ALLOWED_READS = [
    ("board", f"{OURS}/signature"),
    ("board", f"{THEIRS}/state"),
    ("pit-display", f"{OURS}/staff/alert/active"),
    ("pit-display", NOTIFIER),
    ("pit", NOTIFIER),
    ("table-7", f"{OURS}/cmd/rule"),
    ("pit-log", f"{OURS}/reply/1"),
    ("notify", f"{OURS}/alert/active"),
    ("home-assistant", "homeassistant/device/shoe_casino_table-7/config"),
    ("pit", f"{OURS}/staff/event/staff_card_dealt"),
    ("pit", f"{OURS}/reply/1"),
]

MORE_ACCOUNTS = ("table-8", "pit-display", "pit-log", "notify", "home-assistant")
TABLES = ("table-7", "table-8")

PUBLIC = {"status", "state", "result/last", "roads", "history", "signature", "alert/active"}
PUBLIC |= {"device/shoe", "event/card_dealt"}
STAFF = {"staff/alert/active", "staff/event/staff_card_dealt"}
COMMANDS = {"cmd/rule", "cmd/replay", "cmd/rule/maria"}
ENDS = PUBLIC | STAFF | COMMANDS | {"reply/1", "doctor/1", "other"}
DISCOVERY = "homeassistant/device/shoe_casino_{}/config"

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


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleBroker]:
    """The sample, and one account with all rights."""
    broker = SampleBroker(tmp_path_factory.mktemp("broker"))
    rights = broker.folder / "shoe.acl"
    rights.write_text(f"{rights.read_text('utf-8')}\n{_AUDITOR}", "utf-8")
    for account in (*MORE_ACCOUNTS, "auditor"):
        broker.add_account(account)
    with broker:
        yield broker


@pytest.fixture(scope="module")
def clients(broker: SampleBroker) -> Iterator[dict[str, Listener]]:
    """All accounts, each subscribed to everything that exists."""
    with ExitStack() as stack:
        names = (*ACCOUNTS, *MORE_ACCOUNTS, "auditor")
        yield {name: stack.enter_context(broker.listen(name)) for name in names}


def test_there_are_forty_of_them() -> None:
    assert len(set(FORBIDDEN_PUBLISHES)) + len(set(FORBIDDEN_READS)) >= 40


def _delivered(clients: dict[str, Listener], sender: str, topic: str, reader: str) -> bool:
    """Return whether a message arrives before another one that was sent after it."""
    payload = f"{sender} {topic} {reader}".encode()
    clients[sender].publish(topic, payload)  # returns when the broker has judged it
    ends = {"table-7": "cmd/end", "pit-log": "reply/end", "notify": "status"}
    end = ends.get(reader, "state")
    clients["auditor"].publish(f"{OURS}/{end}", payload + b" end")
    wait_for(lambda: _has(clients[reader], payload + b" end"), f"the end of {payload!r}")
    return _has(clients[reader], payload)


def _has(listener: Listener, payload: bytes) -> bool:
    return any(message.payload == payload for message in listener.messages)


@each_case("account, topic", FORBIDDEN_PUBLISHES)
def test_a_forbidden_message_reaches_nobody(
    clients: dict[str, Listener], account: str, topic: str
) -> None:
    assert not _delivered(clients, account, topic, "auditor")


@each_case("account, topic", FORBIDDEN_READS)
def test_a_forbidden_topic_is_not_received(
    clients: dict[str, Listener], account: str, topic: str
) -> None:
    assert not _delivered(clients, "auditor", topic, account)


@pytest.mark.parametrize(("account", "topic"), ALLOWED_PUBLISHES)
def test_the_control_of_publishing(clients: dict[str, Listener], account: str, topic: str) -> None:
    assert _delivered(clients, account, topic, "auditor")


@pytest.mark.parametrize(("account", "topic"), ALLOWED_READS)
def test_the_control_of_reading(clients: dict[str, Listener], account: str, topic: str) -> None:
    assert _delivered(clients, "auditor", topic, account)


EVERY_ACCOUNT = (*ACCOUNTS, *MORE_ACCOUNTS)


def _topics(name: str, ends: set[str]) -> set[str]:
    return {f"shoe/v1/casino/{name}/{end}" for end in ends}


def _every_topic(names: tuple[str, ...], ends: set[str]) -> set[str]:
    return {topic for name in names for topic in _topics(name, ends)}


EVERYTHING = _every_topic(EVERY_ACCOUNT, ENDS) | {DISCOVERY.format(each) for each in EVERY_ACCOUNT}


@each_case("account", EVERY_ACCOUNT)
def test_an_account_publishes_below_its_own_name_only(
    clients: dict[str, Listener], account: str
) -> None:
    """Every account tries every topic of every account, that of its own name included."""
    payload, auditor = f"publishes of {account}".encode(), clients["auditor"]
    for topic in EVERYTHING:
        clients[account].publish(topic, payload)
    auditor.publish("end", payload + b" end")
    wait_for(lambda: _has(auditor, payload + b" end"), "the end")
    delivered = {each.topic for each in auditor.messages if each.payload == payload}
    allowed = _every_topic(EVERY_ACCOUNT, MAY_PUBLISH.get(account, set()))
    if account in TABLES:
        allowed = _topics(account, ENDS) | {DISCOVERY.format(account)}
    assert delivered == allowed


def test_an_account_reads_of_others_what_it_must_only(clients: dict[str, Listener]) -> None:
    for topic in EVERYTHING:
        clients["auditor"].publish(topic, b"reads")
    for account in EVERY_ACCOUNT:
        allowed = _every_topic(EVERY_ACCOUNT, MAY_READ.get(account, set()))
        if account in TABLES:
            allowed = _topics(account, OWN_READS)
        if account == "home-assistant":
            allowed |= {DISCOVERY.format(each) for each in EVERY_ACCOUNT}
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

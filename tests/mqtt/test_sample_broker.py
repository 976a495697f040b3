"""
The sample configuration of mosquitto starts, grants every account exactly its rights,
and survives a crash of the broker.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.client import send_command
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.settings import MqttSettings, TlsSettings
from tests.brokers import Listener, Relay
from tests.mqtt.memory_journal import ROOT, Journal, publishing
from tests.mqtt.sample_broker import OLDER_RIGHTS, SampleBroker
from tests.waiting import wait_for

PIN = b'{"pin": "471100"}'

pytestmark = pytest.mark.mosquitto


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[SampleBroker]:
    with SampleBroker(tmp_path) as broker:
        yield broker


def test_everybody_may_do_what_they_must_and_no_more(broker: SampleBroker) -> None:
    journal = Journal(1)
    journal.add("staff_card_dealt")
    orders: list[MessageReceived] = []
    with broker.listen("board") as board, broker.listen("pit") as pit:
        with broker.publish(
            journal, on_command=lambda _, order: orders.append(order)
        ) as publisher:
            board.wait("/status")
            pit.wait("/status")
            assert publisher.health.last_error is None
            # The pit's order reaches the table, the board's does not.
            board.publish(f"{ROOT}/cmd/new_shoe", b"from the board")
            pit.publish(f"{ROOT}/cmd/new_shoe", b"from the pit")
            wait_for(lambda: orders, "the order")
            assert [order.payload for order in orders] == [b"from the pit"]
            publisher.reply(b"{}", 0, command_id="x")
            pit.wait("/reply/x")
            # An order may hold a PIN, which is for the table alone.
            assert not pit.of("/cmd/new_shoe")
            assert not board.of("/reply/x")
        assert pit.of("/staff/event/staff_card_dealt")
        assert not [message for message in board.messages if "staff" in message.topic]
        assert board.of("/event/card_dealt")


def test_the_rights_of_an_earlier_version_keep_working(tmp_path: Path) -> None:
    broker, orders = SampleBroker(tmp_path), list[MessageReceived]()
    (tmp_path / "shoe.acl").write_text(OLDER_RIGHTS)
    broker.add_account("table-8")
    with (
        broker,
        broker.listen("board") as board,
        broker.listen("pit") as pit,
        broker.listen("table-8") as other,
        broker.publish(Journal(1), on_command=lambda _, order: orders.append(order)),
    ):
        board.wait("/event/card_dealt")
        pit.publish(f"{ROOT}/cmd/new_shoe", b"{}")
        wait_for(lambda: orders, "the order")
        other.publish("shoe/v1/casino/table-8/state", b"{}")
        board.wait("table-8/state")


def test_a_response_topic_outside_the_rights_is_refused_and_the_reply_comes(
    broker: SampleBroker,
) -> None:
    with broker.publish(Journal()) as publisher, broker.listen("pit") as pit:
        publisher.reply(b"1", 0, command_id="a", response_topic="tablets/3/answer")
        pit.wait("/reply/a")
        wait_for(lambda: publisher.health.last_error, "the refusal")
        assert publisher.health.last_error == "tablets/3/answer: Not authorized"
        # It holds nothing up, and is not tried again.
        publisher.reply(b"2", 0, command_id="b", response_topic=f"{ROOT}/reply/tablet-3")
        assert pit.wait("/reply/b")[0].payload == b"2"
        assert pit.wait("/reply/tablet-3")[0].payload == b"2"
        assert not pit.of("/answer")


def idle(publisher: Publisher) -> bool:
    return publisher.health.connected and not publisher.health.in_flight


def save(broker: SampleBroker) -> None:
    """Save the database, as the broker itself does every minute."""
    file = broker.folder / "mosquitto.db"
    file.unlink(missing_ok=True)
    broker.signal(signal.SIGUSR1)
    # It has another name until it is complete.
    wait_for(file.exists, "the database")


def test_after_a_crash_a_stopped_table_is_as_it_was_at_the_last_save(
    broker: SampleBroker,
) -> None:
    with broker.publish(Journal()) as publisher:
        wait_for(lambda: idle(publisher))
    save(broker)
    broker.kill()
    broker.start()
    with broker.listen("board") as board:
        assert board.wait("/state")[0].retain
        assert board.wait("/status")[0].json["state"] == "offline"


def test_events_that_a_crash_takes_from_a_back_office_come_with_a_replay(
    broker: SampleBroker,
) -> None:
    def office() -> Listener:
        return Listener(broker.port, name="office", username="pit", password="pit")  # noqa: S106

    journal = Journal()
    with broker.publish(journal) as publisher:
        with office() as listener:
            listener.wait("/status")
        save(broker)
        # It is away; the broker takes the event for it, and loses it.
        publisher.notify(journal.add())
        wait_for(lambda: journal.cursor == 1, "the acknowledgement")
        broker.kill()
        broker.start()
        with office() as listener:
            wait_for(lambda: idle(publisher))
            publisher.notify(journal.add())
            assert [each.json["seq"] for each in listener.wait("/card_dealt")] == [2]
            publisher.replay(1, 1)
            assert listener.wait("/card_dealt", 2)[1].json["seq"] == 1


def test_no_pin_reaches_the_brokers_disk(broker: SampleBroker) -> None:
    def give_an_order() -> None:
        with pytest.raises(UserError):
            send_command(login, f"{ROOT}/cmd/undo", PIN, reply=f"{ROOT}/reply/1", timeout_s=1)

    login = MqttSettings(
        port=broker.port, username="pit", password_file=str(broker.password_file("pit"))
    )
    with (
        Relay(broker.port) as line,
        publishing(
            line.port,
            Journal(1),
            username="table-7",
            password_file=str(broker.password_file("table-7")),
            prepare=lambda publisher: publisher.retain("state", b'{"seq":1}', 0),
        ) as publisher,
    ):
        wait_for(lambda: idle(publisher))
        # The broker does not know that the table is away, then keeps its session.
        line.silent = True
        give_an_order()
        with line.closed():
            give_an_order()
            save(broker)
            files = [each for each in broker.folder.rglob("*") if each.is_file()]
            assert b"table-7" in (broker.folder / "mosquitto.db").read_bytes()
            assert not [each for each in files if PIN in each.read_bytes()]


def test_the_encrypted_door(broker: SampleBroker) -> None:
    journal = Journal(3)
    with publishing(
        broker.tls_port,
        journal,
        username="table-7",
        password_file=str(broker.password_file("table-7")),
        tls=TlsSettings(ca_file=str(broker.ca)),
    ):
        wait_for(lambda: journal.cursor == 3, "the cursor")

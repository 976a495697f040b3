"""Several brokers: each client is at one of them, and goes to the next when it fails."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.floor.feed import Feed
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.messages import topic_filters
from shoe_daemon.mqtt.client import send_command
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.settings import MqttSettings
from tests.brokers import Listener, Mosquitto, Relay
from tests.mqtt.memory_journal import QUICK, ROOT, Journal, every_protocol, publishing
from tests.mqtt.sample_broker import SYSTEMD, SampleBroker
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

DOCUMENTS = ("state", "roads", "history")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Mosquitto, Mosquitto]]:
    """Two brokers that do not know each other."""
    with ExitStack() as running:
        brokers = []
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            brokers.append(running.enter_context(Mosquitto(tmp_path / name)))
        yield brokers[0], brokers[1]


def names(*ports: int) -> tuple[str, ...]:
    return tuple(f"127.0.0.1:{port}" for port in ports)


def lay_out(publisher: Publisher) -> None:
    for name in DOCUMENTS:
        publisher.retain(name, b'{"seq":0}', 0)


def wait_for_documents(port: int, seq: int) -> None:
    """Wait until a broker has all documents of the table as they are now."""
    expected = {**dict.fromkeys(DOCUMENTS, 0), "state": seq, "status": "online"}

    def found(late: Listener) -> dict[str, object]:
        documents = {each.topic.removeprefix(f"{ROOT}/"): each.json for each in late.messages}
        return {
            name: documents[name].get("state", documents[name]["seq"])
            for name in expected
            if name in documents
        }

    with Listener(port, f"{ROOT}/#", name="late") as late:
        wait_for(lambda: found(late) == expected, "what is retained")


@every_protocol
def test_after_each_loss_everything_is_at_the_next_broker(
    pair: tuple[Mosquitto, Mosquitto], protocol: str
) -> None:
    first, second = pair
    journal, brokers = Journal(), names(first.port, second.port)
    with publishing(None, journal, prepare=lay_out, brokers=brokers, protocol=protocol) as table:
        for near, far in ((first, second), (second, first)):
            publish_one(table, journal)
            seq = publish_one(table, journal)
            near.kill()
            wait_for_documents(far.port, seq)
            near.start()
            # A good connection is kept, also where a broker of more preference is back.
            publish_one(table, journal)
            assert table.broker.port == far.port


def publish_one(table: Publisher, journal: Journal) -> int:
    seq = journal.add()
    table.notify(seq)
    table.retain("state", b'{"seq":%d}' % seq, seq)
    wait_for(lambda: journal.cursor == seq, "the cursor")
    return seq


def test_a_table_leaves_a_broker_that_hangs(pair: tuple[Mosquitto, Mosquitto]) -> None:
    first, second = pair
    journal = Journal()
    brokers = names(first.port, second.port)
    with publishing(None, journal, prepare=lay_out, brokers=brokers, timeouts=QUICK) as table:
        publish_one(table, journal)
        first.halt()
        begin = time.monotonic()
        publish_one(table, journal)
        assert time.monotonic() - begin <= 10
        assert table.broker.port == second.port
        first.resume()


def test_a_display_leaves_a_broker_that_hangs(pair: tuple[Mosquitto, Mosquitto]) -> None:
    first, second = pair
    news, floor = Event(), Floor("shoe/v1")
    with Relay(first.port) as relay:
        settings = MqttSettings(brokers=names(relay.port, second.port))
        feed = Feed(settings, topic_filters("shoe/v1", None), news.set, timeouts=QUICK)
        feed.start()
        try:

            def is_connected(to: Mosquitto) -> bool:
                feed.inbox.deliver(floor)
                return floor.link.connected and "shoe-display" in to.log.read_text()

            wait_for(lambda: is_connected(first), "the first broker")
            relay.silent = True
            begin = time.monotonic()
            wait_for(lambda: is_connected(second), "the second broker")
            assert time.monotonic() - begin <= 10
        finally:
            feed.stop()


def test_an_order_finds_the_broker_that_answers(pair: tuple[Mosquitto, Mosquitto]) -> None:
    first, second = pair
    reply = json.dumps({"ok": True}).encode()
    topic = f"{ROOT}/cmd/hold"
    with Relay(first.port) as hangs, Listener(second.port, topic, name="table") as table:
        hangs.silent = True

        def answer() -> None:
            table.wait("/hold")
            table.publish(f"{ROOT}/reply/1", reply)

        thread = threading.Thread(target=answer)
        thread.start()
        settings = MqttSettings(brokers=names(hangs.port, second.port))
        got = send_command(settings, topic, b"{}", reply=f"{ROOT}/reply/1", timeout_s=6)
        thread.join()
    assert got == reply


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"brokers": ("a", "a:1883")}, "mqtt.brokers: a:1883, a:1883; expected each broker once"),
        ({"brokers": ("a:x",)}, "mqtt.brokers: 'a:x'; expected HOST or HOST:PORT"),
        (
            {"brokers": ("a", "b"), "port": 1},
            "mqtt.brokers: expected neither mqtt.host nor mqtt.port beside it",
        ),
    ],
)
def test_a_bad_list_is_refused_in_one_line(
    settings: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        MqttSettings(**settings).checked(tmp_path)  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_a_list_is_plain_where_one_of_its_brokers_is_on_another_computer() -> None:
    assert MqttSettings(brokers=("127.0.0.1", "10.0.0.1")).is_plain
    assert not MqttSettings(brokers=("127.0.0.1", "localhost:1884")).is_plain


class Pair(SampleBroker):
    """A sample broker of a pair; the first one has the bridge to the other."""

    def __init__(self, folder: Path, other: SampleBroker | None = None) -> None:
        folder.mkdir()
        super().__init__(folder)
        self.add_account("bridge")
        kept = folder / "conf.d/shoe.conf"
        kept.write_text(kept.read_text().replace("\npersistence true\n", "\npersistence false\n"))
        main = folder / "mosquitto.conf"
        main.write_text(main.read_text().replace("persistence true\n", ""))
        if other is not None:
            bridge = (SYSTEMD / "mosquitto-shoe-bridge.conf").read_text()
            for ours, staged in (
                ("address OTHER:8883", f"address localhost:{other.tls_port}"),
                ("remote_password PASSWORD", "remote_password bridge"),
                ("/etc/mosquitto", str(folder)),
            ):
                assert ours in bridge
                bridge = bridge.replace(ours, staged)
            # Each broker of the test has an authority of the same name and key.
            (folder / "conf.d/shoe-bridge.conf").write_text(bridge)


def test_the_sample_bridge_carries_everything_both_ways_also_after_a_kill(tmp_path: Path) -> None:
    with Pair(tmp_path / "b") as second, Pair(tmp_path / "a", second) as first:
        journal = Journal()
        with (
            publishing(
                None,
                journal,
                prepare=lay_out,
                brokers=names(first.port, second.port),
                username="table-7",
                password_file=str(first.password_file("table-7")),
            ) as table,
            second.listen("board") as board,
        ):
            publish_one(table, journal)
            board.wait("/card_dealt")
            for near, far in ((first, second), (second, first)):
                near.kill()
                seq = publish_one(table, journal)
                near.start()
                with far.listen("board") as there, near.listen("board") as back:
                    for each in (there, back):
                        wait_for(
                            lambda: {"seq": seq} in [m.json for m in each.of("/state")],  # noqa: B023
                            "the state at both brokers",
                        )
                        wait_for(
                            lambda: (
                                [m.json["state"] for m in each.of("/status")][-1:]  # noqa: B023
                                == ["online"]
                            ),
                            "the status at both brokers",
                        )
    for broker in (first, second):
        assert not list(broker.folder.glob("mosquitto.db"))

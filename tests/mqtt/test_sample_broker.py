"""
The sample configuration of mosquitto: it starts, everybody may do what they
must and no more, and what is retained survives a kill.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.mqtt import Order, Publisher, TlsSettings
from tests.brokers import Listener, Mosquitto, free_port, wait_for
from tests.mqtt.helpers import ROOT, Journal, publishing
from tests.mqtt.test_tls import Papers

pytestmark = pytest.mark.mosquitto

SYSTEMD = Path(__file__).parents[2] / "systemd"


class Staged(Mosquitto):
    """
    The sample in a folder instead of /etc/mosquitto, included as Debian does it.
    """

    def __init__(self, folder: Path) -> None:
        self.tls_port = free_port()
        super().__init__(folder)
        self.folder = folder
        papers = Papers(folder / "certs")
        for end, file in zip(("pem", "key"), papers.sign("broker"), strict=True):
            assert file.name == f"broker.{end}"
        self.ca = papers.ca
        for user in ("table-7", "board", "pit"):
            create = ["-c"] if user == "table-7" else []
            command = ["mosquitto_passwd", *create, "-b", folder / "shoe.passwd", user, user]
            subprocess.run(command, check=True)
        (folder / "secret").write_text("table-7", encoding="utf-8")
        (folder / "shoe.acl").write_bytes((SYSTEMD / "mosquitto-shoe.acl").read_bytes())
        sample = (SYSTEMD / "mosquitto-shoe.conf").read_text(encoding="utf-8")
        for ours, staged in (
            ("/etc/mosquitto", str(folder)),
            ("listener 1883 ", f"listener {self.port} "),
            ("listener 8883\n", f"listener {self.tls_port} 127.0.0.1\n"),
        ):
            assert ours in sample
            sample = sample.replace(ours, staged)
        (folder / "conf.d").mkdir()
        (folder / "conf.d" / "shoe.conf").write_text(sample, encoding="utf-8")
        (folder / "mosquitto.conf").write_text(
            f"user root\nlog_dest stderr\npersistence true\npersistence_location {folder}/\n"
            f"include_dir {folder}/conf.d\n",
            encoding="utf-8",
        )

    def listen(self, user: str) -> Listener:
        return Listener(self.port, name=user, username=user, password=user)

    def publish(
        self,
        journal: Journal,
        **options: Any,  # noqa: ANN401 - those of Publisher
    ) -> AbstractContextManager[Publisher]:
        return publishing(
            self.port,
            journal,
            username="table-7",
            password_file=str(self.folder / "secret"),
            prepare=lambda publisher: publisher.retain("state", b'{"seq":2}', 0),
            options=options,
        )


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Staged]:
    with Staged(tmp_path) as broker:
        yield broker


def test_everybody_may_do_what_they_must_and_no_more(broker: Staged) -> None:
    journal = Journal(1)
    journal.add("staff_card_dealt")
    orders: list[Order] = []
    with broker.listen("board") as board, broker.listen("pit") as pit:
        with broker.publish(journal, on_command=orders.append) as publisher:
            board.wait("/status")
            pit.wait("/status")
            assert publisher.health.last_error is None
            # The pit's order reaches the table, the board's does not.
            board.publish(f"{ROOT}/cmd/new_shoe", b"from the board")
            pit.publish(f"{ROOT}/cmd/new_shoe", b"from the pit")
            wait_for(lambda: orders, "the order")
            assert [order.payload for order in orders] == [b"from the pit"]
            publisher.answer(b"{}", 0, order="x")
            pit.wait("/reply/x")
            # An order may hold a PIN, which is for the table alone.
            assert not pit.of("/cmd/new_shoe")
            assert not board.of("/reply/x")
        assert pit.of("/staff/event/staff_card_dealt")
        assert not [message for message in board.messages if "staff" in message.topic]
        assert board.of("/event/card_dealt")


def test_a_table_cannot_speak_for_another(broker: Staged) -> None:
    with broker.listen("pit") as pit, broker.listen("table-7") as table:
        table.publish("shoe/v1/house/table-8/state", b"false")
        table.publish("shoe/v1/house/table-7/state", b"true")
        pit.wait("/state")
        assert [message.payload for message in pit.messages] == [b"true"]


def kept(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def test_what_is_retained_survives_a_kill(broker: Staged) -> None:
    with broker.publish(Journal()) as publisher:
        wait_for(lambda: publisher.health.connected and not publisher.health.in_flight)
    # It acknowledges first and writes at once after that.
    wait_for(lambda: b'"offline"' in kept(broker.folder / "mosquitto.db"), "the file")
    broker.kill()
    broker.start()
    with broker.listen("board") as board:
        assert board.wait("/state")[0].retain
        assert board.wait("/status")[0].json["state"] == "offline"


def test_the_encrypted_door(broker: Staged) -> None:
    journal = Journal(3)
    with publishing(
        broker.tls_port,
        journal,
        username="table-7",
        password_file=str(broker.folder / "secret"),
        tls=TlsSettings(ca_file=str(broker.ca)),
    ):
        wait_for(lambda: journal.cursor == 3, "the cursor")

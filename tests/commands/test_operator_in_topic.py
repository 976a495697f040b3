"""
`operator_in_topic`: the broker authenticates operators by topic, and rejects commands in the name
of another operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Pit, Supervisor]]:
    set_password(tmp_path / "passwords", "maria", "maria")
    (tmp_path / "rights").write_text(ACL)
    with (
        Mosquitto(tmp_path, RIGHTS.format(folder=tmp_path)) as broker,
        open_pit(tmp_path, broker.port, "[orders]\noperator_in_topic = true") as pit,
        Supervisor(broker.port, pit.root, name="maria") as maria,
    ):
        yield pit, maria


def payload(order_id: str, **fields: object) -> bytes:
    return json.dumps({"id": order_id, **fields}).encode()


def test_the_broker_vouches_for_the_name_in_the_topic(guarded: tuple[Pit, Supervisor]) -> None:
    pit, maria = guarded
    maria.send("hold/maria", payload("one"))
    assert pit.wait("reply/one")[0].json["ok"]
    (order,) = pit.journaled()
    assert (order.operator, order.claimed) == ("maria", False)


def test_nobody_gives_orders_in_another_name(guarded: tuple[Pit, Supervisor]) -> None:
    pit, maria = guarded
    maria.send("hold/kim", payload("other-topic"))
    maria.send("hold", payload("no-topic", operator="kim"))
    maria.send("hold/maria", payload("other-name", operator="kim"))
    answer = pit.wait("reply/other-name")[0].json
    assert answer["refused"] == "operator: another one than in the topic"
    assert [order.id for order in pit.journaled()] == ["other-name"]


def test_who_may_write_anything_only_claims(guarded: tuple[Pit, Supervisor]) -> None:
    pit, _ = guarded
    assert pit.order("hold", operator="somebody")["ok"]
    assert pit.journaled()[0].claimed


def test_a_name_that_cannot_be(guarded: tuple[Pit, Supervisor]) -> None:
    pit, _ = guarded
    pit.send(f"hold/{'x' * 61}", payload("long"))
    assert pit.wait("reply/long")[0].json["refused"].startswith("operator: expected a name")


def test_a_display_needs_no_name_in_the_topic_to_request_events(
    guarded: tuple[Pit, Supervisor],
) -> None:
    pit, _ = guarded
    assert pit.order("hold", operator="somebody")["ok"]
    assert pit.order("replay", operator="pit-log", from_seq=1)["replayed"] == 1

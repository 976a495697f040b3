"""
Invalid commands are refused with a reason, answered and journaled, and change
nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoe_daemon.mqtt.commands import MAX_COMMAND_BYTES
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.table.observations import Command
from tests.commands.command_table import Pit
from tests.commands.test_command_handler import Bench, bench
from tests.commands.test_verbs import journaled
from tests.each_case import each_case

__all__ = ["bench"]

GOOD: dict[str, Any] = {"id": "x", "operator": "Maria"}

NO_ORDER = [
    (b"", "it is no JSON object"),
    (b"hold!", "it is no JSON object"),
    (b"[]", "it is no JSON object"),
    (b'"x"', "it is no JSON object"),
    (b'{"id":"x"', "it is no JSON object"),
    (b"\xff\xfe{}", "it is no JSON object"),
    (b'{"id":"\xff"}', "it is no JSON object"),
    (b'{"id":"\\ud800","operator":"Maria"}', ""),
    (b"[" * 4000, "it is no JSON object"),
    (b'{"id":"x","operator":"' + b"M" * MAX_COMMAND_BYTES + b'"}', "it is too long"),
]

WRONG_FIELDS = [
    ({"operator": None}, "operator: missing"),
    ({"operator": ""}, "operator: expected a name"),
    ({"operator": 7}, "operator: expected a name"),
    ({"operator": "M" * 61}, "operator: expected a name"),
    ({"operator": "Ma\nria"}, "operator: expected a name"),
    ({"operator": "Maria\n"}, "operator: expected a name"),
    ({"reason": "x" * 201}, "reason: expected a text"),
    ({"reason": ["x"]}, "reason: expected a text"),
    ({"expires_at": "soon"}, "expires_at: expected a moment"),
    ({"expires_at": "2999-01-01T00:00:00"}, "expires_at: expected a moment"),
    ({"expires_at": 1}, "expires_at: expected a moment"),
    ({"expires_at": "0001-01-01T00:00:00+23:59"}, "expires_at: expected a moment"),
    ({"expires_at": "1970-01-01T00:00:00+00:01"}, "expires_at: expected a moment"),
    ({"expires_at": "1969-12-31T23:59:00-00:01"}, "it expired at 1970-01-01T00:00:00.000Z"),
    ({"expires_at": "9999-12-31T23:59:59-00:01"}, "expires_at: expected a moment"),
    ({"expires_at": "2020-01-01T00:00:00Z"}, "it expired at 2020-01-01T00:00:00.000Z"),
    ({"expires_at": "2020-01-01T02:00:00+02:00"}, "it expired at 2020-01-01T00:00:00.000Z"),
    ({"operator": "Mar\u202eia"}, "operator: expected a name of 1 to 60 visible characters"),
    ({"operator": "Ma\u200bria"}, "operator: expected a name of 1 to 60 visible characters"),
    ({"dealer": "Kim\u2066"}, "dealer: expected a name of 1 to 60 visible characters"),
    ({"card": "ZZ"}, "card: expected a card that exists"),
    ({"card": "1S"}, "card: expected a card that exists"),
    ({"card": ""}, "card: expected a card that exists"),
    ({"slot": "P4"}, "slot: expected one of P1"),
    ({"action": "shoot_the_dealer"}, "action: expected one of"),
    ({"outcome": "house"}, "outcome: expected one of player, banker, tie"),
    ({"player_pair": "yes"}, "player_pair: expected true or false"),
    ({"round": 0}, "round: expected a whole number"),
    ({"round": "1"}, "round: expected a whole number"),
    ({"irregularity": -1}, "irregularity: expected a whole number"),
    ({"from_seq": 10**30}, "from_seq: expected a whole number"),
    ({"seat": 1.5}, "seat: expected a whole number"),
    ({"kind": "bad_luck"}, "kind: expected one of "),
    ({"left": -1}, "left: expected a whole number from 0 on"),
    ({"pin": 1234}, "pin: expected a text"),
    ({"dry_run": "yes"}, "dry_run: expected true or false"),
    ({"expects_seq": -1}, "expects_seq: expected a whole number from 0 on"),
]

WRONG_IDS: list[object] = [None, "", 7, "a b", "a/b", "a+", "#", "x" * 65, "ö", "x\n"]


def refused(bench: Bench, verb: str, payload: bytes, why: str) -> tuple[Any, Command]:
    """Give bytes that are refused; return the answer and the journaled order."""
    bench.time.now += 1
    seq, count = bench.core.table.state.seq, len(journaled(bench))
    bench.orders.receive(verb, MessageReceived(verb, payload))
    bench.judge_all()
    answer = bench.answers.given[-1]
    assert (answer["ok"], answer["events"]) == (False, [])
    assert why in answer["refused"]
    assert answer["seq"] == bench.core.table.state.seq == seq
    *before, order = journaled(bench)
    assert len(before) == count
    assert (order.name, order.refused) == (answer["name"], answer["refused"])
    assert order.id == answer["id"]
    return answer, order


@each_case("payload, why", NO_ORDER)
def test_what_is_no_order(bench: Bench, payload: bytes, why: str) -> None:
    refused(bench, "hold", payload, why)


@each_case("wrong, why", WRONG_FIELDS)
def test_a_wrong_field(bench: Bench, wrong: dict[str, Any], why: str) -> None:
    payload = json.dumps({**GOOD, "id": f"n{bench.time.now}", **wrong}).encode()
    _, order = refused(bench, "hold", payload, why)
    # What could be understood is written down.
    assert ("operator" in wrong) == (order.operator is None)


@each_case("order_id", WRONG_IDS)
def test_an_id_that_cannot_be_used(bench: Bench, order_id: object) -> None:
    payload = json.dumps({**GOOD, "id": order_id}).encode()
    answer, order = refused(bench, "hold", payload, "id: ")
    assert answer["id"] is None
    assert order.operator == "Maria"


@each_case("verb", ["void", "new_shoe", "HOLD", "hold/Maria", "", "a" * 500])
def test_a_wrong_verb(bench: Bench, verb: str) -> None:
    payload = json.dumps({**GOOD, "id": f"n{bench.time.now}"}).encode()
    answer, _ = refused(bench, verb, payload, "there are: acknowledge, betting-open")
    assert answer["name"] == verb[:40]


def test_unknown_fields_are_ignored(bench: Bench) -> None:
    assert bench.order("a", "hold", colour="red", nested={"a": [1]})["ok"]


@pytest.mark.mosquitto
def test_a_retained_order(pit: Pit) -> None:
    payload = json.dumps({**GOOD, "id": "kept"}).encode()
    try:
        answered = pit.ask("hold", payload, retain=True)
        assert (answered["ok"], answered["events"]) == (False, [])
        assert answered["refused"].startswith("it is retained")
        (answer,) = pit.wait("reply/kept")
        assert not answer.retain
    finally:
        pit.send("hold", b"", retain=True)


@pytest.mark.mosquitto
def test_a_repeated_id(pit: Pit) -> None:
    first = pit.order("hold", id="again")
    second = pit.order("resume", id="again")
    assert pit.wait("reply/again", 2)
    assert first["ok"]
    assert first["earlier"] is None
    answer = pit.of("reply/again")[-1].json
    assert second["id"] == "again"
    assert answer["refused"].startswith("its id was given before, at ")
    assert answer["earlier"] == {
        "at": pit.journaled()[0].at,
        "name": "hold",
        "ok": True,
        "detail_code": None,
        "detail_values": {},
        "refused": None,
    }
    assert [order.refused for order in pit.journaled()] == [None], "repeats grow the journal"
    assert pit.order("resume")["ok"], "the repeated order has changed the table"

"""
Invalid commands are refused with a reason, answered and journaled, and change
nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from shoe_daemon.mqtt.commands import (
    MAX_COMMAND_BYTES,
    VERBS,
    OrderMessage,
    parse_command,
)
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.table.observations import decode_observation, encode_observation
from shoe_daemon.table.table import Table
from tests.commands.command_table import Pit

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


def check_nothing_changed(pit: Pit, answer: Any, why: str) -> None:  # noqa: ANN401 - JSON
    assert (answer["ok"], answer["events"]) == (False, [])
    assert why in answer["refused"]
    assert answer["seq"] == pit.seq == 1
    order = pit.journaled()[-1]
    assert (order.name, order.refused, order.id) == (
        answer["name"],
        answer["refused"],
        answer["id"],
    )


@pytest.mark.mosquitto
@pytest.mark.parametrize(("payload", "why"), NO_ORDER)
def test_what_is_no_order(quiet: Pit, payload: bytes, why: str) -> None:
    before = len(quiet.journaled())
    check_nothing_changed(quiet, quiet.ask("hold", payload), why)
    assert len(quiet.journaled()) == before + 1


@pytest.mark.mosquitto
@pytest.mark.parametrize(("wrong", "why"), WRONG_FIELDS)
def test_a_wrong_field(quiet: Pit, wrong: dict[str, Any], why: str) -> None:
    answer = quiet.order("hold", **wrong)
    check_nothing_changed(quiet, answer, why)
    # What could be understood is written down.
    assert ("operator" in wrong) == (quiet.journaled()[-1].operator is None)


@pytest.mark.mosquitto
@pytest.mark.parametrize("order_id", WRONG_IDS)
def test_an_id_that_cannot_be_used(quiet: Pit, order_id: object) -> None:
    payload = json.dumps({**GOOD, "id": order_id}).encode()
    answer = quiet.ask("hold", payload)
    check_nothing_changed(quiet, answer, "id: ")
    assert answer["id"] is None
    assert quiet.journaled()[-1].operator == "Maria"


@pytest.mark.mosquitto
@pytest.mark.parametrize("verb", ["void", "new_shoe", "HOLD", "hold/Maria", "", "a" * 500])
def test_a_wrong_verb(quiet: Pit, verb: str) -> None:
    answer = quiet.order(verb)
    check_nothing_changed(quiet, answer, "there are: acknowledge, betting-open")
    assert answer["name"] == verb[:40]


@pytest.mark.mosquitto
def test_a_retained_order(pit: Pit) -> None:
    payload = json.dumps({**GOOD, "id": "kept"}).encode()
    try:
        check_nothing_changed(pit, pit.ask("hold", payload, retain=True), "it is retained")
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


@pytest.mark.mosquitto
def test_unknown_fields_are_ignored(pit: Pit) -> None:
    assert pit.order("hold", colour="red", nested={"a": [1]})["ok"]


@given(st.sampled_from([*VERBS, "void", "hold/Maria", "/"]), st.binary(max_size=200))
def test_no_bytes_do_harm(verb: str, payload: bytes) -> None:
    check_harmless(verb, payload)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
    max_leaves=5,
)
_values: st.SearchStrategy[object] = _json | st.sampled_from(["AS", "P1", "tie", "rule", 1])
_fields = st.dictionaries(st.sampled_from([each.name for each in fields(OrderMessage)]), _values)


@given(st.sampled_from([*VERBS, "void", "hold/Maria"]), _fields)
def test_no_fields_do_harm(verb: str, said: dict[str, Any]) -> None:
    check_harmless(verb, json.dumps(said).encode())


def check_harmless(verb: str, payload: bytes) -> None:
    """Whatever comes can be written down as it was read, and put before the table."""
    message, (name, _, operator) = MessageReceived("", payload), verb.partition("/")
    for command in (parse_command(verb, message), parse_command(name, message, operator=operator)):
        line = encode_observation(command.command)
        stamped = line.replace(b"{", b'{"at":"2026-11-21T09:34:46Z",', 1)
        order = decode_observation(stamped)
        table = Table()
        if command.refusal is None:
            table.refusal(command.command)
        table.apply(order)

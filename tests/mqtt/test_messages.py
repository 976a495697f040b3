"""
Payloads: sorted keys, UTF-8, whole numbers and words, below the size limit, no hidden
faces.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from shoe_daemon.mqtt import documents, schemas
from shoe_daemon.mqtt.documents import (
    SIZE_LIMIT,
    ResultLast,
    encode_message,
)
from shoe_daemon.table import (
    EVENT_TYPES,
    CardBurned,
    Event,
    Irregularity,
    Proposal,
    RoundFinished,
    encode_event,
)
from shoe_daemon.table.public_document_types import Alert, PublicTable
from tests.each_case import each_case
from tests.mqtt.generated_messages import least, most, structs

SENTENCE = "The Banker drew although the Player's natural ended the round. Ü — " * 3


def alert(number: int, proposals: int = 8) -> Alert:
    """An open irregularity about which much can be said."""
    each = Proposal(
        action="void",
        authority="house policy",
        section="7.4.1 (c)",
        text=SENTENCE,
        verified=True,
    )
    data = Irregularity(
        card=None,
        detail=SENTENCE,
        id=number,
        kind="excess_card",
        proposals=(each,) * proposals,
        severity=4,
        slot=None,
    )
    return Alert(at="2026-11-21T09:34:46.120Z", data=data, round=31, shoe=7)


def table(alerts: tuple[Alert, ...] = ()) -> PublicTable:
    whole = msgspec.convert(most(PublicTable), PublicTable)
    return msgspec.structs.replace(whole, alerts=alerts, alerts_omitted=0, schema="1.0")


def state(alerts: tuple[Alert, ...] = ()) -> bytes:
    return documents.state(
        table(alerts), session="start-1", alarm=None, heartbeat=10, published="now"
    )


@each_case("name", schemas.TABLE_MESSAGES)
@each_case("example", [least, most])
def test_keys_are_sorted_on_the_wire(name: str, example: Any) -> None:  # noqa: ANN401 - a function
    kind = schemas.TABLE_MESSAGES[name]
    payload = encode_message(msgspec.convert(example(kind), kind))
    assert payload == _sorted_and_dense(payload)
    assert {"schema", "seq", "session"} <= json.loads(payload).keys()


@each_case("event_type", EVENT_TYPES)
def test_events_are_sorted_on_the_wire(event_type: str) -> None:
    data = msgspec.convert(most(EVENT_TYPES[event_type]), EVENT_TYPES[event_type])
    payload = encode_event(Event("now", data, 1, "1.0", 1, 1, "s", "t", event_type))
    assert payload == _sorted_and_dense(payload)
    assert len(payload) < SIZE_LIMIT


def _sorted_and_dense(payload: bytes) -> bytes:
    def refuse(number: str) -> None:
        raise AssertionError(f"{number} is a float")

    value = json.loads(payload, parse_float=refuse)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


@each_case("count", [1, 4, 400])
def test_however_many_alerts_there_are_the_limit_holds(count: int) -> None:
    alerts = tuple(alert(number) for number in range(count))
    for payload, omitted in (
        (state(alerts), "alerts_omitted"),
        (
            documents.active_alerts(alerts, seq=9, session="start-1"),
            "omitted",
        ),
    ):
        assert len(payload) < SIZE_LIMIT
        told = json.loads(payload)
        # The newest are told, and how many are not.
        assert told[omitted] + len(told["alerts"]) == count
        assert told["alerts"][-1]["data"]["id"] == count - 1
        if count > 1:
            assert told["alerts"][0]["data"]["proposals"] == []


def test_alerts_that_the_table_only_counts_are_omitted_too() -> None:
    counted = msgspec.structs.replace(table((alert(1),)), alerts_omitted=3)
    payload = documents.state(
        counted, session="start-1", alarm=None, heartbeat=10, published="now"
    )
    assert json.loads(payload)["alerts_omitted"] == 3
    listed = documents.active_alerts((alert(1),) * 400, omitted=3, seq=9, session="s")
    told = json.loads(listed)
    assert told["omitted"] + len(told["alerts"]) == 403


def test_a_full_round_fits() -> None:
    finished = most(RoundFinished)
    finished["wagers"] = [{"pays": "25:1", "result": "win", "wager": "dragon_bonus_banker"}] * 18
    for hand in ("player", "banker"):
        finished[hand]["cards"] = ["10H"] * 3
    result = {"at": "now", "data": finished, "entered": False, "seq": 10**9}
    result |= {"round": 99, "shoe": 10**6}
    last = msgspec.convert({"result": result, "seq": 10**9, "session": "s"}, ResultLast)
    assert len(encode_message(last)) < 3000


def test_no_public_document_can_hold_what_is_for_staff() -> None:
    public = [
        kind for name, kind in schemas.TABLE_MESSAGES.items() if not name.startswith("staff/")
    ]
    for kind in public:
        for struct in structs(kind):
            assert "Staff" not in struct.__name__
            # The cards that must follow to the burn are no secret; a preview may hold that event.
            known = {"remaining"} if struct is CardBurned else set()
            fields = set(struct.__struct_fields__) - known
            assert not {"composition", "remaining", "read"} & fields

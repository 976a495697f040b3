"""Events on the wire: one JSON for each, the same everywhere."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import (
    EVENT_TYPES,
    Event,
    decode_event,
    encode_event,
    is_staff,
    public_document_types,
)
from shoe_daemon.table import observations as seen
from tests.each_case import each_case
from tests.public_json import encode_public_table
from tests.table.dealer import NATURAL, SIX, SQUEEZE, CutCard, Dealer, card, house


def busy() -> Dealer:
    """Let a table say something of every type."""
    dealer = Dealer(house(dealing_style=SQUEEZE, cut_card=CutCard(mode="checked", hands_after=0)))
    dealer.say(seen.Link(up=True, source="shoe"))
    dealer.order("new_shoe")
    dealer.burn("AS 2C")
    dealer.deal(NATURAL)
    dealer.result("banker", pairs="pb")
    dealer.outside("AC")
    dealer.say(seen.Withdrawn(card=card("AC")))
    dealer.deal("P1 2S, B1 3S")
    dealer.say(seen.Unreadable(slot=Slot.P2))
    number = dealer.table.state.alerts[-1].data.id
    dealer.say(seen.Command(name="rule", action="rescan", irregularity=number, operator="ann"))
    dealer.say(seen.Booted())
    dealer.say(seen.CutCardSeen())
    dealer.deal(SIX)
    dealer.result("player")
    return dealer


BUSY = busy()


def no_floats(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Tell whether a value is made of words and whole numbers."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and no_floats(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(no_floats, value))
    return value is None or isinstance(value, bool | int | str)


def is_sorted(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Tell whether the keys stand in order, however deep."""
    if isinstance(value, dict):
        return list(value) == sorted(value) and all(map(is_sorted, value.values()))
    return not isinstance(value, list) or all(map(is_sorted, value))


@each_case("event", BUSY.events)
def test_its_json(event: Event) -> None:
    text = encode_event(event)
    value = json.loads(text)
    assert is_sorted(value)
    assert no_floats(value)
    assert json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() == text
    assert decode_event(text) == event
    assert encode_event(decode_event(text)) == text
    assert sorted(value) == list(Event.__struct_fields__)
    assert len(text) < 10_000


def test_staff_is_told_apart_by_the_name() -> None:
    assert {kind for kind in EVENT_TYPES if is_staff(kind)} == {
        "staff_card_dealt",
        "staff_composition",
        "staff_irregularity",
        "staff_irregularity_closed",
        "staff_ruling_given",
    }


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b'{"at":"x","data":{},"round":1,"schema":"1.0","seq":1,"shoe":1,"site":"s","table":"t","type":"weather"}',
        b'{"at":"x","data":{},"round":1,"schema":"1.0","seq":1,"shoe":1,"site":"s","table":"t","type":"card_dealt"}',
    ],
)
def test_what_is_no_event(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_event(text)


class TestPublicTable:
    def test_its_json(self) -> None:
        text = encode_public_table(BUSY.table.public())
        value = json.loads(text)
        assert is_sorted(value)
        assert no_floats(value)
        assert value["seq"] == BUSY.events[-1].seq
        assert value["counts"]["rounds"] == 2
        assert value["last_result"]["data"]["outcome"] == "player"
        assert value["last_result"]["shoe"] == BUSY.events[-1].shoe
        assert (
            msgspec.json.decode(text, type=public_document_types.PublicTable)
            == BUSY.table.public()
        )

    def test_an_empty_table(self) -> None:
        public = Dealer().table.public()
        assert (public.shoe, public.round, public.last_result) == (None, None, None)
        assert (public.seq, public.alerts) == (0, ())

    def test_open_alerts_are_on_it_until_they_are_closed(self) -> None:
        dealer = Dealer()
        dealer.deal(NATURAL)
        dealer.draw("AC")
        (alert,) = dealer.table.public().alerts
        assert (alert.data.kind, alert.round, alert.shoe) == ("excess_card", 1, 1)
        assert alert.data.id == dealer.events[-1].seq
        dealer.order("new_shoe")
        assert dealer.table.public().alerts == ()

    def test_too_many_give_way_and_say_so(self) -> None:
        dealer = Dealer()
        dealer.deal(NATURAL)
        for _ in range(60):
            dealer.draw("AC")
        assert len(dealer.table.public().alerts) <= 20
        closed = [each for each in dealer.events if each.type == "irregularity_closed"]
        raised = [each for each in dealer.events if each.type == "irregularity"]
        assert len(raised) - len(closed) == len(dealer.table.public().alerts)
        assert len(encode_public_table(dealer.table.public())) < 10_000

"""Events on the wire: one JSON for each, the same everywhere."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.game.irregularities import SEVERITY
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.table import (
    EVENT_TYPES,
    Event,
    decode_event,
    encode_event,
    events,
    is_staff,
    public_document_types,
)
from shoe_daemon.table import observations as seen
from tests.each_case import each_case
from tests.public_json import encode_public_table
from tests.table.dealer import NATURAL, SIX, SQUEEZE, CutCard, Dealer, card, house

# Every type that a table says in this version, and its fields, as the contract names them.
CONTRACT = {
    "shoe_started": "decks house policy",
    "card_burned": "card remaining",
    "betting_closed": "cause",
    "round_started": "",
    "card_dealt": "slot card player_total banker_total",
    "card_disclosed": "slot card player_total banker_total",
    "draw_due": "hand code detail_code detail_values text",
    "round_finished": "outcome player banker wagers partial kind",
    "round_aborted": "cause",
    "irregularity": "id kind severity slot card detail detail_code detail_values proposals",
    "irregularity_closed": "id action operator reason",
    "ruling_given": "id action operator",
    "cut_card": "rounds player banker tie",
    "last_round": "rounds player banker tie",
    "shoe_finished": "rounds player banker tie head",
    "reader_status": "source link state",
    "staff_card_dealt": "slot card",
    "staff_composition": "read unread",
    "staff_ruling_given": "id action operator reason",
}


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


def structs() -> list[type[msgspec.Struct]]:
    """Return every type that goes out."""
    found = []
    for module in (events, events, public_document_types):
        own = [each for each in vars(module).values() if isinstance(each, type)]
        found += [
            each
            for each in own
            if issubclass(each, msgspec.Struct) and each.__module__ == module.__name__
        ]
    return found


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


def test_the_types_are_those_of_the_contract() -> None:
    for name, fields in CONTRACT.items():
        assert sorted(fields.split()) == list(EVENT_TYPES[name].__struct_fields__)
        assert EVENT_TYPES[name].type == name


def test_this_file_says_something_of_each() -> None:
    assert {event.type for event in BUSY.events} == set(CONTRACT)


@each_case("kind", structs())
def test_fields_stand_in_alphabetical_order(kind: type[msgspec.Struct]) -> None:
    assert list(kind.__struct_fields__) == sorted(kind.__struct_fields__)


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


def test_severities_are_those_of_the_kind() -> None:
    dealer = Dealer(decks=1)
    dealer.deal(NATURAL)
    dealer.draw("9S")
    dealer.error("other")
    dealer.say(seen.Unreadable(slot=Slot.P1))
    found = [event.data for event in dealer.events if isinstance(event.data, events.Irregularity)]
    assert len(found) == 4
    for data in found:
        assert data.severity == SEVERITY[IrregularityKind(data.kind)]
        assert data.proposals == ()


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

"""No command publishes a hidden face, nor anything about the remaining cards."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import LOGS, IrregularityLog
from tests.misdeals.supervised_table import SupervisedTable
from tests.public_json import encode_public_table
from tests.table.dealer import SQUEEZE, TUCKED, house, of_type, one, public_json

UNSEEN = [
    ("9S", "2H", "KD", "3C"),
    ("5S", "5H", "5D", "6C"),
    ("AS", "4H", "4D", "10C"),
    ("8S", "8H", "QD", "KC"),
]
"""Deals that nobody at the table can tell apart while their cards lie face down."""
ORDERS: list[list[tuple[str, dict[str, Any]]]] = [
    [("hold", {}), ("void_round", {}), ("resume", {})],
    [("hold", {"kind": "card_off_table"}), ("rule", {"action": "void_round"})],
    [("correct_card", {"slot": Slot.B1, "card": "7D"}), ("undo", {}), ("void_round", {})],
    [("hold", {"kind": "card_returned"}), ("rule", {"action": "stop_shoe"})],
]
TOO_MUCH = {"out", "seen", "left", "remain", "composition", "read", "unread", "copies", "stub"}


def dealt(faces: tuple[str, ...], orders: list[tuple[str, dict[str, Any]]]) -> SupervisedTable:
    """Deal four cards face down, and give orders."""
    pit = SupervisedTable(house(dealing_style=SQUEEZE), policy="us_nj_pa", hold_from=3)
    for slot, face in zip(Slot, faces, strict=False):
        pit.draw(face, slot)
    for name, fields in orders:
        pit.cmd(name, **fields)
    return pit


@pytest.mark.parametrize("orders", ORDERS, ids=lambda each: each[0][0] + "+" + each[1][0])
def test_deals_that_look_alike_are_told_alike(orders: list[tuple[str, dict[str, Any]]]) -> None:
    told = []
    for faces in UNSEEN:
        pit = dealt(faces, orders)
        told.append((public_json(pit.events), encode_public_table(pit.table.public())))
    assert told[1:] == told[:-1]


def test_whether_the_cards_give_a_result_is_not_told() -> None:
    reasons = {dealt(faces, []).refused("enter_result", outcome="tie") for faces in UNSEEN}
    assert reasons == {"the cards of the round on the table lie face down: reveal them first"}


@pytest.mark.parametrize("said", sorted({faces[1] for faces in UNSEEN}))
def test_an_order_does_not_tell_the_face_that_it_guesses(said: str) -> None:
    told = []
    for faces in UNSEEN:
        pit = dealt(faces, [("correct_card", {"slot": Slot.B1, "card": said})])
        told.append((public_json(pit.events), encode_public_table(pit.table.public())))
    assert told[1:] == told[:-1]


def previewed(pit: SupervisedTable, name: str, **fields: Any) -> list[Any]:  # noqa: ANN401 - any
    """Return what a preview tells, without numbers that staff events move on."""
    order = replace(pit.command(name, **fields), at=pit.table.state.now)
    preview = pit.table.preview(order)
    events = [(event.type, msgspec.to_builtins(event.data)) for event in preview.events]
    for _, data in events:
        data.pop("id", None)
    rounds = (preview.before, preview.after)
    return [preview.command.refused, preview.faces_hidden, events, rounds]


@each_case(
    "name, fields",
    [
        ("reveal", {}),
        ("confirm_result", {}),
        ("no_more_bets", {}),
        ("betting_open", {}),
        ("new_shoe", {}),
        ("undo", {}),
        ("enter_result", {"outcome": "tie"}),
        ("void_round", {}),
        ("correct_card", {"slot": Slot.P1, "card": "7D"}),
    ],
)
@each_case("partial", [False, True])
def test_a_preview_does_not_tell_what_the_hidden_faces_are(
    name: str, fields: dict[str, Any], *, partial: bool
) -> None:
    told = []
    for faces in UNSEEN:
        correction = [("correct_card", {"slot": Slot.B2, "card": faces[3]})]
        pit = dealt(faces, correction if name == "undo" else [])
        pit.draw("4C", Slot.P3)  # a card too many in some of these deals: staff know
        if partial:
            pit.gap()
        told.append(previewed(pit, name, **fields))
    assert told[1:] == told[:-1]


def test_a_preview_does_not_turn_over_a_card_too_many() -> None:
    told = []
    for face in ("2C", "9C"):
        pit = dealt(UNSEEN[0], [])
        for slot, card in (("P3", "4C"), ("B3", "4D"), ("B3", face)):
            pit.draw(card, slot)
        alert = pit.id_of("excess_card")
        told.append(previewed(pit, "rule", action="burn_card_plus_value", irregularity=alert))
    assert told[0] == told[1] == [None, True, [], (None, None)]


def test_staff_is_told_what_a_hidden_card_is_now() -> None:
    for style in (SQUEEZE, TUCKED):
        pit = SupervisedTable(house(dealing_style=style))
        pit.deal("P1 9S, B1 2H")
        said = pit.cmd("correct_card", slot=Slot.B1, card="7D")
        assert one(said, "card_corrected").after is None
        assert one(said, "staff_card_dealt").card == "7D"
        assert of_type(pit.cmd("reveal"), "card_disclosed")[-1].card == "7D"


def keys(value: object) -> set[str]:
    """Name every key of a document."""
    if isinstance(value, dict):
        return set(value) | {key for each in value.values() for key in keys(each)}
    if isinstance(value, list):
        return {key for each in value for key in keys(each)}
    return set()


@each_case("log", LOGS)
def test_nothing_is_said_of_the_cards_that_remain(log: IrregularityLog) -> None:
    pit = SupervisedTable()
    for observation in log.observations("us_nj_pa"):
        pit.events += pit.table.apply(observation)
    public = public_json(pit.events)
    public.append(msgspec.json.decode(encode_public_table(pit.table.public())))
    for document in public:
        assert not keys(document) & TOO_MUCH
    if log.kind not in {"card_count_mismatch", "insufficient_cards"}:
        details = [each.detail for each in of_type(pit.events, "irregularity")]
        assert not any(re.search(r"cards? (is|are) left|remain", each) for each in details)


def test_a_result_that_waits_shows_what_lies_there_and_no_more() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE), hold_from=3)
    pit.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 4C")
    pit.say(seen.Disclosed(slot=Slot.P1, card=Card("9S")))
    shown = encode_public_table(pit.table.public()).decode()
    assert "9S" in shown
    assert not any(face in shown for face in ("2H", "KD", "3C", "4C"))

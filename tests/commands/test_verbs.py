"""
Every verb is carried out where it fits the table's state, otherwise refused with a
reason, and journaled in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from drivers.angel_eye_ii.decoder import place_code
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.mqtt.commands import VERBS
from tests.brokers import wait_for
from tests.commands.command_table import Pit
from tests.commands.conftest import OpenPit

pytestmark = pytest.mark.mosquitto

PLAYER_WINS = ("P1:9S", "B1:2H", "P2:KD", "B2:5C")


class Case(NamedTuple):
    verb: str
    prepare: Callable[[Pit], dict[str, Any]]
    events: tuple[str, ...]
    text: str = ""


def nothing(_pit: Pit) -> dict[str, Any]:
    return {}


def with_round(pit: Pit) -> dict[str, Any]:
    pit.draw("P1:9S", "B1:2H")
    return {}


def finish(pit: Pit) -> dict[str, Any]:
    pit.draw(*PLAYER_WINS)
    pit.wait("event/round_finished")
    return {}


def with_hidden_cards(pit: Pit) -> dict[str, Any]:
    pit.draw("P1:2S", "B1:3H", "P2:2D", "B2:3C")
    return {}


def with_wrong_result(pit: Pit) -> dict[str, Any]:
    pit.draw(*PLAYER_WINS)
    pit.shoe.call(Outcome.BANKER)
    (found,) = pit.wait("event/irregularity")
    return {"irregularity": found.json["data"]["id"]}


def with_unread_card(pit: Pit) -> dict[str, Any]:
    pit.draw("P1:9S")
    pit.shoe.say("D", place_code(Slot.B1), 0xFF)
    pit.wait("event/irregularity")
    return {"card": "2H", "slot": "B1"}


def with_correction(pit: Pit) -> dict[str, Any]:
    finish(pit)
    assert pit.order("correct-card", slot="B2", card="7C")["ok"]
    return {}


def on_hold(pit: Pit) -> dict[str, Any]:
    assert pit.order("hold")["ok"]
    return {}


def correction(pit: Pit) -> dict[str, Any]:
    return {**finish(pit), "slot": "B2", "card": "7C"}


def ruling(pit: Pit) -> dict[str, Any]:
    return {**with_wrong_result(pit), "action": "void_round"}


def entry(_pit: Pit) -> dict[str, Any]:
    return {"outcome": "banker", "player_pair": False, "banker_pair": True}


def from_the_start(pit: Pit) -> dict[str, Any]:
    return {**finish(pit), "from_seq": 1}


def counted(pit: Pit) -> dict[str, Any]:
    pit.order("new-shoe")
    return {**finish(pit), "left": 400}


def reported(_pit: Pit) -> dict[str, Any]:
    return {"kind": "card_off_table", "slot": "P2"}


def signs_on(_pit: Pit) -> dict[str, Any]:
    return {"dealer": "Kim"}


CURATOR = 'house = "curator"\nseats = [1, 2, 3]'

CARRIED_OUT = [
    Case("new-shoe", nothing, ("shoe_started",)),
    Case("new-shoe", counted, ("irregularity", "shoe_started")),
    Case("no-more-bets", nothing, ("betting_closed",)),
    Case("betting-open", finish, ()),
    Case("reveal", with_hidden_cards, ("card_disclosed",), 'house = "chickasaw"'),
    Case("confirm-result", with_round, ("irregularity",)),
    Case("enter-result", entry, ("round_started", "round_finished")),
    Case("enter-card", with_unread_card, ("card_corrected",)),
    Case("correct-card", correction, ("card_corrected", "result_revised")),
    Case("undo", with_correction, ("card_corrected", "result_revised")),
    Case("void-round", finish, ("round_voided",)),
    Case("acknowledge", with_wrong_result, ("irregularity_closed",)),
    Case("rule", ruling, ("irregularity_closed",)),
    Case("pass-shoe", nothing, ("shoe_passed",), CURATOR),
    Case("free-hand", nothing, ()),
    Case("dealer", signs_on, ("dealer_changed",)),
    Case("hold", nothing, ()),
    Case("hold", reported, ("irregularity",)),
    Case("resume", on_hold, ()),
    Case("replay", from_the_start, ()),
]

REFUSED = [
    ("reveal", {}, "no card lies face down"),
    ("confirm-result", {}, "no round is in progress"),
    ("enter-result", {}, "which outcome?"),
    ("enter-card", {}, "which card?"),
    ("enter-card", {"card": "AS"}, "no single card on the table"),
    ("correct-card", {"card": "AS"}, "which card, on which place?"),
    ("correct-card", {"card": "AS", "slot": "P3"}, "no card that was read lies on P3"),
    ("undo", {}, "can be undone"),
    ("void-round", {}, "no round of this shoe can be voided"),
    ("void-round", {"round": 7}, "no round 7 of this shoe can be voided"),
    ("acknowledge", {}, "no irregularity is open"),
    ("acknowledge", {"irregularity": 12}, "irregularity 12 is not open"),
    ("rule", {"irregularity": 12, "action": "void_round"}, "irregularity 12 is not open"),
    ("pass-shoe", {}, "the dealer draws the cards"),
    ("hold", {"kind": "burn_error"}, "a person cannot report 'burn_error'"),
    ("resume", {}, "the table is not on hold"),
    ("replay", {}, "from which event on?"),
    ("replay", {"from_seq": 2}, "the last event is 1"),
]


def test_every_verb_is_tried() -> None:
    assert {case.verb for case in CARRIED_OUT} == set(VERBS)


@pytest.mark.parametrize("case", CARRIED_OUT, ids=lambda case: case.verb)
def test_it_is_carried_out(tables: OpenPit, case: Case) -> None:
    pit = tables(case.text)
    fields = case.prepare(pit)
    answer = pit.order(case.verb, reason="I say so", **fields)
    name = case.verb.replace("-", "_")
    assert (answer["ok"], answer["refused"], answer["name"]) == (True, None, name)
    assert answer["seq"] == pit.seq
    for type_ in case.events:
        wait_for(lambda t=type_: set(seqs(pit, t)) & set(answer["events"]), type_)  # type: ignore[misc]
    if not case.events:
        assert answer["events"] == []
    order = pit.journaled()[-1]
    assert (order.name, order.id, order.refused) == (name, answer["id"], None)
    assert (order.operator, order.claimed, order.reason) == ("Maria", True, "I say so")


def seqs(pit: Pit, type_: str) -> list[int]:
    return [each.json["seq"] for each in pit.of(f"event/{type_}")]


@pytest.mark.parametrize(("verb", "fields", "why"), REFUSED)
def test_it_is_refused(quiet: Pit, verb: str, fields: dict[str, Any], why: str) -> None:
    answer = quiet.order(verb, **fields)
    assert not answer["ok"]
    assert why in answer["refused"]
    assert (answer["events"], answer["seq"], quiet.seq) == ([], 1, 1)
    journaled = {order.id: order.refused for order in quiet.journaled()}
    assert journaled.get(answer["id"]) == (None if verb == "replay" else answer["refused"])


def test_a_second_hold_is_accepted_and_changes_nothing(pit: Pit) -> None:
    on_hold(pit)
    seq = pit.seq
    for operator in ("Maria", "Ann"):
        answer = pit.order("hold", operator=operator)
        assert (answer["ok"], answer["refused"], answer["events"]) == (True, None, [])
    assert pit.seq == seq
    wait_for(lambda: pit.of("state")[-1].json["on_hold"], "the hold")


def test_a_ruling_has_to_fit(pit: Pit) -> None:
    fields = with_wrong_result(pit)
    answer = pit.order("rule", action="draw_now", **fields)
    assert answer["refused"] == "draw_now is no answer to result_mismatch"
    assert pit.order("rule", **fields)["refused"].startswith("no action None")
    assert pit.order("rule", action="supervisor", **fields)["ok"]


def test_a_corrected_card_flows_into_totals_result_and_counts(pit: Pit) -> None:
    with_correction(pit)
    (revised,) = pit.wait("event/result_revised")
    assert revised.json["data"]["before"]["outcome"] == "player"
    assert revised.json["data"]["after"]["outcome"] == "tie"
    assert revised.json["data"]["operator"] == "Maria"
    seq = revised.json["seq"]
    wait_for(lambda: pit.of("state")[-1].json["seq"] >= seq, "state")
    state = pit.of("state")[-1].json
    assert state["last_result"]["data"]["outcome"] == "tie"
    assert state["last_result"]["data"]["banker"]["total"] == 9
    assert (state["counts"]["player"], state["counts"]["tie"]) == (0, 1)
    wait_for(
        lambda: pit.of("result/last")[-1].json["result"]["data"]["outcome"] == "tie", "the result"
    )
    assert pit.order("undo")["ok"]
    wait_for(lambda: pit.of("state")[-1].json["counts"]["player"] == 1, "the way back")


def test_the_answer_to_a_correction_does_not_tell_a_hidden_face(tables: OpenPit) -> None:
    pit = tables('house = "chickasaw"')
    with_hidden_cards(pit)
    answers = [pit.order("correct-card", slot="B1", card=card) for card in ("3H", "4H")]
    assert [answer["ok"] for answer in answers] == [True, True]
    assert [answer["refused"] for answer in answers] == [None, None]

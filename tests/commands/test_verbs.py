"""
Every verb is carried out where it fits the table's state, otherwise refused with a
reason, and journaled in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.mqtt.commands import VERBS
from shoe_daemon.table.observations import CardDrawn, Command, Result, Unreadable
from tests.commands.command_table import Pit
from tests.commands.test_command_handler import Bench, bench, set_up
from tests.each_case import each_case
from tests.waiting import wait_for

__all__ = ["bench"]

PLAYER_WINS = ("P1:9S", "B1:2H", "P2:KD", "B2:5C")
HIDDEN = ("P1:2S", "B1:3H", "P2:2D", "B2:3C")


class Case(NamedTuple):
    verb: str
    prepare: Callable[[Bench], dict[str, Any]]
    events: tuple[str, ...]
    text: str = ""


def nothing(_bench: Bench) -> dict[str, Any]:
    return {}


def deal(bench: Bench, *cards: str) -> None:
    for slot, _, face in (each.partition(":") for each in cards):
        bench.core.observe(CardDrawn(slot=Slot(slot), card=Card(face)))


def with_round(bench: Bench) -> dict[str, Any]:
    deal(bench, "P1:9S", "B1:2H")
    return {}


def finish(bench: Bench) -> dict[str, Any]:
    deal(bench, *PLAYER_WINS)
    return {}


def with_hidden_cards(bench: Bench) -> dict[str, Any]:
    deal(bench, *HIDDEN)
    return {}


def with_wrong_result(bench: Bench) -> dict[str, Any]:
    deal(bench, *PLAYER_WINS)
    bench.core.observe(Result(outcome="banker"))
    (alert,) = bench.core.table.state.alerts
    return {"irregularity": alert.data.id}


def with_unread_card(bench: Bench) -> dict[str, Any]:
    deal(bench, "P1:9S")
    bench.core.observe(Unreadable(slot=Slot.B1))
    return {"card": "2H", "slot": "B1"}


def with_correction(bench: Bench) -> dict[str, Any]:
    finish(bench)
    assert bench.order("first", "correct-card", slot="B2", card="7C")["ok"]
    return {}


def on_hold(bench: Bench) -> dict[str, Any]:
    assert bench.order("first", "hold")["ok"]
    return {}


def correction(bench: Bench) -> dict[str, Any]:
    return {**finish(bench), "slot": "B2", "card": "7C"}


def ruling(bench: Bench) -> dict[str, Any]:
    return {**with_wrong_result(bench), "action": "void_round"}


def entry(_bench: Bench) -> dict[str, Any]:
    return {"outcome": "banker", "player_pair": False, "banker_pair": True}


def from_the_start(bench: Bench) -> dict[str, Any]:
    return {**finish(bench), "from_seq": 1}


def counted(bench: Bench) -> dict[str, Any]:
    assert bench.order("first", "new-shoe")["ok"]
    return {**finish(bench), "left": 400}


def reported(_bench: Bench) -> dict[str, Any]:
    return {"kind": "card_off_table", "slot": "P2"}


def signs_on(_bench: Bench) -> dict[str, Any]:
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
    ("replay", {"from_seq": 99}, "the last event is"),
]


def test_every_verb_is_tried() -> None:
    assert {case.verb for case in CARRIED_OUT} == set(VERBS)


def journaled(bench: Bench) -> list[Command]:
    return [each for each in bench.core.reader.observations() if isinstance(each, Command)]


@pytest.mark.parametrize("case", CARRIED_OUT, ids=lambda case: case.verb)
def test_it_is_carried_out(tmp_path: Path, case: Case) -> None:
    bench = Bench(set_up(tmp_path, case.text))
    fields = case.prepare(bench)
    bench.time.now += 1
    answer = bench.order("it", case.verb, reason="I say so", **fields)
    name = case.verb.replace("-", "_")
    assert (answer["ok"], answer["refused"], answer["name"]) == (True, None, name)
    assert answer["seq"] == bench.core.table.state.seq
    types = {each.seq: each.type for each in bench.core.written.events(0, 999)}
    caused = [types[number] for number in answer["events"]]
    assert set(case.events) <= set(caused)
    assert case.events or not caused
    order = journaled(bench)[-1]
    assert (order.name, order.id, order.refused) == (name, "it", None)
    assert (order.operator, order.claimed, order.reason) == ("Maria", True, "I say so")
    bench.core.close()


@each_case("verb, fields, why", REFUSED)
def test_it_is_refused(bench: Bench, verb: str, fields: dict[str, Any], why: str) -> None:
    bench.time.now += 1
    before, order_id = bench.core.table.state.seq, f"n{bench.time.now}"
    answer = bench.order(order_id, verb, **fields)
    assert not answer["ok"]
    assert why in answer["refused"]
    assert (answer["events"], answer["seq"], bench.core.table.state.seq) == ([], before, before)
    refused = {order.id: order.refused for order in journaled(bench)}
    assert refused.get(order_id) == (None if verb == "replay" else answer["refused"])


def test_a_second_hold_is_accepted_and_changes_nothing(bench: Bench) -> None:
    on_hold(bench)
    before = bench.core.table.state.seq
    for operator in ("Maria", "Ann"):
        answer = bench.order(operator, "hold", operator=operator)
        assert (answer["ok"], answer["refused"], answer["events"]) == (True, None, [])
    assert bench.core.table.state.seq == before
    assert bench.core.table.state.on_hold


def test_a_ruling_has_to_fit(bench: Bench) -> None:
    fields = with_wrong_result(bench)
    answer = bench.order("a", "rule", action="draw_now", **fields)
    assert answer["refused"] == "draw_now is no answer to result_mismatch"
    assert bench.order("b", "rule", **fields)["refused"].startswith("no action None")
    assert bench.order("c", "rule", action="supervisor", **fields)["ok"]


@pytest.mark.mosquitto
def test_a_corrected_card_flows_into_totals_result_and_counts(pit: Pit) -> None:
    pit.draw(*PLAYER_WINS)
    pit.wait("event/round_finished")
    assert pit.order("correct-card", slot="B2", card="7C")["ok"]
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


def test_the_answer_to_a_correction_does_not_tell_a_hidden_face(tmp_path: Path) -> None:
    bench = Bench(set_up(tmp_path, 'house = "chickasaw"'))
    deal(bench, *HIDDEN)
    answers = [bench.order(card, "correct-card", slot="B1", card=card) for card in ("3H", "4H")]
    assert [(answer["ok"], answer["refused"]) for answer in answers] == [(True, None)] * 2
    bench.core.close()

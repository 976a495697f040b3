"""A person decides before the reader reports: both concern one irregularity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.table.dealer import NATURAL, Dealer, ResultOn, RoundEnd, one

if TYPE_CHECKING:
    from shoe_daemon.table import Event


def dealer() -> Dealer:
    return Dealer(result_on=ResultOn.CONFIRMED, hold_from=3)


def rule(table: Dealer, action: str) -> list[Event]:
    return table.say(seen.Command(name="rule", action=action, operator="ann"))


def put_right(table: Dealer, slot: str, card: str, verb: str = "correct_card") -> list[Event]:
    order = seen.Command(name=verb, slot=Slot(slot), card=Card(card), operator="ann")
    assert table.table.refusal(order) is None
    return table.say(order)


@pytest.mark.parametrize("seen_before", [True, False])
def test_a_card_that_is_withdrawn_as_was_decided_is_no_second_one(*, seen_before: bool) -> None:
    table = dealer()
    table.deal(NATURAL)
    table.error("overdraw")
    if seen_before:
        table.outside()
    rule(table, "burn_card")
    if not seen_before:
        table.outside()
    table.say(seen.Withdrawn(card=Card("4D")))
    table.result("player")
    assert table.kinds() == ["excess_card"]
    assert table.open_kinds() == []
    assert table.out() == 5
    shoe = table.table.state.shoe
    assert shoe is not None
    assert shoe.seen[Card("4D").index] == 1
    assert len(table.finished()) == 1


@pytest.mark.parametrize("slot", ["P2", None])
def test_a_card_that_passed_unread_is_entered_before_the_next_one(slot: str | None) -> None:
    table = dealer()
    table.deal("P1 9S, B1 2H")
    table.error("unreadable")
    if slot is None:
        table.say(seen.Command(name="enter_card", card=Card("KD"), operator="ann"))
    else:
        put_right(table, slot, "KD", "enter_card")
    assert one(table.events, "irregularity_closed").operator == "ann"
    table.draw("KD", "P2")  # the reader has read it after all
    table.cleared("unreadable")
    table.draw("3C", "B2")
    table.result("player")
    (finished,) = table.finished()
    assert (finished.player.cards, finished.partial) == (("9S", "KD"), False)
    assert table.kinds() == ["unreadable_card"]


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("after_a_round", [True, False])
def test_one_that_passed_between_two_rounds_begins_the_next(
    *, slots: bool, after_a_round: bool
) -> None:
    mode = RoundEnd.AUTO if slots else RoundEnd.BUTTON
    table = Dealer(result_on=ResultOn.CONFIRMED, hold_from=3, round_end=mode)
    if after_a_round:
        table.deal(NATURAL, slots=slots)
        table.result("player")
    table.error("unreadable")
    put_right(table, "P1", "6S", "enter_card")
    table.cleared("unreadable")
    table.deal("B1 7H, P2 KD, B2 QC", slots=slots)
    table.result("banker")
    finished = table.finished()[-1]
    assert (finished.player.cards, finished.partial) == (("6S", "KD"), False)
    assert finished.banker.total == 7
    assert table.kinds() == ["unreadable_card"]
    assert table.open_kinds() == []
    assert len(table.finished()) == 1 + after_a_round


def test_a_card_that_was_due_after_all_is_laid_where_it_belongs() -> None:
    table = dealer()
    table.deal(NATURAL)  # the nine is an ace
    table.draw("4H", "P3")
    assert table.open_kinds() == ["excess_card"]
    said = put_right(table, "P1", "AS")
    assert one(said, "irregularity_closed").reason == "by the corrected cards the card was due"
    assert one(said, "card_dealt").slot is Slot.P3
    table.draw("2S", "B3")
    table.result("banker")
    (finished,) = table.finished()
    assert finished.player.cards == ("AS", "KD", "4H")
    assert finished.banker.cards == ("2H", "3C", "2S")
    assert table.out() == 6
    assert table.open_kinds() == []


def test_so_is_one_that_is_due_when_the_face_before_it_has_come() -> None:
    table = dealer()
    table.deal("P1 --, B1 --, P2 --, B2 --, P3 --, B3 --")
    table.disclose("P1 5S, B1 2S, P2 KD, B2 7C")  # the seven is an ace
    assert table.open_kinds() == ["excess_card", "excess_card"]
    put_right(table, "B2", "AC")
    assert table.open_kinds() == ["excess_card"]
    table.disclose("P3 2H, B3 9H")
    assert table.open_kinds() == []
    table.result("player")
    (finished,) = table.finished()
    assert finished.player.cards == ("5S", "KD", "2H")
    assert finished.banker.cards == ("2S", "AC", "9H")
    assert table.out() == 6

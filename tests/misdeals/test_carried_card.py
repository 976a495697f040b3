"""An excess card carried to the next round begins that round, and is counted once."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_daemon.table import observations as seen
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SQUEEZE, Burn, CutCard, RoundEnd, house, of_type, one

CARRIED = "P1 4C, B1 9H, P2 2D, B2 KS"
"""The next hand, with the card too many as its first: 6 against 9."""
REST = "B1 9H, P2 2D, B2 KS"
READERS = pytest.mark.parametrize("slots", [True, False], ids=["slots", "no slots"])


def button(*, slots: bool, action: str = "carry_to_next_hand", **options: Any) -> SupervisedTable:  # noqa: ANN401 - of the options
    """Deal a natural and a card too many, and choose to carry it."""
    mode = RoundEnd.DEVICE if slots else RoundEnd.BUTTON
    pit = SupervisedTable(round_end=mode, **options)
    pit.deal(NATURAL, slots=slots)
    pit.draw("4C", "P3" if slots else None)
    assert pit.kinds() == ["excess_card"]
    pit.rule(action)
    pit.result("player")
    return pit


@READERS
def test_it_begins_the_next_hand(*, slots: bool) -> None:
    pit = button(slots=slots)
    said = pit.deal(REST, slots=slots)
    dealt = [(str(each.slot), each.card) for each in of_type(said, "card_dealt")]
    assert dealt == [tuple(each.split()) for each in CARRIED.split(", ")]
    pit.result("banker")
    second = pit.finished()[1]
    assert (second.player.cards, second.banker.cards) == (("4C", "2D"), ("9H", "KS"))
    assert (second.kind, bool(second.wagers)) == ("normal", True)
    assert pit.kinds() == ["excess_card"]
    assert pit.closed() == [("carry_to_next_hand", "ann")]


@READERS
def test_as_a_dummy_hand_it_has_no_wagers_and_is_in_no_count(*, slots: bool) -> None:
    pit = button(slots=slots, action="carry_as_dummy_hand")
    before = pit.counts()
    pit.deal(REST, slots=slots)
    said = pit.result("banker")
    data = pit.finished()[1]
    assert (data.kind, data.wagers, data.outcome, data.partial) == ("dummy", (), "banker", False)
    assert pit.counts() == before == {"player": 1, "rounds": 1, "natural": 1}
    assert of_type(said, "irregularity") == []
    pit.deal(NATURAL, slots=slots)
    pit.result("player")
    assert pit.finished()[2].kind == "normal"
    assert pit.counts()["rounds"] == 2


def test_a_card_whose_face_is_hidden_stays_so() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE), round_end=RoundEnd.DEVICE)
    pit.deal(f"{NATURAL}, P3 4C")
    pit.result("player")
    pit.rule("carry_to_next_hand")
    said = pit.deal("B1 9H")
    assert [each.card for each in of_type(said, "card_dealt")] == [None, None]
    assert [each.card for each in of_type(said, "staff_card_dealt")] == ["4C", "9H"]


def test_the_right_one_of_two_is_carried() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal(NATURAL, slots=False)
    pit.draw("4C")
    pit.draw("5C")
    first, second = (alert.data for alert in pit.table.public().alerts)
    assert (first.card, second.card) == ("4C", "5C")
    pit.cmd("rule", action="carry_to_next_hand", irregularity=first.id)
    reason = pit.refused("rule", action="carry_to_next_hand", irregularity=second.id)
    assert "already" in reason
    pit.cmd("rule", action="burn_card", irregularity=second.id)
    pit.result("player")
    assert one(pit.draw("9H")[:3], "card_dealt").card == "4C"


def test_one_that_is_in_play_already_is_not_carried() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal(f"{NATURAL}, P3 4C", slots=False)
    pit.result("player")
    pit.deal(f"{NATURAL}, P3 5C", slots=False)
    older, newer = (alert.data.id for alert in pit.table.public().alerts)
    assert "in play" in pit.refused("rule", action="carry_to_next_hand", irregularity=older)
    pit.cmd("rule", action="carry_to_next_hand", irregularity=newer)


def test_a_person_decides_before_the_reader_has_shown_the_card() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.error("overdraw")
    assert "not been seen" in pit.refused("rule", action="carry_to_next_hand")


def test_no_card_is_carried_into_another_shoe() -> None:
    rules = house(cut_card=CutCard(mode="checked", hands_after=0))
    pit = SupervisedTable(rules, round_end=RoundEnd.DEVICE)
    pit.deal("P1 9S")
    pit.say(seen.CutCardSeen())
    pit.deal("B1 2H, P2 KD, B2 3C, P3 4C")
    assert "no other hand" in pit.refused("rule", action="carry_to_next_hand")
    pit.cmd("acknowledge")
    pit.result("player")
    assert one(pit.deal("P1 9S"), "card_dealt").card == "9S"


@pytest.mark.parametrize("action", ["carry_to_next_hand", "carry_as_dummy_hand"])
def test_a_new_shoe_forgets_it(action: str) -> None:
    pit = button(slots=False, action=action)
    pit.cmd("new_shoe")
    pit.deal(NATURAL, slots=False)
    pit.result("player")
    assert pit.finished()[1].kind == "normal"
    assert pit.finished()[1].player.cards == ("9S", "KD")
    assert pit.out() == 4


def test_cards_that_are_shuffled_back_count_anew() -> None:
    pit = SupervisedTable(
        house(reshuffle="per_hand", burn=Burn(mode="none")), round_end=RoundEnd.BUTTON
    )
    pit.deal(f"{NATURAL}, P3 4C", slots=False)
    pit.rule("carry_to_next_hand")
    pit.result("player")
    pit.deal(REST, slots=False)
    assert pit.out() == 4

"""
What a person did last is taken back, whole or not at all.
"""

from __future__ import annotations

from typing import Any

import pytest

from shoe_daemon.game.round import Slot
from shoe_daemon.table import observations as seen
from tests.misdeals.logs import DRAWS
from tests.misdeals.pit import Pit
from tests.table.dealer import NATURAL, SQUEEZE, house, of_type, one, types


def unread(**options: Any) -> Pit:  # noqa: ANN401 - any field of the options
    """
    Deal a round of which a card passed unread, and end it.
    """
    pit = Pit(**options)
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.P2))
    pit.deal("B2 3C")
    return pit


def test_nothing_can_be_undone_at_first_nor_in_a_new_shoe() -> None:
    pit = Pit()
    assert pit.refused("undo") == "no correction of this shoe can be undone"
    pit.deal(NATURAL)
    pit.cmd("correct_card", slot=Slot.B1, card="6H")
    pit.cmd("new_shoe")
    assert pit.refused("undo") == "no correction of this shoe can be undone"


def test_the_latest_first() -> None:
    pit = Pit()
    pit.deal(NATURAL)
    pit.result("player")
    seen_before = [pit.last().data]
    for slot, card in ((Slot.B1, "6H"), (Slot.P1, "2S"), (Slot.P1, "8S")):
        pit.cmd("correct_card", slot=slot, card=card)
        seen_before.append(pit.last().data if pit.last() else None)
    for before in reversed(seen_before[:-1]):
        pit.cmd("undo")
        assert (pit.last().data if pit.last() else None) == before
    pit.refused("undo")


@pytest.mark.parametrize("declared", ["player", None])
@pytest.mark.parametrize("late", [True, False])
def test_an_entered_card(declared: str | None, *, late: bool) -> None:
    pit = unread()
    if late:
        pit.result(declared)
        before = pit.last().data
        assert (before.partial, before.outcome) == (True, declared)
    pit.cmd("enter_card", card="KD")
    if not late:
        pit.result(declared)
    assert pit.last().data.partial is False
    assert pit.open_kinds() == []
    said = pit.cmd("undo")
    after = one(said, "result_revised").after
    assert after.player.cards == ("9S", None)
    assert (after.partial, after.wagers, after.banker.total) == (True, (), 5)
    assert after.outcome == declared
    assert [each.slot for each in of_type(said, "irregularity")] == ["P2"]
    assert pit.table.state.alerts[0].round == 1
    pit.cmd("enter_card", card="QD")
    assert pit.last().data.player.cards == ("9S", "QD")


def test_an_entered_card_of_a_round_that_is_held() -> None:
    pit = unread(hold_from=3)
    pit.cmd("hold")
    pit.cmd("enter_card", card="KD")
    pit.result("player")
    assert pit.table.public().held == (1,)
    pit.cmd("undo")
    pit.cmd("resume")
    pit.cmd("acknowledge")
    (data,) = pit.finished()
    assert (data.player.cards, data.partial, data.wagers) == (("9S", None), True, ())


def test_an_entered_card_before_the_round_is_whole() -> None:
    pit = Pit()
    pit.say(seen.Unreadable(slot=Slot.P1))
    pit.cmd("enter_card", card="9S")
    said = pit.cmd("undo")
    assert types(said) == ["card_corrected", "irregularity"]
    assert one(said, "card_corrected").before == "9S"
    pit.draw("9S", "P1")
    pit.deal("B1 2H, P2 KD, B2 3C")
    assert [each.outcome for each in pit.finished()] == ["player"]
    assert pit.out() == 4


def test_an_entered_card_that_lies_there_no_more() -> None:
    pit = unread()
    pit.result("player")
    before = pit.last().data
    pit.cmd("enter_card", card="KD")
    pit.draw("9S", "P1")
    said = pit.cmd("undo")
    assert pit.last().data == before
    assert {event.round for event in said} == {1}


def test_an_entered_result() -> None:
    pit = Pit()
    pit.cmd("enter_result", outcome="banker", player_pair=True)
    assert pit.counts() == {"rounds": 1, "banker": 1, "player_pair": 1}
    said = pit.cmd("undo")
    assert one(said, "result_revised").after is None
    assert pit.counts() == {}
    assert pit.last() is None
    pit.cmd("enter_result", outcome="tie")
    assert pit.counts() == {"rounds": 1, "tie": 1}


def test_an_entered_result_that_is_held() -> None:
    pit = Pit()
    pit.cmd("hold")
    pit.cmd("enter_result", outcome="banker")
    pit.cmd("undo")
    pit.cmd("resume")
    assert pit.finished() == []
    assert pit.table.public().held == ()


def test_a_round_that_was_voided_before_it_had_a_result() -> None:
    pit = Pit()
    pit.deal(NATURAL)
    pit.result("player")
    pit.cmd("correct_card", slot=Slot.B1, card="6H")
    pit.deal(DRAWS)
    pit.cmd("void_round")
    assert types(pit.cmd("undo")) == ["draw_due"]
    pit.draw("9D", "B3")
    pit.result("player")
    assert [data.outcome for data in pit.finished()] == ["player", "player"]


def test_a_held_round_that_was_voided() -> None:
    pit = Pit(house(dealing_style=SQUEEZE))
    pit.cmd("hold")
    pit.deal(NATURAL)
    pit.result("player")
    pit.cmd("void_round")
    said = pit.cmd("undo")
    assert types(said) == ["round_held"]
    assert pit.counts() == {}
    pit.cmd("resume")
    assert pit.counts() == {"rounds": 1, "player": 1, "natural": 1}


def test_a_correction_is_undone_in_the_round_that_it_was_made_in() -> None:
    pit = Pit()
    pit.deal(NATURAL)
    pit.result("player")
    pit.deal(NATURAL)
    pit.result("player")
    pit.cmd("correct_card", slot=Slot.B1, card="6H", round=1)
    pit.deal(NATURAL)
    said = pit.cmd("undo")
    assert {event.round for event in said} == {1}
    assert pit.counts()["player"] == 3


@pytest.mark.parametrize("ended", [True, False])
def test_no_draw_is_told_from_a_card_that_is_not_known_any_more(*, ended: bool) -> None:
    pit = unread()
    pit.cmd("enter_card", card="KD")
    if ended:
        pit.result("player")
    pit.cmd("undo")
    round_ = pit.table.public().round
    assert round_ is not None
    assert round_.draw_due is not None
    assert round_.draw_due.code == "faces_hidden"

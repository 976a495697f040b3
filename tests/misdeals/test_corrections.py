"""
A card was another one than was read: totals, draws, result, wagers, counts and
the board follow, and an undo takes it all back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.misdeals.irregularity_logs import DRAWS
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    BANKER_STANDS,
    NATURAL,
    RoundEnd,
    one,
    types,
)

if TYPE_CHECKING:
    from shoe_daemon.table import Event


def correct(pit: SupervisedTable, slot: str, card: str, **fields: Any) -> list[Event]:  # noqa: ANN401
    """Correct a card."""
    return pit.cmd("correct_card", slot=Slot(slot), card=card, **fields)


def finished(
    text: str = NATURAL, outcome: str = "player", *, ended: bool = True
) -> SupervisedTable:
    """Deal a round, and end it."""
    pit = SupervisedTable()
    pit.deal(text)
    if ended:
        pit.result(outcome)
    return pit


@pytest.mark.parametrize("ended", [True, False])
def test_the_result_and_all_that_rests_on_it_follow(*, ended: bool) -> None:
    pit = finished(ended=ended)
    (before,) = pit.finished()
    said = correct(pit, "B1", "6H")
    mismatch = ["irregularity"] * ended  # another winner was declared
    assert types(said) == ["card_corrected", *mismatch, "result_revised"]
    fixed = one(said, "card_corrected")
    assert (fixed.before, fixed.after, fixed.slot) == ("2H", "6H", "B1")
    assert (fixed.operator, fixed.reason) == ("ann", "as seen")
    revised = one(said, "result_revised")
    assert revised.before == before
    assert (revised.after.outcome, revised.after.banker.total) == ("tie", 9)
    assert {w.wager: w.result for w in revised.after.wagers}["tie"] == "win"
    assert pit.counts() == {"rounds": 1, "tie": 1, "natural": 1}
    assert pit.last().data == revised.after
    pit.cmd("undo")
    assert pit.counts() == {"rounds": 1, "player": 1, "natural": 1}
    assert pit.last().data == before


def test_a_draw_becomes_due() -> None:
    pit = finished("P1 7H, B1 5H, P2 10C, B2 3H", ended=False)
    assert len(pit.finished()) == 1
    said = correct(pit, "B1", "QS")
    assert types(said) == ["card_corrected", "result_revised", "irregularity", "draw_due"]
    assert one(said, "result_revised").after is None
    assert one(said, "irregularity").kind == "missing_draw"
    assert pit.counts() == {}
    said = pit.draw("QH", "B3")
    assert one(said, "result_revised").after.banker.cards == ("QS", "3H", "QH")
    assert one(said, "irregularity_closed").action == "draw_now"
    pit.result("player")
    assert pit.counts() == {"rounds": 1, "player": 1}
    assert len(pit.finished()) == 1


def test_a_card_becomes_one_too_many_and_not_after_an_undo() -> None:
    pit = finished(BANKER_STANDS)
    (before,) = pit.finished()
    said = correct(pit, "P1", "6S")
    found = one(said, "irregularity")
    assert (found.kind, found.card) == ("excess_card", "4S")
    after = one(said, "result_revised").after
    assert (after.player.cards, after.player.natural, after.outcome) == (
        ("6S", "3D"),
        True,
        "player",
    )
    assert pit.out() == 5
    said = pit.cmd("undo")
    assert one(said, "result_revised").after == before
    assert pit.open_kinds() == []
    assert pit.out() == 5


def test_a_card_that_was_called_too_many_was_due_after_all() -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S, B1 7H, P2 3D, B2 QC, P3 4S")  # the nine is a two, misread
    assert pit.kinds() == []
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal("P1 5S, B1 7H, P2 3D, B2 QC, P3 4S", slots=False)  # the five is a two
    assert pit.open_kinds() == ["excess_card"]
    said = correct(pit, "P1", "2S")
    assert one(said, "card_dealt").slot == "P3"
    assert one(said, "result_revised").after.player.cards == ("2S", "3D", "4S")
    assert pit.open_kinds() == []
    pit.result("player")
    assert pit.out() == 5


@pytest.mark.parametrize("result", [True, False])
def test_a_round_that_came_to_nothing_has_no_result_to_follow(*, result: bool) -> None:
    pit = SupervisedTable()
    pit.deal(DRAWS)
    pit.say(seen.Result(forced=True)) if result else pit.cmd("void_round")
    said = correct(pit, "B1", "5H")  # by which the Banker has a natural
    assert types(said) == ["card_corrected"]
    said = correct(pit, "B1", "2D")
    assert types(said) == ["card_corrected"]
    assert pit.finished() == []
    assert pit.counts() == {}


def test_a_void_round_stays_void() -> None:
    pit = finished("P1 7H, B1 5H, P2 10C, B2 3H", ended=False)
    pit.cmd("void_round")
    assert types(correct(pit, "B1", "QS")) == ["card_corrected"]
    pit.result("banker")
    assert pit.counts() == {}
    pit.cmd("undo")
    said = pit.cmd("undo")
    assert one(said, "result_revised").after.banker.cards == ("5H", "3H")
    assert pit.counts() == {"rounds": 1, "banker": 1, "natural": 1}


def test_a_round_of_which_a_card_is_not_known() -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.P2))
    pit.deal("B2 3C")
    pit.result("player")
    (before,) = pit.finished()
    assert (before.partial, before.banker.total) == (True, 5)
    revised = one(correct(pit, "B1", "4H"), "result_revised").after
    assert (revised.banker.cards, revised.banker.total) == (("4H", "3C"), 7)
    assert (revised.player.cards, revised.outcome, revised.partial) == (
        ("9S", None),
        "player",
        True,
    )
    pit.deal(NATURAL)
    pit.result("player")
    revised = one(correct(pit, "B1", "5H", round=1), "result_revised").after
    assert (revised.banker.cards, revised.banker.total) == (("5H", "3C"), 8)
    revised = one(correct(pit, "P1", "8S", round=1), "result_revised").after
    assert (revised.player.cards, revised.player.total) == (("8S", None), None)


def test_refused_where_nothing_lies() -> None:
    pit = finished()
    missing = "no card that was read lies on B3 of that round"
    assert pit.refused("correct_card", slot=Slot.B3, card="2S") == missing
    assert pit.refused("correct_card", slot=Slot.B1, card="2H") == "it is that card already"
    assert pit.refused("correct_card", slot=Slot.B1, card="2S", round=7)
    assert pit.refused("correct_card", slot=Slot.B1).startswith("which card")
    assert pit.refused("correct_card", card="2S").startswith("which card")


class TestWhatACorrectionDisproves:
    """The card was read wrongly, and that was all: no second order is needed."""

    @staticmethod
    def assert_closed(pit: SupervisedTable, kind: str, slot: str, card: str) -> None:
        """Correct the card, then undo it: the irregularity is closed, and open again."""
        assert pit.open_kinds() == [kind]
        (number,) = [each.data.id for each in pit.table.public().alerts]
        said = correct(pit, slot, card)
        closed = one(said, "irregularity_closed")
        assert (closed.id, closed.action, closed.operator) == (number, "continue", "ann")
        assert closed.reason == "by the corrected cards nothing is wrong"
        assert pit.open_kinds() == []
        assert pit.table.public().held == ()
        pit.cmd("undo")
        assert pit.open_kinds() == [kind]
        assert pit.id_of(kind) == number

    @pytest.mark.parametrize("later", [False, True])
    def test_the_declared_result_agrees(self, *, later: bool) -> None:
        pit = SupervisedTable(hold_from=3, result_on="confirmed")
        pit.deal("P1 9S, B1 2H, P2 KD, B2 6C")  # the nine is an eight
        pit.result("tie")
        if later:
            pit.deal(NATURAL)
            pit.result("player")
        assert len(pit.finished()) == later
        said = correct(pit, "P1", "8S", round=1)
        assert types(said)[:2] == ["card_corrected", "irregularity_closed"]
        assert "round_released" in types(said)
        assert one(said, "round_finished").outcome == "tie"
        pit.cmd("undo")
        assert pit.open_kinds() == ["result_mismatch"]
        assert pit.table.public().held == (1,)

    def test_another_declaration_is_no_correction(self) -> None:
        pit = SupervisedTable(hold_from=3, result_on="confirmed")
        pit.deal(NATURAL)
        pit.result("banker")
        pit.result("player")
        assert pit.open_kinds() == ["result_mismatch"]

    def test_the_card_lies_with_the_right_hand(self) -> None:
        pit = SupervisedTable()
        pit.deal("P1 2S, B1 2H, P2 3D, B2 3C")  # the two is a four: the Player stands
        pit.deal("B3 9D")
        self.assert_closed(pit, "wrong_hand", "P1", "4S")

    def test_no_card_is_there_too_often(self) -> None:
        pit = SupervisedTable(decks=1)
        pit.deal("P1 9S, B1 2H, P2 KD, B2 9S")
        self.assert_closed(pit, "duplicate_card", "B2", "9C")


def test_an_end_confirmed_after_a_correction_gives_the_missing_card_up() -> None:
    pit = SupervisedTable(round_end="button")
    pit.deal("P1 JS, B1 4C, P2 10S, B2 5D", slots=False)
    correct(pit, "B2", "8C")  # the Player draws, and the dealer goes on
    pit.cmd("confirm_result")
    pit.deal("P1 8D, B1 KC, P2 9D, B2 7S", slots=False)
    pit.cmd("confirm_result")
    assert [data.outcome for data in pit.finished()][-1] == "tie"

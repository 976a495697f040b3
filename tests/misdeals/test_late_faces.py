"""Faces that come after the end of their round: from the reader, or entered by a person."""

from __future__ import annotations

import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    NATURAL,
    SIX,
    SQUEEZE,
    TUCKED,
    DealingStyle,
    ResultOn,
    RoundEnd,
    cards,
    house,
    of_type,
    one,
    types,
)

LATE = pytest.mark.parametrize("style", [SQUEEZE, TUCKED])


@LATE
def test_the_reader_discloses_an_unread_card_after_the_result(style: DealingStyle) -> None:
    pit = SupervisedTable(house(dealing_style=style), round_end=RoundEnd.DEVICE, hold_from=3)
    pit.deal("P1 9S, B1 2H, P2 KD")
    pit.say(seen.Unreadable(slot=Slot.B2))
    pit.result("player")
    assert pit.open_kinds() == ["unreadable_card"]
    pit.disclose("B2 3C")
    assert pit.open_kinds() == []
    finished = one(pit.events, "round_finished")
    assert (finished.banker.cards, finished.partial) == (cards("2H 3C"), False)


@LATE
def test_faces_after_the_result_complete_the_round_at_once(style: DealingStyle) -> None:
    pit = SupervisedTable(house(dealing_style=style), round_end=RoundEnd.DEVICE)
    pit.deal(SIX, hidden=True)
    pit.result("player")
    pit.disclose(SIX)
    revised = one(pit.events, "result_revised")
    assert (revised.before.partial, revised.after.partial) == (True, False)
    assert [data.card for data in of_type(pit.events, "card_disclosed")] == list(
        cards("2S 2H 3D QC 4S 5D")
    )
    assert all(view.card for view in pit.table.public().round.cards)  # type: ignore[union-attr]


def test_a_late_face_is_compared_with_the_declared_winner() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE), round_end=RoundEnd.DEVICE, hold_from=3)
    pit.deal(NATURAL, hidden=True)
    pit.result("banker")
    pit.disclose(NATURAL)
    assert pit.kinds() == ["result_mismatch"]
    assert [each.after for each in of_type(pit.events, "result_revised")] == [None]
    assert pit.table.public().held == (1,)


def test_a_late_face_of_a_void_round_shows_nothing() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE), round_end=RoundEnd.DEVICE)
    pit.deal(NATURAL, hidden=True)
    pit.cmd("void_round")
    told = len(pit.events)
    pit.disclose(NATURAL)
    assert set(types(pit.events[told:])) == {"staff_card_dealt"}


@pytest.mark.parametrize("style", list(DealingStyle))
def test_silence_aborts_no_round_that_lacks_a_card_by_a_correction(style: DealingStyle) -> None:
    pit = SupervisedTable(house(dealing_style=style), round_end=RoundEnd.QUIET)
    pit.deal("P1 7S, B1 2D, P2 10C, B2 6C", slots=False)
    if style is not DealingStyle.FACE_UP:
        pit.cmd("reveal")
    pit.cmd("correct_card", slot=Slot.B2, card="10D")
    pit.say(seen.Tick(), 20)
    pit.deal("B3 9S", slots=False)
    assert "round_aborted" not in types(pit.events)
    assert len(pit.table.public().round.cards) == 5  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", [RoundEnd.BUTTON, RoundEnd.QUIET])
def test_a_reveal_deals_the_cards_that_are_due_after_a_correction(mode: RoundEnd) -> None:
    rules = house(dealing_style=SQUEEZE)
    pit = SupervisedTable(rules, round_end=mode, result_on=ResultOn.CONFIRMED)
    pit.deal("P1 2S, B1 8C, P2 JH, B2 JH", slots=False)
    pit.cmd("reveal")
    pit.deal("P3 QS, B3 9D", slots=False)
    assert pit.open_kinds() == ["excess_card", "excess_card"]
    pit.cmd("correct_card", slot=Slot.B1, card="2H")
    if mode is RoundEnd.BUTTON:
        pit.result("player")
    else:
        pit.cmd("reveal")
        pit.say(seen.Tick(), 11)
    assert pit.open_kinds() == []
    assert pit.table.state.round.ended  # type: ignore[union-attr]
    (past,) = pit.table.history().rounds
    assert (past.player, past.banker) == (cards("2S JH QS"), cards("2H JH 9D"))

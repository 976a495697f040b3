"""
The winner and the pairs that were declared stay with the round: every later change of its
cards is compared with them again.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.checks.result_mismatch import possible_outcomes
from shoe_daemon.table.next_card import HIDDEN_POINTS
from tests.misdeals.supervised_table import SupervisedTable
from tests.table import reference_rules
from tests.table.dealer import NATURAL, of_type, one

if TYPE_CHECKING:
    from collections.abc import Sequence


def unread(*, hold_from: int | None = 3) -> SupervisedTable:
    """Deal a round whose P2 passed unread; the device declares the Player."""
    pit = SupervisedTable(hold_from=hold_from)
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.P2))
    pit.deal("B2 6C")
    pit.result("player", pairs="")
    return pit


def test_a_typing_error_in_an_entered_card_is_held() -> None:
    pit = unread()
    pit.cmd("enter_card", card="9D")  # in place of KD
    assert pit.open_kinds() == ["result_mismatch"]
    assert pit.finished() == []
    (alert,) = pit.table.public().alerts
    assert alert.round == 1
    assert alert.data.detail.startswith("winner: declared player, the cards give tie;")
    pit.cmd("correct_card", slot=Slot.P2, card="8D")  # as wrong
    assert pit.open_kinds() == ["result_mismatch"]
    assert pit.finished() == []
    pit.cmd("correct_card", slot=Slot.P2, card="KD")
    assert pit.open_kinds() == []
    assert [data.outcome for data in pit.finished()] == ["player"]


@pytest.mark.parametrize("later", [False, True])
def test_a_correction_against_the_declared_winner_takes_the_result_back(*, later: bool) -> None:
    pit = SupervisedTable(hold_from=3)
    pit.deal(NATURAL)
    pit.result("player")
    if later:
        pit.deal(NATURAL)
        pit.result("player")
    said = pit.cmd("correct_card", slot=Slot.B1, card="6H", round=1)
    mismatch = next(event for event in said if event.type == "irregularity")
    assert mismatch.round == 1
    assert pit.open_kinds() == ["result_mismatch"]
    assert one(said, "result_revised").after is None
    assert pit.table.public().held == (1,)
    said = pit.cmd("acknowledge")
    assert one(said, "result_revised").after.outcome == "tie"
    assert pit.counts()["tie"] == 1


def test_a_declared_pair_is_compared_again() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.result("player", pairs="")
    pit.cmd("correct_card", slot=Slot.P2, card="9D")
    assert pit.open_kinds() == ["result_mismatch"]


@pytest.mark.parametrize(("declared", "wrong"), [("banker", True), ("tie", False)])
def test_a_winner_that_no_card_could_give_is_reported_in_a_partial_round(
    declared: str, *, wrong: bool
) -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S")
    pit.say(seen.Gap())
    pit.deal("P2 KD")
    pit.result(declared)
    assert pit.kinds() == ["result_mismatch"] * wrong
    if wrong:
        (said,) = of_type(pit.events, "irregularity")
        assert said.detail_code == "impossible_winner"
    assert pit.finished()[0].partial


def points(cards: Sequence[str]) -> tuple[tuple[int | None, ...], Outcome]:
    """Return the points of a coup by place, and its outcome, by the oracle."""
    coup = reference_rules.deal(list(cards))
    found: list[int | None] = [None] * 6
    worth = {str(card): card.points for card in DECK}
    for side, hand in enumerate((coup.player, coup.banker)):
        for place, card in enumerate(hand):
            found[side + 2 * place] = worth[card]
    return tuple(found), Outcome(coup.outcome)


def test_the_possible_outcomes_of_a_coup_are_those_of_all_cards_that_may_lie_there() -> None:
    faces = ["KS", "2S", "6S", "7S", "9S"]
    for cards in product(faces, repeat=6):
        known, outcome = points(cards)
        assert possible_outcomes(known, partial=False) == {outcome}
        for spot in range(6):
            if known[spot] is not None:
                unread = (*known[:spot], HIDDEN_POINTS, *known[spot + 1 :])
                assert outcome in possible_outcomes(unread, partial=False)
            missed = (*known[:spot], None, *known[spot + 1 :])
            assert outcome in possible_outcomes(missed, partial=True)
        if cards[0] != faces[0]:
            break

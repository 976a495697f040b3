"""Declared results, from the reader or the dealer's button, are compared with the cards."""

from __future__ import annotations

import pytest

from shoe_daemon.table.options import ResultOn, RoundEnd
from tests.each_case import each_case
from tests.table.dealer import NATURAL, SIX, SQUEEZE, TIE, Dealer, house, kinds, one, types

PAIRS = "P1 9S, B1 2H, P2 9D, B2 2C"
"""Both hands are pairs; 8 against 4."""
BOTH_ENDS = pytest.mark.parametrize("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON])


@BOTH_ENDS
@each_case("declared", ["player", "banker", "tie"])
@each_case("text, won", [(SIX, "player"), (TIE, "tie"), (NATURAL, "player")])
def test_another_winner_is_a_mismatch(mode: RoundEnd, declared: str, text: str, won: str) -> None:
    dealer = Dealer(round_end=mode)
    dealer.deal(text)
    said = dealer.result(declared)
    assert kinds(said) == ([] if declared == won else ["result_mismatch"])
    assert dealer.finished()[0].outcome == won  # what the cards give
    if said:
        found = one(said, "irregularity")
        assert found.severity == 3
        assert found.detail == f"winner: declared {declared}, the cards give {won}."


@pytest.mark.parametrize("pairs", ["", "p", "b", "pb"])
@pytest.mark.parametrize(("text", "true"), [(PAIRS, "pb"), (NATURAL, "")])
def test_another_pair_is_a_mismatch(text: str, true: str, pairs: str) -> None:
    dealer = Dealer()
    dealer.deal(text)
    dealer.result("player", pairs=pairs)
    assert dealer.kinds() == ([] if pairs == true else ["result_mismatch"])


def test_what_is_not_said_is_not_compared() -> None:
    dealer = Dealer()
    dealer.deal(PAIRS)
    assert dealer.result() == []
    assert dealer.kinds() == []


@pytest.mark.parametrize("result_on", list(ResultOn))
def test_the_mismatch_comes_before_a_result_that_waited_for_it(result_on: ResultOn) -> None:
    dealer = Dealer(result_on=result_on)
    dealer.deal(SIX)
    said = types(dealer.result("banker"))
    waited = result_on is ResultOn.CONFIRMED
    assert said == ["irregularity", "round_finished"] if waited else said == ["irregularity"]


def test_hidden_faces_are_compared_when_they_are_shown() -> None:
    dealer = Dealer(house(dealing_style=SQUEEZE))
    dealer.deal(SIX)
    said = dealer.result("banker")
    assert types(said)[-3:] == ["irregularity", "draw_due", "round_finished"]
    assert kinds(said) == ["result_mismatch"]


def test_of_a_round_that_is_over_nothing_is_turned_over_or_missed() -> None:
    dealer = Dealer()
    dealer.deal(SIX, hidden=True)
    dealer.order("confirm_result")
    dealer.disclose("P1 2S, B1 2H")
    assert set(types(dealer.result("player"))) <= {"irregularity"}
    assert "missing_draw" not in dealer.kinds()


class TestForced:
    @BOTH_ENDS
    def test_it_aborts_a_round_that_is_not_whole(self, mode: RoundEnd) -> None:
        dealer = Dealer(round_end=mode)
        dealer.deal("P1 2S, B1 7H, P2 3D, B2 QC")
        said = dealer.result(forced=True)
        assert one(said, "round_aborted").cause == "forced"
        assert dealer.kinds() == []
        assert "round_started" in types(dealer.draw("AC"))
        assert dealer.out() == 5

    def test_as_an_outcome_too(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S")
        assert one(dealer.result("forced"), "round_aborted").cause == "forced"

    def test_of_cards_face_down_it_shows_none(self) -> None:
        dealer = Dealer(house(dealing_style=SQUEEZE))
        dealer.deal(SIX)
        assert types(dealer.result(forced=True)) == ["round_aborted"]

    def test_after_the_result_was_published_it_is_a_mismatch(self) -> None:
        dealer = Dealer()
        dealer.deal(SIX)
        assert kinds(dealer.result(forced=True)) == ["result_mismatch"]
        assert "round_started" in types(dealer.draw("AC"))

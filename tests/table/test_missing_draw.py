"""A card too few: the round stays open until the card comes, or the next P1."""

from __future__ import annotations

import pytest

from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import ResultOn, RoundEnd
from tests.each_case import each_case
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    NATURAL,
    SQUEEZE,
    TUCKED,
    Dealer,
    house,
    of_type,
    one,
    types,
)

# What was dealt, what was due, whose it is, the card that makes it good.
MISSING = {
    "player_third": ("P1 2S, B1 7H, P2 3D, B2 QC", "P3", "Player", "P3 4S"),
    "banker_third": ("P1 6S, B1 2H, P2 KD, B2 3C", "B3", "Banker", "B3 9D"),
    "banker_after_player": ("P1 2S, B1 2H, P2 3D, B2 QC, P3 4S", "B3", "Banker", "B3 5D"),
    "banker_second": ("P1 9S, B1 7H, P2 KD", "B2", "Banker", "B2 QC"),
}
ENDS = {
    "result": seen.Result(outcome="banker", player_pair=True, banker_pair=True),
    "button": seen.Command(name="confirm_result"),
    "cleared": seen.TableCleared(),
    "betting": seen.BettingOpen(),
}


@each_case("case", MISSING)
@each_case("end", ENDS)
@each_case("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON, RoundEnd.QUIET])
def test_an_end_before_the_last_card_is_one_missing_draw(
    case: str, end: str, mode: RoundEnd
) -> None:
    text, slot, whose, _ = MISSING[case]
    dealer = Dealer(round_end=mode)
    dealer.deal(text)
    said = dealer.say(ENDS[end])
    found = one(said, "irregularity")
    assert (found.kind, found.severity, found.slot) == ("missing_draw", 3, slot)
    assert whose in found.detail
    assert types(said) == ["irregularity"]
    dealer.say(ENDS[end])
    assert dealer.kinds() == ["missing_draw"]
    assert dealer.finished() == []


@each_case("case", MISSING)
@each_case("end", ENDS)
@each_case("result_on", list(ResultOn))
@each_case("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON, RoundEnd.QUIET])
def test_the_card_closes_it_and_ends_the_round(
    case: str, end: str, result_on: ResultOn, mode: RoundEnd
) -> None:
    text, _, _, card = MISSING[case]
    dealer = Dealer(round_end=mode, result_on=result_on)
    dealer.deal(text)
    dealer.say(ENDS[end])
    said = dealer.deal(card)
    assert types(said) == ["card_dealt", "irregularity_closed", "draw_due", "round_finished"]
    assert one(said, "irregularity_closed").action == "draw_now"
    assert one(said, "round_finished").partial is False
    assert dealer.kinds() == ["missing_draw"]
    assert "round_started" in types(dealer.draw("AC"))  # the round is over


@pytest.mark.parametrize("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON, RoundEnd.QUIET])
def test_the_next_p1_aborts_the_round(mode: RoundEnd) -> None:
    dealer = Dealer(round_end=mode)
    dealer.deal("P1 2S, B1 7H, P2 3D, B2 QC")
    dealer.result("banker")
    said = dealer.draw("AC", "P1")
    assert one(said, "round_aborted").cause == "new_round"
    assert of_type(said, "irregularity_closed") == []
    assert dealer.open_kinds() == ["missing_draw"]
    assert said[-1].round == 2
    assert dealer.finished() == []
    assert dealer.kinds() == ["missing_draw"]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("style", [TUCKED, SQUEEZE])
def test_with_cards_face_down_it_is_said_of_cards_that_are_shown(style: str, end: str) -> None:
    dealer = Dealer(house(dealing_style=style), reveal_after=None)
    dealer.deal("P1 2S, B1 7H, P2 3D, B2 QC")
    said = dealer.say(ENDS[end])
    assert types(said)[-2:] == ["irregularity", "draw_due"]
    assert set(types(said)[:-2]) == {"card_disclosed"}


def test_no_more_bets_in_the_midst_of_a_round_is_no_end() -> None:
    dealer = Dealer()
    dealer.deal("P1 2S, B1 7H")
    assert dealer.say(seen.NoMoreBets()) == []


DECLARED_ENDS = {
    "result": seen.Result(outcome="player"),
    "button": seen.Result(),
    "confirmed": seen.Command(name="confirm_result"),
    "cleared": seen.TableCleared(),
    "betting open": seen.BettingOpen(),
}
MISSED = "P1 6S, B1 2H, P2 KD, B2 3C"
"""The Banker is to draw on 5."""


@each_case("mode", [RoundEnd.BUTTON, RoundEnd.QUIET, RoundEnd.RULES])
@each_case("end", sorted(DECLARED_ENDS))
def test_without_places_the_next_card_is_the_next_rounds_first(mode: RoundEnd, end: str) -> None:
    dealer = Dealer(round_end=mode, hold_from=3)
    dealer.deal(MISSED, slots=False)
    dealer.say(DECLARED_ENDS[end])
    assert dealer.open_kinds() == ["missing_draw"]
    dealer.wait(30)
    said = dealer.draw("9S")
    assert one(said, "round_aborted").cause == "new_round"
    assert said[-1].round == 2
    dealer.deal("B1 2H, P2 KD, B2 4C", slots=False)
    dealer.say(DECLARED_ENDS[end])
    assert [(data.player.cards, data.partial) for data in dealer.finished()] == [
        (("9S", "KD"), False)
    ]
    assert set(dealer.open_kinds()) - {"premature_draw"} == {"missing_draw"}


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("end", sorted(DECLARED_ENDS))
def test_a_ruling_to_play_on_ends_the_round(end: str, *, slots: bool) -> None:
    pit = SupervisedTable(round_end=RoundEnd.DEVICE if slots else RoundEnd.BUTTON, hold_from=3)
    pit.deal(MISSED, slots=slots)
    pit.say(DECLARED_ENDS[end])
    said = pit.rule("continue")
    assert one(said, "round_aborted").cause == "new_round"
    assert pit.open_kinds() == []
    for _ in range(3):
        pit.deal(NATURAL, slots=slots)
        pit.result("player")
    assert [data.player.cards for data in pit.finished()] == [("9S", "KD")] * 3
    assert all(not data.partial for data in pit.finished())


def test_the_next_rounds_tucked_card_is_not_shown_as_its_first() -> None:
    dealer = Dealer(house(dealing_style=TUCKED), round_end=RoundEnd.BUTTON)
    dealer.deal(MISSED, slots=False)
    dealer.say(seen.Result(outcome="player"))
    said = dealer.deal("P1 9S, B1 2H", slots=False)
    assert [(data.slot, data.card) for data in of_type(said, "card_dealt")] == [
        ("P1", "9S"),
        ("B1", None),
    ]


@pytest.mark.parametrize("slots", [True, False])
def test_the_next_rounds_no_more_bets_is_an_end_too(*, slots: bool) -> None:
    dealer = Dealer(round_end=RoundEnd.DEVICE if slots else RoundEnd.BUTTON)
    dealer.say(seen.NoMoreBets())
    dealer.deal("P1 6S, B1 2H", slots=slots)
    assert dealer.say(seen.NoMoreBets()) == []  # pressed twice
    dealer.deal("P2 KD, B2 3C", slots=slots)
    said = dealer.say(seen.NoMoreBets())
    assert one(said, "irregularity").kind == "missing_draw"
    said = dealer.deal(NATURAL, slots=slots)
    assert one(said, "round_aborted").cause == "new_round"
    assert [data.player.cards for data in dealer.finished()] == [("9S", "KD")]
    assert dealer.kinds() == ["missing_draw"]

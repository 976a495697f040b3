"""The time at which each face is public: every dealing style, both disclosure modes."""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.table.dealer import (
    FACE_UP,
    NATURAL,
    SIX,
    SQUEEZE,
    TUCKED,
    Dealer,
    house,
    of_type,
    one,
    types,
)

STYLES = [FACE_UP, TUCKED, SQUEEZE]


def faces(dealer: Dealer) -> dict[str, str | None]:
    """Say what a display shows on each place."""
    round_ = dealer.table.public().round
    assert round_ is not None
    return {str(view.slot): view.card and view.card.value for view in round_.cards}


def last_due(dealer: Dealer) -> str:
    """Return the code of the last word on who draws."""
    code: str = of_type(dealer.events, "draw_due")[-1].code
    return code


class TestFaceUp:
    def test_every_card_is_public_at_the_draw(self) -> None:
        dealer = Dealer(house(dealing_style=FACE_UP))
        for each in SIX.split(", "):
            slot, face = each.split()
            dealt = one(dealer.deal(each), "card_dealt")
            assert (dealt.slot, dealt.card) == (slot, face)
        assert of_type(dealer.events, "card_disclosed") == []
        assert of_type(dealer.events, "staff_card_dealt") == []


class TestBankerTucked:
    rules = house(dealing_style=TUCKED)

    def test_only_the_bankers_first_two_wait(self) -> None:
        dealer = Dealer(self.rules, reveal_after=None)
        dealer.deal(SIX)
        assert faces(dealer) == {
            "P1": "2S", "B1": None, "P2": "3D", "B2": None, "P3": "4S", "B3": "5D",
        }  # fmt: skip
        staff = of_type(dealer.events, "staff_card_dealt")
        assert [(data.slot, data.card) for data in staff] == [("B1", "2H"), ("B2", "QC")]

    def test_an_order_reveals_them(self) -> None:
        dealer = Dealer(self.rules, reveal_after=None)
        dealer.deal(SIX)
        said = dealer.order("reveal")
        assert types(said) == ["card_disclosed"] * 2 + ["draw_due", "round_finished"]
        assert [(data.card, data.banker_total) for data in of_type(said, "card_disclosed")] == [
            ("2H", None),
            ("QC", 7),
        ]
        assert dealer.order("reveal") == []

    @pytest.mark.parametrize("seconds", [0, 3, 7.5])
    def test_they_count_as_seen_some_seconds_after_the_fourth_card(self, seconds: float) -> None:
        dealer = Dealer(self.rules, reveal_after=seconds)
        dealer.deal(NATURAL)
        if seconds:
            assert dealer.wait(seconds - 0.001) == []
        said = dealer.wait(0.001)
        assert types(said) == ["card_disclosed"] * 2 + ["draw_due", "round_finished"]

    def test_the_time_runs_from_the_fourth_card_only(self) -> None:
        dealer = Dealer(self.rules, reveal_after=3)
        dealer.deal("P1 2S, B1 2H, P2 3D, B2 QC")
        dealer.disclose("B1 2H")
        dealer.say(seen.Placed(slot=Slot.P1, card=Card("2S")))
        said = dealer.wait(1)
        assert one(said, "card_disclosed").slot == "B2"
        assert one(said, "draw_due").code == "player_draws"

    def test_a_card_whose_place_is_unknown_may_be_the_bankers_and_waits(self) -> None:
        dealer = Dealer(self.rules, reveal_after=None, round_end=RoundEnd.QUIET)
        dealer.draw("9S")
        dealer.gap()
        assert one(dealer.draw("2H"), "card_dealt").card is None

    @pytest.mark.parametrize("mode", [RoundEnd.DEVICE, RoundEnd.QUIET])
    def test_when_the_next_round_begins_they_have_been_seen(self, mode: RoundEnd) -> None:
        dealer = Dealer(self.rules, reveal_after=None, round_end=mode)
        dealer.deal(SIX)
        dealer.wait(60)
        assert dealer.finished() == []
        said = dealer.draw("4C", "P1")
        assert types(said)[:5] == [
            "card_disclosed",
            "card_disclosed",
            "draw_due",
            "round_finished",
            "betting_closed",
        ]
        assert one(said, "round_finished").partial is False


class TestSqueeze:
    rules = house(dealing_style=SQUEEZE)

    def test_faces_come_as_the_players_turn_them(self) -> None:
        dealer = Dealer(self.rules)
        dealer.deal("P1 2S, B1 2H, P2 3D, B2 QC")
        for each in ("P1 2S", "B2 QC", "P2 3D"):
            assert types(dealer.disclose(each)) == ["card_disclosed"]
        said = dealer.disclose("B1 2H")
        assert one(said, "draw_due").code == "player_draws"
        assert one(said, "card_disclosed").player_total == 5

    def test_a_result_shows_all(self) -> None:
        dealer = Dealer(self.rules)
        dealer.deal(SIX)
        said = dealer.result("player")
        assert types(said) == ["card_disclosed"] * 6 + ["draw_due", "round_finished"]
        assert one(said, "draw_due").code == "complete"

    @pytest.mark.parametrize("mode", [RoundEnd.QUIET, RoundEnd.RULES])
    def test_neither_silence_nor_the_rules_turn_cards_over(self, mode: RoundEnd) -> None:
        dealer = Dealer(self.rules, round_end=mode)
        dealer.deal(SIX, slots=False)
        dealer.wait(3600)
        assert of_type(dealer.events, "card_disclosed") == []
        assert "round_finished" in types(dealer.order("reveal"))
        dealer.draw("4C")
        assert dealer.kinds() == []
        assert dealer.table.public().counts.rounds == 1
        assert dealer.events[-1].round == 2

    def test_a_card_too_many_stays_one_wherever_its_face_is_turned(self) -> None:
        dealer = Dealer(self.rules)
        dealer.deal("P1 KH, B1 6D, P2 5C, B2 2C", slots=False)  # a natural, face down
        dealer.draw(None)
        dealer.disclose("P3 6D")
        said = dealer.order("reveal")
        assert one(said, "irregularity").kind == "excess_card"
        finished = one(said, "round_finished")
        assert finished.player.cards == ("KH", "5C")
        assert finished.partial is False

    def test_a_reveal_after_is_for_tucked_cards_only(self) -> None:
        dealer = Dealer(self.rules, reveal_after=3)
        dealer.deal(SIX)
        assert dealer.wait(60) == []


@pytest.mark.parametrize("style", STYLES)
class TestHiddenShoe:
    """A shoe that reports faces only when they are disclosed, on any table."""

    def test_slots_only_until_the_faces_come(self, style: str) -> None:
        dealer = Dealer(house(dealing_style=style))
        dealer.deal(SIX, hidden=True)
        assert faces(dealer) == dict.fromkeys(["P1", "B1", "P2", "B2", "P3", "B3"])
        assert of_type(dealer.events, "staff_card_dealt") == []
        assert last_due(dealer) == "faces_hidden"
        dealer.order("reveal")  # nobody knows them: nothing to show
        assert of_type(dealer.events, "card_disclosed") == []

    def test_the_last_face_publishes_the_round(self, style: str) -> None:
        dealer = Dealer(house(dealing_style=style))
        dealer.deal(SIX, hidden=True)
        *_, last = [dealer.disclose(each) for each in SIX.split(", ")]
        assert types(last) == ["card_disclosed", "round_finished"]
        assert last_due(dealer) == "complete"
        assert types(dealer.result("player")) == []
        assert dealer.kinds() == []

    def test_a_result_without_faces_is_partial_and_as_declared(self, style: str) -> None:
        dealer = Dealer(house(dealing_style=style))
        dealer.deal(SIX, hidden=True)
        finished = one(dealer.result("banker"), "round_finished")
        assert finished.partial is True
        assert finished.outcome == "banker"
        assert finished.wagers == ()
        assert dealer.kinds() == []

    def test_another_face_than_was_said_is_a_conflict(self, style: str) -> None:
        dealer = Dealer(house(dealing_style=style))
        dealer.deal(SIX, hidden=True)
        dealer.disclose("P1 2S")
        dealer.disclose("P1 3S, P1 3S")
        assert dealer.kinds() == ["source_conflict"]
        assert faces(dealer)["P1"] == "2S"


def test_without_times_tucked_cards_have_been_seen_when_the_round_is_whole() -> None:
    dealer = Dealer(house(dealing_style=TUCKED), timeless=True)
    dealer.deal(SIX, slots=False)
    assert len(dealer.finished()) == 1
    dealer.deal("P1 9S, B1 9H, P2 KD", slots=False)
    assert len(dealer.finished()) == 1
    assert faces(dealer)["B1"] is None


def test_without_times_and_with_a_signal_they_wait_for_it() -> None:
    dealer = Dealer(house(dealing_style=TUCKED), timeless=True, reveal_after=None)
    dealer.deal(SIX, slots=False)
    assert dealer.finished() == []
    dealer.order("reveal")
    assert len(dealer.finished()) == 1

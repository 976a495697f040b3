"""Cards with the wrong hand: the order out of the shoe governs."""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.table.dealer import Dealer, of_type, one, types

SWAPS = {
    "first cards": ("P1 6S, P2 2H, B1 KD, B2 3C, B3 9D", "B1"),
    "second cards": ("P1 6S, B1 2H, B2 KD, P2 3C, B3 9D", "P2"),
    "banker third first": ("P1 2S, B1 2H, P2 3D, B2 QC, B3 4S, P3 5D", "P3"),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_swap_is_one_wrong_hand_and_the_order_governs(swap: str) -> None:
    text, slot = SWAPS[swap]
    dealer = Dealer()
    dealer.deal(text)
    found = one(dealer.events, "irregularity")
    assert (found.kind, found.severity, found.slot) == ("wrong_hand", 3, slot)
    dealt = [data.slot for data in of_type(dealer.events, "card_dealt")]
    assert dealt == [Slot.P1, Slot.B1, Slot.P2, Slot.B2, Slot.P3, Slot.B3][:4] + dealt[4:]
    faces = [each.split()[1] for each in text.split(", ")]
    (finished,) = dealer.finished()
    assert finished.player.cards[:2] == (faces[0], faces[2])
    assert finished.banker.cards[:2] == (faces[1], faces[3])
    assert not finished.partial


def test_a_card_on_a_taken_place_is_with_the_wrong_hand() -> None:
    dealer = Dealer()
    dealer.deal("P1 6S, B1 2H, B1 KD, B2 3C")
    assert dealer.kinds() == ["wrong_hand"]
    assert dealer.table.public().round is not None
    assert of_type(dealer.events, "card_dealt")[-1].player_total == 6


class TestPlayerThirdUnauthorised:
    stood = "P1 6S, B1 2H, P2 KD, B2 3C"

    def test_it_is_the_bankers_by_the_order_out_of_the_shoe(self) -> None:
        dealer = Dealer()
        dealer.deal(self.stood)
        said = dealer.draw("9D", "P3")
        found = one(said, "irregularity")
        assert (found.kind, found.severity, found.slot, found.card) == (
            "player_third_unauthorised", 2, "B3", "9D",
        )  # fmt: skip
        assert types(said) == ["card_dealt", "irregularity", "draw_due", "round_finished"]
        assert dealer.finished()[0].banker.cards == ("2H", "3C", "9D")
        assert dealer.result("player") == []
        assert dealer.kinds() == ["player_third_unauthorised"]

    def test_with_hidden_faces_it_is_found_when_they_come(self) -> None:
        dealer = Dealer()
        dealer.deal(f"{self.stood}, P3 9D", hidden=True)
        assert dealer.kinds() == []
        dealer.disclose(f"{self.stood}, P3 9D")
        dealer.result("player")
        assert dealer.kinds() == ["player_third_unauthorised"]
        assert dealer.finished()[0].banker.cards == ("2H", "3C", "9D")


class TestHiddenShoe:
    def test_slots_are_checked_as_the_cards_are_drawn(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 6S, P2 2H", hidden=True)
        assert dealer.kinds() == ["wrong_hand"]


class TestCamera:
    """A camera beside a reader that names no places."""

    def seen_on(self, dealer: Dealer, slot: str, face: str) -> list[str]:
        return types(dealer.say(seen.Placed(slot=Slot(slot), card=Card(face), source="cam")))

    def dealt(self, text: str) -> Dealer:
        dealer = Dealer(round_end=RoundEnd.BUTTON)
        dealer.deal(text, slots=False)
        return dealer

    def test_a_card_that_lies_elsewhere_is_with_the_wrong_hand(self) -> None:
        dealer = self.dealt("P1 6S, B1 2H, P2 KD, B2 3C, B3 9D")
        self.seen_on(dealer, "P1", "2H")
        self.seen_on(dealer, "B1", "6S")
        assert dealer.kinds() == ["wrong_hand"]
        assert one(dealer.events, "irregularity").slot == "B1"

    def test_the_bankers_third_card_with_a_player_who_stood(self) -> None:
        dealer = self.dealt("P1 6S, B1 2H, P2 KD, B2 3C, B3 9D")
        self.seen_on(dealer, "P3", "9D")
        self.seen_on(dealer, "P3", "9D")
        assert dealer.kinds() == ["player_third_unauthorised"]


class TestCameraAlone:
    """A table whose only source is a camera."""

    def see(self, dealer: Dealer, text: str) -> list[str]:
        said = []
        for each in text.split(", "):
            slot, face = each.split()
            said += dealer.say(seen.Placed(slot=Slot(slot), card=Card(face)))
        return types(said)

    def test_it_deals(self) -> None:
        dealer = Dealer()
        assert "round_finished" in self.see(dealer, "P1 6S, B1 2H, P2 KD, B2 3C, B3 9D")
        assert dealer.out() == 5

    def test_what_it_sees_again_is_no_news(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET)
        whole = "P1 6S, B1 2H, P2 KD, B2 3C, B3 9D"
        self.see(dealer, whole)
        for _ in range(4):
            assert self.see(dealer, whole) == []  # nor does it put off the end of the round
        assert dealer.table.state.round is not None
        assert dealer.table.state.round.ended

    def test_a_card_that_cannot_be_read_is_there_and_may_be_read_later(self) -> None:
        dealer = Dealer()
        self.see(dealer, "P1 9S")
        dealer.say(seen.Unreadable(slot=Slot("B1")))
        self.see(dealer, "P2 KD, B2 3C")
        assert dealer.kinds() == ["unreadable_card"]
        assert dealer.finished() == []
        assert "round_finished" in self.see(dealer, "B1 2H")
        assert dealer.finished()[0].banker.cards == ("2H", "3C")

    def test_another_face_on_a_place_is_a_conflict(self) -> None:
        dealer = Dealer()
        self.see(dealer, "P1 9S, B1 2H, P2 KD, P1 4S")
        assert dealer.kinds() == ["source_conflict"]
        assert dealer.out() == 3

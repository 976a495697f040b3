"""
What a reader says of itself: its errors, cards that it could not read, its
link and its lock.
"""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.each_case import each_case
from tests.table.dealer import NATURAL, SQUEEZE, Dealer, house, kinds, of_type, one, types

FAULTS = ["button", "card_code", "timeout", "other"]


def unread(dealer: Dealer, slot: str | None = None) -> list[str]:
    """Let a card pass that cannot be read."""
    return types(dealer.say(seen.Unreadable(slot=None if slot is None else Slot(slot))))


class TestDeviceFault:
    @pytest.mark.parametrize("cause", FAULTS)
    def test_an_error_that_names_no_other_kind(self, cause: str) -> None:
        dealer = Dealer()
        said = dealer.error(cause)
        assert types(said) == ["reader_status", "irregularity"]
        assert one(said, "irregularity").kind == "device_fault"
        assert one(said, "irregularity").severity == 3
        assert one(said, "reader_status").state == "fault"

    @pytest.mark.parametrize("cause", FAULTS)
    def test_it_is_over_when_the_reader_says_so(self, cause: str) -> None:
        dealer = Dealer()
        dealer.error(cause)
        said = dealer.cleared(cause)
        assert types(said) == ["reader_status", "irregularity_closed"]
        assert one(said, "reader_status").state == "ok"

    def test_each_error_is_closed_by_its_own_end(self) -> None:
        dealer = Dealer()
        dealer.error("button")
        dealer.error("other")
        closed = one(dealer.cleared("button"), "irregularity_closed").id
        assert closed == of_type(dealer.events, "irregularity")[0].id
        assert dealer.open_kinds() == ["device_fault"]

    def test_an_end_without_a_cause_ends_all(self) -> None:
        dealer = Dealer()
        dealer.error("button")
        dealer.error("other")
        dealer.cleared()
        assert dealer.open_kinds() == []

    def test_an_error_said_twice_is_one(self) -> None:
        dealer = Dealer()
        dealer.error("other")
        assert dealer.error("other") == []

    def test_an_error_said_again_after_a_restart_is_one(self) -> None:
        dealer = Dealer()
        dealer.error("other")
        dealer.gap("restart")
        dealer.error("other")
        assert dealer.kinds() == ["device_fault"]

    def test_too_many_words_are_cut(self) -> None:
        dealer = Dealer()
        dealer.say(seen.DeviceError(text="x" * 100_000))
        assert len(dealer.table.checkpoint()) < 4000


ENDS = {
    "boot": seen.Booted(),
    "lock": seen.Lock(locked=True),
    "card": seen.CardDrawn(card=Card("9S"), slot=Slot.P1),
}


class TestEndOfAnError:
    @each_case("end", ENDS)
    @each_case("cause", [*FAULTS, "card_returned"])
    def test_the_same_error_afterwards_is_a_new_one(self, cause: str, end: str) -> None:
        dealer = Dealer()
        dealer.error(cause)
        ended = dealer.say(ENDS[end])
        assert one(ended, "irregularity_closed").action == "continue"
        assert one(ended, "reader_status").state == ("locked" if end == "lock" else "ok")
        assert len(kinds(dealer.error(cause))) == 1

    @pytest.mark.parametrize("end", ENDS)
    @pytest.mark.parametrize("cause", ["unreadable", "overdraw"])
    def test_the_irregularity_outlives_an_error_about_a_card(self, cause: str, end: str) -> None:
        dealer = Dealer()
        dealer.deal(NATURAL)
        dealer.result("player")
        dealer.error(cause)
        dealer.say(ENDS["boot"])
        dealer.say(ENDS[end])
        assert len(dealer.open_kinds()) == 1
        assert len(kinds(dealer.error(cause))) == 1

    def test_the_card_that_an_error_is_about_does_not_end_it(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 9S, B1 2H")
        dealer.error("unreadable")
        assert of_type(dealer.draw("KD", "P2"), "reader_status") == []
        assert dealer.error("unreadable") == []
        assert one(dealer.draw("3C", "B2"), "reader_status").state == "ok"


class TestCardReturned:
    def test_it_is_a_kind_of_its_own(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 2H")
        assert kinds(dealer.error("card_returned")) == ["card_returned"]
        dealer.deal("P2 7D, B2 QC")
        dealer.result("player")
        dealer.cleared("card_returned")
        assert dealer.kinds() == ["card_returned"]
        assert dealer.open_kinds() == []


class TestUnreadable:
    @pytest.mark.parametrize("slot", ["P2", None])
    def test_it_lies_on_its_place_without_a_face(self, slot: str | None) -> None:
        dealer = Dealer(round_end=RoundEnd.BUTTON)
        dealer.deal("P1 2S, B1 2H")
        said = dealer.say(seen.Unreadable(slot=None if slot is None else Slot(slot)))
        assert types(said) == ["card_dealt", "irregularity", "draw_due"]
        assert one(said, "card_dealt").slot == "P2"
        assert one(said, "card_dealt").card is None
        found = one(said, "irregularity")
        assert (found.kind, found.severity, found.slot) == ("unreadable_card", 3, "P2")
        assert dealer.out() == 3
        assert of_type(dealer.draw("QC"), "card_dealt")[0].slot == "B2"
        assert dealer.kinds() == ["unreadable_card"]

    @pytest.mark.parametrize("first", ["error", "card"])
    @pytest.mark.parametrize("slot", ["P1", "P2"])
    def test_with_the_readers_error_it_is_one(self, first: str, slot: str) -> None:
        dealer = Dealer()
        if slot == "P2":
            dealer.deal("P1 2S, B1 2H")
        if first == "error":
            dealer.error("unreadable")
            unread(dealer, slot)
        else:
            unread(dealer, slot)
            dealer.error("unreadable")
        assert dealer.kinds() == ["unreadable_card"]
        assert dealer.out() == (3 if slot == "P2" else 1)

    def test_its_alert_names_no_place_that_hidden_faces_alone_tell(self) -> None:
        dealer = Dealer(house(dealing_style=SQUEEZE))
        dealer.deal("P1 2S, B1 2H, P2 3D, B2 QC")
        assert one(dealer.error("unreadable"), "irregularity").slot is None
        dealer.say(seen.Unreadable(slot=Slot.P3))
        (alert,) = dealer.table.public().alerts
        assert alert.data.slot == "P3"

    def test_the_error_alone_tells_of_a_card_when_the_next_place_is_dealt(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 2H")
        dealer.error("unreadable")
        dealer.draw("QC", "B2")
        slots = [data.slot for data in of_type(dealer.events, "card_dealt")]
        assert slots == ["P1", "B1", "P2", "B2"]
        assert dealer.kinds() == ["unreadable_card"]
        assert dealer.out() == 4

    def test_while_faces_are_hidden_a_banker_third_shows_where_it_lies(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 2H, P2 3D, B2 QC", hidden=True)
        dealer.error("unreadable")
        dealer.draw(None, "B3")
        slots = [data.slot for data in of_type(dealer.events, "card_dealt")]
        assert slots[4:] == ["P3", "B3"]
        dealer.disclose("P1 2S, B1 2H, P2 3D, B2 QC, B3 5D, P3 4S")
        dealer.result("player")
        assert dealer.kinds() == ["unreadable_card"]
        assert dealer.finished()[0].partial is False
        assert dealer.out() == 6

    def test_the_result_is_as_declared_and_partial(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 9S, B1 2H")
        unread(dealer, "P2")
        dealer.draw("3C", "B2")
        assert dealer.finished() == []
        finished = one(dealer.result("player"), "round_finished")
        assert (finished.outcome, finished.partial, finished.wagers) == ("player", True, ())
        assert finished.player.cards == ("9S", None)
        assert finished.banker.cards == ("2H", "3C")
        assert dealer.kinds() == ["unreadable_card"]

    @pytest.mark.parametrize("again", ["card", "disclosed"])
    def test_read_after_all_it_is_closed(self, again: str) -> None:
        dealer = Dealer()
        dealer.deal("P1 9S, B1 2H")
        unread(dealer, "P2")
        said = dealer.draw("KD", "P2") if again == "card" else dealer.disclose("P2 KD")
        assert types(said) == ["card_disclosed", "irregularity_closed"]
        assert one(said, "irregularity_closed").action == "rescan"
        assert "round_finished" in types(dealer.draw("3C", "B2"))
        assert dealer.kinds() == ["unreadable_card"]
        assert dealer.out() == 4

    def test_a_face_read_again_stays_hidden_where_nobody_has_seen_it(self) -> None:
        dealer = Dealer(house(dealing_style=SQUEEZE))
        dealer.deal("P1 9S, B1 2H")
        unread(dealer, "P2")
        said = dealer.draw("KD", "P2")
        assert types(said) == ["staff_card_dealt", "irregularity_closed"]
        assert "KD" not in str(dealer.table.public())

    def test_the_next_p1_is_no_rescan_of_this_one(self) -> None:
        dealer = Dealer()
        unread(dealer, "P1")
        dealer.draw("2H", "B1")
        assert "round_started" in types(dealer.draw("9S", "P1"))


class TestStatus:
    def test_link_and_lock(self) -> None:
        dealer = Dealer()
        said = [
            one(dealer.say(each), "reader_status")
            for each in (
                seen.Link(up=True, source="shoe"),
                seen.Lock(locked=True, source="shoe"),
                seen.Lock(locked=False, source="shoe"),
                seen.Link(up=False, detail="unplugged", source="shoe"),
            )
        ]
        assert [(each.source, each.link, each.state) for each in said] == [
            ("shoe", "up", "ok"),
            ("shoe", "up", "locked"),
            ("shoe", "up", "ok"),
            ("shoe", "down", "ok"),
        ]
        assert dealer.kinds() == []

    def test_a_fault_outweighs_a_lock_and_a_lock_a_gap(self) -> None:
        dealer = Dealer()
        dealer.gap()
        dealer.say(seen.Lock(locked=True))
        dealer.error("other")
        states = [data.state for data in of_type(dealer.events, "reader_status")]
        assert states == ["partial", "locked", "fault"]

    def test_more_readers_than_a_table_has_are_not_kept(self) -> None:
        dealer = Dealer()
        for number in range(100):
            dealer.say(seen.Link(up=True, source=f"reader-{number}"))
            dealer.error("other", source=f"reader-{number}")
        assert len(dealer.table.public().readers) <= 8

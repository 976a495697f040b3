"""Rounds with missing observations: partial or absent, never wrong."""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.each_case import each_case
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    BANKER_STANDS,
    BOTH_STAND,
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

GAPS = each_case("detail", ["lost_frames", "reconnect", "restart"])
BOUNDARIES = {
    "p1": None,
    "new_shoe": seen.Command(name="new_shoe"),
    "boot": seen.Booted(),
    "result": seen.Result(outcome="player"),
    "cleared": seen.TableCleared(),
    "betting": seen.BettingOpen(),
    "no_more_bets": seen.NoMoreBets(),
}


def state(dealer: Dealer) -> str:
    """Say what the table expects of its reader."""
    (reader,) = dealer.table.public().readers
    return reader.state


def is_partial(dealer: Dealer) -> bool:
    """Tell whether the round on the table is partial."""
    round_ = dealer.table.public().round
    assert round_ is not None
    return round_.partial


class TestJoin:
    @pytest.mark.parametrize("missing", range(1, 6))
    def test_a_log_that_begins_in_a_round_begins_with_a_partial_one(self, missing: int) -> None:
        dealer = Dealer()
        dealer.deal(", ".join(SIX.split(", ")[missing:]))
        finished = one(dealer.result("player"), "round_finished")
        assert finished.partial is True
        assert finished.outcome == "player"
        assert finished.wagers == ()
        assert dealer.kinds() == []

    def test_the_next_is_whole(self) -> None:
        dealer = Dealer()
        dealer.deal("B2 QC, P3 4S")
        dealer.result("player")
        dealer.deal(SIX)
        assert dealer.finished()[-1].partial is False
        assert dealer.events[-1].round == 2

    def test_no_totals_of_hands_that_were_not_seen(self) -> None:
        dealer = Dealer()
        said = dealer.deal("P2 3D, B2 QC, P3 4S")
        assert {
            (data.player_total, data.banker_total) for data in of_type(said, "card_dealt")
        } == {(None, None)}
        assert {data.code for data in of_type(said, "draw_due")} == {"faces_hidden"}

    def test_the_next_p1_aborts_it(self) -> None:
        dealer = Dealer()
        dealer.deal("B2 QC, P3 4S")
        said = dealer.draw("2S", "P1")
        assert one(said, "round_aborted").cause == "new_round"
        assert said[-1].round == 2
        assert not is_partial(dealer)

    def test_a_first_line_that_is_a_gap(self) -> None:
        dealer = Dealer(session=False)
        dealer.gap()
        dealer.deal("P1 9S, B1 2H", slots=False)
        assert is_partial(dealer)
        dealer = Dealer(session=False)
        dealer.gap()
        dealer.deal("P1 9S, B1 2H")
        assert not is_partial(dealer)

    def test_a_log_without_slots_begins_clean(self) -> None:
        dealer = Dealer(session=False)
        dealer.deal(NATURAL, slots=False)
        assert dealer.finished()[0].partial is False

    def test_a_face_of_a_card_that_nobody_saw_drawn(self) -> None:
        dealer = Dealer()
        dealer.disclose("P2 3D, B2 QC")
        assert is_partial(dealer)
        assert one(dealer.result("banker"), "round_finished").outcome == "banker"


class TestGap:
    @GAPS
    @each_case("place", range(1, 6))
    def test_in_the_midst_of_a_round_the_round_is_partial(self, place: int, detail: str) -> None:
        dealer = Dealer()
        dealer.say(seen.Link(up=True))
        each = SIX.split(", ")
        dealer.deal(", ".join(each[:place]))
        said = dealer.gap(detail)
        assert one(said, "reader_status").state == "partial"
        dealer.deal(", ".join(each[place:]))
        assert dealer.finished() == []
        finished = one(dealer.result("player"), "round_finished")
        assert finished.partial is True
        assert finished.outcome == "player"
        dealer.deal(NATURAL)
        assert dealer.finished()[-1].partial is False
        assert dealer.kinds() == []

    @GAPS
    @each_case("lost", range(1, 5))
    def test_cards_may_be_lost_in_it(self, lost: int, detail: str) -> None:
        each = SIX.split(", ")
        for place in range(1, 6 - lost + 1):
            dealer = Dealer()
            dealer.deal(", ".join(each[:place]))
            dealer.gap(detail)
            rest = each[place + lost :]
            if rest:
                dealer.deal(", ".join(rest))
            finished = one(dealer.result("player"), "round_finished")
            assert finished.partial is True
            assert finished.outcome == "player"
            assert dealer.kinds() == []

    @GAPS
    def test_between_rounds_nothing_is_partial(self, detail: str) -> None:
        dealer = Dealer()
        dealer.say(seen.Link(up=True))
        dealer.deal(NATURAL)
        dealer.result("player")
        dealer.gap(detail)
        assert state(dealer) == "partial"
        dealer.deal(SIX)
        assert state(dealer) == "ok"
        assert [each.partial for each in dealer.finished()] == [False, False]

    @GAPS
    def test_a_published_round_stands(self, detail: str) -> None:
        dealer = Dealer()
        dealer.deal(NATURAL)
        dealer.gap(detail)
        dealer.result("player")
        assert [each.partial for each in dealer.finished()] == [False]

    @GAPS
    @each_case("before", [NATURAL, BOTH_STAND, SIX, "P1 2S", "P1 2S, B1 3S, P2 4S"])
    @each_case("slots", [True, False])
    def test_it_may_have_swallowed_the_end_and_the_next_beginning(
        self, before: str, detail: str, *, slots: bool
    ) -> None:
        dealer = Dealer(round_end=RoundEnd.DEVICE)
        dealer.deal(before, slots=slots)
        dealer.gap(detail)
        dealer.deal("B1 4C, P2 5C, B2 6C", slots=slots)
        dealer.result("player")
        dealer.deal(NATURAL)
        assert dealer.kinds() == []
        assert dealer.finished()[-1].partial is False
        assert [each.partial for each in dealer.finished()[1:-1]] in ([], [True])

    def test_after_a_restart_the_cause_is_the_restart(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 3S")
        dealer.gap("restart")
        assert one(dealer.draw("2D", "P1"), "round_aborted").cause == "restart"

    def test_after_a_restart_links_locks_and_errors_are_old(self) -> None:
        dealer = Dealer()
        dealer.say(seen.Link(up=True, source="shoe"))
        dealer.say(seen.Lock(locked=True, source="shoe"))
        dealer.say(seen.Link(up=True, source="camera"))
        said = dealer.gap("restart")
        assert [
            (data.source, data.link, data.state) for data in of_type(said, "reader_status")
        ] == [
            ("shoe", "unknown", "partial"),
            ("camera", "unknown", "partial"),
        ]

    @each_case("boundary", BOUNDARIES)
    @each_case("in_round", [True, False])
    def test_a_clean_boundary_ends_it(self, boundary: str, *, in_round: bool) -> None:
        dealer = Dealer()
        if in_round:
            dealer.deal("P1 2S, B1 3S")
        dealer.gap()
        assert state(dealer) == "partial"
        observation = BOUNDARIES[boundary]
        if observation is None:
            dealer.draw("2C", "P1")
        else:
            dealer.say(observation)
        assert state(dealer) == "ok"
        if boundary != "p1":
            dealer.deal(NATURAL, slots=False)
        assert not is_partial(dealer)

    def test_a_card_in_the_middle_is_no_clean_boundary(self) -> None:
        dealer = Dealer()
        dealer.gap()
        dealer.deal("B1 3S, P2 4S")
        dealer.say(seen.Standby())
        dealer.say(seen.Link(up=True))
        assert state(dealer) == "partial"


class TestWithoutSlots:
    def test_silence_is_a_clean_boundary(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET)
        dealer.deal("P1 2S, B1 3S", slots=False)
        dealer.gap()
        dealer.deal("P2 4S, B2 5S", slots=False)
        assert types(dealer.wait(10)) == ["round_aborted", "reader_status"]
        dealer.deal(NATURAL, slots=False)
        assert dealer.finished()[-1].partial is False
        assert dealer.kinds() == []

    def test_silence_after_a_gap_between_rounds(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET)
        dealer.deal(NATURAL, slots=False)
        dealer.wait(60)
        dealer.gap()
        dealer.wait(10)
        dealer.deal(NATURAL, slots=False)
        assert dealer.finished()[-1].partial is False

    @GAPS
    def test_silence_before_a_gap_is_no_silence_after_it(self, detail: str) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET)
        dealer.deal(NATURAL, slots=False)
        dealer.wait(7)
        dealer.gap(detail)
        dealer.wait(3)
        # Cards of this round may have been dealt before the gap.
        dealer.deal(NATURAL, slots=False)
        assert len(dealer.finished()) == 1
        dealer.wait(10)
        dealer.deal(NATURAL, slots=False)
        assert dealer.finished()[-1].partial is False

    def test_a_gap_before_a_first_card_with_a_slot_puts_no_end_to_its_round(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET)
        dealer.gap()
        dealer.draw("2S", "P1", after=8)
        dealer.draw("7S", "B1", after=8)
        dealer.draw("7D", "P2", after=8)
        dealer.draw("KD", "B2", after=8)
        assert dealer.finished()[0].partial is False

    def test_cards_without_a_known_end_do_not_pile_up(self) -> None:
        dealer = Dealer(round_end=RoundEnd.RULES)
        dealer.gap()
        for _ in range(100):
            dealer.draw("2S")
        assert "excess_card" not in dealer.kinds()
        assert not dealer.finished()
        assert len(dealer.table.checkpoint()) < 9000
        assert dealer.out() == 100


class TestWhatIsStillSaid:
    """A partial round still raises whatever does not depend on the missing cards."""

    def test_a_card_too_often(self) -> None:
        dealer = Dealer(decks=1)
        dealer.deal("P2 2S, B2 3S, P3 2S")
        assert dealer.kinds() == ["duplicate_card"]

    def test_a_card_too_many_after_four_that_were_all_seen(self) -> None:
        for text in (NATURAL, BOTH_STAND, BANKER_STANDS):
            dealer = Dealer()
            dealer.deal("P1 9S") if text is NATURAL else dealer.deal(text.split(", ")[0])
            dealer.gap()
            dealer.deal(", ".join(text.split(", ")[1:]))
            dealer.draw("AC", "B3")
            assert dealer.kinds() == ["excess_card"]

    def test_a_third_card_given_to_a_player_who_stands(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 6S, B1 2H")
        dealer.gap()
        dealer.deal("P2 KD, B2 3C, P3 9D")
        assert dealer.kinds() == ["player_third_unauthorised"]

    def test_a_third_card_of_the_player_may_have_been_missed(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 2H, P2 3D, B2 QC")
        dealer.gap()
        dealer.draw("5D", "B3")
        dealer.result("player")
        assert dealer.kinds() == []
        assert dealer.finished()[0].banker.cards == ("2H", "QC", "5D")

    def test_faults_of_the_reader(self) -> None:
        dealer = Dealer()
        dealer.deal("P2 2S")
        dealer.error("other")
        dealer.error("card_returned")
        dealer.say(seen.Unreadable(slot=Slot.B2))
        assert dealer.kinds() == ["device_fault", "card_returned", "unreadable_card"]

    @pytest.mark.parametrize("end", ["result", "cleared", "betting"])
    def test_no_draw_is_missing_where_cards_may_have_been_missed(self, end: str) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 2H")
        dealer.gap()
        dealer.deal("P2 3D, B2 QC")
        observation = BOUNDARIES[end]
        assert observation is not None
        dealer.say(observation)
        assert dealer.kinds() == []

    def test_a_winner_that_seen_cards_contradict_is_as_declared(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 9S, B1 2H")
        dealer.gap("restart")
        dealer.deal("P2 KD, B2 3C")
        finished = one(dealer.result("banker"), "round_finished")
        assert (finished.outcome, finished.partial, finished.wagers) == ("banker", True, ())


@pytest.mark.parametrize("cards_before", [0, 1, 3])
def test_without_places_a_card_that_passed_unread_may_lie_anywhere(cards_before: int) -> None:
    dealer = Dealer(round_end=RoundEnd.BUTTON)
    faces = ["9S", "2H", "KD", "3C"]
    for face in faces[:cards_before]:
        dealer.draw(face)
    dealer.say(seen.DeviceError(cause=seen.Cause.UNREADABLE))
    dealer.say(seen.DeviceErrorCleared(cause=seen.Cause.UNREADABLE))
    for face in faces[cards_before + 1 :]:
        dealer.draw(face)
    dealer.result("player")
    assert [(data.partial, data.outcome) for data in dealer.finished()] == [(True, "player")]
    dealer.deal(NATURAL, slots=False)
    assert [data.partial for data in dealer.finished()] == [True, False]


def test_without_places_a_first_card_that_is_entered_by_hand_leaves_no_doubt() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.say(seen.DeviceError(cause=seen.Cause.UNREADABLE))
    pit.cmd("enter_card", card="9S")
    pit.deal("B1 2H, P2 KD, B2 3C", slots=False)
    assert [data.partial for data in pit.finished()] == [False]


@pytest.mark.parametrize("boots", [1, 3])
@pytest.mark.parametrize("mode", [RoundEnd.BUTTON, RoundEnd.QUIET])
def test_without_places_a_boot_makes_the_rest_of_a_coup_partial(
    mode: RoundEnd, boots: int
) -> None:
    dealer = Dealer(house(dealing_style=TUCKED), round_end=mode)
    dealer.say(seen.BettingOpen())
    dealer.say(seen.NoMoreBets())
    dealer.draw("3H")
    for _ in range(boots):
        dealer.say(seen.Booted())
    said = dealer.deal("B1 KH, P2 9H, B2 5D", slots=False)
    assert [data.card for data in of_type(said, "card_dealt")] == [None] * 3
    dealer.say(seen.BettingOpen())
    assert dealer.kinds() == []
    assert all(data.partial for data in dealer.finished())
    dealer.say(seen.NoMoreBets())
    dealer.deal(NATURAL, slots=False)
    dealer.wait(4)
    assert [data.partial for data in dealer.finished()][-1:] == [False]


def test_betting_stays_closed_while_a_voided_coup_is_dealt() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    for _ in range(2):
        pit.say(seen.BettingOpen())
        pit.say(seen.NoMoreBets())
        pit.deal("P1 2S, B1 2H", slots=False)
        pit.cmd("void_round")
        pit.deal("P2 3D, B2 QC", slots=False)
        assert pit.table.public().betting == "closed"
        pit.result("player")
        assert pit.table.public().betting == "open"
    assert set(pit.kinds()) == {"manual_void"}
    causes = [data.cause for data in of_type(pit.events, "betting_closed")]
    assert causes == ["no_more_bets"] * 2


@GAPS
def test_a_face_of_another_round_is_no_conflict(detail: str) -> None:
    dealer = Dealer(house(dealing_style=SQUEEZE))
    dealer.deal("P1 9S, B1 2H", hidden=True)
    dealer.disclose("P1 9S")
    dealer.gap(detail)
    dealer.disclose("P1 4D, B1 7C")
    dealer.result("player")
    assert dealer.kinds() == []


@GAPS
def test_another_round_after_a_whole_one_is_no_conflict(detail: str) -> None:
    dealer = Dealer()
    dealer.say(seen.CardDrawn(card=Card("9S"), source="shoe", slot=Slot.P1))
    for each in ("B1 2H", "P2 KD", "B2 3C"):
        slot, face = each.split()
        dealer.say(seen.CardDrawn(card=Card(face), source="shoe", slot=Slot(slot)))
    dealer.say(seen.Gap(detail=seen.GapDetail(detail), source="shoe"))
    dealer.say(seen.Placed(slot=Slot.P1, card=Card("4D"), source="camera"))
    dealer.say(seen.Placed(slot=Slot.B1, card=Card("7C"), source="camera"))
    assert dealer.kinds() == []


def test_a_late_face_of_a_round_that_came_to_nothing_is_counted_once() -> None:
    dealer = Dealer(house(dealing_style=SQUEEZE, decks=1))
    dealer.deal("P1 9S, B1 2H, P2 3D")
    dealer.gap()
    dealer.draw("KC", "B1")
    dealer.disclose("P2 3D")
    assert dealer.kinds() == []


def test_the_button_ends_a_coup_that_a_boot_cut_off() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal("P1 2S, B1 2H", slots=False)
    pit.say(seen.Booted())
    pit.cmd("confirm_result")
    pit.deal(NATURAL, slots=False)
    assert [data.partial for data in pit.finished()] == [False]

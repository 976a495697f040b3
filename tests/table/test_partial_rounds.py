"""Rounds with missing observations: partial or absent, never wrong."""

from __future__ import annotations

import pytest

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

    def test_a_first_line_that_is_a_gap(self) -> None:
        dealer = Dealer(session=False)
        dealer.gap()
        dealer.deal("P1 9S, B1 2H", slots=False)
        assert is_partial(dealer)
        dealer = Dealer(session=False)
        dealer.gap()
        dealer.deal("P1 9S, B1 2H")
        assert not is_partial(dealer)


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


@GAPS
def test_a_face_of_another_round_is_no_conflict(detail: str) -> None:
    dealer = Dealer(house(dealing_style=SQUEEZE))
    dealer.deal("P1 9S, B1 2H", hidden=True)
    dealer.disclose("P1 9S")
    dealer.gap(detail)
    dealer.disclose("P1 4D, B1 7C")
    dealer.result("player")
    assert dealer.kinds() == []


def test_the_button_ends_a_coup_that_a_boot_cut_off() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal("P1 2S, B1 2H", slots=False)
    pit.say(seen.Booted())
    pit.cmd("confirm_result")
    pit.deal(NATURAL, slots=False)
    assert [data.partial for data in pit.finished()] == [False]

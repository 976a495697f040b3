"""A second mistake, or a second decision, after a first one."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SIX, SQUEEZE, RoundEnd, house, of_type, one

BANKER_NATURAL = "P1 7H, B1 5H, P2 10C, B2 3H"
"""7 against 8. With a queen as B1 the Banker has 3 and lacks a card."""


def button(text: str, outcome: str, **options: Any) -> SupervisedTable:  # noqa: ANN401 - of the options
    """Deal a round without slots, up to its button."""
    pit = SupervisedTable(round_end=RoundEnd.BUTTON, **options)
    pit.deal(text, slots=False)
    pit.result(outcome)
    return pit


def correct(pit: SupervisedTable, slot: str, face: str, number: int = 1) -> list[Any]:
    """Correct a card of a round."""
    return pit.cmd("correct_card", slot=Slot(slot), card=face, round=number)


def next_round(pit: SupervisedTable, text: str = NATURAL, outcome: str = "player") -> None:
    """Deal another round."""
    pit.deal(text, slots=False)
    pit.result(outcome)


class TestCorrectedOnTheTableAndAgainLater:
    """The first correction is made while the cards lie on the table, the next one later."""

    def test_the_first_correction_counts_in_the_second(self) -> None:
        pit = button(BANKER_NATURAL, "banker")
        correct(pit, "B1", "QS")
        next_round(pit)
        said = correct(pit, "B2", "2H")  # 2: the Banker still lacks a card
        assert of_type(said, "result_revised") == []
        assert pit.open_kinds() == ["missing_draw"]
        shoe = pit.table.state.shoe
        assert shoe is not None
        assert [shoe.seen[Card(face).index] for face in ("5H", "QS", "3H", "2H")] == [0, 1, 0, 2]

    def test_it_may_be_taken_back(self) -> None:
        pit = button(BANKER_NATURAL, "banker")
        (before,) = pit.finished()
        correct(pit, "B1", "QS")
        next_round(pit)
        said = correct(pit, "B1", "5H")
        assert one(said, "card_corrected").before == "QS"
        assert one(said, "result_revised").after == before
        assert pit.open_kinds() == []

    def test_a_card_called_too_many_was_due_after_all(self) -> None:
        pit = button(SIX, "player")
        (before,) = pit.finished()
        correct(pit, "P1", "6S")
        assert pit.open_kinds() == ["excess_card", "excess_card"]
        next_round(pit)
        said = correct(pit, "P1", "2S")
        assert one(said, "result_revised").after == before
        assert pit.open_kinds() == []


class TestIrregularityOfAnEarlierRound:
    """An irregularity of an earlier round is open while the round on the table goes on."""

    def both(self) -> tuple[SupervisedTable, int, int]:
        pit = button(BANKER_NATURAL, "banker")
        next_round(pit, "P1 6S, B1 2H, P2 KD, B2 3C")  # the Banker lacks a card
        correct(pit, "B1", "QS")
        second, first = (alert.data.id for alert in pit.table.public().alerts)
        return pit, first, second

    def test_a_correction_of_the_round_on_the_table_does_not_close_it(self) -> None:
        pit = button(BANKER_NATURAL, "banker")
        next_round(pit)
        correct(pit, "B1", "QS")
        correct(pit, "B2", "4C", 2)
        assert pit.open_kinds() == ["missing_draw"]

    def test_the_missing_card_of_the_round_on_the_table_does_not_close_it(self) -> None:
        pit, first, second = self.both()
        pit.cmd("rule", action="draw_now", irregularity=second)
        pit.draw("9D")
        assert [alert.data.id for alert in pit.table.public().alerts] == [first]


class TestVoidWithoutAResult:
    """A round that lost its result by a correction is made void."""

    @pytest.mark.parametrize("ended", [True, False])
    @pytest.mark.parametrize("order", ["rule", "void_round", "void_round 2"])
    def test_it_is_void_for_good(self, order: str, *, ended: bool) -> None:
        pit = SupervisedTable()
        pit.deal(NATURAL)
        pit.result("player")
        pit.deal(BANKER_NATURAL)
        if ended:
            pit.result("banker")
        correct(pit, "B1", "QS", 2)
        if order == "rule":
            said = pit.rule("void_round")
        else:
            said = pit.cmd("void_round", round=2 if order.endswith("2") else None)
        assert [event.round for event in said if event.type == "round_voided"] == [2]
        assert pit.counts() == {"rounds": 1, "player": 1, "natural": 1}
        pit.deal(NATURAL)
        pit.result("player")
        rows = pit.table.history().rounds
        assert [(row.round, row.voided, row.aborted) for row in rows] == [
            (1, False, None),
            (2, True, None),
            (3, False, None),
        ]
        assert "no card that was read" in pit.refused(
            "correct_card", slot=Slot.B1, card="4S", round=2
        )


class TestCardMovedToItsPlace:
    """A camera sees a card on the wrong place, and then where a person has moved it."""

    def camera(self, pit: SupervisedTable, text: str) -> list[Any]:
        said = []
        for each in text.split(", "):
            slot, face = each.split()
            said += pit.say(seen.Placed(slot=Slot(slot), card=Card(face), source="cam"))
        return said

    @pytest.mark.parametrize("ruled", [True, False])
    def test_it_is_the_same_card(self, *, ruled: bool) -> None:
        pit = SupervisedTable()
        self.camera(pit, "P1 6S, P2 2H")
        if ruled:
            pit.rule("restore_order")
        assert self.camera(pit, "B1 2H") == []
        self.camera(pit, "P2 KD, B2 QC, B3 4S")
        pit.say(seen.TableCleared(source="cam"))
        (data,) = pit.finished()
        assert (data.player.cards, data.banker.cards) == (("6S", "KD"), ("2H", "QC", "4S"))
        assert not data.partial
        assert pit.kinds() == ["wrong_hand"]
        assert pit.out() == 5

    def test_the_other_card_of_a_swap_is_dealt(self) -> None:
        pit = SupervisedTable()
        self.camera(pit, "P1 6S, P2 2H, B1 KD, B2 QC, B3 4S")
        self.camera(pit, "B1 KD, P2 2H")  # seen again, where they lie
        pit.say(seen.TableCleared(source="cam"))
        (data,) = pit.finished()
        assert (data.player.cards, data.banker.cards) == (("6S", "KD"), ("2H", "QC", "4S"))
        assert pit.kinds() == ["wrong_hand"]
        assert pit.out() == 5

    def test_whose_face_is_seen_only_there(self) -> None:
        pit = SupervisedTable(house(dealing_style=SQUEEZE), round_end=RoundEnd.BUTTON)
        pit.deal("P1 6S, P2 2H")
        said = self.camera(pit, "B1 2H")
        assert [(each.slot, each.card) for each in of_type(said, "card_disclosed")] == [
            ("B1", "2H")
        ]
        assert pit.out() == 2


def test_undo_is_refused_after_a_decision_about_what_followed() -> None:
    pit = button(BANKER_NATURAL, "player", hold_from=3, result_on="confirmed")
    assert pit.open_kinds() == ["result_mismatch"]
    correct(pit, "B1", "QS")
    assert pit.open_kinds() == ["missing_draw"]
    pit.cmd("acknowledge")  # without an id: only the missing draw is open
    assert "was decided" in pit.refused("undo")


def test_the_declared_winner_is_compared_where_a_misread_card_hid_it() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON, hold_from=3, result_on="confirmed")
    pit.deal("P1 5S, B1 2H, P2 KD, B2 3C", slots=False)  # the five is a nine
    pit.result("banker")
    assert pit.open_kinds() == ["missing_draw"]
    correct(pit, "P1", "9S")
    assert pit.open_kinds() == ["result_mismatch"]
    assert pit.finished() == []
    pit.cmd("acknowledge")
    assert [each.outcome for each in pit.finished()] == ["player"]


@pytest.mark.parametrize("slots", [True, False])
def test_a_result_entered_for_a_void_coup_owns_its_rest_too(*, slots: bool) -> None:
    pit = SupervisedTable(round_end=RoundEnd.DEVICE if slots else RoundEnd.BUTTON)
    first, rest = SIX[: SIX.index(", P3")], SIX[SIX.index("P3") :]
    pit.deal(first, slots=slots)
    pit.cmd("void_round")
    pit.cmd("enter_result", outcome="banker")
    pit.deal(rest, slots=slots)
    pit.result("banker")
    pit.deal(NATURAL, slots=slots)
    pit.result("player")
    rows = pit.table.history().rounds
    assert [(row.round, row.voided, row.entered, row.outcome) for row in rows] == [
        (1, True, False, None),
        (2, False, True, "banker"),
        (3, False, False, "player"),
    ]
    assert pit.kinds() == ["manual_void"]
    assert pit.out() == 10


@pytest.mark.parametrize("kind", ["face_up_in_shoe", "double_feed", "premature_draw"])
def test_a_card_in_play_is_not_burned(kind: str) -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON, least_gap=0.5)
    if kind == "premature_draw":
        pit.say(seen.BettingOpen())
    pit.draw("9S")
    if kind == "double_feed":
        pit.draw("2H", after=0.1)
    elif kind == "face_up_in_shoe":
        pit.cmd("hold", kind=kind)
    assert pit.open_kinds() == [kind]
    assert "is dealt to a hand" in pit.refused("rule", action="burn_card")


@pytest.mark.parametrize("restored", [True, False])
def test_a_card_that_had_been_with_the_wrong_hand_is_one_too_many(*, restored: bool) -> None:
    pit = SupervisedTable()
    pit.deal("P1 2S, B1 7H, P2 3D, B2 QC, B3 4S")
    if restored:
        pit.rule("restore_order")
    correct(pit, "P1", "6S")
    assert pit.kinds() == ["wrong_hand", "excess_card"]
    assert pit.open_kinds() == ["excess_card"]


@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize(
    ("dealt", "fixed", "kind"),
    [
        ("P1 6S, B1 2H, P2 KD, B2 3C, P3 9D", ("P1", "5S"), "player_third_unauthorised"),
        ("P1 5S, B1 2H, P2 KD, B2 3C, B3 AD", ("P1", "6S"), "wrong_hand"),
    ],
)
def test_a_misread_card_let_a_third_card_lie_with_the_wrong_hand(
    dealt: str, fixed: tuple[str, str], kind: str, *, later: bool
) -> None:
    pit = SupervisedTable()
    pit.deal(dealt)
    pit.result()
    if later:
        pit.deal(NATURAL)
        pit.result("player")
    assert pit.open_kinds() == [kind]
    correct(pit, *fixed)
    assert kind not in pit.open_kinds()


@pytest.mark.parametrize("hold_from", [None, 3])
def test_a_void_round_has_no_wrong_result_to_decide(hold_from: int | None) -> None:
    pit = button(NATURAL, "banker", hold_from=hold_from)
    assert pit.open_kinds() == ["result_mismatch"]
    pit.cmd("void_round")
    assert pit.open_kinds() == []
    pit.cmd("undo")
    assert pit.open_kinds() == ["result_mismatch"]
    next_round(pit)
    pit.cmd("void_round", round=1)
    assert pit.open_kinds() == []
    assert [each.outcome for each in pit.table.results()] == ["player"]


def test_a_hidden_card_that_a_correction_made_due_is_compared_when_it_is_turned_over() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE))
    pit.deal("P1 KC, B1 9D, P2 4H, B2 2H, P3 JS")
    pit.say(seen.CardDrawn(card=Card("8S"), role=seen.Role.OUTSIDE))
    pit.result("player")
    correct(pit, "P2", "4S")
    assert "result_mismatch" not in pit.kinds()
    pit.deal("P1 4C")
    assert "result_mismatch" in pit.kinds()

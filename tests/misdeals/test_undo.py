"""Undo restores the complete state before the latest command, or is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import DRAWS
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import BANKER_DRAWS, NATURAL, SQUEEZE, house, of_type, one, types

if TYPE_CHECKING:
    from collections.abc import Callable


def unread(**options: Any) -> SupervisedTable:  # noqa: ANN401 - any field of the options
    """Deal a round of which a card passed unread, and end it."""
    pit = SupervisedTable(**options)
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.P2))
    pit.deal("B2 3C")
    return pit


def test_nothing_can_be_undone_at_first_nor_in_a_new_shoe() -> None:
    pit = SupervisedTable()
    assert pit.refused("undo") == "no correction of this shoe can be undone"
    pit.deal(NATURAL)
    pit.cmd("correct_card", slot=Slot.B1, card="6H")
    pit.cmd("new_shoe")
    assert pit.refused("undo") == "no correction of this shoe can be undone"


def test_the_latest_first() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.result("player")
    seen_before = [pit.last().data]
    for slot, card in ((Slot.B1, "6H"), (Slot.P1, "2S"), (Slot.P1, "8S")):
        pit.cmd("correct_card", slot=slot, card=card)
        seen_before.append(pit.last().data if pit.last() else None)
    for before in reversed(seen_before[:-1]):
        pit.cmd("undo")
        assert (pit.last().data if pit.last() else None) == before
    pit.refused("undo")


@pytest.mark.parametrize("declared", ["player", None])
@pytest.mark.parametrize("late", [True, False])
def test_an_entered_card(declared: str | None, *, late: bool) -> None:
    pit = unread()
    if late:
        pit.result(declared)
        before = pit.last().data
        assert (before.partial, before.outcome) == (True, declared)
    pit.cmd("enter_card", card="KD")
    if not late:
        pit.result(declared)
    assert pit.last().data.partial is False
    assert pit.open_kinds() == []
    said = pit.cmd("undo")
    after = one(said, "result_revised").after
    assert after.player.cards == ("9S", None)
    assert (after.partial, after.wagers, after.banker.total) == (True, (), 5)
    assert after.outcome == declared
    assert [each.slot for each in of_type(said, "irregularity")] == ["P2"]
    assert pit.table.state.alerts[0].round == 1
    pit.cmd("enter_card", card="QD")
    assert pit.last().data.player.cards == ("9S", "QD")


def test_an_entered_card_before_the_round_is_whole() -> None:
    pit = SupervisedTable()
    pit.say(seen.Unreadable(slot=Slot.P1))
    pit.cmd("enter_card", card="9S")
    said = pit.cmd("undo")
    assert types(said) == ["card_corrected", "irregularity"]
    assert one(said, "card_corrected").before == "9S"
    pit.draw("9S", "P1")
    pit.deal("B1 2H, P2 KD, B2 3C")
    assert [each.outcome for each in pit.finished()] == ["player"]
    assert pit.out() == 4


@pytest.mark.parametrize("ended", [True, False])
def test_no_draw_is_told_from_a_card_that_is_not_known_any_more(*, ended: bool) -> None:
    pit = unread()
    pit.cmd("enter_card", card="KD")
    if ended:
        pit.result("player")
    pit.cmd("undo")
    round_ = pit.table.public().round
    assert round_ is not None
    assert round_.draw_due is not None
    assert round_.draw_due.code == "faces_hidden"


UNDONE: dict[str, Callable[[SupervisedTable], seen.Command]] = {
    "corrected": lambda pit: pit.command("correct_card", slot=Slot.B1, card="6H"),
    "a card lacks": lambda pit: pit.command("correct_card", slot=Slot.P1, card="2D"),
    "entered": lambda pit: pit.command("enter_card", card="4D"),
    "voided": lambda pit: pit.command("void_round"),
    "a result": lambda pit: pit.command("enter_result", outcome="tie"),
    "ruled void": lambda pit: pit.command(
        "rule", action="void_round", irregularity=pit.id_of(None)
    ),
}
SITUATIONS: dict[str, Callable[[SupervisedTable], object]] = {
    "two cards": lambda pit: pit.deal("P1 9S, B1 2H"),
    "whole": lambda pit: pit.deal(NATURAL),
    "declared": lambda pit: [pit.deal(NATURAL), pit.result("player"), pit.wait(11)],
    "mismatched": lambda pit: [pit.deal(NATURAL), pit.result("banker"), pit.wait(11)],
    "unread": lambda pit: [
        pit.deal("P1 9S, B1 2H"),
        pit.say(seen.Unreadable(slot=Slot.P2)),
        pit.deal("B2 3C"),
    ],
    "unread, declared": lambda pit: [
        pit.deal("P1 9S, B1 2H"),
        pit.say(seen.Unreadable(slot=Slot.P2)),
        pit.deal("B2 3C"),
        pit.result("player"),
    ],
    "one too many": lambda pit: pit.deal(f"{NATURAL}, P3 4C"),
    "two too many": lambda pit: pit.deal(f"{NATURAL}, P3 4C, B3 5C"),
    "a card is missing": lambda pit: [pit.deal(DRAWS), pit.result("player")],
    "faces arriving": lambda pit: [
        pit.deal(NATURAL, hidden=True),
        pit.disclose("P1 9S, B1 2H"),
    ],
    "twice the same card": lambda pit: [pit.deal("P1 9S, B1 2H, P2 6H")],
}

HAS_NO_ALERT = {"declared", "faces arriving", "twice the same card", "two cards", "whole"}
DOES_NOT_FIT = {
    "a result": {"one too many", "two too many", "whole"},
    "entered": SITUATIONS.keys() - {"unread", "unread, declared"},
    "ruled void": HAS_NO_ALERT,
}


def whole_state(pit: SupervisedTable) -> dict[str, Any]:
    """Return all that the table remembers but its counters."""
    state = pit.memory()
    for counter in ("seq", "changes", "since"):
        del state[counter]
    if state["shoe"] is not None:
        state["shoe"].begun = 0
    return state


@each_case("hold_from", [None, 3])
@each_case("mode", [RoundEnd.DEVICE, RoundEnd.QUIET])
@each_case(
    "situation, command",
    [
        (situation, command)
        for situation in sorted(SITUATIONS)
        for command in sorted(UNDONE)
        if situation not in DOES_NOT_FIT.get(command, ())
    ],
)
def test_the_whole_state_is_restored(
    situation: str, command: str, mode: RoundEnd, hold_from: int | None
) -> None:
    pit = SupervisedTable(hold_from=hold_from, round_end=mode, decks=1)
    pit.deal("P1 AS, B1 7H, P2 7D, B2 QC")
    pit.result("player")
    pit.wait(11)
    SITUATIONS[situation](pit)
    before = whole_state(pit)
    order = UNDONE[command](pit)
    assert pit.table.refusal(order) is None
    assert pit.say(order)
    pit.cmd("undo")
    assert whole_state(pit) == before
    assert pit.said() == pit.replayed()


def test_a_round_that_an_undone_entry_had_begun_is_listed_as_aborted() -> None:
    pit = SupervisedTable()
    pit.say(seen.DeviceError(cause=seen.Cause.UNREADABLE))
    pit.cmd("enter_card", card="9S")
    assert one(pit.cmd("undo"), "round_aborted").cause == "new_round"
    assert [(each.round, each.aborted) for each in pit.table.history().rounds] == [
        (1, "new_round")
    ]


def test_faces_that_arrive_after_an_undo_complete_the_round() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE))
    pit.deal(BANKER_DRAWS, hidden=True)
    pit.disclose("P1 6S, B1 2H")
    pit.cmd("correct_card", slot=Slot.P1, card="7S")
    pit.disclose("P2 KD")
    pit.cmd("undo")
    pit.disclose("B2 3C, B3 9D")
    pit.result("player")
    assert [(data.player.cards, data.partial) for data in pit.finished()] == [
        (("6S", "KD"), False)
    ]


def test_an_undone_void_publishes_the_faces_that_came_meanwhile() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE))
    pit.deal(BANKER_DRAWS, hidden=True)
    pit.disclose("P1 6S")
    pit.cmd("void_round")
    assert "card_disclosed" not in types(pit.disclose("B1 2H"))
    assert [each.card for each in of_type(pit.cmd("undo"), "card_disclosed")] == ["2H"]


def test_undo_during_a_round_asks_for_no_card_of_the_one_before() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.result("player")
    pit.cmd("correct_card", slot=Slot.P1, card="2S")
    pit.deal("P1 6S, B1 2H")
    pit.cmd("undo")
    pit.deal("P2 KD, B2 3C, B3 9D")
    pit.result("player")
    assert pit.open_kinds() == []
    assert [data.outcome for data in pit.finished()] == ["player", "player"]


def test_undo_is_refused_where_an_irregularity_that_arose_since_was_decided() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.cmd("correct_card", slot=Slot.B2, card="4C")
    pit.result("banker")
    pit.cmd("acknowledge", irregularity=pit.id_of("result_mismatch"))
    assert pit.refused("undo").endswith("an irregularity that arose since was decided")


def test_correcting_a_partial_round_keeps_its_wagers() -> None:
    for later in (False, True):
        pit = SupervisedTable()
        pit.deal("P1 9S, B1 2H")
        pit.say(seen.Gap())
        pit.deal("P2 KD, B2 3C")
        pit.result("player")
        assert pit.finished()[0].partial
        wagers = pit.finished()[0].wagers
        assert wagers
        if later:
            pit.deal(NATURAL)
            pit.result("player")
        said = pit.cmd("correct_card", slot=Slot.B2, card="4C", round=1)
        after = one(said, "result_revised").after
        assert (after.wagers, after.partial, after.banker.total) == (wagers, True, 6)


def test_the_void_of_a_held_round_without_a_result_leaves_no_result_in_the_history() -> None:
    pit = SupervisedTable(hold_from=3)
    pit.cmd("hold")
    pit.deal("P1 KD, B1 8C, P2 7H, B2 3S, B3 AC")
    pit.result("player")
    pit.cmd("correct_card", slot=Slot.P1, card="5S")
    assert one(pit.cmd("void_round"), "round_voided").before is None
    (past,) = pit.table.history().rounds
    assert (past.voided, past.outcome, past.wins) == (True, None, ())

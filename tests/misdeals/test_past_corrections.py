"""
A card of a round that is on the table no more was another one: its result is
dealt again by the rules, and what is wrong with it then is said of that round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.game.house_rules import DealingStyle
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    NATURAL,
    SIX,
    SQUEEZE,
    TUCKED,
    house,
    of_type,
    one,
    types,
)
from tests.table.test_hidden_faces import without_numbers

if TYPE_CHECKING:
    from shoe_daemon.table import Event


def two(text: str, outcome: str, **options: Any) -> SupervisedTable:  # noqa: ANN401 - any field of the options
    """Deal a round, and another after it."""
    pit = SupervisedTable(**options)
    pit.deal(text)
    pit.result(outcome)
    pit.deal(NATURAL)
    pit.result("player")
    return pit


def correct(pit: SupervisedTable, slot: str, card: str) -> list[Event]:
    """Correct a card of the first round."""
    said = pit.cmd("correct_card", slot=Slot(slot), card=card, round=1)
    assert {event.round for event in said} <= {1, None}
    return said


def test_a_card_is_one_too_many() -> None:
    pit = two(SIX, "player")
    (before, _) = pit.finished()
    said = correct(pit, "P1", "6S")  # a natural of three cards it is not
    after = one(said, "result_revised").after
    assert (after.player.cards, after.banker.cards) == (("6S", "3D"), ("2H", "QC"))
    found = one(said, "irregularity")
    assert (found.kind, found.card) == ("excess_card", "4S")
    said = pit.cmd("undo")
    assert one(said, "result_revised").after == before
    assert pit.open_kinds() == []
    assert pit.out() == 10


def test_a_card_is_missing() -> None:
    pit = two("P1 7H, B1 5H, P2 10C, B2 3H", "banker")
    (before, _) = pit.finished()
    said = correct(pit, "B1", "QS")
    assert types(said) == ["card_corrected", "result_revised", "irregularity"]
    assert one(said, "result_revised").after is None
    assert one(said, "irregularity").kind == "missing_draw"
    assert pit.counts() == {"rounds": 1, "player": 1, "natural": 1}
    said = pit.cmd("undo")
    assert one(said, "result_revised").after == before
    assert pit.open_kinds() == []
    assert pit.counts() == {"rounds": 2, "player": 1, "banker": 1, "natural": 2}


@pytest.mark.parametrize("released", [True, False])
def test_a_result_that_waits(*, released: bool) -> None:
    pit = SupervisedTable()
    pit.cmd("hold")
    pit.deal(SIX)
    pit.result("player")
    pit.deal(NATURAL)
    pit.result("player")
    assert types(correct(pit, "P1", "6S")) == ["card_corrected", "irregularity"]
    if released:
        pit.cmd("resume")
    pit.cmd("undo")
    if not released:
        pit.cmd("resume")
    results = [each.after for each in of_type(pit.events, "result_revised")] or pit.finished()
    assert results[0].player.cards == ("2S", "3D", "4S")
    assert pit.counts() == {"rounds": 2, "player": 2, "natural": 1}


@pytest.mark.parametrize("slot", ["P1", "B1"])
@pytest.mark.parametrize("pairs", [(None, None), (False, True), (True, None)])
def test_a_card_of_an_entered_round_that_has_no_other(
    slot: str, pairs: tuple[bool | None, bool | None]
) -> None:
    pit = SupervisedTable()
    pit.draw("AS", slot)
    pit.cmd("enter_result", outcome="banker", player_pair=pairs[0], banker_pair=pairs[1])
    pit.draw("9D", "P1")
    (before,) = pit.finished()
    said = correct(pit, slot, "AH")
    assert types(said) == ["card_corrected", "result_revised"]
    after = one(said, "result_revised").after
    hand = after.player if slot == "P1" else after.banker
    assert hand.cards == ("AH",)
    assert (after.player.pair, after.banker.pair) == pairs
    assert after.outcome == before.outcome


@pytest.mark.parametrize("style", [SQUEEZE, TUCKED])
def test_a_face_that_nobody_saw_stays_hidden_in_a_past_round(style: DealingStyle) -> None:
    said: list[list[dict[str, Any]]] = []
    for hidden in ("4C", "KD"):
        pit = SupervisedTable(house(dealing_style=style), reveal_after=None)
        pit.deal(f"P1 9S, B1 {hidden}, P2 2H")
        pit.disclose("P1 9S")
        pit.cmd("enter_result", outcome=Outcome.TIE)
        pit.deal("P1 3S")
        said.append([without_numbers(each) for each in correct(pit, "P1", "8S")])
    assert said[0] == said[1]

"""
Corrections in an aborted or void round: the cards are counted, no result follows, no face
leaks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.ledger import MAX_HOLDING_ALERTS
from tests.each_case import each_case
from tests.misdeals.supervised_table import SupervisedTable
from tests.public_json import encode_public_table
from tests.table.dealer import (
    FACE_UP,
    NATURAL,
    SQUEEZE,
    DealingStyle,
    house,
    of_type,
    one,
    public_json,
    types,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table import Event

ENDS: dict[str, seen.Observation] = {
    "booted": seen.Booted(),
    "forced": seen.Result(forced=True),
    "void": seen.Command(name="void_round", operator="ann"),
}
ALL_ENDS = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


def unread(end: seen.Observation, style: DealingStyle = SQUEEZE) -> SupervisedTable:
    """Deal four cards, the last of which passes unread, and end the round without a result."""
    pit = SupervisedTable(house(dealing_style=style))
    pit.deal("P1 9S, B1 2H, P2 KD")
    pit.say(seen.Unreadable(slot=Slot.B2))
    pit.say(end)
    return pit


def shown(pit: SupervisedTable, said: list[Event]) -> str:
    """Return what players may see of events, and of the table."""
    return json.dumps(public_json(said)) + encode_public_table(pit.table.public()).decode()


@ALL_ENDS
@pytest.mark.parametrize("style", [SQUEEZE, FACE_UP])
def test_a_card_entered_afterwards_gives_no_result(
    end: seen.Observation, style: DealingStyle
) -> None:
    pit = unread(end, style)
    said = pit.cmd("enter_card", card="7C")
    assert types(said)[0] == "card_corrected"
    assert not {"round_finished", "irregularity"} & set(types(said))
    assert (pit.finished(), pit.counts(), pit.last()) == ([], {}, None)


@ALL_ENDS
def test_a_card_entered_afterwards_is_shown_to_nobody(end: seen.Observation) -> None:
    pit = unread(end)
    said = pit.cmd("enter_card", card="7C")
    assert one(said, "staff_card_dealt").card == "7C"
    said += pit.cmd("correct_card", slot=Slot.B2, card="6C")
    said += pit.cmd("undo")
    said += pit.cmd("undo")
    # The first undo changes nothing that players see.
    assert [(e.before, e.after) for e in of_type(said, "card_corrected")] == [(None, None)] * 3
    assert not any(face in shown(pit, said) for face in ("7C", "6C", "9S", "2H", "KD"))


@ALL_ENDS
def test_a_correction_tells_nothing_of_what_was_due(end: seen.Observation) -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE))
    pit.deal("P1 2S, B1 7H, P2 3D, B2 KC, P3 4D")
    pit.outside("9D")
    pit.say(end)
    said = pit.cmd("correct_card", slot=Slot.B1, card="3H")
    assert types(said) == ["card_corrected", "staff_card_dealt"]
    said = pit.cmd("correct_card", slot=Slot.P1, card="6H")
    assert types(said) == ["card_corrected", "staff_card_dealt"]


def test_a_void_closes_no_other_irregularity_where_too_many_are_open() -> None:
    pit = SupervisedTable(hold_from=1)
    pit.deal(NATURAL)
    pit.result("player")
    pit.draw("AS", "P1")
    for _ in range(MAX_HOLDING_ALERTS):
        pit.cmd("hold", kind="card_off_table")
    before = pit.table.public().alerts
    pit.cmd("void_round", round=1)
    assert len(before) == MAX_HOLDING_ALERTS
    assert pit.table.public().alerts == before


FAULTS: dict[str, Callable[[SupervisedTable], object]] = {
    "missing_draw": lambda pit: [pit.deal("P1 2S, B1 7H, P2 3D, B2 QC"), pit.result("banker")],
    "result_mismatch": lambda pit: [pit.deal(NATURAL), pit.result("banker")],
    "excess_card": lambda pit: pit.deal(f"{NATURAL}, B3 4S"),
    "several": lambda pit: [pit.deal("P1 9S, B1 2H, B2 KD"), pit.cmd("hold", kind="foreign_card")],
    "wrong_hand": lambda pit: pit.deal("P1 9S, B1 2H, B2 KD"),
    "unreadable_card": lambda pit: [pit.deal("P1 9S"), pit.say(seen.Unreadable(slot=Slot.B1))],
    "device_fault": lambda pit: [pit.deal("P1 9S"), pit.error("other")],
    "premature_draw": lambda pit: [pit.say(seen.BettingOpen()), pit.deal(NATURAL)],
    "duplicate_card": lambda pit: pit.deal("P1 9S, B1 2H, P2 9S, B2 3C"),
    "foreign_card": lambda pit: [pit.deal(NATURAL), pit.cmd("hold", kind="foreign_card")],
    "card_off_table": lambda pit: [pit.deal("P1 9S"), pit.cmd("hold", kind="card_off_table")],
    "for staff": lambda pit: pit.deal("P1 6S, B1 2H, P2 6S, B2 3C, P3 9D"),
}


@each_case("fault", FAULTS)
@each_case("hold_from", [None, 1, 4])
@each_case("style", [FACE_UP, SQUEEZE])
@each_case("ruled", [True, False])
def test_a_void_closes_all_irregularities_of_its_round(
    fault: str, hold_from: int | None, style: DealingStyle, *, ruled: bool
) -> None:
    pit = SupervisedTable(house(dealing_style=style), hold_from=hold_from, decks=1)
    FAULTS[fault](pit)
    before = pit.open_kinds(), pit.table.staff_alerts()
    assert before != ([], ())
    if ruled and pit.open_kinds():
        pit.rule("void_round")
    else:
        pit.cmd("void_round", round=1)
    assert (pit.open_kinds(), pit.table.staff_alerts()) == ([], ())
    assert {action for action, _ in pit.closed()} <= {"void_round"}
    assert (pit.table.public().held, pit.counts()) == ((), {})
    pit.cmd("undo")
    assert (pit.open_kinds(), pit.table.staff_alerts()) == before
    assert pit.said() == pit.replayed()


def test_a_void_closes_an_excess_card_that_was_drawn_after_its_round() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.result("player")
    pit.outside("4S")
    assert pit.open_kinds() == ["excess_card"]
    pit.cmd("void_round", round=1)
    assert pit.open_kinds() == []


def test_a_void_closes_no_irregularity_of_another_round() -> None:
    pit = SupervisedTable(hold_from=1)
    pit.deal(NATURAL)
    pit.result("banker")
    pit.deal("P1 9S, B1 2H, B2 KD")
    assert pit.open_kinds() == ["result_mismatch", "wrong_hand"]
    pit.cmd("void_round", round=1)
    assert pit.open_kinds() == ["wrong_hand"]

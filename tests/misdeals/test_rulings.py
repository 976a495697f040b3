"""
A supervisor chooses an action, and the table follows; one that does not fit is
refused, and changes nothing.
"""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.game.rulings import Action
from shoe_daemon.table import observations as seen
from shoe_daemon.table.commands.rulings import ACTION_KINDS
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import LOGS, IrregularityLog
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    NATURAL,
    RoundEnd,
    of_type,
    refusal_text,
    types,
)

WAIT = {Action.DRAW_NOW, Action.RESCAN, Action.MANUAL_ENTRY}


def ordered(log: IrregularityLog, policy: str = "management") -> tuple[Table, list[str]]:
    """Tell a table a log."""
    table, said = Table(), []
    for observation in log.observations(policy):
        said += types(table.apply(observation))
    return table, said


@each_case("action", Action)
@each_case("log", LOGS)
def test_an_action_is_taken_or_refused_with_a_reason(log: IrregularityLog, action: Action) -> None:
    table, _ = ordered(log)
    if not table.state.alerts:
        return
    (alert,) = table.state.alerts
    order = seen.Command(
        at=table.state.now, name="rule", action=action, irregularity=alert.data.id, operator="ann"
    )
    reason, before = refusal_text(table, order), table.checkpoint()
    said = table.apply(order)
    kinds = ACTION_KINDS[action]
    if kinds is not None and IrregularityKind(log.kind) not in kinds:
        assert reason == f"{action} is no answer to {log.kind}"
    if reason is not None:
        assert said == []
        assert table.checkpoint() == before
        return
    closed = of_type(said, "irregularity_closed")
    assert bool(closed) == (action not in WAIT)
    assert {(each.action, each.operator) for each in closed} <= {(action, "ann")}
    assert table.state.alerts == ([alert] if action in WAIT else [])


@pytest.mark.parametrize("action", ["restore_order", "continue", "supervisor"])
def test_the_order_out_of_the_shoe_governs(action: str) -> None:
    pit = SupervisedTable()
    pit.deal("P1 6S, P2 7H, B1 KD, B2 QC")
    pit.rule(action)
    pit.result("banker")
    (data,) = pit.finished()
    assert (data.player.cards, data.banker.cards) == (("6S", "KD"), ("7H", "QC"))
    assert pit.closed() == [(action, "ann")]
    assert pit.kinds() == ["wrong_hand"]


def test_void_after_it_was_published() -> None:
    pit = SupervisedTable()
    pit.deal(f"{NATURAL}, P3 4C")
    (published,) = pit.finished()
    said = pit.rule("void_round")
    (voided,) = of_type(said, "round_voided")
    assert (voided.before, voided.after, voided.operator) == (published, None, "ann")
    assert pit.counts() == {}
    assert pit.last() is None
    assert pit.out() == 5
    pit.cmd("undo")
    assert pit.counts() == {"rounds": 1, "player": 1, "natural": 1}
    assert pit.last().data == published


def test_a_card_too_many_after_the_end_voids_that_round() -> None:
    pit = SupervisedTable(policy="fr_2007", round_end=RoundEnd.BUTTON)
    pit.deal(NATURAL, slots=False)
    pit.result("player")
    pit.outside("4C")
    said = pit.rule("void_round")
    assert [event.round for event in said if event.type == "round_voided"] == [1]


def test_what_belongs_to_no_round_voids_none() -> None:
    pit = SupervisedTable()
    pit.error("timeout")
    assert pit.refused("rule", action="void_round") == "it belongs to no round"


@pytest.mark.parametrize("during", [True, False])
def test_the_shoe_is_stopped(*, during: bool) -> None:
    pit = SupervisedTable(decks=1)
    pit.deal("P1 9S, B1 9S, P2 KD, B2 3C")
    if not during:
        pit.result("player")
    said = types(pit.rule("stop_shoe"))
    assert said[0] == "irregularity_closed" or "shoe_finished" in said
    assert ("shoe_finished" in said) is not during
    if during:
        assert "shoe_finished" in types(pit.result("player"))
    said = types(pit.draw("8S", "P1"))
    assert said[0] == "shoe_started"


def test_a_card_is_read_again() -> None:
    pit = SupervisedTable()
    pit.say(seen.Unreadable(slot=Slot.P1))
    pit.rule("rescan")
    assert pit.open_kinds() == ["unreadable_card"]
    pit.draw("9S", "P1")
    assert pit.closed() == [("rescan", "ann")]


def test_readers_that_differ_are_settled_by_a_correction() -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S")
    pit.say(seen.Placed(slot=Slot.P1, card=Card("8S")))
    pit.rule("manual_entry")
    assert pit.open_kinds() == ["source_conflict"]
    pit.cmd("correct_card", slot=Slot.P1, card="8S")
    assert pit.closed() == [("manual_entry", "ann")]


def test_what_is_no_action_and_what_is_no_irregularity() -> None:
    pit = SupervisedTable()
    assert pit.refused("rule", action="continue") == "no irregularity is open"
    assert pit.refused("acknowledge") == "no irregularity is open"
    pit.deal(f"{NATURAL}, P3 4C")
    assert "no action 'shrug'" in pit.refused("rule", action="shrug")
    assert "no action None" in pit.refused("rule")
    assert (
        pit.refused("rule", irregularity=999, action="continue") == "irregularity 999 is not open"
    )
    pit.error("button")
    assert pit.refused("rule", action="continue") == "which irregularity? give its id"


def test_a_dealer_signs_on_and_off() -> None:
    pit = SupervisedTable()
    assert pit.refused("dealer") == "no dealer has signed on"
    changes = [
        each
        for name in ("Kim", "Robin", None)
        for each in of_type(pit.cmd("dealer", dealer=name), "dealer_changed")
    ]
    assert [(each.before, each.dealer) for each in changes] == [
        *((None, "Kim"), ("Kim", "Robin")),
        ("Robin", None),
    ]
    pit.cmd("dealer", dealer="Kim")
    assert pit.refused("dealer", dealer="Kim") == "this dealer has signed on"
    assert pit.table.public().dealer == "Kim"
    # A round goes on; it is the next dealer who ends it.
    first, second, *rest = NATURAL.split(", ")
    pit.deal(f"{first}, {second}")
    pit.cmd("dealer", dealer="Robin")
    pit.deal(", ".join(rest))
    pit.result("player")
    assert len(pit.finished()) == 1


def test_no_result_is_entered_into_a_finished_shoe() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.result("player")
    pit.cmd("hold", kind="foreign_card")
    pit.rule("stop_shoe")
    assert "shoe_finished" in types(pit.events)
    assert (
        pit.refused("enter_result", outcome="tie")
        == "the shoe is finished: order a new shoe first"
    )

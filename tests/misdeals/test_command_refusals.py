"""Every command at many moments: applied, or refused with a reason and without any change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.irregularities import IRREGULARITIES, REPORTABLE_KINDS
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.table import observations as seen
from shoe_daemon.table.commands.dispatch import COMMANDS
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import DRAWS
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SQUEEZE, Burn, house, of_type, one, types

if TYPE_CHECKING:
    from collections.abc import Callable

Moment = tuple[str, "Callable[[SupervisedTable], object]"]


def _unread(pit: SupervisedTable) -> None:
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.P2))
    pit.deal("B2 3C")


def _finished(pit: SupervisedTable) -> None:
    pit.deal(NATURAL)
    pit.result("player")


def _corrected(pit: SupervisedTable) -> None:
    _finished(pit)
    pit.cmd("correct_card", slot=Slot.B1, card="6H")


MOMENTS: tuple[Moment, ...] = (
    ("at first", lambda _: None),
    ("a new shoe", lambda pit: pit.cmd("new_shoe")),
    ("a first card", lambda pit: pit.deal("P1 9S")),
    ("a card is due", lambda pit: pit.deal(DRAWS)),
    ("a card is missing", lambda pit: [pit.deal(DRAWS), pit.result("banker")]),
    ("whole", lambda pit: pit.deal(NATURAL)),
    ("finished", _finished),
    ("one too many", lambda pit: pit.deal(f"{NATURAL}, P3 4C")),
    ("unread", _unread),
    ("corrected", _corrected),
    ("on hold", lambda pit: pit.cmd("hold")),
    ("void", lambda pit: [pit.deal(DRAWS), pit.cmd("void_round")]),
    ("torn", lambda pit: [pit.deal(DRAWS), pit.gap()]),
    ("entered", lambda pit: pit.cmd("enter_result", outcome="tie")),
)
FIELDS: dict[str, dict[str, Any]] = {
    "correct_card": {"slot": Slot.B1, "card": "7D"},
    "enter_card": {"card": "7D"},
    "enter_result": {"outcome": "banker"},
    "rule": {"action": "continue"},
    "hold": {"kind": "card_off_table"},
    "pass_shoe": {"seat": 2},
    "dealer": {"dealer": "Kim"},
}
FITS = {
    "reveal": set(),
    "confirm_result": {"a first card", "a card is due", "a card is missing", "whole",
                       "one too many", "unread", "void", "torn"},
    "enter_card": {"unread"},
    "correct_card": {"a card is due", "a card is missing", "whole", "finished", "one too many",
                     "unread", "corrected", "void", "torn"},
    "undo": {"corrected", "entered", "void"},
    "void_round": {"a first card", "a card is due", "a card is missing", "whole", "finished",
                   "one too many", "unread", "corrected", "torn", "entered"},
    "acknowledge": {"a card is missing", "one too many", "unread", "corrected"},
    "rule": {"a card is missing", "one too many", "unread", "corrected"},
    "resume": {"on hold"},
    "pass_shoe": set(),
    "enter_result": {"at first", "a new shoe", "a first card", "a card is due",
                     "a card is missing", "finished", "unread", "corrected", "on hold", "void",
                     "torn", "entered"},
}  # fmt: skip
"""The moments at which an order fits; those that are not here fit at all of them."""


@each_case("name", COMMANDS)
@each_case("moment", MOMENTS)
def test_it_fits_or_changes_nothing(name: str, moment: Moment) -> None:
    pit = SupervisedTable()
    moment[1](pit)
    fields = FIELDS.get(name, {})
    if moment[0] in FITS.get(name, {each[0] for each in MOMENTS}):
        pit.cmd(name, **fields)
    else:
        reason = pit.refused(name, **fields)
        assert reason[0].islower()
        assert not reason.endswith(".")
    assert pit.replayed() == pit.said()


@each_case("moment", MOMENTS)
def test_an_order_that_was_refused_does_nothing_even_if_it_fits(moment: Moment) -> None:
    pit = SupervisedTable()
    moment[1](pit)
    before = pit.memory()
    for name in COMMANDS:
        order = pit.command(name, refused="expired", **FIELDS.get(name, {}))
        assert pit.say(order, 0) == []
    assert pit.memory() == before


def test_an_order_that_nobody_knows() -> None:
    assert (
        SupervisedTable()
        .refused("dance")
        .startswith("there is no order 'dance'; there are: acknowledge,")
    )


@each_case("kind", sorted(REPORTABLE_KINDS))
def test_what_a_person_reports(kind: str) -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S")
    found = one(pit.cmd("hold", kind=kind, slot=Slot.P1), "irregularity")
    assert (found.kind, found.slot, found.detail) == (kind, "P1", "as seen")
    assert pit.table.public().on_hold
    found = one(pit.cmd("hold", kind=kind, reason=None), "irregularity")
    assert found.detail == IRREGULARITIES[IrregularityKind(kind)].text


def test_what_a_person_does_not_report() -> None:
    assert (
        SupervisedTable().refused("hold", kind="excess_card").startswith("a person cannot report")
    )
    assert SupervisedTable().refused("hold", kind="ghost").startswith("a person cannot report")


def test_a_result_is_entered_and_marked() -> None:
    pit = SupervisedTable()
    said = pit.cmd("enter_result", outcome="player", player_pair=True, banker_pair=False)
    assert types(said)[-2:] == ["round_started", "round_finished"]
    data = one(said, "round_finished")
    assert (data.outcome, data.player.pair, data.banker.pair) == ("player", True, False)
    assert (data.partial, data.wagers, data.player.cards) == (True, (), ())
    assert pit.last().entered
    assert pit.counts() == {"rounds": 1, "player": 1, "player_pair": 1}
    pit.deal(NATURAL)
    pit.result("player")
    assert not pit.last().entered


def test_a_result_is_entered_for_the_round_that_stopped() -> None:
    pit = SupervisedTable()
    pit.deal("P1 9S, B1 2H")
    said = pit.cmd("enter_result", outcome="tie")
    data = one(said, "round_finished")
    assert (data.player.cards, data.outcome, pit.last().round) == (("9S",), "tie", 1)
    pit.result("tie")
    assert pit.kinds() == []


def test_the_cards_of_a_finished_shoe_are_counted() -> None:
    for left, wrong in ((48, False), (47, True), (49, True)):
        pit = SupervisedTable(decks=1)
        pit.cmd("new_shoe")
        pit.deal(NATURAL)
        pit.result("player")
        pit.cmd("hold", kind="foreign_card")
        pit.rule("stop_shoe")
        said = pit.cmd("new_shoe", left=left)
        assert (pit.kinds()[1:] == ["card_count_mismatch"]) is wrong
        if wrong:
            assert [event.shoe for event in said if event.type == "irregularity"] == [1]
            assert pit.open_kinds() == ["card_count_mismatch"]


def test_that_the_shoe_is_empty_is_said_when_people_see_that_a_card_is_due() -> None:
    rules = house(dealing_style=SQUEEZE, decks=1, burn=Burn(mode="unchecked"))
    pit = SupervisedTable(rules)
    pit.cmd("new_shoe")
    pit.burn(" ".join(DECK[:48]), first=False)
    pit.deal(DRAWS)
    assert "insufficient_cards" not in pit.kinds()
    said = pit.cmd("reveal")
    assert types(said)[-2:] == ["irregularity", "draw_due"]
    assert of_type(said, "irregularity")[-1].kind == "insufficient_cards"

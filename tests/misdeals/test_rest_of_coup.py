"""
A round that was voided, or whose result was entered, while its cards were still being
dealt: the rest of its coup is counted, begins no round, and is on no road.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.each_case import each_case
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import BANKER_DRAWS, NATURAL, SIX, SQUEEZE, house, of_type, types

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS: dict[str, Callable[[SupervisedTable], object]] = {
    "void": lambda pit: pit.cmd("void_round"),
    "entered": lambda pit: pit.cmd("enter_result", outcome="banker"),
}
MODES = [
    (RoundEnd.DEVICE, True),
    (RoundEnd.BUTTON, True),
    (RoundEnd.BUTTON, False),
    (RoundEnd.QUIET, False),
    (RoundEnd.RULES, False),
]


def coup(pit: SupervisedTable, cards: str, *, slots: bool) -> None:
    """Deal a whole coup, and its end where one is declared."""
    pit.deal(cards, slots=slots)
    end(pit)


def end(pit: SupervisedTable) -> None:
    """End the coup as the table's equipment does."""
    if pit.table.mode is RoundEnd.QUIET:
        pit.wait(11)
    elif pit.table.mode is not RoundEnd.RULES:
        pit.say(seen.Result())


@each_case(
    "cards, after",
    [
        (coup, after)
        for coup in (SIX, BANKER_DRAWS, NATURAL)
        for after in range(1, coup.count(",") + 1)
    ],
)
@each_case("order", sorted(ORDERS))
@each_case("mode, slots", MODES)
def test_the_rest_of_its_coup_belongs_to_no_round(
    after: int, mode: RoundEnd, order: str, cards: str, *, slots: bool
) -> None:
    layout = cards.split(", ")
    pit = SupervisedTable(round_end=mode)
    coup(pit, NATURAL, slots=slots)
    pit.deal(", ".join(layout[:after]), slots=slots)
    ORDERS[order](pit)
    told = len(pit.events)
    pit.deal(", ".join(layout[after:]), slots=slots)
    assert set(types(pit.events[told:])) <= {"staff_card_dealt"}
    assert pit.out() == 4 + len(layout)
    end(pit)
    coup(pit, NATURAL, slots=slots)
    numbers = [event.round for event in pit.events if event.type == "round_finished"]
    assert numbers == ([1, 2, 3] if order == "entered" else [1, 3])
    assert pit.counts()["rounds"] == len(numbers)
    assert [data.player.cards for data in pit.finished() if not data.partial] == [("9S", "KD")] * 2
    assert set(pit.open_kinds()) == set()
    assert pit.said() == pit.replayed()


@each_case("order", sorted(ORDERS))
def test_a_seventh_card_begins_a_partial_round(order: str) -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal("P1 2S, B1 2H", slots=False)
    ORDERS[order](pit)
    pit.deal("P2 3D, B2 3C", slots=False)
    pit.deal(BANKER_DRAWS, slots=False)  # the signal between the two coups is missing
    end(pit)
    coup(pit, NATURAL, slots=False)
    assert len(of_type(pit.events, "round_started")) == 3
    *_, torn, whole = pit.finished()
    assert torn.partial
    assert (whole.partial, whole.player.cards) == (False, ("9S", "KD"))
    assert pit.out() == 2 + 2 + BANKER_DRAWS.count(",") + 1 + 4
    assert pit.said() == pit.replayed()


@pytest.mark.parametrize(
    "boundary",
    [
        seen.Result(outcome="player"),
        seen.TableCleared(),
        seen.BettingOpen(),
        seen.NoMoreBets(),
        seen.Command(name="confirm_result", operator="ann"),
        seen.Booted(),
    ],
)
def test_the_next_boundary_ends_the_coup(boundary: seen.Observation) -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    pit.deal("P1 2S, B1 2H", slots=False)
    pit.cmd("void_round")
    pit.draw("3D")
    pit.say(boundary)
    pit.deal(NATURAL, slots=False)
    assert [data.player.cards for data in pit.finished()] == [("9S", "KD")]
    assert pit.finished()[0].partial is False


def test_a_card_on_a_place_after_the_declared_end_is_still_of_the_coup() -> None:
    pit = SupervisedTable()
    pit.deal("P1 6S, B1 2H, P2 KD, B2 3C")
    pit.result("player")
    pit.rule("void_round")
    assert types(pit.draw("9D", "B3")) == ["staff_card_dealt"]
    pit.deal(NATURAL)
    assert [data.player.cards for data in pit.finished()] == [("9S", "KD")]


def test_a_camera_that_sees_a_place_again_counts_nothing_twice() -> None:
    pit = SupervisedTable()
    for slot, face in (("P1", "2S"), ("B1", "2H")):
        pit.draw(face, slot)
    pit.cmd("void_round")
    for _ in range(3):
        pit.draw("3D", "P2")
    assert pit.out() == 3


def test_the_faces_of_a_voided_squeeze_begin_no_round() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE))
    pit.deal("P1 2S, B1 2H", hidden=True)
    pit.cmd("void_round")
    pit.deal("P2 3D, B2 QC", hidden=True)
    told = len(pit.events)
    pit.disclose("P1 2S, B1 2H, P2 3D, B2 QC")
    assert set(types(pit.events[told:])) == {"staff_card_dealt"}
    shoe = pit.table.state.shoe
    assert shoe is not None
    assert sum(shoe.seen) == 4
    pit.result("player")
    pit.deal(NATURAL)
    assert [event.round for event in pit.events if event.type == "round_started"] == [1, 2]


def test_a_result_entered_while_the_reader_was_away_owns_what_comes_before_the_end() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON)
    coup(pit, NATURAL, slots=False)
    pit.say(seen.Link(up=False, source=None))
    pit.cmd("enter_result", outcome="banker")
    pit.say(seen.Link(up=True, source=None))
    pit.say(seen.Gap(detail=seen.GapDetail.RECONNECT))
    pit.deal("P1 3D, B1 QC", slots=False)
    pit.say(seen.Result())
    coup(pit, NATURAL, slots=False)
    assert [event.round for event in pit.events if event.type == "round_finished"] == [1, 2, 3]
    assert len(of_type(pit.events, "round_started")) == 3

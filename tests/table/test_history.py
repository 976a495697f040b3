"""Roads and history follow the table: every result, and whatever a person changes in it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from shoe_daemon.game.result_notation import format_sequence
from shoe_daemon.game.roads import build_roads
from shoe_daemon.table import observations as seen
from shoe_daemon.table.public_documents import MAX_PAST_SHOES
from shoe_daemon.table.table import Table
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    BOTH_STAND,
    NATURAL,
    SIX,
    TIE,
    house,
    public_json,
)
from tests.table.history_model import HistoryModel
from tests.table.random_observations import RandomObservations
from tests.volume import volume

PAIRS = "P1 KS, B1 3H, P2 KD, B2 3D, P3 4C"
"""Both have a pair; 4 against 6."""


def play(pit: SupervisedTable, *rounds: str) -> SupervisedTable:
    for each in rounds:
        pit.deal(each)
        pit.result()
    return pit


def sequence(pit: SupervisedTable) -> str:
    return format_sequence(pit.table.results())


def rounds(pit: SupervisedTable) -> tuple[Any, ...]:
    return pit.table.history().rounds


def brief(pit: SupervisedTable) -> list[tuple[int, str | None, bool]]:
    """Number, outcome, and whether it is void, of every round of the history."""
    return [(each.round, each.outcome, each.voided) for each in rounds(pit)]


@pytest.fixture
def pit() -> SupervisedTable:
    """A table with three rounds behind it."""
    return play(SupervisedTable(hold_from=3), NATURAL, BOTH_STAND, PAIRS)


def test_every_result_is_there_at_once(pit: SupervisedTable) -> None:
    assert sequence(pit) == "PnBBpb"
    assert brief(pit) == [(1, "player", False), (2, "banker", False), (3, "banker", False)]
    last = rounds(pit)[-1]
    assert last.player == ("KS", "KD", "4C")
    assert last.banker == ("3H", "3D")
    assert (last.player_total, last.banker_total) == (4, 6)
    assert (last.player_pair, last.banker_pair, last.natural) == (True, True, False)
    assert last.wins == ("banker",)
    assert (last.partial, last.entered, last.kind) == (False, False, "normal")
    assert last.at == [each.at for each in pit.events if each.type == "round_finished"][-1]


def test_a_void_and_its_undoing(pit: SupervisedTable) -> None:
    pit.cmd("void_round", round=2)
    assert sequence(pit) == "PnBpb"
    # It is in the history: its cards were dealt.
    assert brief(pit)[1] == (2, "banker", True)
    pit.cmd("undo")
    assert sequence(pit) == "PnBBpb"
    assert brief(pit)[1] == (2, "banker", False)


def test_a_result_that_a_person_enters_and_takes_back(pit: SupervisedTable) -> None:
    pit.cmd("enter_result", outcome="tie", player_pair=True, banker_pair=False)
    assert sequence(pit) == "PnBBpbTp"
    assert rounds(pit)[-1].entered
    assert rounds(pit)[-1].partial
    pit.cmd("undo")
    assert sequence(pit) == "PnBBpb"
    assert rounds(pit)[-1].round == 3


def test_an_aborted_round_is_in_the_history_with_its_cause_and_on_no_road(
    pit: SupervisedTable,
) -> None:
    pit.deal("P1 2C, B1 3C")
    pit.say(seen.Booted())
    assert pit.events[-1].type == "round_aborted"
    play(pit, TIE)
    assert sequence(pit) == "PnBBpbT"
    assert [number for number, _, _ in brief(pit)] == [1, 2, 3, 4, 5]
    aborted = rounds(pit)[3]
    assert (aborted.aborted, aborted.outcome, aborted.player) == ("reset", None, ())
    assert aborted.at == [each.at for each in pit.events if each.type == "round_aborted"][-1]
    assert [each.aborted for each in rounds(pit)].count(None) == 4


def test_of_a_result_that_is_held_the_history_says_only_that_it_is(pit: SupervisedTable) -> None:
    pit.cmd("hold")
    pit.deal(TIE)
    pit.result("tie")
    assert pit.table.public().held
    assert sequence(pit) == "PnBBpb"
    waits = rounds(pit)[-1]
    assert (waits.round, waits.held, waits.at) == (4, True, pit.events[-1].at)
    assert (waits.outcome, waits.player, waits.banker, waits.wins) == (None, (), (), ())
    pit.cmd("resume")
    assert sequence(pit) == "PnBBpbT"
    assert [each.held for each in rounds(pit)] == [False] * 4


def test_a_new_shoe_begins_with_empty_roads_and_remembers_the_one_before(
    pit: SupervisedTable,
) -> None:
    at = rounds(pit)[-1].at
    pit.cmd("void_round", round=2)
    pit.cmd("new_shoe")
    history = pit.table.history()
    assert sequence(pit) == ""
    assert (history.shoe, history.rounds) == (2, ())
    (past,) = history.shoes
    assert (past.shoe, past.sequence, past.ended_at) == (1, "PnBpb", at)
    assert (past.rounds, past.banker, past.player, past.tie) == (2, 1, 1, 0)
    assert past.started_at <= at


def test_only_the_latest_shoes_are_remembered() -> None:
    pit = SupervisedTable()
    for _ in range(MAX_PAST_SHOES + 5):
        pit.cmd("new_shoe")
        play(pit, SIX)
    shoes = pit.table.history().shoes
    assert MAX_PAST_SHOES == 12
    assert [each.shoe for each in shoes] == list(range(5, 17))
    assert {each.sequence for each in shoes} == {"P"}


def test_where_a_shoe_never_ends_the_oldest_rounds_are_forgotten_by_whole_columns() -> None:
    pit = SupervisedTable(house(reshuffle="per_hand"))
    places = []
    for number in range(1, 301):
        play(pit, [NATURAL, BOTH_STAND, TIE][number % 3])
        bead = build_roads(pit.table.results()).bead[-1]
        places.append((bead.col, bead.row))
        assert bead.row == (number - 1) % 6
    moves = [n for n, (one, other) in enumerate(pairwise(places)) if other[0] < one[0]]
    assert moves == [199, 259]
    assert pit.counts()["rounds"] == 300


def test_a_checkpoint_from_before_there_was_a_history_is_read(pit: SupervisedTable) -> None:
    form, line, body = pit.table.checkpoint().partition(b"\n")
    state = msgspec.msgpack.decode(body)
    del state["past"]
    again = Table.restore(form + line + msgspec.msgpack.encode(state))
    assert again.results() == pit.table.results()
    assert again.history().shoes == ()
    pit.cmd("new_shoe")
    for told in pit.log[-1:]:
        again.apply(told)
    assert [each.sequence for each in again.history().shoes] == ["PnBBpb"]


@pytest.mark.parametrize("seed", range(volume(4, 12)))
def test_roads_and_history_say_what_the_public_events_have_said(seed: int) -> None:
    table, board = Table(), HistoryModel()
    for told in RandomObservations(seed).generate(400):
        board.hear(public_json(table.apply(told)))
        board.check(table)
        assert format_sequence(table.results()) == board.sequence()


@pytest.mark.parametrize("seed", range(3))
def test_a_table_that_stops_at_any_moment_goes_on_with_the_same_past(seed: int) -> None:
    table = Table()
    for told in RandomObservations(seed).generate(300):
        twin = Table.restore(table.checkpoint())
        assert twin.history() == table.history()
        table.apply(told)
        twin.apply(told)
        assert twin.history() == table.history()

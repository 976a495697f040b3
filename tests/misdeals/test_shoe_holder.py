"""The holder of the shoe where players draw the cards, and when the shoe passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, TIE, RoundEnd, house, of_type, types

if TYPE_CHECKING:
    from shoe_daemon.table import Event

BANKER = "P1 6S, B1 7H, P2 KD, B2 QC"
"""6 against 7."""
DUE = "P1 6S, B1 2H, P2 KD, B2 3C"
"""The Banker has to draw."""


def curated(
    *,
    policy: str = "management",
    seats: tuple[int, ...] = (1, 2, 3),
    **rules: Any,  # noqa: ANN401 - any field of the rules
) -> SupervisedTable:
    """A table where players draw, with a new shoe on it."""
    options: dict[str, Any] = {"round_end": RoundEnd.DEVICE, "seats": seats}
    pit = SupervisedTable(house(curator={"on": True} | rules), policy=policy, **options)
    pit.cmd("new_shoe")
    return pit


def passes(events: list[Event]) -> list[int | None]:
    """Say to whom the shoe passed."""
    return [each.seat for each in of_type(events, "shoe_passed")]


def play(pit: SupervisedTable, text: str, outcome: str) -> list[int | None]:
    """Deal a round, and say to whom the shoe passed."""
    return passes([*pit.deal(text), *pit.result(outcome)])


def test_a_new_shoe_is_offered_to_the_first_seat() -> None:
    pit = curated()
    assert passes(pit.events) == [1]
    assert types(pit.events).index("shoe_started") < types(pit.events).index("shoe_passed")
    assert pit.table.public().curator == 1


def test_it_passes_when_the_banker_loses_and_else_it_stays() -> None:
    pit = curated()
    assert play(pit, BANKER, "banker") == []
    assert play(pit, TIE, "tie") == []
    assert play(pit, NATURAL, "player") == [2]
    assert play(pit, NATURAL, "player") == [3]
    assert play(pit, NATURAL, "player") == [1]


def test_it_is_passed_and_refused() -> None:
    pit = curated()
    assert passes(pit.cmd("pass_shoe")) == [2]
    assert passes(pit.cmd("pass_shoe")) == [3]
    assert passes(pit.cmd("pass_shoe")) == [None]
    assert pit.table.public().curator is None
    assert play(pit, BANKER, "banker") == []
    assert play(pit, NATURAL, "player") == [1]
    assert passes(pit.cmd("pass_shoe", seat=3)) == [3]


def test_who_is_not_seated_gets_no_shoe() -> None:
    pit = curated()
    assert pit.refused("pass_shoe", seat=7) == "seat 7 is not in play; there are: 1, 2, 3"
    pit = SupervisedTable()
    assert pit.refused("pass_shoe") == "the dealer draws the cards at this table"
    pit = curated(seats=())
    assert passes(pit.events) == []
    assert pit.refused("pass_shoe") == "the dealer draws the cards at this table"


def test_seats_change() -> None:
    pit = curated()
    options = Options(round_end=RoundEnd.DEVICE, seats=(2, 3))
    session = pit.log[0]
    assert isinstance(session, seen.Session)
    pit.say(seen.Session(rules=session.rules, options=options))
    assert play(pit, BANKER, "banker") == [2]
    assert pit.table.public().curator == 2


@pytest.mark.parametrize("how", ["void_round", "forced", "boot"])
def test_a_round_that_comes_to_nothing_passes_nothing(how: str) -> None:
    pit = curated()
    pit.deal("P1 6S, B1 2H")
    if how == "void_round":
        said = pit.cmd("void_round")
    else:
        said = pit.result(forced=True) if how == "forced" else pit.say(seen.Booted())
    assert passes(said) == []
    assert pit.table.public().curator == 1


def test_a_result_that_is_revised_or_void_does_not_bring_it_back() -> None:
    pit = curated()
    play(pit, NATURAL, "player")
    assert passes(pit.cmd("void_round")) == []
    assert pit.table.public().curator == 2


FALSE_DRAWS = {
    "player_third_unauthorised": f"{DUE}, P3 9D",
    "excess_card": f"{BANKER}, B3 4C",
}


@pytest.mark.parametrize("kind", FALSE_DRAWS)
@pytest.mark.parametrize("policy", ["fr_2007", "management", "us_nj_pa"])
def test_a_false_draw_costs_the_shoe_where_the_policy_says_so(kind: str, policy: str) -> None:
    pit = curated(policy=policy)
    passed = play(pit, FALSE_DRAWS[kind], "banker")
    assert pit.kinds()[0] == kind
    assert passed == ([2] if policy == "fr_2007" or pit.counts().get("player") else [])
    if passed:
        assert play(pit, BANKER, "banker") == []


def test_who_lost_it_already_loses_it_once() -> None:
    pit = curated(policy="fr_2007")
    assert play(pit, f"{NATURAL}, P3 4C", "player") == [2]
    assert play(pit, BANKER, "banker") == []
    assert pit.table.public().curator == 2


def test_a_false_draw_in_a_round_that_is_void_costs_it_too() -> None:
    pit = curated(policy="fr_2007")
    pit.deal("P1 6S, B1 2H")
    pit.cmd("hold", kind="double_feed")
    assert passes(pit.cmd("void_round")) == [2]
    assert pit.table.public().curator == 2

"""The envelope of every event, and the order of the events of one observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import ResultOn
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.table.dealer import NATURAL, SIX, Dealer, house
from tests.table.random_observations import RandomObservations
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoe_daemon.table import Event

# What happened comes first, then what is wrong with it, then who draws, then the result.
RANK = {
    "round_started": 0,
    "card_dealt": 1,
    "card_disclosed": 1,
    "staff_card_dealt": 1,
    "irregularity": 2,
    "irregularity_closed": 2,
    "ruling_given": 2,
    "draw_due": 3,
    "round_finished": 4,
    "last_round": 5,
    "shoe_finished": 5,
    "staff_composition": 6,
}


def rounds_of(events: list[Event]) -> Iterator[list[str]]:
    """Part the events of one observation: by their moment, and by their round."""
    parts: dict[object, list[str]] = {}
    for event in events:
        if event.type in RANK:
            parts.setdefault((event.at, event.shoe, event.round), []).append(event.type)
    yield from parts.values()


@pytest.mark.parametrize("style", list(DealingStyle))
@pytest.mark.parametrize("result_on", list(ResultOn))
def test_what_happened_then_what_is_wrong_then_who_draws_then_the_result(
    style: DealingStyle, result_on: ResultOn
) -> None:
    for text in (NATURAL, SIX, "P1 6S, P2 2H, B1 KD, B2 3C, P3 9D", f"{NATURAL}, P3 9S, B3 9S"):
        dealer = Dealer(house(dealing_style=style, decks=1), result_on=result_on)
        dealer.say(seen.BettingOpen())
        told = [*text.split(", "), "reveal", "result"]
        for each in told:
            if each == "reveal":
                said = dealer.order("reveal")
            elif each == "result":
                said = dealer.result("banker", pairs="pb")
            else:
                said = dealer.deal(each)
            for part in rounds_of(said):
                ranks = [RANK[kind] for kind in part]
                assert ranks == sorted(ranks), part
        assert dealer.kinds()
        assert len(dealer.finished()) == 1


@pytest.mark.parametrize("seed", [3023, *range(volume(4, 60))])
def test_in_any_weather_a_result_comes_after_all_that_it_rests_on(seed: int) -> None:
    table = Table()
    for observation in RandomObservations(seed).generate(1000):
        # An undo publishes the differences: in a round that is over, nobody draws.
        undone = isinstance(observation, seen.Command) and observation.name == "undo"
        for part in rounds_of(table.apply(observation)):
            if "round_finished" in part:
                rest = part[part.index("round_finished") + 1 :]
                assert not set(rest) & {"card_dealt", "card_disclosed", "draw_due"}, part
            if "card_dealt" in part and not undone:
                last = len(part) - 1 - part[::-1].index("card_dealt")
                assert "draw_due" in part[last:], part


def test_the_form_in_which_a_moment_was_written_stays() -> None:
    table = Table()
    at = "2026-11-21T09:34:46+00:00"
    assert {event.at for event in table.apply(seen.CardDrawn(at=at))} == {at}


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_123_000, "2023-11-14T22:13:20.123Z"),
        (1_700_000_000_123_456, "2023-11-14T22:13:20.123456Z"),
    ],
)
def test_a_moment_is_written_to_the_millisecond_or_as_fine_as_it_is(
    microseconds: int, text: str
) -> None:
    assert from_microseconds(microseconds) == text


def test_before_the_first_shoe_there_is_neither_shoe_nor_round() -> None:
    dealer = Dealer()
    (event,) = dealer.error("other")[1:]
    assert (event.shoe, event.round) == (None, None)

"""
Properties of the roads of every shoe, tried over thousands of shoes: eight decks each,
dealt by the rules down to the cut card.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import Coup, Outcome
from shoe_daemon.game.result_notation import Result
from shoe_daemon.game.roads import LeadingTies, Roads, Tail, build_roads
from tests.game.road_data import DERIVED
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shoe_daemon.game.roads import Ask, BigCell, MarkCell

PARTS = 10
SHOES = volume(300, 10_000)
CUT = 14
"""Cards behind the cut card."""


def deal(chance: Random) -> list[Result]:
    """Deal a shoe."""
    shoe = chance.sample(DECK * 8, 8 * 52)
    at, results = 1 + (shoe[0].points or 10), []
    while at < len(shoe) - CUT:
        player, banker, outcome = Coup.deal(shoe[at : at + 6])
        at += len(player.cards) + len(banker.cards)
        natural = player.natural or banker.natural
        results.append(Result(outcome, player.pair, banker.pair, natural))
    return results


def shoes(part: int) -> Iterator[tuple[Random, list[Result], LeadingTies, Tail]]:
    """Deal a part of the shoes, each to be drawn by other options than the one before."""
    ways = [(ties, tail) for ties in LeadingTies for tail in Tail]
    for number in range(part, SHOES, PARTS):
        chance = Random(number)
        yield (chance, deal(chance), *ways[number // PARTS % 4])


@pytest.mark.parametrize("part", range(PARTS))
def test_many_shoes(part: int) -> None:
    for chance, results, leading_ties, tail in shoes(part):
        drawn = build_roads(results, leading_ties=leading_ties, tail=tail)
        check_squares(drawn, results)
        check_marks(drawn)
        check_asks(drawn)
        # The shoe as it was before its last round, but for one more tie somewhere.
        first = next(n for n, each in enumerate(results) if each.outcome is not Outcome.TIE)
        place = chance.randrange(first + 1, len(results))
        another = [*results[:place], Result(Outcome.TIE), *results[place:-1]]
        before = build_roads(another, leading_ties=leading_ties, tail=tail)
        check_tie(drawn, before)
        check_last(before, drawn, results[-1].outcome)


def check_squares(drawn: Roads, results: Sequence[Result]) -> None:
    """No square is taken twice, all are on six rows, and nothing is missing or too much."""
    for road in ("bead", "big", *DERIVED):
        cells = getattr(drawn, road)
        squares = {(cell.col, cell.row) for cell in cells}
        assert len(squares) == len(cells)
        assert all(0 <= row < 6 and col >= 0 for col, row in squares)
    assert len(drawn.bead) == len(results) == drawn.counts.rounds
    wins = Counter(each.outcome for each in results)
    for side in (Outcome.PLAYER, Outcome.BANKER):
        assert sum(cell.side is side for cell in drawn.big) == wins[side]
    leading = sum(cell.side is Outcome.TIE for cell in drawn.big)
    assert sum(cell.ties for cell in drawn.big) + leading == wins[Outcome.TIE]


def check_marks(drawn: Roads) -> None:
    """
    A derived road has one mark a win after its start, which is the second cell of the
    column with its number, or the head of the next one.
    """
    for road, back in DERIVED.items():
        begun = [
            cell
            for cell in drawn.big
            if cell.column > back or (cell.column == back and cell.depth > 0)
        ]
        marks = getattr(drawn, road)
        assert len(marks) == len(begun)
        for one, other in pairwise(marks):
            assert (one.mark is other.mark) == (one.column == other.column)


def check_asks(drawn: Roads) -> None:
    """Of the marks that a Banker and a Player would bring one is red, the other blue."""
    for road in DERIVED:
        banker, player = getattr(drawn.ask.banker, road), getattr(drawn.ask.player, road)
        assert (banker is None) == (player is None)
        assert banker is None or {banker.mark, player.mark} == {"red", "blue"}


def check_tie(after: Roads, before: Roads) -> None:
    """
    A tie changes no derived road, and no place: all that stood before the last round is
    as it was, and what came with it is one cell a road.
    """
    for road in DERIVED:
        now, then = getattr(after, road), getattr(before, road)
        assert now[: len(then)] == then
        assert len(now) - len(then) in {0, 1}
    then_places = [_place(cell) for cell in before.big]
    assert [_place(cell) for cell in after.big[: len(then_places)]] == then_places


def check_last(before: Roads, after: Roads, outcome: Outcome) -> None:
    """The answer of a question about the next round is what then happens."""
    if outcome is Outcome.TIE:
        assert len(after.big) == len(before.big)
        return
    ask: Ask = getattr(before.ask, outcome)
    last = after.big[-1]
    assert (last.col, last.row) == (ask.big.col, ask.big.row)
    for road in DERIVED:
        marks: Sequence[MarkCell] = getattr(after, road)
        asked = getattr(ask, road)
        if asked is None:
            assert not marks
        else:
            new = marks[-1]
            assert len(marks) == len(getattr(before, road)) + 1
            assert (new.col, new.row, new.mark) == (asked.col, asked.row, asked.mark)


def _place(cell: BigCell) -> tuple[int, ...]:
    return (cell.col, cell.row, cell.column, cell.depth)


def test_the_shoe_before_its_last_round_is_drawn_as_it_was_then() -> None:
    for seed in range(10):
        results = deal(Random(seed))
        told = [build_roads(results[:n]) for n in range(len(results) + 1)]
        for n in reversed(range(len(results))):
            results.pop()
            assert build_roads(results) == told[n]


def test_shoes_are_as_long_as_eight_decks_are() -> None:
    lengths = [len(deal(Random(seed))) for seed in range(100)]
    assert 70 < min(lengths) <= max(lengths) < 95

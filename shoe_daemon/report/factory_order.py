"""
Runs of cards that lie as a new deck does.

A new deck comes suit by suit, each from ace to king or from king to ace; makers
differ in the order of the suits and in their directions, and a cut moves the
start. So a run goes on from a card to its neighbour in the same suit, always in
the same direction, and at the end of a suit to the ace or the king of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from shoe_daemon.game import RANKS, Card

_KING: Final = len(RANKS) - 1
_UP, _DOWN = 1, -1


class Run(NamedTuple):
    """`length` cards in factory order, from `start`."""

    start: int
    length: int


def runs_in(cards: Sequence[Card | None], shortest: int = 2) -> Iterator[Run]:
    """Yield every longest run of at least `shortest` cards, two or more."""
    start, direction = 0, 0
    for place in range(1, len(cards) + 1):
        step = _step(cards[place - 1], cards[place]) if place < len(cards) else None
        if step is not None and direction in {0, step[0]}:
            direction = step[1]
            continue
        if place - start >= max(shortest, 2):
            yield Run(start, place - start)
        # The last card may begin another run in another direction.
        start = place - 1 if step is not None else place
        direction = step[1] if step is not None else 0


def _step(one: Card | None, other: Card | None) -> tuple[int, int] | None:
    """Say in which direction a step leads, before and after it; None where it is none."""
    if one is None or other is None:
        return None
    here, there = RANKS.index(one.rank), RANKS.index(other.rank)
    if one.suit == other.suit:
        return (there - here, there - here) if abs(there - here) == 1 else None
    ends = {_KING: _UP, 0: _DOWN}
    begins = {0: _UP, _KING: _DOWN}
    return (ends[here], begins[there]) if here in ends and there in begins else None

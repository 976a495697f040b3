"""
Repeated sequences of cards, and runs in the order of a new deck.

Repeats: two places that agree on many cards also agree on the first few. All places are grouped by
their first cards, and only groups of two or more are extended.

Factory order: a new deck comes suit by suit, each from ace to king or from king to ace. The order
of the suits and their directions differ by maker, and a cut moves the start. A run therefore
continues with the neighbour in the same suit, in the same direction, and after the end of a suit
with the ace or king of another suit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from shoe_daemon.game import RANKS, Card

_BUCKETS: Final = 1 << 22
"""Number of buckets that sort out the sequences that occur only once."""

Symbols = Sequence[int | None]


class Place(NamedTuple):
    """The position of a sequence: index of the text, and of its first symbol."""

    text: int
    start: int


class Repeat(NamedTuple):
    """
    A sequence of `length` symbols that occurs at two or more places, in order.

    It is maximal: no symbol before or after is the same at all places.
    """

    length: int
    places: tuple[Place, ...]


def repeats(texts: Sequence[Symbols], shortest: int) -> Iterator[Repeat]:
    """Yield all maximal repeats of at least `shortest` symbols. None equals no symbol."""
    open_groups = [(shortest, group) for group in _groups(texts, shortest)]
    while open_groups:
        length, group = open_groups.pop()
        if len(_by_symbol(texts, group, -1)) == 1:
            continue  # part of a repeat that begins earlier
        parts = list(_by_symbol(texts, group, length).values())
        if len(parts) == 1 and len(parts[0]) == len(group):
            open_groups.append((length + 1, group))
            continue
        yield Repeat(length, tuple(sorted(group)))
        open_groups += [(length + 1, part) for part in parts if len(part) > 1]


def _groups(texts: Sequence[Symbols], length: int) -> Iterator[list[Place]]:
    # The first pass marks sequences that occur twice; the second collects only those.
    often = bytearray(_BUCKETS)
    for _, key in _windows(texts, length):
        bucket = hash(key) % _BUCKETS
        often[bucket] = min(often[bucket] + 1, 2)
    found: dict[tuple[int | None, ...], list[Place]] = {}
    for place, key in _windows(texts, length):
        if often[hash(key) % _BUCKETS] > 1:
            found.setdefault(key, []).append(place)
    yield from (group for group in found.values() if len(group) > 1)


def _windows(
    texts: Sequence[Symbols], length: int
) -> Iterator[tuple[Place, tuple[int | None, ...]]]:
    for number, text in enumerate(texts):
        whole = 0  # symbols since the last unknown symbol
        for end, symbol in enumerate(text, start=1):
            whole = 0 if symbol is None else whole + 1
            if whole >= length:
                yield Place(number, end - length), tuple(text[end - length : end])


def _by_symbol(
    texts: Sequence[Symbols], group: list[Place], offset: int
) -> dict[object, list[Place]]:
    # The end of a text and an unknown symbol equal nothing.
    parts: dict[object, list[Place]] = {}
    for place in group:
        text, at = texts[place.text], place.start + offset
        symbol = text[at] if 0 <= at < len(text) else None
        parts.setdefault(place if symbol is None else symbol, []).append(place)
    return parts


_KING: Final = len(RANKS) - 1
_UP, _DOWN = 1, -1


class Run(NamedTuple):
    """A run of `length` cards in factory order from index `start`."""

    start: int
    length: int


def runs_in(cards: Sequence[Card | None], shortest: int = 2) -> Iterator[Run]:
    """Yield all maximal runs of at least `shortest` cards (at least two)."""
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
    """Return the direction before and after a step between two cards; None if there is none."""
    if one is None or other is None:
        return None
    here, there = RANKS.index(one.rank), RANKS.index(other.rank)
    if one.suit == other.suit:
        return (there - here, there - here) if abs(there - here) == 1 else None
    ends = {_KING: _UP, 0: _DOWN}
    begins = {0: _UP, _KING: _DOWN}
    return (ends[here], begins[there]) if here in ends and there in begins else None

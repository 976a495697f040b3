"""All maximal repeats are found, and no others: compared with brute force."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.game.cards import DECK, RANKS, Card
from shoe_daemon.report.repeats import Place, Repeat, Run, repeats, runs_in

TEXTS = st.lists(st.lists(st.sampled_from([0, 1, 2, None]), max_size=14), max_size=4)


def brute(texts: Sequence[Sequence[int | None]], shortest: int) -> set[Repeat]:
    """Try every sequence at every place."""
    where: dict[tuple[int | None, ...], list[Place]] = {}
    for number, text in enumerate(texts):
        for start in range(len(text)):
            for end in range(start + shortest, len(text) + 1):
                if None not in text[start:end]:
                    where.setdefault(tuple(text[start:end]), []).append(Place(number, start))
    found = set()
    for sequence, places in where.items():
        before = {_at(texts, place, -1) for place in places}
        after = {_at(texts, place, len(sequence)) for place in places}
        if len(places) > 1 and len(before) > 1 and len(after) > 1:
            found.add(Repeat(len(sequence), tuple(sorted(places))))
    return found


def _at(texts: Sequence[Sequence[int | None]], place: Place, offset: int) -> object:
    text, at = texts[place.text], place.start + offset
    symbol = text[at] if 0 <= at < len(text) else None
    return place if symbol is None else symbol


@given(TEXTS, st.integers(1, 4))
def test_the_repeats_are_those_that_brute_force_finds(
    texts: list[list[int | None]], shortest: int
) -> None:
    found = list(repeats(texts, shortest))
    assert set(found) == brute(texts, shortest)
    assert len(found) == len(set(found))


@given(st.lists(st.sampled_from([*DECK[:5], *DECK[11:15], *DECK[24:28], None]), max_size=20))
def test_the_runs_are_those_that_brute_force_finds(cards: list[Card | None]) -> None:
    spans = [
        (start, end)
        for start in range(len(cards))
        for end in range(start + 2, len(cards) + 1)
        if follows(cards[start:end])
    ]
    longest = {
        Run(start, end - start)
        for start, end in spans
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e in spans)
    }
    assert set(runs_in(cards)) == longest


def follows(cards: Sequence[Card | None]) -> bool:
    """
    Return whether the cards may follow each other in a new deck, by trying both directions of each
    suit.
    """
    return any(_follows(cards, direction) for direction in (1, -1))


def _follows(cards: Sequence[Card | None], direction: int) -> bool:
    if None in cards:
        return False
    if len(cards) == 1:
        return True
    one, other = cards[0], cards[1]
    assert one is not None
    assert other is not None
    here, there = RANKS.index(one.rank), RANKS.index(other.rank)
    if one.suit == other.suit:
        return there == here + direction and _follows(cards[1:], direction)
    if here != (12 if direction == 1 else 0):
        return False
    return (there == 0 and _follows(cards[1:], 1)) or (there == 12 and _follows(cards[1:], -1))

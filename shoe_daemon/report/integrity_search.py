"""
Looking for repeats and for factory order in shoes, and telling what chance
hardly gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

from shoe_daemon.game.cards import CARDS_PER_DECK
from shoe_daemon.journal.journal_reader import JournalReader, looking_at
from shoe_daemon.report.card_order import CARD_EVENTS, CardFold, CardOut
from shoe_daemon.report.card_sequences import Place, Repeat, repeats, runs_in
from shoe_daemon.report.integrity_model import Finding, Integrity, Search, Skipped, Where
from shoe_daemon.report.shoe_composition import reshuffles
from shoe_daemon.report.shoe_events import Span, said_in, spans
from shoe_daemon.report.shuffle_probability import (
    FACES,
    RANKS_ONLY,
    Dealt,
    Kinds,
    expected_repeats,
    expected_runs,
)
from shoe_daemon.table.events import ShoeFinished, ShoeStarted


def read_integrity(path: Path) -> Integrity:
    """
    Look over all shoes of a journal that are over.

    Raises:
        UserError: FILE is no journal.
    """
    skipped: list[Skipped] = []
    with looking_at(path) as reader:
        shoes = list(_shoes(reader, skipped))
        identity = reader.identity
    return search(identity.site, identity.table, shoes, skipped)


def search(
    site: str, table: str, shoes: Sequence[Shuffled], skipped: Sequence[Skipped] = ()
) -> Integrity:
    """Look over these shoes."""
    faces, known = look_for_repeats(shoes, FACES)
    ranks, _ = look_for_repeats(shoes, RANKS_ONLY, known)
    return Integrity(
        site=site,
        table=table,
        shoes=len(shoes),
        first_shoe=shoes[0].shoe if shoes else None,
        last_shoe=shoes[-1].shoe if shoes else None,
        cards=sum(len(shoe.cards) for shoe in shoes),
        skipped=tuple(skipped),
        limit=str(LIMIT),
        faces=faces,
        ranks=ranks,
        factory=look_for_order(shoes),
    )


def _shoes(reader: JournalReader, skipped: list[Skipped]) -> Iterator[Shuffled]:
    for span in spans(reader):
        shoe, house, finished = _read(reader, span)
        if span.end is None and not finished:
            skipped.append(Skipped(span.shoe, "it is still under way"))
        elif reshuffles(house) or len(shoe.cards) > shoe.decks * CARDS_PER_DECK:
            skipped.append(Skipped(span.shoe, "cards went back into it"))
        elif shoe.cards:
            yield shoe


def _read(reader: JournalReader, span: Span) -> tuple[Shuffled, str | None, bool]:
    fold, finished = CardFold(), False
    started = ShoeStarted(1, None, "")
    for said in said_in(reader, span, (*CARD_EVENTS, ShoeStarted.type, ShoeFinished.type)):
        fold.take(said)
        if isinstance(said.event.data, ShoeStarted):
            started = said.event.data
        finished = finished or isinstance(said.event.data, ShoeFinished)
    cards = [card for card in fold.finish() if not card.again]
    return Shuffled(span.shoe, started.decks, cards), started.house, finished


LIMIT: Final = Decimal("0.001")
"""Told is what chance gives at most so often in a journal like this one."""

MOST_FOUND: Final = 100
"""As many findings of a kind as are told."""

_SHORTEST: Final = 2
_LOOK: Final = Decimal(50)
"""Shorter repeats, of which chance gives more than this, are not looked at."""


class Shuffled(NamedTuple):
    """The cards of one shoe that is over, in the order in which they left it."""

    shoe: int
    decks: int
    cards: list[CardOut]


def look_for_repeats(
    shoes: Sequence[Shuffled], kinds: Kinds, known: Iterable[Repeat] = ()
) -> tuple[Search, list[Repeat]]:
    """
    Look for sequences of faces, or of ranks alone, that come again.

    Args:
        shoes: Each is compared with itself and with all others.
        kinds: What is compared.
        known: What was found of faces: the same again by its ranks is no news.

    Returns:
        What is told, and all that was found.
    """
    dealt = _dealt(shoes)

    def expected(length: int) -> Decimal:
        return expected_repeats(kinds, length, dealt)

    look_from, tell_from = _shortest(expected, _LOOK), _shortest(expected, LIMIT)
    symbols = [[_symbol(card, kinds) for card in shoe.cards] for shoe in shoes]
    seen = sorted(repeats(symbols, look_from), key=lambda each: (-each.length, each.places))
    known = tuple(known)
    found = [
        each for each in seen if each.length >= tell_from and not _is_known(each, known, tell_from)
    ]
    told = tuple(
        _finding(shoes, each.places, each.length, kinds, expected(each.length))
        for each in found[:MOST_FOUND]
    )
    longest = seen[0].length if seen else 0
    usual = _written(expected(longest)) if longest else None
    return Search(look_from, tell_from, longest, usual, told, len(found) - len(told)), found


def look_for_order(shoes: Sequence[Shuffled]) -> Search:
    """Look for runs that lie as in a new deck."""
    dealt = _dealt(shoes)

    def expected(length: int) -> Decimal:
        return expected_runs(length, dealt)

    tell_from = _shortest(expected, LIMIT)
    seen = [
        (run.length, Place(number, run.start))
        for number, shoe in enumerate(shoes)
        for run in runs_in([card.face for card in shoe.cards])
    ]
    seen.sort(key=lambda each: (-each[0], each[1]))
    found = [each for each in seen if each[0] >= tell_from]
    told = tuple(
        _finding(shoes, (place,), length, FACES, expected(length))
        for length, place in found[:MOST_FOUND]
    )
    longest = seen[0][0] if seen else 0
    usual = _written(expected(longest)) if longest else None
    return Search(_SHORTEST, tell_from, longest, usual, told, len(found) - len(told))


def _dealt(shoes: Sequence[Shuffled]) -> list[Dealt]:
    return [Dealt(shoe.decks, len(shoe.cards)) for shoe in shoes]


def _shortest(expected: Callable[[int], Decimal], limit: Decimal) -> int:
    length = _SHORTEST
    while expected(length) > limit:
        length += 1
    return length


def _symbol(card: CardOut, kinds: Kinds) -> int | None:
    if card.face is None:
        return None
    # The ranks lie one after the other within a suit.
    return card.face.index % kinds.many


def _is_known(each: Repeat, known: tuple[Repeat, ...], shortest: int) -> bool:
    return any(
        each.length - other.length < shortest
        and len(other.places) == len(each.places)
        and all(
            there.text == here.text and 0 <= there.start - here.start <= each.length - other.length
            for here, there in zip(each.places, other.places, strict=True)
        )
        for other in known
    )


def _finding(
    shoes: Sequence[Shuffled],
    places: tuple[Place, ...],
    length: int,
    kinds: Kinds,
    chance: Decimal,
) -> Finding:
    shoe, start = shoes[places[0].text], places[0].start
    cards = [card.face for card in shoe.cards[start : start + length] if card.face is not None]
    names = tuple(str(face) if kinds is FACES else face.rank for face in cards)
    where = tuple(_where(shoes[place.text], place.start, length) for place in places)
    return Finding(length, _written(chance), names, where)


def _where(shoe: Shuffled, start: int, length: int) -> Where:
    first, last = shoe.cards[start], shoe.cards[start + length - 1]
    return Where(shoe.shoe, start + 1, start + length, first.at, last.at, first.round, last.round)


def _written(number: Decimal) -> str:
    return f"{number:.2g}" if number >= Decimal("0.01") else f"{number:.1e}"

"""
Search of past shoes for repeated sequences and factory order.

Only finished shoes are searched. Detectors that stop a game during play are patented (US
11,596,856 B2 is one); do not turn this module into one by calling it in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

from shoe_daemon.game import CARDS_PER_DECK
from shoe_daemon.journal.journal_reader import JournalReader, open_read_only
from shoe_daemon.report.cards_in_drawn_order import CARD_EVENTS, CardFold, DrawnCard
from shoe_daemon.report.find_repeats_and_factory_runs import Place, Repeat, repeats, runs_in
from shoe_daemon.report.journal_events_and_commands import (
    NO_END,
    ShoeSpan,
    events_in,
    shoe_spans,
)
from shoe_daemon.report.past_shoe_search_report import (
    CardRange,
    Finding,
    Integrity,
    SearchResult,
    Skipped,
)
from shoe_daemon.report.shoe_composition import reshuffles
from shoe_daemon.report.shuffle_probability import (
    FACES,
    RANKS_ONLY,
    CardAlphabet,
    ShoeSize,
    expected_repeats,
    expected_runs,
)
from shoe_daemon.table import ShoeFinished, ShoeStarted


def read_integrity(path: Path) -> Integrity:
    """
    Search all finished shoes of a journal.

    Raises:
        UserError: The file is no journal.
    """
    skipped: list[Skipped] = []
    with open_read_only(path) as reader:
        shoes = list(_shoes(reader, skipped))
        identity = reader.identity
    return search(identity.site, identity.table, shoes, skipped)


def search(
    site: str, table: str, shoes: Sequence[PastShoe], skipped: Sequence[Skipped] = ()
) -> Integrity:
    """Search these shoes."""
    faces, known = find_repeats(shoes, FACES)
    ranks, _ = find_repeats(shoes, RANKS_ONLY, known)
    return Integrity(
        site=site,
        table=table,
        shoes=len(shoes),
        first_shoe=shoes[0].shoe if shoes else None,
        last_shoe=shoes[-1].shoe if shoes else None,
        cards=sum(len(shoe.cards) for shoe in shoes),
        skipped=tuple(skipped),
        limit=str(MAX_CHANCE),
        faces=faces,
        ranks=ranks,
        factory=find_factory_order(shoes),
    )


def _shoes(reader: JournalReader, skipped: list[Skipped]) -> Iterator[PastShoe]:
    for span in shoe_spans(reader):
        shoe, house, finished = _read(reader, span)
        if span.end == NO_END and not finished:
            skipped.append(Skipped(span.shoe, "it is still under way"))
        elif reshuffles(house) or len(shoe.cards) > shoe.decks * CARDS_PER_DECK:
            skipped.append(Skipped(span.shoe, "cards went back into it"))
        elif shoe.cards:
            yield shoe


def _read(reader: JournalReader, span: ShoeSpan) -> tuple[PastShoe, str | None, bool]:
    fold, finished = CardFold(), False
    started = ShoeStarted(1, None, "")
    for caused in events_in(reader, span, (*CARD_EVENTS, ShoeStarted.type, ShoeFinished.type)):
        fold.take(caused)
        if isinstance(caused.event.data, ShoeStarted):
            started = caused.event.data
        finished = finished or isinstance(caused.event.data, ShoeFinished)
    cards = [card for card in fold.finish() if not card.is_repeat]
    return PastShoe(span.shoe, started.decks, cards), started.house, finished


MAX_CHANCE: Final = Decimal("0.001")
"""Sequences are reported up to this probability."""

MAX_FINDINGS: Final = 100
"""The maximum number of reported findings of each kind."""

_SHORTEST: Final = 2
_MAX_EXPECTED_REPEATS: Final = Decimal(50)
"""Lengths whose expected number of repeats is larger are not searched."""


class PastShoe(NamedTuple):
    """The cards of a finished shoe, in drawing order."""

    shoe: int
    decks: int
    cards: list[DrawnCard]


class _Search(NamedTuple):
    """A search; `expected` gives the mean number of sequences of at least a length."""

    shoes: Sequence[PastShoe]
    alphabet: CardAlphabet
    search_from: int
    expected: Callable[[int], Decimal]

    def result(
        self, seen: Iterable[Repeat], known: Sequence[Repeat] = ()
    ) -> tuple[SearchResult, list[Repeat]]:
        """Return the result, and the improbable sequences that are not `known` yet."""
        report_from = _shortest(self.expected, MAX_CHANCE)
        seen = sorted(seen, key=lambda each: (-each.length, each.places))
        found = [
            each
            for each in seen
            if each.length >= report_from and not _is_known(each, known, report_from)
        ]
        reported = tuple(map(self._finding, found[:MAX_FINDINGS]))
        longest = seen[0].length if seen else 0
        usual = _short_number(self.expected(longest)) if longest else None
        more = len(found) - len(reported)
        return SearchResult(self.search_from, report_from, longest, usual, reported, more), found

    def _finding(self, each: Repeat) -> Finding:
        places = tuple(
            _card_range(self.shoes[at], start, each.length) for at, start in each.places
        )
        at, start = each.places[0]
        cards = self.shoes[at].cards[start : start + each.length]
        faces = [card.face for card in cards if card.face is not None]
        names = tuple(str(face) if self.alphabet is FACES else face.rank for face in faces)
        return Finding(each.length, _short_number(self.expected(each.length)), names, places)


def find_repeats(
    shoes: Sequence[PastShoe], alphabet: CardAlphabet, known: Sequence[Repeat] = ()
) -> tuple[SearchResult, list[Repeat]]:
    """
    Find repeated sequences of faces or ranks.

    Args:
        shoes: Each is compared with itself and with all others.
        alphabet: Faces or ranks.
        known: Repeats of faces; the same repeats of ranks are not reported again.

    Returns:
        The result, and all improbable repeats.
    """
    dealt = _dealt(shoes)

    def expected(length: int) -> Decimal:
        return expected_repeats(alphabet, length, dealt)

    search_from = _shortest(expected, _MAX_EXPECTED_REPEATS)
    symbols = [[_symbol(card, alphabet) for card in shoe.cards] for shoe in shoes]
    search = _Search(shoes, alphabet, search_from, expected)
    return search.result(repeats(symbols, search_from), known)


def find_factory_order(shoes: Sequence[PastShoe]) -> SearchResult:
    """Find runs in the order of a new deck."""
    dealt = _dealt(shoes)

    def expected(length: int) -> Decimal:
        return expected_runs(length, dealt)

    runs = (
        Repeat(run.length, (Place(number, run.start),))
        for number, shoe in enumerate(shoes)
        for run in runs_in([card.face for card in shoe.cards])
    )
    return _Search(shoes, FACES, _SHORTEST, expected).result(runs)[0]


def _dealt(shoes: Sequence[PastShoe]) -> list[ShoeSize]:
    return [ShoeSize(shoe.decks, len(shoe.cards)) for shoe in shoes]


def _shortest(expected: Callable[[int], Decimal], limit: Decimal) -> int:
    length = _SHORTEST
    while expected(length) > limit:
        length += 1
    return length


def _symbol(card: DrawnCard, alphabet: CardAlphabet) -> int | None:
    if card.face is None:
        return None
    # Within a suit, indices follow the ranks.
    return card.face.index % alphabet.size


def _is_known(each: Repeat, known: Sequence[Repeat], shortest: int) -> bool:
    return any(
        each.length - other.length < shortest
        and len(other.places) == len(each.places)
        and all(
            there.text == here.text and 0 <= there.start - here.start <= each.length - other.length
            for here, there in zip(each.places, other.places, strict=True)
        )
        for other in known
    )


def _card_range(shoe: PastShoe, start: int, length: int) -> CardRange:
    first, last = shoe.cards[start], shoe.cards[start + length - 1]
    return CardRange(
        shoe.shoe, start + 1, start + length, first.at, last.at, first.round, last.round
    )


def _short_number(number: Decimal) -> str:
    return f"{number:.2g}" if number >= Decimal("0.01") else f"{number:.1e}"

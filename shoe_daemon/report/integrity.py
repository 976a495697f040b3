"""
Search of past shoes for repeated sequences and factory order; its report as data and as text.

Only finished shoes are searched. Detectors that stop a game during play are patented (US
11,596,856 B2 is one); do not turn this module into one by calling it in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from textwrap import wrap
from typing import Final, NamedTuple

from msgspec import Struct

from shoe_daemon.game import CARDS_PER_DECK, SUIT_SIGNS, card_text
from shoe_daemon.journal.reader import JournalReader, open_read_only
from shoe_daemon.report import wording
from shoe_daemon.report.cards import CARD_EVENTS, DrawnCard
from shoe_daemon.report.chance import (
    FACES,
    RANKS_ONLY,
    CardAlphabet,
    ShoeSize,
    expected_repeats,
    expected_runs,
)
from shoe_daemon.report.journal import NO_END, ShoeSpan, events_in, shoe_spans
from shoe_daemon.report.repeats import Place, Repeat, repeats, runs_in
from shoe_daemon.report.rounds import TableFold
from shoe_daemon.report.shoe import reshuffles
from shoe_daemon.report.text import COLUMNS, headline, wrapped
from shoe_daemon.table import ShoeFinished, ShoeStarted

MAX_CHANCE: Final = Decimal("0.001")
"""Sequences are reported up to this probability."""

MAX_FINDINGS: Final = 100
"""The maximum number of reported findings of each kind."""

_SHORTEST: Final = 2
_MAX_EXPECTED_REPEATS: Final = Decimal(50)
"""Lengths whose expected number of repeats is larger are not searched."""

_MEANING: Final = (
    "Chance is the probability that shuffled shoes, as many and as long as these, have such a"
    " thing anywhere. A finding is a reason to look at the recording of that shuffle, and no proof"
    " of anything: a reader that told cards twice gives repeats too."
)
_LARGE_ODDS: Final = 1_000_000
_MAX_CARDS_SHOWN: Final = 60
_INDENT: Final = " " * 4


class CardRange(Struct, frozen=True):
    """
    A range of cards in a shoe.

    Attributes:
        first: Number of the first card; 1 for the first card of the shoe.
        last: Number of the last card.
        from_at: Time of the first card.
        to_at: Time of the last card.
        from_round: Round of the first card; None outside a round.
        to_round: Round of the last card.
    """

    shoe: int
    first: int
    last: int
    from_at: str
    to_at: str
    from_round: int | None
    to_round: int | None


class Finding(Struct, frozen=True):
    """
    A sequence that chance alone rarely produces.

    Attributes:
        cards: Faces, or ranks only.
        chance: Upper bound of the probability that shuffled shoes of this number and size contain
            a sequence of at least this length.
    """

    length: int
    chance: str
    cards: tuple[str, ...]
    places: tuple[CardRange, ...]


class SearchResult(Struct, frozen=True):
    """
    The result of one search.

    Attributes:
        looked_from: The shortest length searched.
        from_length: The shortest length reported.
        longest: The longest sequence, reported or not; 0 for none.
        expected: Upper bound of the mean number of sequences of at least that length; None for
            none.
        found: The least probable first.
        more: Number of further findings.
    """

    looked_from: int
    from_length: int
    longest: int
    expected: str | None
    found: tuple[Finding, ...]
    more: int


class Skipped(Struct, frozen=True):
    """A shoe that was not searched, and the reason."""

    shoe: int
    why: str


class Integrity(Struct, frozen=True):
    """
    The shoes searched, and the findings.

    Attributes:
        limit: The probability up to which a sequence is reported.
    """

    site: str
    table: str
    shoes: int
    first_shoe: int | None
    last_shoe: int | None
    cards: int
    skipped: tuple[Skipped, ...]
    limit: str
    faces: SearchResult
    ranks: SearchResult
    factory: SearchResult

    @property
    def clean(self) -> bool:
        """True without findings."""
        return not (self.faces.found or self.ranks.found or self.factory.found)


class PastShoe(NamedTuple):
    """The cards of a finished shoe, in drawing order."""

    shoe: int
    decks: int
    cards: list[DrawnCard]


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
    types = (*CARD_EVENTS, ShoeStarted.type, ShoeFinished.type)
    shoe = TableFold(events_in(reader, span, types)).shoes[span.shoe]
    shoe.finish()
    cards = [card for card in shoe.cards if not card.is_repeat]
    started = shoe.started or ShoeStarted(1, None, "")
    return PastShoe(span.shoe, started.decks, cards), started.house, shoe.finished


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


def integrity_text(report: Integrity) -> str:
    """Render the report; no line exceeds 80 columns."""
    parts: list[Iterable[str]] = [
        _looked_at(report),
        _search("REPEATS OF FACES", "a sequence of faces", report.faces),
        _search("REPEATS OF RANKS", "a sequence of ranks, whatever the suits,", report.ranks),
        _search("FACTORY ORDER", "a run in the order of a new deck", report.factory),
        wrap(_MEANING, COLUMNS),
    ]
    return wording.plain("\n\n".join("\n".join(part) for part in parts))


def _looked_at(report: Integrity) -> Iterator[str]:
    yield from headline("INTEGRITY", f"{report.site} / {report.table}")
    which = "" if report.first_shoe is None else f": {report.first_shoe}"
    if report.last_shoe != report.first_shoe:
        which += f" to {report.last_shoe}"
    looked = f"{wording.plural(report.cards, 'card')} of {wording.plural(report.shoes, 'shoe')}"
    yield from wrap(f"{looked}{which}.", COLUMNS)
    for reason in dict.fromkeys(each.why for each in report.skipped):
        which = ", ".join(str(each.shoe) for each in report.skipped if each.why == reason)
        yield from wrap(f"Not looked at: shoe {which}: {reason}.", COLUMNS)


def _search(title: str, what: str, search: SearchResult) -> Iterator[str]:
    yield title
    if not search.found:
        yield from wrapped(f"Nothing that chance does not do. {_longest(what, search)}")
    for each in search.found:
        yield from _finding(each)
    if search.more:
        yield from wrapped(f"… and {search.more:,} more.")


def _longest(what: str, search: SearchResult) -> str:
    prefix = f"Told is {what} of {search.from_length} cards or more"
    if search.expected is None:
        return f"{prefix}; there is none of {search.looked_from} or more."
    usual = Decimal(search.expected)
    count = f"{usual:.1f}".removesuffix(".0") if usual >= 1 else search.expected
    return f"{prefix}; the longest has {search.longest}, of which chance gives {count}."


def _finding(found: Finding) -> Iterator[str]:
    yield from wrapped(f"{found.length} cards; chance: {chance(found.chance)}")
    shown = [card_text(card) if card[-1] in SUIT_SIGNS else card for card in found.cards]
    more = ["…"] if len(shown) > _MAX_CARDS_SHOWN else []
    yield from wrapped(" ".join(shown[:_MAX_CARDS_SHOWN] + more), _INDENT, _INDENT)
    for place in found.places:
        yield from wrapped(_place(place), _INDENT, _INDENT)


def chance(text: str) -> str:
    """Format a small probability: ``at most 1 in 12,000``."""
    odds = 1 / max(Decimal(text), Decimal("1e-100000"))
    if odds < _LARGE_ODDS:
        return f"at most 1 in {int(odds):,}"
    return f"at most 1 in 10^{odds.adjusted()}"


def _place(place: CardRange) -> str:
    at = f"{place.from_at[:10]} {wording.time(place.from_at)}"
    where = "" if place.from_round is None else f", round {place.from_round}"
    if place.to_round not in {None, place.from_round}:
        where = f"{where} to {place.to_round}" if where else f", to round {place.to_round}"
    return f"shoe {place.shoe}, cards {place.first} to {place.last}{where}, from {at}"

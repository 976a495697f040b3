"""The integrity report on past shoes as data (its JSON) and as text, 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from textwrap import wrap
from typing import Final

from msgspec import Struct

from shoe_daemon.game import SUIT_SIGNS, card_text
from shoe_daemon.report import wording
from shoe_daemon.report.text_report import COLUMNS, headline, wrapped


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


_MEANING: Final = (
    "Chance is the probability that shuffled shoes, as many and as long as these, have such a"
    " thing anywhere. A finding is a reason to look at the recording of that shuffle, and no proof"
    " of anything: a reader that told cards twice gives repeats too."
)
_LARGE_ODDS: Final = 1_000_000
_MAX_CARDS_SHOWN: Final = 60
_INDENT: Final = " " * 4


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

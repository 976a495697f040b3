"""The result of searching past shoes for signs of a bad shuffle."""

from __future__ import annotations

from msgspec import Struct


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

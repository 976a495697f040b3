"""What a look over past shoes says, as data."""

from __future__ import annotations

from msgspec import Struct


class Where(Struct, frozen=True):
    """
    A stretch of a shoe.

    Attributes:
        first: Its first card, 1 for the first that left the shoe.
        last: Its last card.
        from_at: When the first came.
        to_at: When the last came.
        from_round: The round of the first; None outside one.
        to_round: That of the last.
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
    A sequence that chance hardly gives.

    Attributes:
        cards: The sequence: faces, or ranks alone.
        chance: At most this is the probability that shuffled shoes, as many and
            as long as these, have anywhere one at least as long.
    """

    length: int
    chance: str
    cards: tuple[str, ...]
    places: tuple[Where, ...]


class Search(Struct, frozen=True):
    """
    What was looked for, and found.

    Attributes:
        looked_from: What is shorter was not looked at.
        from_length: Told from this length on.
        longest: The longest there is, told or not; 0 where there is none.
        expected: How many at least as long as that chance gives on average, or
            a little more; None where there is none.
        found: The least probable first.
        more: Findings beyond those.
    """

    looked_from: int
    from_length: int
    longest: int
    expected: str | None
    found: tuple[Finding, ...]
    more: int


class Skipped(Struct, frozen=True):
    """A shoe that was not looked at, and why."""

    shoe: int
    why: str


class Integrity(Struct, frozen=True):
    """
    What was looked at and what was found.

    Attributes:
        limit: The probability up to which something is told.
    """

    site: str
    table: str
    shoes: int
    first_shoe: int | None
    last_shoe: int | None
    cards: int
    skipped: tuple[Skipped, ...]
    limit: str
    faces: Search
    ranks: Search
    factory: Search

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.faces.found or self.ranks.found or self.factory.found)

"""What came out of a shoe, against what its decks hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import CARDS_PER_DECK, DECK, Card, load_house
from shoe_daemon.report.card_order import CardOut
from shoe_daemon.table import StaffComposition


class Composition(Struct, frozen=True):
    """
    The cards of a shoe, by face.

    Attributes:
        cards: How many its decks hold.
        out: How many are known to have left it.
        left: How many did not, by that count; below zero where more left it than
            its decks hold.
        unread: Of those that left it, the ones whose faces nobody told.
        read: Copies told of each face.
        surplus: Copies told beyond those that the decks hold: a fault, always.
        missing:
            Copies never told, where all cards left the shoe; empty where some
            did not: whatever was not told may still have been in it.
        dealt_out: All cards left it, so that `missing` means something.
        reshuffled: Cards went back into it, so that none of this can be counted.
        told: Where the faces are from: ``table``, its own count at the end of
            the shoe, or ``events``.
        events_differ: The events tell of another number of cards than the table
            counted.
    """

    cards: int
    out: int
    left: int
    unread: int
    read: dict[str, int]
    surplus: dict[str, int]
    missing: dict[str, int]
    dealt_out: bool
    reshuffled: bool
    told: str
    events_differ: bool


def compose(
    decks: int, house: str | None, cards: Iterable[CardOut], table: StaffComposition | None
) -> Composition:
    """
    Compare what came out of a shoe with what its decks hold.

    Args:
        decks: How many.
        house: The id of the house; it tells whether cards go back into the shoe.
        cards: The cards that left it, in order.
        table: What the table counted at the end of the shoe; it governs.
    """
    drawn = [card.face for card in cards if not card.again]
    told = Counter(face for face in drawn if face is not None)
    unread = len(drawn) - told.total()
    differ = False
    if table is not None:
        counted = Counter({Card(face): count for face, count in table.read.items()})
        differ = (+counted, table.unread) != (told, unread)
        told, unread = counted, table.unread
    return _compared(
        decks, told, unread, again=reshuffles(house), by_table=table is not None, differ=differ
    )


def _compared(  # noqa: PLR0913 - what is compared, and what is known of it
    decks: int, told: Mapping[Card, int], unread: int, *, again: bool, by_table: bool, differ: bool
) -> Composition:
    out = sum(told.values()) + unread
    left = decks * CARDS_PER_DECK - out
    dealt_out = left <= 0 and not again
    read = {str(card): told.get(card, 0) for card in DECK}
    over = {face: count - decks for face, count in read.items() if count > decks}
    short = {face: decks - count for face, count in read.items() if count < decks}
    return Composition(
        cards=decks * CARDS_PER_DECK,
        out=out,
        left=left,
        unread=unread,
        read=read,
        surplus={} if again else over,
        missing=short if dealt_out else {},
        dealt_out=dealt_out,
        reshuffled=again,
        told="table" if by_table else "events",
        events_differ=differ,
    )


def counted_out(decks: int, read: Mapping[Card, int], stub: Mapping[Card, int]) -> Composition:
    """Compare a whole shoe: what was read, and the rest of it, counted by hand."""
    told = Counter(read) + Counter(stub)
    short = max(decks * CARDS_PER_DECK - told.total(), 0)
    return _compared(decks, told, short, again=False, by_table=False, differ=False)


def reshuffles(house: str | None) -> bool:
    """Tell whether a house is known to put cards back before the shoe is over."""
    if house is None:
        return False
    try:
        return load_house(house).reshuffle != "per_shoe"
    except UserError:  # a house of one's own, of which the events tell only the name
        return False

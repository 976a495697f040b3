"""The cards drawn from a shoe, compared with the contents of its decks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import CARDS_PER_DECK, DECK, Card, load_house
from shoe_daemon.report.cards_in_drawn_order import DrawnCard
from shoe_daemon.table import StaffComposition


class Composition(Struct, frozen=True):
    """
    The cards of a shoe, by face.

    Attributes:
        cards: Number of cards in the decks.
        out: Number of cards known to be drawn.
        left: The rest; negative if more cards were drawn than the decks hold.
        unread: Drawn cards with an unknown face.
        read: Number of copies read of each face.
        surplus: Copies beyond those in the decks; always a fault.
        missing:
            Copies never read. Empty if the shoe was not dealt out, since they may still be in it.
        dealt_out: All cards were drawn.
        reshuffled: Cards went back into the shoe, so that copies cannot be compared.
        told: Source of the faces: ``table`` (its count at the end of the shoe) or ``events``.
        events_differ: The events yield other counts than the table.
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
    decks: int, house: str | None, cards: Iterable[DrawnCard], table: StaffComposition | None
) -> Composition:
    """
    Compare the cards drawn from a shoe with the contents of its decks.

    Args:
        decks: Number of decks.
        house: The house's id; it determines whether cards go back into the shoe.
        cards: The cards drawn, in order.
        table: The table's count at the end of the shoe; takes precedence.
    """
    drawn = [card.face for card in cards if not card.is_repeat]
    known = Counter(face for face in drawn if face is not None)
    unread = len(drawn) - known.total()
    differ = False
    if table is not None:
        counted = Counter({Card(face): count for face, count in table.read.items()})
        differ = (+counted, table.unread) != (known, unread)
        known, unread = counted, table.unread
    reshuffled = reshuffles(house)
    out = known.total() + unread
    left = decks * CARDS_PER_DECK - out
    dealt_out = left <= 0 and not reshuffled
    read = {str(card): known[card] for card in DECK}
    over = {face: count - decks for face, count in read.items() if count > decks}
    short = {face: decks - count for face, count in read.items() if count < decks}
    return Composition(
        cards=decks * CARDS_PER_DECK,
        out=out,
        left=left,
        unread=unread,
        read=read,
        surplus={} if reshuffled else over,
        missing=short if dealt_out else {},
        dealt_out=dealt_out,
        reshuffled=reshuffled,
        told="events" if table is None else "table",
        events_differ=differ,
    )


def reshuffles(house: str | None) -> bool:
    """Return whether the house puts cards back before the end of the shoe."""
    if house is None:
        return False
    try:
        return load_house(house).reshuffle != "per_shoe"
    except UserError:  # a custom house; events contain only its name
        return False

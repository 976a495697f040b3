"""
A card left the shoe more often than the shoe holds it.

**Sees** a card more often than the decks contain it. *It needs* readable faces. A misread card is
detected here at the latest.
**Says** “9S was read 2 times in a shoe of 1 deck.”
**You** find the misread card and correct it, which closes the irregularity. If no card was
misread, the shoe is wrong: `rule --action stop_shoe`.

If the daemon or the reader was away since the shoe began, the shoe was probably changed meanwhile.
The first duplicate card is then the only one raised for this shoe (“The shoe was probably changed
while the daemon or the reader was away: order new_shoe.”), and the cards are no longer compared
with the number that the shoe holds: order `new-shoe`.

Where the reader reports [tags](observations.md#tags), it also sees a card that has left this shoe
before, and **says** “A card that had left this shoe before, in round 3, was read again. It counts
as no card.” Look where that card lies: if it was dealt, void the round, because the table has not
counted it. After three in a row (“Another shoe is probably on the table: order new_shoe.”) no
further one is raised: order `new-shoe`, and void the round that was dealt meanwhile.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="duplicate_card",
    name="Card seen too often",
    severity=5,
    evidence=("inventory",),
    text="A card left the shoe more often than the shoe holds it.",
    situations={
        "inventory_violation": ("Card missing, surplus or foreign", "缺牌、多牌或外來牌"),
    },
    sentences={
        "duplicate_card": "{card} was read {times} times in a shoe of {decks} decks.",
        "duplicate_card_one_deck": "{card} was read {times} times in a shoe of 1 deck.",
        "duplicate_card_after_gap": (
            "A card was read more often than the shoe holds it[: {card}, {times} times]. The "
            "shoe was probably changed while the daemon or the reader was away: order "
            "new_shoe."
        ),
        "card_in_play_before": (
            "A card that had left this shoe before[, in round {round},] was read again. It "
            "counts as no card."
        ),
        "cards_in_play_before": (
            "{cards} cards in a row had left this shoe before. Another shoe is probably on "
            "the table: order new_shoe."
        ),
    },
    raised_by=("shoes.copies", "readers.tags"),
)

"""
Two sources name different faces for the same card.

**Sees** that two readers, or a reader and a camera, name different faces. *It needs* both.
**Says** “Another card is now said to lie on P1 than was read before; the first reading stands
until a person decides.”
**You** check the card, `correct-card` if the first reading was wrong, and `acknowledge`.

A reader listed in `checkers` is compared with the main reader card by card, in the order in which
the cards leave the shoe. Either reader may be some cards ahead. A card that both read differently,
or that only the checking reader read, is one `source_conflict`. No `source_conflict` is raised for
a card that the checking reader reports as unread or may have missed in a gap, nor for a burned
card that only one reader sees. After a difference the readers are *out of step*, and no further
one is raised, until

- the next boundary that both can detect (a result, the button, a cleared table, betting opened or
  closed, or silence if silence ends rounds), or
- four cards in a row that match.

While the main reader is away, the checking reader deals the cards. If it is out of step at that
moment, the round in progress, or the next one, is `partial`. A checking reader may report a card
of a round up to one second after the boundary that ends that round.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="source_conflict",
    name="Readers disagree about a card",
    severity=3,
    evidence=("placement",),
    text="Two sources name different faces for the same card.",
    requires=("second_reader",),
    actions=("rescan", "manual_entry"),
    sentences={
        "another_card_on_place": (
            "Another card is now said to lie on {slot} than was read before; the first "
            "reading stands until a person decides."
        ),
        "readers_differ": (
            "Two readers differ: {source} read another card[ on {slot}]; the first reading "
            "stands until a person decides."
        ),
        "reader_read_more": (
            "Two readers differ: {source} read more cards than were dealt; the first reading "
            "stands until a person decides."
        ),
    },
    raised_by=("rounds.faces", "readers.checker"),
)

"""
The cards of a finished shoe are not as many as its decks hold.

**Sees** more cards out of a shoe than it contains; or, if you give the number of remaining cards
with `new-shoe --left`, missing or excess cards. *It needs* a shoe whose start was
announced.
**Says** “4 cards left the shoe and 47 were counted in it: 51 instead of 52.”
**You** count again, and investigate. Past rounds stand unless the regulator decides otherwise.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="card_count_mismatch",
    name="Number of cards is wrong",
    severity=4,
    evidence=("inventory", "manual"),
    text="The cards of a finished shoe are not as many as its decks hold.",
    situations={
        "inventory_violation": (),
    },
    sentences={
        "count_mismatch": (
            "{drawn} cards left the shoe and {counted} were counted in it: {sum} instead of "
            "{full}."
        ),
        "too_many_cards": "{drawn} cards left a shoe that holds {full}.",
    },
    raised_by=("shoes.counts",),
)

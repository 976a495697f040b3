"""
A card that does not belong to these decks was drawn.

**Sees** nothing: [only a person does](#what-only-a-person-can-see).
**Says** “A card that does not belong to these decks was drawn.”
**You** report it; `void_round` if it was in play, and `stop_shoe`.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="foreign_card",
    name="Foreign card",
    severity=5,
    evidence=("inventory", "device"),
    text="A card that does not belong to these decks was drawn.",
    requires=("person",),
    reportable=True,
    situations={
        "inventory_violation": (),
    },
)

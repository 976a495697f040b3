"""
A card that had left the shoe was pushed back into it.

**Sees** a card pushed back into the shoe. *It needs* a reader that reports it, or a person.
**Says** “The reader says that a card was pushed back into the shoe.”
**You** treat it as drawn: it counts. Closed when the error [ends](#device_fault--severity-3).
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="card_returned",
    name="Card pushed back into the shoe",
    severity=3,
    evidence=("device", "manual"),
    text="A card that had left the shoe was pushed back into it.",
    requires=("return_signal",),
    reportable=True,
    situations={
        "card_returned": ("Card pushed back into the shoe", "牌被推回牌靴"),
    },
    sentences={
        "card_returned": "The reader says that a card was pushed back into the shoe.",
    },
    raised_by=("readers.faults",),
)

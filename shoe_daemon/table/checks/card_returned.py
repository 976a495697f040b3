"""A card that had left the shoe was pushed back into it."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="card_returned",
    severity=3,
    evidence=("device", "manual"),
    text="A card that had left the shoe was pushed back into it.",
    requires=("return_signal",),
    reportable=True,
    sentences={
        "card_returned": "The reader says that a card was pushed back into the shoe.",
    },
    raised_by=("readers.faults",),
)

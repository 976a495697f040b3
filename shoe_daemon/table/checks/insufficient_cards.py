"""The shoe ran out of cards before the round was complete."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="insufficient_cards",
    severity=4,
    evidence=("inventory", "device"),
    text="The shoe ran out of cards before the round was complete.",
    sentences={
        "shoe_empty": "All {full} cards have left the shoe, and one is due.",
    },
    raised_by=("shoes.counts",),
)

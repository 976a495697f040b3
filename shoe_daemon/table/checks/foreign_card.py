"""A card that does not belong to these decks was drawn."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="foreign_card",
    severity=5,
    evidence=("inventory", "device"),
    text="A card that does not belong to these decks was drawn.",
    requires=("person",),
    reportable=True,
)

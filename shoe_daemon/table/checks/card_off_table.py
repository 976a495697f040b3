"""A card fell off the table."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="card_off_table",
    severity=2,
    evidence=("manual",),
    text="A card fell off the table.",
    requires=("person",),
    reportable=True,
)

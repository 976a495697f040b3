"""A card came out of the shoe with its face up."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="face_up_in_shoe",
    severity=2,
    evidence=("placement", "manual"),
    text="A card came out of the shoe with its face up.",
    requires=("person",),
    reportable=True,
)

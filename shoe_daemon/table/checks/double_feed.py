"""Two cards left the shoe together."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="double_feed",
    severity=3,
    evidence=("device",),
    text="Two cards left the shoe together.",
    requires=("least_gap",),
    reportable=True,
    sentences={
        "drawn_together": "Two cards left the shoe together.",
    },
    raised_by=("shoes.counts",),
)

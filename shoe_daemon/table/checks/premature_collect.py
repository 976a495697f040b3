"""The cards were collected before the result was confirmed."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="premature_collect",
    severity=3,
    evidence=("boundary",),
    text="The cards were collected before the result was confirmed.",
    requires=("cleared_signal", "faces_or_hold"),
    sentences={
        "collected_early": "The cards were taken off before the result was known to the table.",
    },
    raised_by=("rounds.boundaries",),
)

"""A round was begun after the last one that the cut card permits."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="cut_card_overrun",
    severity=3,
    evidence=("boundary",),
    text="A round was begun after the last one that the cut card permits.",
    requires=("burn_at_start", "cut_card_checked", "cut_card_signal"),
    sentences={
        "cut_card_overrun": (
            "A round was begun after the last permitted one, and no new shoe was announced or"
            " burned."
        ),
    },
    raised_by=("shoes.shoe_lifecycle",),
)

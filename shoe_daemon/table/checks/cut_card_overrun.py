"""
A round was begun after the last one that the cut card permits.

**Sees** a round after the last that the cut card permits. *It needs* a reader that reports the cut
card, and a house with a rule for it.
**Says** “A round was begun after the last permitted one, and no new shoe was announced or
burned.”
**You** decide whether the round stands. If a new shoe is on the table: `new-shoe`.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="cut_card_overrun",
    name="Round begun after the last one",
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

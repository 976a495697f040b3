"""
The cards were collected before the result was confirmed.

**Sees** the cards taken off while the result is held, or while a face has not been seen. *It
needs* a signal for cleared cards.
**Says** “The cards were taken off before the result was known to the table.”
**You** have the cards laid back in their order (`rule --action restore_order`), or void the
round.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="premature_collect",
    name="Cards collected too early",
    severity=3,
    evidence=("boundary",),
    text="The cards were collected before the result was confirmed.",
    requires=("cleared_signal", "faces_or_hold"),
    situations={
        "premature_collect": ("Cards collected too early", "過早收牌"),
    },
    actions=("restore_order",),
    sentences={
        "collected_early": "The cards were taken off before the result was known to the table.",
    },
    raised_by=("rounds.boundaries",),
)

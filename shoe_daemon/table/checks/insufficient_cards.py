"""
The shoe ran out of cards before the round was complete.

**Sees** that all cards have left the shoe and one is due. *It needs* a shoe whose start was
announced.
**Says** “All 52 cards have left the shoe, and one is due.”
**You** void the round, and put a new shoe on.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="insufficient_cards",
    name="Too few cards for the round",
    severity=4,
    evidence=("inventory", "device"),
    text="The shoe ran out of cards before the round was complete.",
    situations={
        "insufficient_cards": ("Too few cards for the round", "牌不足以完成本局"),
    },
    sentences={
        "shoe_empty": "All {full} cards have left the shoe, and one is due.",
    },
    raised_by=("shoes.counts",),
)

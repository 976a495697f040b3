"""
Two cards left the shoe together.

**Sees** two cards closer together than `least_gap` seconds. *It needs* that option, which is
off by default; otherwise a person reports it.
**Says** “Two cards left the shoe together.”
**You** decide which card was first (`restore_order`), or rule as for an excess card.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="double_feed",
    name="Two cards out at once",
    severity=3,
    evidence=("device",),
    text="Two cards left the shoe together.",
    requires=("least_gap",),
    reportable=True,
    situations={
        "double_feed": ("Two cards out at once", "兩張牌同時離靴"),
    },
    actions=(
        "burn_card",
        "carry_to_next_hand",
        "carry_as_dummy_hand",
        "burn_card_plus_value",
        "restore_order",
    ),
    sentences={
        "drawn_together": "Two cards left the shoe together.",
    },
    raised_by=("shoes.counts",),
)

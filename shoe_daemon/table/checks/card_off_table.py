"""
A card fell off the table.

**Sees** nothing: [only a person does](#what-only-a-person-can-see).
**Says** “A card fell off the table.”, or your own reason.
**You** have it picked up by staff; in most houses it keeps its value: `rule --action continue`.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="card_off_table",
    name="Card fell off the table",
    severity=2,
    evidence=("manual",),
    text="A card fell off the table.",
    requires=("person",),
    reportable=True,
    situations={
        "card_off_table": ("Card fell off the table", "牌跌落賭桌外"),
    },
)

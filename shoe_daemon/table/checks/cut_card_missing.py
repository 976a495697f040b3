"""
Too few cards are left and the cut card has not appeared.

**Sees** fewer cards left than lie behind the cut card, and no cut card. *It needs* the same, and
the position in the house.
**Says** “The cut card, 16 from the back, has not come out, and its place is passed.”
**You** check the shoe before the next round.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="cut_card_missing",
    name="Cut card has not appeared",
    severity=2,
    evidence=("inventory",),
    text="Too few cards are left and the cut card has not appeared.",
    requires=("cut_card_position", "cut_card_signal"),
    sentences={
        "cut_card_missing": (
            "The cut card, {position} from the back, has not come out, and its place is passed."
        ),
    },
    raised_by=("shoes.counts",),
)

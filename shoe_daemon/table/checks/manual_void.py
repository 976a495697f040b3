"""
A supervisor declared the round void.

**Sees** your order `void-round`, and is closed with it, as are all irregularities of the round.
**Says** “A supervisor made the round void.”, or your own reason.
**You** can take it back with `undo`. If a round is voided while it is dealt, the rest
of its coup belongs to no round: further cards are counted and are on no road, until the next
boundary (a result, a button, betting signals, cleared cards, the quiet gap) or a card in P1. The
same applies to a round whose result you enter.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="manual_void",
    name="Declared void",
    severity=4,
    evidence=("manual",),
    text="A supervisor declared the round void.",
    sentences={
        "voided_by_person": "A supervisor made the round void.",
    },
    raised_by=("commands.dispatch",),
)

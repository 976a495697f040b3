"""
The cards come in an order that a shuffled shoe would hardly give.

**Sees** at least `suspect_run` cards in a row of one suit, of one rank, or up or down in rank.
*It needs* this option and is **off** otherwise: detectors that judge from the sequence of cards
whether a shoe was shuffled are patented (US 11,596,856 B2 is one), so take legal advice before you
set it.
**Says** “4 cards in a row came of one suit.”
**You** stop before the next round, and check the cards. (For past shoes, offline, `shoe-daemon
journal integrity` searches for a slug.)
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="suspect_sequence",
    name="Suspicious order of cards",
    severity=5,
    evidence=("sequence",),
    text="The cards come in an order that a shuffled shoe would hardly give.",
    requires=("suspect_run",),
    sentences={
        "sequence_of_one_suit": "{cards} cards in a row came of one suit.",
        "sequence_of_one_rank": "{cards} cards in a row came of one rank.",
        "sequence_upwards": "{cards} cards in a row came upwards in rank.",
        "sequence_downwards": "{cards} cards in a row came downwards in rank.",
    },
    raised_by=("shoes.counts",),
)

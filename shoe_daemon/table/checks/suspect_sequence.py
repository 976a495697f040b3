"""The cards come in an order that a shuffled shoe would hardly give."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="suspect_sequence",
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

"""The cards of a finished shoe are not as many as its decks hold."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="card_count_mismatch",
    severity=4,
    evidence=("inventory", "manual"),
    text="The cards of a finished shoe are not as many as its decks hold.",
    sentences={
        "count_mismatch": (
            "{drawn} cards left the shoe and {counted} were counted in it: {sum} instead of "
            "{full}."
        ),
        "too_many_cards": "{drawn} cards left a shoe that holds {full}.",
    },
    raised_by=("shoes.counts",),
)

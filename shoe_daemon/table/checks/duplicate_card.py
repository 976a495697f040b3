"""A card left the shoe more often than the shoe holds it."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="duplicate_card",
    severity=5,
    evidence=("inventory",),
    text="A card left the shoe more often than the shoe holds it.",
    sentences={
        "duplicate_card": "{card} was read {times} times in a shoe of {decks} decks.",
        "duplicate_card_one_deck": "{card} was read {times} times in a shoe of 1 deck.",
        "duplicate_card_after_gap": (
            "A card was read more often than the shoe holds it[: {card}, {times} times]. The "
            "shoe was probably changed while the daemon or the reader was away: order "
            "new_shoe."
        ),
        "card_in_play_before": (
            "A card that had left this shoe before[, in round {round},] was read again. It "
            "counts as no card."
        ),
        "cards_in_play_before": (
            "{cards} cards in a row had left this shoe before. Another shoe is probably on "
            "the table: order new_shoe."
        ),
    },
    raised_by=("shoes.copies", "readers.tags"),
)

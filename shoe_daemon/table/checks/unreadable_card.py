"""A card passed the reader and could not be read."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="unreadable_card",
    severity=3,
    evidence=("device",),
    text="A card passed the reader and could not be read.",
    requires=("unread_signal",),
    sentences={
        "unread_card": "The card[ on {slot}] passed and could not be read.",
        "unread_by_reader": "The reader says that a card passed unread.",
    },
    raised_by=("publish", "readers.faults"),
)

"""
A card passed the reader and could not be read.

**Sees** that a card passed unread. *It needs* a reader that reports it.
**Says** “The reader says that a card passed unread.”, or, where its place is known, “The card on
P1 passed and could not be read.”
**You** have it read again, or enter it: `enter-card --slot P1 --card 6S`, at once,
before the next card, or later, until the next round begins. A round that ends without it is
`partial` until then, with the result that the device declares. A face that the reader itself
discloses after the result counts in the same way. No card is ever guessed.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="unreadable_card",
    name="Card that cannot be read",
    severity=3,
    evidence=("device",),
    text="A card passed the reader and could not be read.",
    requires=("unread_signal",),
    situations={
        "unreadable_card": ("Card that cannot be read", "牌未能讀取"),
    },
    actions=("rescan", "manual_entry"),
    sentences={
        "unread_card": "The card[ on {slot}] passed and could not be read.",
        "unread_by_reader": "The reader says that a card passed unread.",
    },
    raised_by=("publish", "readers.faults"),
)

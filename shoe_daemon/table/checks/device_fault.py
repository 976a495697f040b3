"""
The reader failed, or what it said cannot be relied upon.

**Sees** any other error of the reader. *It needs* a reader that reports errors. A time-out
while an excess card is open is not a second irregularity.
**Says** “The reader reports that a draw took too long.”
**You** clear it at the reader, which closes it. If the reader stays out of order, continue with
`enter-result`.

An error of a reader ends when the reader reports its end, starts, is locked, or deals a card other
than the card that the error is about. The same error after that is a new error. An unread card and
an excess card stay open after the reader's error has ended: a person, or the card, closes them.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="device_fault",
    name="Reader fails",
    severity=3,
    evidence=("device",),
    text="The reader failed, or what it said cannot be relied upon.",
    requires=("fault_signal",),
    situations={
        "device_fault": ("Shoe, shuffler or reader fails", "牌靴、洗牌機或讀牌器故障"),
    },
    actions=("rescan", "manual_entry"),
    sentences={
        "fault_button": (
            "The reader reports that a button was pressed out of turn[ (code {code})][: {text}]."
        ),
        "fault_card_code": (
            "The reader reports that its card code is wrong[ (code {code})][: {text}]."
        ),
        "fault_timeout": "The reader reports that a draw took too long[ (code {code})][: {text}].",
        "fault": "The reader reports an error[ (code {code})][: {text}].",
    },
    raised_by=("readers.faults",),
)

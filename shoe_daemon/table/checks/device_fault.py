"""The reader failed, or what it said cannot be relied upon."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="device_fault",
    severity=3,
    evidence=("device",),
    text="The reader failed, or what it said cannot be relied upon.",
    requires=("fault_signal",),
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

"""A supervisor declared the round void."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="manual_void",
    severity=4,
    evidence=("manual",),
    text="A supervisor declared the round void.",
    sentences={
        "voided_by_person": "A supervisor made the round void.",
    },
    raised_by=("commands.dispatch",),
)

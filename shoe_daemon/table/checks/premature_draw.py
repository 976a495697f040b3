"""A card was drawn while bets could still be placed."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="premature_draw",
    severity=2,
    evidence=("boundary",),
    text="A card was drawn while bets could still be placed.",
    requires=("betting_signal",),
    sentences={
        "drawn_while_betting": "A card was drawn while betting was open.",
    },
    raised_by=("publish",),
)

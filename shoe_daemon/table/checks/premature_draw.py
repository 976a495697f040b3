"""
A card was drawn while bets could still be placed.

**Sees** a card while bets are open. *It needs* the table's signals for betting.
**Says** “A card was drawn while betting was open.”
**You** acknowledge: the card is the first of its round, and in most houses the round must be
dealt. The pit decides about wagers placed after the card.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="premature_draw",
    name="Card drawn before no more bets",
    severity=2,
    evidence=("boundary",),
    text="A card was drawn while bets could still be placed.",
    requires=("betting_signal",),
    situations={
        "premature_draw": ("Card drawn before no more bets", "停止下注前已抽牌"),
    },
    actions=("burn_card", "carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value"),
    sentences={
        "drawn_while_betting": "A card was drawn while betting was open.",
    },
    raised_by=("publish",),
)

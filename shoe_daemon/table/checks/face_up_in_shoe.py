"""
A card came out of the shoe with its face up.

**Sees** nothing: [only a person does](#what-only-a-person-can-see).
**Says** “A card came out of the shoe with its face up.”, or your own reason.
**You** report it and rule: houses differ most here, from *valid, continue* to *discard it*.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="face_up_in_shoe",
    name="Card face up in the shoe",
    severity=2,
    evidence=("placement", "manual"),
    text="A card came out of the shoe with its face up.",
    requires=("person",),
    reportable=True,
    situations={
        "face_up_in_shoe": ("Card face up in the shoe", "牌靴內有面朝上的牌"),
    },
    actions=("burn_card", "carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value"),
)

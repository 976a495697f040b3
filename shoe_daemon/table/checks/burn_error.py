"""
The cards burned for a new shoe are not those that the house burns.

**Sees** more, fewer or no cards burned before the first round than the house burns, or after
`burn_card_plus_value`. *It needs* a house whose burn is checked.
**Says** “The first round began and no card had been burned.”
**You** complete the burn, or excuse it: `acknowledge`.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="burn_error",
    name="Wrong burn",
    severity=2,
    evidence=("sequence",),
    text="The cards burned for a new shoe are not those that the house burns.",
    requires=("burn_checked",),
    sentences={
        "burned_too_many": "One card more was burned than the {due} due.",
        "nothing_burned": "The first round began and no card had been burned.",
        "burn_incomplete": "The first round began with {cards} cards still to be burned.",
        "ordered_burn_incomplete": (
            "A round began with {cards} cards still to be burned by the ruling."
        ),
    },
    raised_by=("shoes.shoe_lifecycle",),
)

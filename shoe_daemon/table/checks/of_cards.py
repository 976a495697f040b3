"""The checks of the cards of a round, written by `make generate` from `table/checks`."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks import (
    excess_card,
    player_third_unauthorised,
    wrong_hand,
)

CHECKS: Final = (
    excess_card.check,
    player_third_unauthorised.check,
    wrong_hand.check,
)
"""Each finds its irregularity among the cards that were not drawn or laid as due."""

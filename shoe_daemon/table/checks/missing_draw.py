"""The end of the round was declared while a card is due."""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import DEALING_ORDER, Hand, IrregularityKind, Slot
from shoe_daemon.table.checks.finding import Finding
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.facts import Round

KIND: Final = IrregularityKind.MISSING_DRAW
DRAWN: Final = "the missing card was drawn"
CORRECTED: Final = "by the corrected cards no card is due"


def key_of(round_: Round) -> str:
    """Return the key of the finding."""
    return f"missing:{round_.number}"


def find(round_: Round) -> Finding | None:
    """Return the missing draw of a round whose end was declared; None if no card is due."""
    spot = round_.known.due.spot
    if not round_.is_missing or round_.end is None or spot is None:
        return None
    slot = Slot(DEALING_ORDER[spot])
    hand = Hand.PLAYER if slot.value.startswith("P") else Hand.BANKER
    detail = make_detail(round_.end, hand=hand, slot=slot)
    return Finding(key_of(round_), KIND, detail, slot)

"""
A card that was laid to the wrong hand: the order out of the shoe governs the totals.

**Sees** a card on another place than the place that was due. *It needs* places.
**Says** “A card was laid on P2 while B1 was due; by the order out of the shoe it is B1.”
**You** have the cards moved to the right places, and `rule --action restore_order`. Until then,
the order out of the shoe decides the totals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shoe_daemon.game import IrregularityKind, Slot
from shoe_daemon.table.checks.finding import Finding
from shoe_daemon.table.checks.irregularity import Irregularity
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.facts import Round
from shoe_daemon.table.view import Odd

IRREGULARITY: Final = Irregularity(
    kind="wrong_hand",
    name="Card laid to the wrong hand",
    severity=3,
    evidence=("placement",),
    text="A card lies with the hand that it was not drawn for.",
    requires=("slot_signal",),
    situations={
        "wrong_hand": ("Card laid to the wrong hand", "牌放錯閒莊位置"),
    },
    actions=("restore_order",),
    sentences={
        "second_card_on_place": "A second card was laid on {slot}.",
        "laid_on_another_place": (
            "A card was laid on {laid} while {slot} was due; by the order out of the shoe it "
            "is {slot}."
        ),
    },
)

KIND: Final = IrregularityKind.WRONG_HAND
CORRECTED: Final = "by the corrected cards nothing is wrong"


def check(_round: Round, odd: Iterable[Odd]) -> Iterator[Finding]:
    """Find the cards with the wrong hand among those that were not drawn or laid as due."""
    for card, kind, slot, _due in odd:
        if kind is KIND:
            detail = _sentence(card.declared, slot)
            yield Finding(card.key, KIND, detail, slot or card.declared, card)


def _sentence(declared: Slot | None, slot: Slot | None) -> Detail:
    if slot is None or slot is declared:
        return make_detail("second_card_on_place", slot=declared)
    return make_detail("laid_on_another_place", laid=declared, slot=slot)

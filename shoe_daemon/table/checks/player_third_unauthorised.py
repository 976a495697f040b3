"""
The third card of the Banker was laid to the Player, who stands.

**Sees** a third card laid to the Player, who stands, while the Banker has to draw. *It needs*
places: the reader's own, or a camera. Without them a person reports it.
**Says** “A third card was given to the Player, who stands; the Banker is to draw, and by the
order out of the shoe it is the Banker's.”
**You** have it moved to the Banker, and `rule --action reassign_to_banker`. The published totals
are already correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shoe_daemon.game import IrregularityKind
from shoe_daemon.table.checks.finding import Finding
from shoe_daemon.table.checks.irregularity import Irregularity
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.facts import Round
from shoe_daemon.table.view import Odd

IRREGULARITY: Final = Irregularity(
    kind="player_third_unauthorised",
    name="Player's third card was not due",
    severity=2,
    evidence=("placement", "manual"),
    text="The Player stood and was given the third card that was due to the Banker.",
    requires=("slot_signal",),
    reportable=True,
    situations={
        "player_third_unauthorised": (
            "Player's third card not due, the Banker must draw",
            "閒家不應補牌而莊家須補",
        ),
    },
    actions=("reassign_to_banker", "restore_order"),
    sentences={
        "player_third_unauthorised": (
            "A third card was given to the Player, who stands; the Banker is to draw, and by "
            "the order out of the shoe it is the Banker's."
        ),
    },
)

KIND: Final = IrregularityKind.PLAYER_THIRD_UNAUTHORISED


def check(_round: Round, odd: Iterable[Odd]) -> Iterator[Finding]:
    """Find the card among those that were not drawn or laid as due."""
    for card, kind, slot, _due in odd:
        if kind is KIND:
            detail = make_detail("player_third_unauthorised")
            yield Finding(card.key, KIND, detail, slot or card.declared, card)

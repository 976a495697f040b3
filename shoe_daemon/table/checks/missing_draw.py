"""
The end of the round was declared while a card is due.

**Sees** a result, or a cleared table, while a card is due. *It needs* a detectable end of the
round.
**Says** “A result was declared, and a card of the Banker is still due (B3).”
**You** have the card drawn: send `rule --action draw_now` **first**, then draw. The card closes
the irregularity and the result follows. Once the round is over, `draw_now` is refused. If it is
too late, send `rule --action void_round`, or `rule --action continue`, which ends the round
without a result.

*The next card.* After the declared end of a round (a result, the button, `confirm-result`, cleared
cards, betting opened or closed), the next card of a reader without slots is the first card of the
next round, unless `draw_now` was sent before it. A reader with slots names the slot itself. The
round that lacks the card is aborted then; its irregularity stays open until you close it.

*Silence.* On a table where only silence ends rounds (`round_end = "quiet"`), a card that comes
more than `draw_within` seconds (20; 300 where players squeeze the cards) after the one before may
be the missing card or the next round's first. Neither round is published as complete, and the
first raises `missing_draw`.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import DEALING_ORDER, Hand, IrregularityKind, Slot
from shoe_daemon.table.checks.finding import Finding
from shoe_daemon.table.checks.irregularity import Irregularity
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.facts import Round

IRREGULARITY: Final = Irregularity(
    kind="missing_draw",
    name="Card due and not drawn",
    severity=3,
    evidence=("boundary",),
    text="The round was ended while the rules required another card.",
    requires=("end_signal",),
    situations={
        "missing_draw": ("Card due and not drawn", "應補牌而未補"),
    },
    actions=("draw_now", "continue"),
    sentences={
        "missing_at_result": (
            "A result was declared, and a card[ of the {hand}] is still due[ ({slot})]."
        ),
        "missing_at_confirmation": (
            "The result was confirmed, and a card[ of the {hand}] is still due[ ({slot})]."
        ),
        "missing_at_betting": (
            "Betting was opened, and a card[ of the {hand}] is still due[ ({slot})]."
        ),
        "missing_at_closed_betting": (
            "Betting was closed for the next round, and a card[ of the {hand}] is still due"
            "[ ({slot})]."
        ),
        "missing_before_late_card": (
            "The next card came later than a draw takes, and a card[ of the {hand}] is still "
            "due[ ({slot})]."
        ),
        "missing_at_clearing": (
            "The table was cleared, and a card[ of the {hand}] is still due[ ({slot})]."
        ),
        "missing_at_correction": (
            "A card was corrected, and a card[ of the {hand}] is still due[ ({slot})]."
        ),
        "missing_by_correction": "By the corrected cards round {round} lacks a card.",
    },
    raised_by=("publish",),
)

KIND: Final = IrregularityKind.MISSING_DRAW
DRAWN: Final = "the missing card was drawn"
CORRECTED: Final = "by the corrected cards no card is due"


def key_of(round_: Round) -> str:
    """Return the key of the finding."""
    return f"missing:{round_.number}"


def find(round_: Round) -> Finding | None:
    """Return the missing draw of a round whose end was declared; None if no card is due."""
    due = round_.known.due
    if not round_.is_missing or round_.end is None or not due.needs_card:
        return None
    # Without a slot, the Player has chosen its hand.
    slot = None if due.spot is None else Slot(DEALING_ORDER[due.spot])
    hand = None if slot is None else Hand.PLAYER if slot.startswith("P") else Hand.BANKER
    detail = make_detail(round_.end, hand=hand, slot=slot)
    return Finding(key_of(round_), KIND, detail, slot)

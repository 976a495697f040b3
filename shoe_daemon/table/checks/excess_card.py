"""
A card that belongs to neither hand.

**Sees** a card after the round was complete, or a reader's report of one. *It needs*
a detectable end of the round: a result, a button, the betting signals, or silence.
**Says** “4C was drawn and is no part of this round: the Player has a natural 9: nobody draws.”
(where its own face was not seen: “A card was drawn …”), or “The reader says that a card too many
was drawn.”
**You** rule on the card: `burn_card`, `carry_to_next_hand`,
`carry_as_dummy_hand`, `burn_card_plus_value`, or `void_round`. If it is unknown whether people
have seen its face, the proposals for both cases are listed: choose the one that fits. A reader
that reports the card withdrawn or carried closes the irregularity by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shoe_daemon.game import Card, IrregularityKind
from shoe_daemon.table.checks.finding import Finding
from shoe_daemon.table.checks.irregularity import Irregularity
from shoe_daemon.table.detail_texts import Detail, DetailValue, make_detail
from shoe_daemon.table.facts import Round
from shoe_daemon.table.next_card import CardDue
from shoe_daemon.table.view import Odd

IRREGULARITY: Final = Irregularity(
    kind="excess_card",
    name="Card too many",
    severity=3,
    evidence=("boundary",),
    text="A card was drawn after the round was complete.",
    requires=("end_not_by_rules",),
    situations={
        "excess_unexposed": ("Card too many, its face not seen", "多抽一張牌而牌面未露"),
        "excess_exposed": ("Card too many, its face seen", "多抽一張牌且牌面已露"),
    },
    actions=(
        "burn_card",
        "carry_to_next_hand",
        "carry_as_dummy_hand",
        "burn_card_plus_value",
        "restore_order",
    ),
    sentences={
        "excess_after_end": "{card} was drawn and is no part of this round: {because}",
        "excess_after_end_unseen": "A card was drawn and is no part of this round: {because}",
        "excess_out_of_order": (
            "{card} was drawn and is no part of this round: it was drawn outside the order of"
            " play."
        ),
        "excess_out_of_order_unseen": (
            "A card was drawn and is no part of this round: it was drawn outside the order of"
            " play."
        ),
        "excess_before_any_round": "{card} was drawn and is no part of any round: none had begun.",
        "excess_before_any_round_unseen": (
            "A card was drawn and is no part of any round: none had begun."
        ),
        "excess_by_correction": "By the corrected cards {card} is no part of round {round}.",
        "excess_by_reader": "The reader says that a card too many was drawn.",
    },
    raised_by=("attribute", "readers.faults"),
)

KIND: Final = IrregularityKind.EXCESS_CARD
CORRECTED: Final = "by the corrected cards the card was due"


def check(round_: Round, odd: Iterable[Odd]) -> Iterator[Finding]:
    """Find the excess cards among those that were not drawn or laid as due."""
    for card, kind, _slot, due in odd:
        if kind is KIND and not round_.away:
            yield Finding(card.key, KIND, sentence(due, card.face), card.declared, card)
        elif kind is KIND:
            detail = make_detail("excess_by_correction", card=card.face, round=round_.number)
            yield Finding(card.key, KIND, detail, None, card)


def sentence(due: CardDue | None, face: Card | None) -> Detail:
    """Return the sentence for an excess card; `due` is None before the first round."""
    values: dict[str, DetailValue] = {} if face is None else {"card": face}
    suffix = "_unseen" if face is None else ""
    if due is None:
        return make_detail(f"excess_before_any_round{suffix}", **values)
    if due.known and due.spot is None:
        event = due.event
        values |= {"because": event.detail_code, **event.detail_values}
        return make_detail(f"excess_after_end{suffix}", **values)
    return make_detail(f"excess_out_of_order{suffix}", **values)

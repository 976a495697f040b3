"""
The number and the order of the cards out of a shoe: cut card, count, double feeds, sequences.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from shoe_daemon.game import CARDS_PER_DECK, RANKS, IrregularityKind
from shoe_daemon.table import ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.shoe_state import RecentCard, ShoeState

_MAX_ROUND_CARDS: Final = 6
_SHOE_EMPTY: Final = "shoe empty"
"""The key of an empty shoe in `Round.dismissed`: it is raised once in a round."""
_EXTRA_RECENT_CARDS: Final = 12
"""Cards kept before a sequence, which may be disclosed later."""


def cards_left(shoe: ShoeState) -> int:
    """Return the number of cards left in a shoe that began full."""
    return shoe.decks * CARDS_PER_DECK - shoe.out


def _is_countable(shoe: ShoeState) -> bool:
    # Its cards were counted from the first, and belong to one shoe.
    return shoe.announced and not shoe.mixed


def check_cut_card_due(context: TableContext, shoe: ShoeState) -> None:
    """
    Raise a missing cut card when a round begins.

    It lies `position` cards from the back; one round more is allowed, because a person may look
    only after a round.
    """
    rule = context.house.cut_card
    if rule.mode != "checked" or rule.position is None or not _is_countable(shoe):
        return
    if shoe.cut_card or shoe.cut_missed or cards_left(shoe) >= rule.position - _MAX_ROUND_CARDS:
        return
    shoe.cut_missed = True
    ledger.raise_alert(
        context,
        IrregularityKind.CUT_CARD_MISSING,
        make_detail("cut_card_missing", position=rule.position),
    )


def check_shoe_empty(context: TableContext, round_: Round) -> None:
    """Raise an empty shoe; called only where a card is publicly due."""
    shoe = context.state.shoe
    if shoe is None or cards_left(shoe) != 0 or not _is_countable(shoe):
        return
    if _SHOE_EMPTY not in round_.dismissed:
        round_.dismissed[_SHOE_EMPTY] = ""
        detail = make_detail("shoe_empty", full=shoe.decks * CARDS_PER_DECK)
        ledger.raise_alert(context, IrregularityKind.INSUFFICIENT_CARDS, detail)


def check_card_count(context: TableContext, shoe: ShoeState, left: int | None) -> None:
    """
    Compare, at the end of a shoe, the cards that left it with the cards that it held.

    `left` cards were counted in it by a person; None if not counted.
    """
    full = shoe.decks * CARDS_PER_DECK
    if left is not None and _is_countable(shoe) and shoe.out + left != full:
        detail = make_detail(
            "count_mismatch", drawn=shoe.out, counted=left, sum=shoe.out + left, full=full
        )
        ledger.raise_alert(context, IrregularityKind.CARD_COUNT_MISMATCH, detail)
    elif left is None and shoe.out > full and not shoe.mixed:
        detail = make_detail("too_many_cards", drawn=shoe.out, full=full)
        ledger.raise_alert(context, IrregularityKind.CARD_COUNT_MISMATCH, detail)


def record_recent_card(context: TableContext, shoe: ShoeState, card: DrawnCard) -> None:
    """Record a card for `suspect_run`, and raise a suspect sequence for staff."""
    needed = context.options.suspect_run
    if needed is None:
        return
    index = -1 if card.face is None else card.face.index
    card.number = shoe.recent[-1].number + 1 if shoe.recent else 0
    recent = RecentCard(card.number, index, card.public)
    shoe.recent = [*shoe.recent, recent][-(needed + _EXTRA_RECENT_CARDS) :]
    publish_suspect_sequences(context)
    _raise_staff_sequence(context, shoe.recent[-needed:], needed)


def correct_recent_card(context: TableContext, shoe: ShoeState, card: DrawnCard) -> None:
    """Replace a corrected face; close the sequence for staff that the face disproves."""
    wrong = next((each for each in shoe.recent if each.number == card.number), None)
    if wrong is None or card.face is None:
        return
    wrong.index = card.face.index
    for alert in [each for each in context.state.alerts if each.staff_only]:
        if alert.data.id == wrong.alert:
            ledger.close_alert(
                context, alert, "continue", "by the corrected cards nothing is wrong"
            )
            for each in shoe.recent:
                each.alert = None if each.alert == alert.data.id else each.alert


def publish_suspect_sequences(context: TableContext) -> None:
    """Publish the suspect sequences whose cards are all public."""
    needed, shoe = context.options.suspect_run, context.state.shoe
    if needed is None or shoe is None:
        return
    for end in range(needed, len(shoe.recent) + 1):
        cards = shoe.recent[end - needed : end]
        if all(card.seen and not card.told for card in cards):
            _publish_sequence(context, cards, needed)


def _publish_sequence(context: TableContext, cards: list[RecentCard], needed: int) -> None:
    pattern = _sequence_pattern([card.index for card in cards])
    if pattern is None:
        return
    ids = {card.alert for card in cards}
    number = ids.pop() if len(ids) == 1 else None
    alert = next((each for each in context.state.alerts if each.data.id == number), None)
    if alert is not None:
        ledger.publish_alert(context, alert)
    elif number is None:  # else staff have closed the alert
        number = _raise_sequence(context, pattern, needed, staff_only=False)
    for card in cards:
        card.told, card.alert = True, card.alert or number


def _raise_staff_sequence(context: TableContext, cards: list[RecentCard], needed: int) -> None:
    if len(cards) < needed or any(card.alert for card in cards):
        return
    pattern = _sequence_pattern([card.index for card in cards])
    if pattern is not None:
        number = _raise_sequence(context, pattern, needed, staff_only=True)
        for card in cards:
            card.alert = number


def _raise_sequence(context: TableContext, pattern: str, needed: int, *, staff_only: bool) -> int:
    number = context.state.seq + 1
    detail = make_detail(f"sequence_{pattern}", cards=needed)
    ledger.raise_alert(context, IrregularityKind.SUSPECT_SEQUENCE, detail, staff_only=staff_only)
    return number


def is_double_feed(context: TableContext) -> bool:
    """Return whether two cards came closer together than `least_gap`."""
    least = context.options.least_gap
    if least is None or context.options.timeless:
        return False
    before, context.state.drawn_at = context.state.drawn_at, context.now_us()
    return before is not None and context.state.drawn_at - before < least * 1_000_000


def raise_double_feed(context: TableContext) -> None:
    """Raise a double feed after the card was published."""
    if context.is_double_feed:
        context.is_double_feed = False
        ledger.raise_alert(context, IrregularityKind.DOUBLE_FEED, make_detail("drawn_together"))


def _sequence_pattern(cards: list[int]) -> str | None:
    if -1 in cards:
        return None
    ranks = [index % len(RANKS) for index in cards]
    steps = {(after - before) % len(RANKS) for before, after in pairwise(ranks)}
    if len({index // len(RANKS) for index in cards}) == 1:
        return "of_one_suit"
    return {
        frozenset({0}): "of_one_rank",
        frozenset({1}): "upwards",
        frozenset({len(RANKS) - 1}): "downwards",
    }.get(frozenset(steps))

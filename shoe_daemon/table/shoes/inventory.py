"""
What the number and the order of the cards show by themselves, whatever the
reader says of the round.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from shoe_daemon.game import CARDS_PER_DECK, RANKS, IrregularityKind
from shoe_daemon.table.detail_texts import detail
from shoe_daemon.table.table_state import Recent

if TYPE_CHECKING:
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn, RoundState, ShoeState

_LARGEST_ROUND: Final = 6
_RECENT: Final = 12
"""Cards before a sequence that may yet be turned over."""


def in_shoe(shoe: ShoeState) -> int:
    """
    Return how many cards are left, if it was full when it was begun.
    """
    return shoe.decks * CARDS_PER_DECK - shoe.out


def _counts(shoe: ShoeState) -> bool:
    # Its cards were counted from the first one on, and are not those of two shoes.
    return shoe.announced and not shoe.mixed


def check_reserve(fold: Fold, shoe: ShoeState) -> None:
    """
    Say, when a round begins, that the cut card should have come out by now.

    It lies `position` cards from the back, and a whole round may pass before a
    person looks, so that as many cards as that are allowed for.
    """
    rule = fold.house.cut_card
    if rule.mode != "checked" or rule.position is None or not _counts(shoe):
        return
    if shoe.cut_card or shoe.cut_missed or in_shoe(shoe) >= rule.position - _LARGEST_ROUND:
        return
    shoe.cut_missed = True
    fold.raise_alert(
        IrregularityKind.CUT_CARD_MISSING,
        detail("cut_card_missing", position=rule.position),
    )


def check_enough(fold: Fold, round_: RoundState) -> None:
    """
    Say that the shoe is empty; to be asked where people can see that a card is due.
    """
    shoe = fold.state.shoe
    if shoe is not None and in_shoe(shoe) == 0 and _counts(shoe) and not round_.short:
        round_.short = True
        said = detail("shoe_empty", full=shoe.decks * CARDS_PER_DECK)
        fold.raise_alert(IrregularityKind.INSUFFICIENT_CARDS, said)


def check_count(fold: Fold, shoe: ShoeState, left: int | None) -> None:
    """
    Compare, at the end of a shoe, the cards that left it with what it held.

    Args:
        fold: The table.
        shoe: The shoe that is over.
        left: The cards that a person counted in it; None where nobody did.
    """
    full = shoe.decks * CARDS_PER_DECK
    if left is not None and _counts(shoe) and shoe.out + left != full:
        said = detail(
            "count_mismatch", drawn=shoe.out, counted=left, sum=shoe.out + left, full=full
        )
        fold.raise_alert(IrregularityKind.CARD_COUNT_MISMATCH, said)
    elif left is None and shoe.out > full and not shoe.mixed:
        said = detail("too_many_cards", drawn=shoe.out, full=full)
        fold.raise_alert(IrregularityKind.CARD_COUNT_MISMATCH, said)


def watch_sequence(fold: Fold, shoe: ShoeState, card: Drawn) -> None:
    """
    Say, where that was asked for, that cards come in a suspect order.
    """
    needed = fold.options.suspect_run
    if needed is None:
        return
    index = -1 if card.face is None else card.face.index
    card.number = shoe.recent[-1].number + 1 if shoe.recent else 0
    recent = Recent(card.number, index, card.public)
    shoe.recent = [*shoe.recent, recent][-(needed + _RECENT) :]
    tell_sequence(fold)
    _tell_staff(fold, shoe.recent[-needed:], needed)


def corrected(fold: Fold, shoe: ShoeState, card: Drawn) -> None:
    """
    A card was another one than was read: an order that it was part of, and that only staff
    know of, is none.
    """
    wrong = next((each for each in shoe.recent if each.number == card.number), None)
    if wrong is None or card.face is None:
        return
    wrong.index = card.face.index
    for alert in [each for each in fold.state.alerts if each.staff_only]:
        if alert.data.id == wrong.alert:
            fold.close_alert(alert, "continue", "by the corrected cards nothing is wrong")
            for each in shoe.recent:
                each.alert = None if each.alert == alert.data.id else each.alert


def tell_sequence(fold: Fold) -> None:
    """
    Tell the players of cards in a suspect order, once they have seen all of these.
    """
    needed, shoe = fold.options.suspect_run, fold.state.shoe
    if needed is None or shoe is None:
        return
    for end in range(needed, len(shoe.recent) + 1):
        cards = shoe.recent[end - needed : end]
        if all(card.seen and not card.told for card in cards):
            _tell_players(fold, cards, needed)


def _tell_players(fold: Fold, cards: list[Recent], needed: int) -> None:
    pattern = _pattern([card.index for card in cards])
    if pattern is None:
        return
    ids = {card.alert for card in cards}
    number = ids.pop() if len(ids) == 1 else None
    alert = next((each for each in fold.state.alerts if each.data.id == number), None)
    if alert is not None:
        fold.publish_alert(alert)
    elif number is None:  # else staff have closed it
        number = _raise_sequence(fold, pattern, needed, staff_only=False)
    for card in cards:
        card.told, card.alert = True, card.alert or number


def _tell_staff(fold: Fold, cards: list[Recent], needed: int) -> None:
    if len(cards) < needed or any(card.alert for card in cards):
        return
    pattern = _pattern([card.index for card in cards])
    if pattern is not None:
        number = _raise_sequence(fold, pattern, needed, staff_only=True)
        for card in cards:
            card.alert = number


def _raise_sequence(fold: Fold, pattern: str, needed: int, *, staff_only: bool) -> int:
    number = fold.state.seq + 1
    said = detail(f"sequence_{pattern}", cards=needed)
    fold.raise_alert(IrregularityKind.SUSPECT_SEQUENCE, said, staff_only=staff_only)
    return number


def too_close(fold: Fold) -> bool:
    """
    Tell, where that was asked for, whether two cards came too close to be two draws.
    """
    least = fold.options.least_gap
    if least is None or fold.options.timeless:
        return False
    before, fold.state.drawn_at = fold.state.drawn_at, fold.microseconds()
    return before is not None and fold.state.drawn_at - before < least * 1_000_000


def check_pace(fold: Fold) -> None:
    """
    Say, once the card has been told, if it came together with the one before.
    """
    if fold.together:
        fold.together = False
        fold.raise_alert(IrregularityKind.DOUBLE_FEED, detail("drawn_together"))


def _pattern(cards: list[int]) -> str | None:
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

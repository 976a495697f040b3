"""
Tags: codes that are unique per physical card, where the reader reports them.

While the round of a card lasts, its tag again is the same card: a repeat. After the round it is a
repeat too, as long as it comes with pauses shorter than `quiet_gap` and no round has begun. Later
in the shoe it is a `duplicate_card` and no card, unless its card was withdrawn or its round is
void. A card that was carried belongs to the next round. What is decided depends on tags alone,
never on faces, and the sentences name no card.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from shoe_daemon.game import Card, IrregularityKind
from shoe_daemon.table import ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.observations import CardDrawn, Role, Unreadable
from shoe_daemon.table.readers import replacement
from shoe_daemon.table.rounds import lifecycle
from shoe_daemon.table.shoe_state import ShoeState, Tag

_MAX_TAGS: Final = 1500
"""Tags of a shoe: of two readers, and twelve decks. Beyond it the oldest is forgotten."""

_ANOTHER_SHOE: Final = 3
"""So many cards in a row that were in play before are probably another shoe."""

_Obs = TypeVar("_Obs", CardDrawn, Unreadable)


def tag_key(obs: CardDrawn | Unreadable) -> str | None:
    """Return the key of a card's tag, which each reader reports for itself; None without one."""
    return None if obs.tag is None else f"{obs.source or ''}:{obs.tag}"


def apply_once(
    context: TableContext, obs: _Obs, apply: Callable[[TableContext, _Obs], object]
) -> None:
    """Apply a card, unless its tag shows that it is none that was drawn now."""
    key = tag_key(obs)
    if key is None:
        apply(context, obs)
    elif _is_new(context, obs, key):
        apply(context, obs)
        _record(context, obs, key)


def _is_new(context: TableContext, obs: CardDrawn | Unreadable, key: str) -> bool:
    """Return whether a tag shows a new card; raise one that was in play before."""
    shoe, now = context.state.shoe, context.now_us()
    tag = None if shoe is None else shoe.tags.get(key)
    if shoe is None or tag is None:
        return True
    in_round = lifecycle.in_progress(context) is not None
    current = shoe.begun if in_round else shoe.begun + 1
    lies_there = not in_round and now - tag.at < context.options.quiet_gap * 1_000_000
    if tag.seen >= current or (tag.seen == shoe.begun and lies_there):
        tag.at = now
        context.repeats += 1
        return False
    if _may_return(context, shoe, obs, tag):
        return True
    tag.seen, tag.at = current, now
    if not replacement.is_only_checking(context, obs.source):
        _raise_duplicate(context, shoe, tag)
    return False


def _may_return(
    context: TableContext, shoe: ShoeState, obs: CardDrawn | Unreadable, tag: Tag
) -> bool:
    if shoe.finished or context.house.reshuffle != "per_shoe":
        return True
    if isinstance(obs, CardDrawn) and obs.role is Role.FIRST:
        return True  # it begins another shoe
    is_void = any(each.number == tag.round and each.voided for each in shoe.played) or any(
        each.number == tag.round and each.cause is None for each in shoe.unfinished
    )
    return is_void or tag.withdrawn


def _raise_duplicate(context: TableContext, shoe: ShoeState, tag: Tag) -> None:
    shoe.in_play_before += 1
    if shoe.in_play_before > _ANOTHER_SHOE:
        return  # of the irregularity that was raised
    if shoe.in_play_before == _ANOTHER_SHOE:
        detail = make_detail("cards_in_play_before", cards=_ANOTHER_SHOE)
    else:
        detail = make_detail("card_in_play_before", round=tag.round or None)
    ledger.raise_alert(context, IrregularityKind.DUPLICATE_CARD, detail)


def _record(context: TableContext, obs: CardDrawn | Unreadable, key: str) -> None:
    shoe = context.state.shoe
    if shoe is None:
        return
    shoe.in_play_before = 0
    is_burned = isinstance(obs, CardDrawn) and obs.role in {Role.BURN, Role.FIRST}
    shoe.tags.pop(key, None)
    if len(shoe.tags) >= _MAX_TAGS:
        del shoe.tags[next(iter(shoe.tags))]
    shoe.tags[key] = Tag(0 if is_burned else shoe.begun, shoe.begun, context.now_us())


def withdraw_excess_cards(context: TableContext, face: Card | None) -> None:
    """Let the excess cards return that a reader saw withdrawn; `face` is None if unknown."""
    round_ = context.state.round
    for card in () if round_ is None else round_.view.excess:
        if (tag := _tag_of(context, card)) is not None and (
            face is None or card.face in {None, face}
        ):
            tag.withdrawn = True


def carry_card(context: TableContext, card: DrawnCard) -> None:
    """Let the tag of an excess card belong to the next round."""
    if (tag := _tag_of(context, card)) is not None:
        tag.round = tag.seen = context.latest_round + 1


def _tag_of(context: TableContext, card: DrawnCard) -> Tag | None:
    shoe = context.state.shoe
    return None if shoe is None or card.tag is None else shoe.tags.get(card.tag)

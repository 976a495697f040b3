"""
What a person knows better: a card that was read wrongly, a result with no
reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, IrregularityKind, Slot
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import detail
from shoe_daemon.table.rounds import (
    card_draw,
    declared_result,
    hidden_faces,
    lifecycle,
    past_rounds,
    results,
    third_cards,
)
from shoe_daemon.table.shoes import inventory, shoe_lifecycle
from shoe_daemon.table.table_state import Drawn, Played

if TYPE_CHECKING:
    from shoe_daemon.game import Card, Outcome
    from shoe_daemon.table.events import RoundFinished
    from shoe_daemon.table.observations import Command
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Held, RoundState


def result_of(fold: Fold, number: int) -> Played | Held | None:
    """
    Return the result of a round, published or held back.
    """
    held = results.held_back(fold, number)
    return held or results.find(fold, number)


def on_table(fold: Fold, number: int | None) -> RoundState | None:
    """
    Return the round of a number, or any, if its cards are still on the table.
    """
    round_ = fold.state.round
    return round_ if round_ is not None and number in {None, round_.number} else None


def say_corrected(
    fold: Fold, round_: RoundState, card: Drawn, before: Card | None, after: Card | None
) -> None:
    """
    Say what card it was, showing no more than the players have seen.
    """
    shown = round_.finished or card.public or card_draw.seen_at_once(fold, round_, card.slot)
    fold.emit(
        events.CardCorrected(
            after if shown else None,
            before if card.public else None,
            fold.operator,
            fold.reason,
            card.slot,
        ),
        round_.number,
    )


def check_correction(fold: Fold, order: Command) -> str | None:
    """
    Say why a card cannot be corrected.
    """
    if order.card is None or order.slot is None:
        return "which card, on which place? give card and slot, such as 10H and B2"
    before = face_on(fold, order.round, order.slot)
    if before is None:
        return f"no card that was read lies on {order.slot} of that round"
    # Of a face that the players have not seen, the answer must not tell whether it is this one.
    known = before is order.card and _is_public(fold, order.round, order.slot)
    return "it is that card already" if known else None


def _is_public(fold: Fold, number: int | None, slot: Slot) -> bool:
    round_ = on_table(fold, number)
    card = None if round_ is None else round_.spots[DEALING_ORDER.index(slot)]
    return card is None or card.public


def face_on(fold: Fold, number: int | None, slot: Slot) -> Card | None:
    """
    Return the card that is known to lie, or to have lain, on a place.
    """
    round_ = on_table(fold, number)
    if round_ is not None:
        card = round_.spots[DEALING_ORDER.index(slot)]
        return None if card is None else card.face
    record = past_rounds.record_of(fold, number)
    return None if record is None else past_rounds.face_in(record, slot)


def correct_card(fold: Fold, order: Command) -> None:
    """
    Say that a card was another one than was read; the result follows.
    """
    if order.slot is None or order.card is None:
        return
    found = on_table(fold, order.round) or past_rounds.record_of(fold, order.round)
    number = 0 if found is None else found.number
    correct(fold, number, order.slot, order.card)
    _settle_conflict(fold, number)


def _settle_conflict(fold: Fold, number: int) -> None:
    # Where readers differ, and a person was to say what card it is: that is done.
    for alert in list(fold.state.alerts):
        conflict = alert.data.kind == IrregularityKind.SOURCE_CONFLICT
        if conflict and alert.chosen is not None and alert.after == number:
            fold.close_alert(alert, alert.chosen, fold.reason or "a person said what it is")


def correct(fold: Fold, number: int, slot: Slot, after: Card) -> None:
    """
    Put another face on a place, and let all follow from it.
    """
    round_ = on_table(fold, number)
    before = face_on(fold, number, slot)
    if before is None:
        return
    card = None if round_ is None else round_.spots[DEALING_ORDER.index(slot)]
    if round_ is not None and card is not None:
        say_corrected(fold, round_, card, before, after)
        if not card.public:
            fold.emit(events.StaffCardDealt(after, card.slot), round_.number)
        card.face = after
        _recount(fold, before, after, card)
        _follow(fold, round_)
        return
    fold.emit(events.CardCorrected(after, before, fold.operator, fold.reason, slot), number)
    if fold.house.reshuffle == "per_shoe":  # else it has been shuffled back
        _recount(fold, before, after, Drawn(after, public=True))
    record = past_rounds.record_of(fold, number)
    if record is not None:
        past_rounds.put(fold, record, slot, after)


def _recount(fold: Fold, before: Card, after: Card, card: Drawn) -> None:
    shoe = fold.state.shoe
    if shoe is not None and after is not before:
        shoe.seen[before.index] -= 1
        shoe.unseen[before.index] -= not card.public
        shoe_lifecycle.count_copy(fold, shoe, card, after)
        inventory.corrected(fold, shoe, card)
        hidden_faces.take_back(fold)


def _follow(fold: Fold, round_: RoundState) -> None:
    # Another face may make other cards due, or a card one too many; not in a round
    # that came to nothing.
    if round_.ended and not round_.finished:
        return
    if round_.unread_result:
        round_.partial = False  # all its cards lie there, if not all of them were read
    third_cards.lay_anew(fold, round_)
    if round_.finished:
        result_again(fold, round_)
    elif not round_.ended:
        if hidden_faces.has_known(round_):
            # Whether silence ends it is asked anew, by the faces as they are known now.
            round_.over, fold.state.quiet_at = False, None
            lifecycle.await_quiet(fold, round_)
        lifecycle.go_on(fold, round_, repeat=False)


def result_again(fold: Fold, round_: RoundState) -> None:
    """
    Work the result of a finished round out anew from its cards.
    """
    if results.voided(fold, round_.number) is not None:
        return
    result = result_of(fold, round_.number)
    if round_.unread_result:
        round_.partial = any(card.face is None for card in round_.cards)
        round_.unread_result = round_.partial
        if not round_.partial:
            # Its third cards were taken at the reader's word.
            third_cards.lay_anew(fold, round_)
    outcome = None if result is None else result.data.outcome
    if not round_.partial and any(card.face is None for card in round_.cards):
        # A card that was too many, and not read, is one of its cards now.
        round_.partial = round_.unread_result = True
        outcome = declared_result.outcome_of(fold, round_.number)
    declared_result.check_cards(fold, round_)
    if round_.partial:
        if result is not None:
            results.put(fold, result, _partial_result(fold, round_, result, outcome))
    elif not lifecycle.is_complete(round_):
        if result is not None:
            results.put(fold, result, None)
        _want_card(fold, round_)
    else:
        own = lifecycle.own_result(fold, round_)
        if result is not None:
            results.put(fold, result, own)
        else:
            results.offer(fold, round_.number, own)


def _partial_result(
    fold: Fold, round_: RoundState, result: Played | Held, outcome: Outcome | None
) -> RoundFinished:
    # All its cards may be known, where something else of it was missed: see `rounds.finish`.
    if not (round_.hidden or result.entered) and lifecycle.is_complete(round_):
        own = lifecycle.own_result(fold, round_)
        if own.outcome is outcome:
            return own
    return partly_known(round_, result, outcome)


def partly_known(
    round_: RoundState, result: Played | Held, outcome: Outcome | None
) -> RoundFinished:
    """
    Return the result of a round whose cards are not all known: what is known of
    them, and what was said of it.
    """
    before = result.data
    round_.partial = not round_.unread_result
    after = lifecycle.declared_result(round_, outcome)
    round_.partial = True
    if not result.entered:
        return after
    return _with_pairs(after, (before.player.pair, before.banker.pair))


def _with_pairs(data: RoundFinished, pairs: tuple[bool | None, bool | None]) -> RoundFinished:
    player, banker = pairs
    return replace(
        data,
        player=replace(data.player, pair=player),
        banker=replace(data.banker, pair=banker),
    )


def _want_card(fold: Fold, round_: RoundState) -> None:
    # By the cards as they are known now a draw is missing.
    if round_.ended:
        if fold.open_alert(IrregularityKind.MISSING_DRAW) is None:
            fold.raise_alert(
                IrregularityKind.MISSING_DRAW,
                detail("missing_by_correction", round=round_.number),
                number=round_.number,
            )
    else:
        round_.finished, over = False, round_.over
        lifecycle.find_missing(fold, round_, "missing_at_correction")
        round_.over = over  # nothing has ended it
        lifecycle.say_due(fold, round_, repeat=False)


def check_result(fold: Fold, order: Command) -> str | None:
    """
    Say why a result cannot be entered.
    """
    if order.outcome is None:
        return "which outcome? give player, banker or tie"
    round_, shoe = lifecycle.in_progress(fold), fold.state.shoe
    if round_ is None:
        is_over = shoe is not None and shoe.finished
        return "the shoe is finished: order a new shoe first" if is_over else None
    if round_.finished:
        return "the round on the table has its result; void it, or correct a card"
    return None if round_.partial else _whole_obstacle(round_)


def _whole_obstacle(round_: RoundState) -> str | None:
    if len(round_.cards) < FOUR_CARDS:
        return None
    if hidden_faces.has_known(round_):
        # Whether they are all that it needs is not for everybody to know.
        return "the cards of the round on the table lie face down: reveal them first"
    if lifecycle.is_complete(round_):
        return "the cards of the round on the table give its result"
    return None


def enter_result(fold: Fold, order: Command) -> None:
    """
    Enter the result of a round that no reader has seen, or not whole.
    """
    round_ = lifecycle.in_progress(fold) or lifecycle.begin(fold, partial=True)
    whole, round_.partial = not round_.partial, True
    fold.state.seed = None  # if one was carried, it lies among the cards that nobody saw
    data = lifecycle.declared_result(round_, order.outcome)
    data = _with_pairs(data, (order.player_pair, order.banker_pair))
    lifecycle.enter(fold, round_, data, whole=whole)

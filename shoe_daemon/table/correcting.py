"""
What a person knows better: a card that was not read or was read wrongly, a
result with no reader, and the way back from each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shoe_daemon.game.irregularities import IrregularityKind
from shoe_daemon.game.round import DEALING_ORDER, Coup, Slot
from shoe_daemon.table import drawing, events, faces, relaying, results, rounds, shoes
from shoe_daemon.table.state import Change

if TYPE_CHECKING:
    from shoe_daemon.game.cards import Card
    from shoe_daemon.table.events import RoundFinished
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.observations import Command
    from shoe_daemon.table.state import Drawn, Played, RoundState

_MOST_CHANGES: Final = 20


def remember(
    fold: Fold, verb: str, number: int, slot: Slot | None = None, before: Card | None = None
) -> None:
    """
    Remember what an order changed, so that it can be undone.
    """
    fold.state.changes.append(Change(verb, number, slot, before))
    del fold.state.changes[:-_MOST_CHANGES]


def _on_table(fold: Fold, number: int | None) -> RoundState | None:
    round_ = fold.state.round
    return round_ if round_ is not None and number in {None, round_.number} else None


def _unread(fold: Fold, order: Command) -> Drawn | None:
    round_ = _on_table(fold, order.round)
    found = [
        card
        for card in (round_.cards if round_ is not None else ())
        if card.face is None and card.unread and order.slot in {None, card.slot}
    ]
    return found[0] if len(found) == 1 or (found and order.slot) else None


def _pending(fold: Fold, order: Command) -> int | None:
    """
    Return the place that is due, where the reader has just said that a card passed
    unread: that card lies there.
    """
    round_ = _on_table(fold, order.round)
    if round_ is None or round_.ended or round_.partial or not round_.unread_pending:
        return None
    spot = rounds.truth(round_).spot
    return spot if spot is not None and order.slot in {None, DEALING_ORDER[spot]} else None


def check_entry(fold: Fold, order: Command) -> str | None:
    """
    Say why a card cannot be entered.
    """
    if order.card is None:
        return "which card? give it as rank and suit, such as 10H"
    if _unread(fold, order) is None and _pending(fold, order) is None:
        where = f" on {order.slot}" if order.slot else ""
        return f"there is no single card{where} on the table that could not be read"
    return None


def enter_card(fold: Fold, order: Command) -> None:
    """
    Say what the card was that passed unread.
    """
    round_, spot = _on_table(fold, order.round), _pending(fold, order)
    if round_ is not None and spot is not None:
        drawing.lay_unread(fold, round_, spot)
    card = _unread(fold, order)
    if round_ is None or card is None or order.card is None:
        return
    # A reader that reads it after all speaks of the same card.
    card.declared = card.declared or card.slot
    remember(fold, "enter_card", round_.number, card.slot)
    _say_corrected(fold, round_, card, None, order.card)
    alert = fold.open_alert(IrregularityKind.UNREADABLE_CARD, card.slot, None)
    if alert is not None:
        alert.chosen = "manual_entry"
    if not round_.ended and card.slot is not None:
        faces.know(fold, round_, card, order.card)
        return
    faces.know_late(fold, card, order.card)
    _result_again(fold, round_)


def _say_corrected(
    fold: Fold, round_: RoundState, card: Drawn, before: Card | None, after: Card | None
) -> None:
    shown = round_.finished or card.public or drawing.seen_at_once(fold, round_, card.slot)
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
    before = _face_on(fold, order.round, order.slot)
    if before is None:
        return f"no card that was read lies on {order.slot} of that round"
    # The face itself is not said: the answer goes where players may see it.
    return "it is that card already" if before is order.card else None


def _face_on(fold: Fold, number: int | None, slot: Slot) -> Card | None:
    round_ = _on_table(fold, number)
    if round_ is not None:
        card = round_.spots[DEALING_ORDER.index(slot)]
        return None if card is None else card.face
    played = results.find(fold, number)
    if played is None:
        return None
    hand, place = _hand_place(played.data, slot)
    return hand[place] if place < len(hand) else None


def _hand_place(data: RoundFinished, slot: Slot) -> tuple[tuple[Card | None, ...], int]:
    spot = DEALING_ORDER.index(slot)
    return (data.banker.cards if spot % 2 else data.player.cards), spot // 2


def correct_card(fold: Fold, order: Command) -> None:
    """
    Say that a card was another one than was read; the result follows.
    """
    if order.slot is None or order.card is None:
        return
    before = _face_on(fold, order.round, order.slot)
    round_, played = _on_table(fold, order.round), results.find(fold, order.round)
    number = round_.number if round_ is not None else played.number if played is not None else 0
    remember(fold, "correct_card", number, order.slot, before)
    _correct(fold, number, order.slot, order.card)


def _correct(fold: Fold, number: int, slot: Slot, after: Card) -> None:
    round_ = _on_table(fold, number)
    before = _face_on(fold, number, slot)
    if before is None:
        return
    card = None if round_ is None else round_.spots[DEALING_ORDER.index(slot)]
    if round_ is not None and card is not None:
        _say_corrected(fold, round_, card, before, after)
        _recount(fold, before, after, public=card.public)
        card.face = after
        _follow(fold, round_)
        return
    fold.emit(events.CardCorrected(after, before, fold.operator, fold.reason, slot), number)
    _recount(fold, before, after, public=True)
    played = results.find(fold, number)
    if played is not None:
        results.revise(fold, played, _with_card(fold, played, slot, after))


def _recount(fold: Fold, before: Card, after: Card, *, public: bool) -> None:
    shoe = fold.state.shoe
    if shoe is not None:
        shoe.seen[before.index] -= 1
        shoes.count(fold, shoe, after, public=public)


def _with_card(fold: Fold, played: Played, slot: Slot, after: Card) -> RoundFinished | None:
    data = played.data
    hand, place = _hand_place(data, slot)
    cards = (*hand[:place], after, *hand[place + 1 :])
    player, banker = data.player.cards, data.banker.cards
    if DEALING_ORDER.index(slot) % 2:
        banker = cards
    else:
        player = cards
    if data.partial or None in player or None in banker:
        return data
    known = (tuple(filter(None, player)), tuple(filter(None, banker)))
    return rounds.result_of(fold, Coup.of(*known), kind=data.kind, partial=False)


def _follow(fold: Fold, round_: RoundState) -> None:
    # Another face may make other cards due, or a card one too many.
    relaying.lay_anew(fold, round_)
    if round_.finished:
        _result_again(fold, round_)
    elif not round_.ended:
        rounds.say_due(fold, round_, repeat=False)
        rounds.move_on(fold, round_)


def _result_again(fold: Fold, round_: RoundState) -> None:
    """
    Work the result of a finished round out anew from its cards.
    """
    if round_.unread_result:
        round_.partial = any(card.face is None for card in round_.cards)
        round_.unread_result = round_.partial
    if round_.partial:
        return
    whole = rounds.is_complete(round_)
    after = rounds.own_result(fold, round_) if whole else None
    for held in [each for each in fold.state.held if each.number == round_.number]:
        if after is not None:
            held.data = after
            return
        fold.state.held.remove(held)  # what waited is no result any more
    played = results.find(fold, round_.number)
    if played is not None:
        results.revise(fold, played, after)
    if after is None:
        _want_card(fold, round_)


def _want_card(fold: Fold, round_: RoundState) -> None:
    # By the cards as they are known now a draw is missing.
    if round_.ended:
        fold.raise_alert(
            IrregularityKind.MISSING_DRAW,
            f"By the corrected cards round {round_.number} lacks a card.",
        )
    else:
        round_.finished = False
        rounds.find_missing(fold, round_, "A card was corrected")
        rounds.say_due(fold, round_, repeat=False)


def check_result(fold: Fold, order: Command) -> str | None:
    """
    Say why a result cannot be entered.
    """
    if order.outcome is None:
        return "which outcome? give player, banker or tie"
    round_ = rounds.in_progress(fold)
    if round_ is not None and round_.finished:
        return "the round on the table has its result; void it, or correct a card"
    if round_ is not None and not round_.partial and rounds.is_complete(round_):
        return "the cards of the round on the table give its result"
    return None


def enter_result(fold: Fold, order: Command) -> None:
    """
    Enter the result of a round that no reader has seen, or not whole.
    """
    round_ = rounds.in_progress(fold) or rounds.begin(fold, partial=True)
    round_.partial = True
    remember(fold, "enter_result", round_.number)
    data = rounds.declared_result(round_, order.outcome)
    data = replace(
        data,
        player=replace(data.player, pair=order.player_pair),
        banker=replace(data.banker, pair=order.banker_pair),
    )
    rounds.enter(fold, round_, data)


def check_undo(fold: Fold, _order: Command) -> str | None:
    """
    Say why nothing can be undone.
    """
    return None if fold.state.changes else "no correction of this shoe can be undone"


def undo(fold: Fold, _order: Command) -> None:
    """
    Take the latest correction of this shoe back.
    """
    change = fold.state.changes.pop()
    if change.verb == "correct_card" and change.slot is not None and change.before is not None:
        _correct(fold, change.round, change.slot, change.before)
    elif change.verb == "enter_card" and change.slot is not None:
        _forget_card(fold, change)
    elif change.verb == "enter_result":
        _forget_result(fold, change.round)
    elif change.verb == "void_round":
        _unvoid(fold, change.round)


def _forget_card(fold: Fold, change: Change) -> None:
    round_ = _on_table(fold, change.round)
    if round_ is None or change.slot is None:
        return
    card = round_.spots[DEALING_ORDER.index(change.slot)]
    if card is None or card.face is None:
        return
    _say_corrected(fold, round_, card, card.face, None)
    if fold.state.shoe is not None:
        fold.state.shoe.seen[card.face.index] -= 1
    round_.hidden += card.public
    card.face, card.public, card.unread = None, False, True
    drawing.raise_unread(fold, card)
    played = results.find(fold, round_.number)
    if round_.finished and played is not None:
        round_.unread_result = True
        results.revise(fold, played, rounds.declared_result(round_, played.data.outcome))
        round_.partial = True
    elif not round_.ended:
        rounds.say_due(fold, round_, repeat=False)


def _forget_result(fold: Fold, number: int) -> None:
    for held in [each for each in fold.state.held if each.number == number]:
        fold.state.held.remove(held)
        results.void_held(fold, held)
    played = results.find(fold, number)
    if played is not None:
        results.revise(fold, played, None)


def _unvoid(fold: Fold, number: int) -> None:
    shoe = fold.state.shoe
    for played in shoe.played if shoe is not None else ():
        if played.number == number and played.voided:
            results.restore(fold, played)

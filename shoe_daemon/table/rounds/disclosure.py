"""
A face has become known: of a card that lay face down, passed unread, or is
seen by a camera.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Slot
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import detail
from shoe_daemon.table.readers import second_reader
from shoe_daemon.table.rounds import (
    card_draw,
    coup_rest,
    hidden_faces,
    lifecycle,
    next_card,
    third_cards,
)
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.table_state import Drawn

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState

# Looked up once, as in `drawing`.
_P1 = Slot.P1


def disclose(fold: Fold, slot: Slot, face: Card) -> None:
    """
    Take the face of a card that was drawn before.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is None:
        _disclose_late(fold, slot, face)
        return
    card = _card_on(round_, slot, face)
    if card is None:
        if not _learn_excess(fold, round_, slot, face) and not _all_seen(fold, face):
            round_.partial = True
            card_draw.add(fold, round_, Drawn(face, slot))
    elif card.face is not None and card.face is not face:
        _conflict(fold, slot)
    elif not card.public:
        _turn_over(fold, round_, card, face)


def _turn_over(fold: Fold, round_: RoundState, card: Drawn, face: Card) -> None:
    news = card.face is None
    card.face = face
    lifecycle.show(fold, round_, card, counted=not news)
    if news:
        _learn(fold, card)
    _go_on(fold, round_)


def _go_on(fold: Fold, round_: RoundState) -> None:
    if fold.state.checks:
        second_reader.compare(fold, round_)
    check_thirds(fold, round_)
    hidden_faces.publish(fold, round_)
    hidden_faces.conclude(fold, round_)
    if round_.relaid:
        third_cards.take_all_back(fold, round_)
    lifecycle.await_quiet(fold, round_)
    lifecycle.go_on(fold, round_, repeat=False)


def unread_on(round_: RoundState, slot: Slot | None) -> Drawn | None:
    """
    Return the card that lies unread on a place, if the reader still speaks of it:
    a first card later in the round is one of the next.
    """
    if slot is None or (slot is _P1 and len(round_.cards) > 1):
        return None
    for card in round_.cards:
        if card.unread and slot is (card.declared or card.slot):
            return card
    return None


def read_again(fold: Fold, slot: Slot | None, face: Card | None) -> bool:
    """
    Take a card that passed unread before, and was read at the second attempt.

    Returns:
        Whether it is such a card.
    """
    round_ = lifecycle.in_progress(fold)
    card = None if round_ is None or face is None else unread_on(round_, slot)
    if round_ is None or card is None or face is None:
        return False
    know(fold, round_, card, face)
    return True


def know(fold: Fold, round_: RoundState, card: Drawn, face: Card) -> None:
    """
    Learn the face of a card that passed unread, and go on.
    """
    if card_draw.seen_at_once(fold, round_, card.slot):
        _turn_over(fold, round_, card, face)
        return
    card.face = face
    fold.emit(events.StaffCardDealt(face, card.slot))
    _learn(fold, card)
    _go_on(fold, round_)


def know_late(fold: Fold, round_: RoundState, card: Drawn, face: Card) -> None:
    """
    Learn the face of a card of a round that has its result, or has ended; of one that
    came to nothing the players may never have seen it.
    """
    card.face = face
    card.public = round_.finished or card_draw.seen_at_once(fold, round_, card.slot)
    round_.hidden -= card.public
    if not card.public:
        fold.emit(events.StaffCardDealt(face, card.slot), round_.number)
    _learn(fold, card)
    hidden_faces.publish(fold, round_)


def _disclose_late(fold: Fold, slot: Slot, face: Card) -> None:
    # It may be the face of a card that still lies on the table. Otherwise a
    # round has begun that nobody saw.
    if coup_rest.learn(fold, slot, face):
        return
    last = fold.state.round
    card = None if last is None or fold.state.unsynced else _card_on(last, slot, face)
    if card is None or card.face not in {None, face}:
        if _all_seen(fold, face):
            return
        card_draw.play(fold, Drawn(face, slot), joined=True)
    elif card.face is None:
        card.face = face
        if fold.state.shoe is not None:
            shoe_lifecycle.count(fold, fold.state.shoe, Drawn(face, slot=slot, public=True))


def _all_seen(fold: Fold, face: Card) -> bool:
    # After cards were missed: no card is left in the shoe that could have this face, so
    # that it is one of a round that has ended. Copies that lie face down count too: then the
    # card that was turned over is one of these, and public (Contract: at `disclosed`).
    shoe = fold.state.shoe
    if shoe is None or shoe.finished or not fold.state.unsynced:
        return False
    return shoe.seen[face.index] >= shoe.decks


def _card_on(round_: RoundState, slot: Slot, face: Card) -> Drawn | None:
    # The reader speaks of the place that it named, wherever the rules put the
    # card since; of two cards on one place it means the one that fits.
    here = [card for card in round_.cards if slot is (card.declared or card.slot)]
    for card in here:
        if card.face is None or card.face is face:
            return card
    if here:
        return here[0]
    unplaced = [card for card in round_.cards if card.slot is None and card.declared is None]
    same = [card for card in unplaced if card.face is face]
    for card in same or [card for card in unplaced if card.face is None]:
        card_draw.put(round_, card, DEALING_ORDER.index(slot))
        return card
    return None


def _learn_excess(fold: Fold, round_: RoundState, slot: Slot, face: Card) -> bool:
    # A card found to be none of this round still has a face to be counted.
    for card in round_.excess:
        if card.declared is slot and card.face in {None, face}:
            if card.face is None and fold.state.shoe is not None:
                card.face = face
                fold.emit(events.StaffCardDealt(face, None))
                shoe_lifecycle.count(fold, fold.state.shoe, card)
            return True
    return False


def _learn(fold: Fold, card: Drawn) -> None:
    if fold.state.shoe is not None:
        shoe_lifecycle.count(fold, fold.state.shoe, card)
    if card.unread:
        card.unread = False
        kind = IrregularityKind.UNREADABLE_CARD
        alert = fold.open_alert(kind, card.slot) or fold.open_alert(kind, None)
        if alert is not None:
            by_hand = fold.reason or "a person said what it is"
            reason = by_hand if fold.operator else "the card was read after all"
            fold.close_alert(alert, alert.chosen or "rescan", reason)


def _conflict(fold: Fold, slot: Slot) -> None:
    round_ = lifecycle.in_progress(fold)
    if fold.state.unsynced or (round_ is not None and round_.partial):
        return  # the cards that lie there, or this one, may be of another round
    if fold.open_alert(IrregularityKind.SOURCE_CONFLICT) is None:
        fold.raise_alert(
            IrregularityKind.SOURCE_CONFLICT,
            detail("another_card_on_place", slot=slot),
            slot=slot,
        )


def placed(fold: Fold, slot: Slot, face: Card, source: str | None = None) -> None:
    """
    Take what a camera sees on a place: a card to deal, where it is the only
    source, else what confirms a card that another source has drawn.
    """
    if source is not None:
        fold.reader(source).places = True
    alone = fold.state.placing or second_reader.stands_alone(fold, source)
    round_ = lifecycle.in_progress(fold)
    if alone and round_ is not None and round_.cleared:
        # It lacks a card, but what lies here now was laid after the table was cleared.
        lifecycle.leave(fold, round_)
        round_ = None
    lies = None if round_ is None else round_.spots[DEALING_ORDER.index(slot)]
    if round_ is not None and lies is not None and lies.face in {None, face}:
        disclose(fold, slot, face)
    elif alone and not _still_lies(fold, slot, face):
        if round_ is not None and lies is not None and not _next_first(round_, slot):
            _conflict(fold, slot)
        else:
            card_draw.play(fold, Drawn(face, slot))
    elif round_ is not None:
        _compare_place(fold, round_, slot, face)


def _still_lies(fold: Fold, slot: Slot, face: Card) -> bool:
    # A card of the round before, which nobody has taken away.
    last = fold.state.round
    if last is None or not last.ended or last.cleared:
        return False
    card = last.spots[DEALING_ORDER.index(slot)]
    return card is not None and card.face is face


def _next_first(round_: RoundState, slot: Slot) -> bool:
    # Another first card than the one of a round that is whole.
    return slot is Slot.P1 and lifecycle.is_complete(round_)


def _compare_place(fold: Fold, round_: RoundState, slot: Slot, face: Card) -> None:
    for card in round_.cards:
        if card.face is face:
            if slot is not (card.declared or card.slot):
                card.declared = slot
                problem = card_draw.compare(round_, card)
                if problem is not None:
                    card_draw.raise_misplaced(fold, card, problem)
            return
    if round_.spots[DEALING_ORDER.index(slot)] is not None:
        _conflict(fold, slot)


def check_thirds(fold: Fold, round_: RoundState) -> None:
    """
    Check the third cards that were taken at the reader's word, now that faces
    are known; by the order out of the shoe each gets the place it is due.
    """
    if not round_.unchecked or round_.partial:
        return
    if next_card.HIDDEN in next_card.public_points(round_.spots)[:4]:
        return
    thirds = round_.cards[4:]
    round_.spots[next_card.P3] = round_.spots[next_card.B3] = None
    round_.unchecked = False
    for card in thirds:
        verdict = next_card.due(next_card.public_points(round_.spots))
        if not verdict.known:  # the Player's third card lies there, face down
            round_.unchecked = True
            card_draw.put(round_, card, next_card.B3)
        elif verdict.spot is None:
            _expel(fold, round_, card)
        else:
            card_draw.put(round_, card, verdict.spot)
            problem = card_draw.compare(round_, card)
            if problem is not None:
                card_draw.raise_misplaced(fold, card, problem)


def _expel(fold: Fold, round_: RoundState, card: Drawn) -> None:
    round_.cards.remove(card)
    round_.hidden -= not card.public
    card_draw.take_excess(fold, round_, card, moved=True)

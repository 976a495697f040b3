"""
The life of a round: it begins, its faces come to light, it is finished (its
result is published), it ends (the next card belongs to another), or it comes
to nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from shoe_daemon.game import (
    DEALING_ORDER,
    FOUR_CARDS,
    Card,
    Coup,
    Hand,
    Holding,
    IrregularityKind,
    Kind,
    Outcome,
    Slot,
)
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import detail
from shoe_daemon.table.options import ResultOn, RoundEnd
from shoe_daemon.table.readers import reader_state, second_reader
from shoe_daemon.table.rounds import coup_rest, hidden_faces, next_card, results
from shoe_daemon.table.shoes import inventory, shoe_holder, shoe_lifecycle
from shoe_daemon.table.table_state import RoundState

if TYPE_CHECKING:
    from shoe_daemon.game import Settlement
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn

_SECOND = 1_000_000
# Looked up once, as in `drawing`.
_QUIET = RoundEnd.QUIET
_RULES = RoundEnd.RULES
_COMPLETE = ResultOn.COMPLETE
_NORMAL = Kind.NORMAL


def in_progress(fold: Fold) -> RoundState | None:
    """
    Return the round that has begun and not ended.
    """
    round_ = fold.state.round
    return None if round_ is None or round_.ended else round_


def begin(fold: Fold, *, partial: bool) -> RoundState:
    """
    Begin a round, and a shoe where there is none; its first card follows.
    """
    state = fold.state
    shoe = state.shoe
    if shoe is None or shoe.finished:
        shoe = shoe_lifecycle.start(fold, announced=shoe is not None, overrun=shoe is not None)
    round_ = RoundState(shoe.begun + 1, state.next_kind, partial=partial)
    state.round, state.quiet_at, state.next_kind = round_, None, _NORMAL
    state.unread_pending = False
    fold.in_round = True
    round_.bets_closed = state.betting == "closed"
    if state.betting != "closed":
        fold.emit(events.BettingClosed("first_card"))
    fold.emit(events.RoundStarted())
    shoe_lifecycle.begin_round(fold, shoe, round_)
    round_.out_before, round_.holder = shoe.out, state.rotation.holder
    return round_


def first_card_checks(fold: Fold) -> None:
    """
    Say what is wrong with a round's beginning, once its first card is out.
    """
    state = fold.state
    if state.betting == "open":
        fold.raise_alert(IrregularityKind.PREMATURE_DRAW, detail("drawn_while_betting"))
    if state.betting != "unknown":
        state.betting = "closed"
    if state.shoe is not None and not state.shoe.burn_checked:
        state.shoe.burn_checked = True
        shoe_lifecycle.check_burn(fold, state.shoe)
    shoe_lifecycle.check_ordered_burn(fold)
    if state.shoe is not None:
        inventory.check_reserve(fold, state.shoe)


def truth(round_: RoundState) -> next_card.Due:
    """
    Tell what is due by every face that the daemon knows.
    """
    dealt = len(round_.cards)
    if dealt < FOUR_CARDS and not round_.partial:
        return next_card.FIRST_FOUR[dealt]
    spots = laid(round_) if round_.unchecked else round_.spots
    return next_card.due(next_card.known_points(spots), partial=round_.partial)


def told(round_: RoundState) -> next_card.Due:
    """
    Tell what is due by the faces that the players have seen.
    """
    if not round_.hidden:
        return truth(round_)
    return next_card.due(next_card.public_points(round_.spots), partial=round_.partial)


def laid(round_: RoundState) -> list[Drawn | None]:
    """
    Return the cards by place, the third cards as the known faces lay them.
    """
    spots = round_.spots
    if (
        not round_.unchecked
        or round_.partial
        or next_card.HIDDEN in next_card.known_points(spots)[:4]
    ):
        return spots
    spots = [*spots[:FOUR_CARDS], None, None]
    for card in round_.cards[FOUR_CARDS:]:
        verdict = next_card.due(next_card.known_points(spots))
        if not verdict.known:  # the Player's third card lies there, its face unknown
            spots[next_card.B3] = card
        elif verdict.spot is not None:
            spots[verdict.spot] = card
    return spots


def _verdict(round_: RoundState) -> next_card.Due:
    # Where something is missing, what nobody has seen decides nothing.
    return told(round_) if round_.partial else truth(round_)


def public_due(round_: RoundState) -> Slot | None:
    """
    Return the place of the next card as far as the public faces tell it.
    """
    if round_.partial:
        return None
    spot = next_card.due(next_card.public_points(round_.spots)).spot
    return None if spot is None else Slot(DEALING_ORDER[spot])


def is_complete(round_: RoundState) -> bool:
    """
    Tell whether by the known faces no further card is due.
    """
    verdict = _verdict(round_)
    return verdict.known and verdict.spot is None


def may_burn(fold: Fold) -> bool:
    """
    Tell whether a card that is drawn now may be one to be burned: none is due to a hand.
    """
    round_ = in_progress(fold)
    return round_ is None or is_seen_complete(round_)


def is_seen_complete(round_: RoundState) -> bool:
    """
    Tell whether by the faces that the players have seen no further card is due.
    """
    verdict = told(round_)
    return verdict.known and verdict.spot is None


def is_stuck(round_: RoundState) -> bool:
    """
    Tell whether a card that could not be read hides what is due.
    """
    return any(card.unread for card in round_.cards) and not _verdict(round_).known


def say_due(fold: Fold, round_: RoundState, *, repeat: bool) -> None:
    """
    Say whose card is next, as far as the public faces tell.

    Args:
        fold: The table.
        round_: The round in progress.
        repeat: Say it even if nothing changed: a card has just been dealt.
    """
    _say_due(fold, round_, truth(round_), repeat=repeat)


def _say_due(fold: Fold, round_: RoundState, verdict: next_card.Due, *, repeat: bool) -> None:
    if round_.hidden:
        verdict = next_card.due(next_card.public_points(round_.spots), partial=round_.partial)
    if verdict.spot is not None:
        inventory.check_enough(fold, round_)
    if repeat or (verdict.known and verdict.say != round_.due):
        fold.emit(verdict.say)
    round_.due = verdict.say


def set_deadlines(fold: Fold, round_: RoundState) -> None:
    """
    After a card: from now on count the quiet, and the time to the reveal.
    """
    if fold.mode is _QUIET:
        round_.card_at = fold.microseconds()
        await_quiet(fold, round_)
    after = fold.options.reveal_after
    if after is None or not fold.tucked:
        return
    if fold.options.timeless:
        if round_.hidden and is_complete(round_):
            reveal(fold, round_)
    elif len(round_.cards) == FOUR_CARDS or (round_.partial and len(round_.cards) > FOUR_CARDS):
        # Of a partial round nobody knows which card was the fourth: not one before this.
        fold.state.reveal_at = fold.microseconds() + int(after * _SECOND)


def await_quiet(fold: Fold, round_: RoundState) -> None:
    """
    Where silence ends rounds, count it from now on, if it would end this one.
    """
    if fold.mode is not _QUIET:
        return
    if round_.partial or is_complete(round_) or is_stuck(round_):
        gap = int(fold.options.quiet_gap * _SECOND)
        fold.state.quiet_at = fold.microseconds() + gap


def reveal(fold: Fold, round_: RoundState) -> None:
    """
    The players have now seen every face that the daemon knows.
    """
    fold.state.reveal_at = None
    if not hidden_faces.has_known(round_):
        return
    # The first four tell where the others lie.
    _show_all(fold, round_, round_.cards[:FOUR_CARDS])
    hidden_faces.lay_thirds(fold, round_)
    for card in round_.cards[FOUR_CARDS:]:
        # The Player's third card tells whether the next one belongs to the round at all.
        if any(each is card for each in round_.cards):
            _show_all(fold, round_, [card])
            hidden_faces.lay_thirds(fold, round_)
    hidden_faces.publish(fold, round_)


def _show_all(fold: Fold, round_: RoundState, cards: list[Drawn]) -> None:
    for card in cards:
        if not card.public and card.face is not None:
            show(fold, round_, card)


def show(fold: Fold, round_: RoundState, card: Drawn, *, counted: bool = True) -> None:
    """
    Make one known face public, and say so; it may have been counted in the shoe before.
    """
    if card.face is None:
        return
    card.public = True
    if counted:
        shoe_lifecycle.now_seen(fold, card)
    round_.hidden -= 1
    player, banker = next_card.public_totals(round_.spots)
    fold.emit(events.CardDisclosed(banker, card.face, player, card.slot))


def go_on(fold: Fold, round_: RoundState, *, repeat: bool) -> None:
    """
    Say whose card is next, as `say_due` does; finish the round, and end it, as soon as
    the rules and the options let it.
    """
    verdict = truth(round_)
    _say_due(fold, round_, verdict, repeat=repeat)
    if verdict.known and verdict.spot is None and not round_.partial:
        _move_on(fold, round_)


def _move_on(fold: Fold, round_: RoundState) -> None:
    if fold.mode is _RULES:
        round_.over = True
    if awaits_faces(round_):
        return
    if not (round_.finished or round_.hidden) and fold.options.result_on is _COMPLETE:
        _publish(fold, round_, own_result(fold, round_))
    if round_.over:
        end(fold, round_)


def awaits_faces(round_: RoundState) -> bool:
    """
    Tell whether faces of this round are still to be seen.

    A card that could not be read is none of them: its face does not come by itself.
    """
    if not round_.hidden:
        return False
    return any(not (card.public or card.unread) for card in round_.cards)


def finish(fold: Fold, round_: RoundState, declared: Outcome | None = None) -> None:
    """
    Publish the result: the cards' own where they suffice, else what was declared.

    Where something is missing, the cards on both sides of the gap may belong to
    two rounds, however well they fit: they count only if the device agrees.
    """
    data = own_result(fold, round_) if not round_.hidden and is_complete(round_) else None
    if data is None or (round_.partial and data.outcome is not declared):
        data = declared_result(round_, declared)
        round_.unread_result = not round_.partial
        round_.partial = True
    _publish(fold, round_, data)


def _publish(fold: Fold, round_: RoundState, data: events.RoundFinished) -> None:
    round_.finished = True
    results.offer(fold, round_.number, data)


def faces(round_: RoundState, side: int) -> tuple[Card, ...]:
    """
    Return the known faces of one hand: side 0 the Player's, 1 the Banker's.
    """
    return tuple(
        card.face for card in round_.spots[side::2] if card is not None and card.face is not None
    )


def own_result(fold: Fold, round_: RoundState) -> events.RoundFinished:
    """
    Return the result that the cards of a complete round give.
    """
    coup = Coup.of(faces(round_, 0), faces(round_, 1))
    return result_of(fold, coup, kind=round_.kind, partial=round_.partial)


def result_of(fold: Fold, coup: Coup, *, kind: Kind, partial: bool) -> events.RoundFinished:
    """
    Return the result of a coup; a hand without wagers settles none.
    """
    return events.RoundFinished(
        banker=hand_result(coup.banker),
        kind=kind,
        outcome=coup.outcome,
        partial=partial,
        player=hand_result(coup.player),
        wagers=_wagers(fold.house.settle(coup)) if kind is _NORMAL else (),
    )


def hand_result(hand: Holding) -> events.HandResult:
    """
    Say what a hand whose cards are all known came to.
    """
    return events.HandResult(hand.cards, hand.natural, hand.pair, hand.total)


@lru_cache(maxsize=4096)
def _wagers(settled: tuple[Settlement, ...]) -> tuple[events.WagerResult, ...]:
    return tuple(events.WagerResult(each.pays, each.result, each.wager) for each in settled)


def declared_result(round_: RoundState, declared: Outcome | None) -> events.RoundFinished:
    """
    Return the result of a round whose cards are not all known: what was declared.
    """
    return events.RoundFinished(
        banker=_partial_hand(round_, 1),
        kind=round_.kind,
        outcome=declared,
        partial=True,
        player=_partial_hand(round_, 0),
        wagers=(),
    )


def _partial_hand(round_: RoundState, side: int) -> events.HandResult:
    cards = [card for card in round_.spots[side::2] if card is not None]
    shown = tuple(card.face if card.public else None for card in cards)
    known = tuple(face for face in shown if face is not None)
    if not round_.partial and known == shown:
        # Only the other hand holds a card that nobody could read: this one is known.
        return hand_result(Holding.of(known))
    pair = known[0].rank == known[1].rank if known[:2] == shown[:2] and known[1:] else None
    return events.HandResult(shown, None, None if round_.partial else pair, None)


def end(fold: Fold, round_: RoundState, declared: Outcome | None = None) -> None:
    """
    End a round whose cards are complete, or whose result somebody declared.
    """
    reveal(fold, round_)
    say_due(fold, round_, repeat=False)
    if not round_.finished:
        finish(fold, round_, declared)
    _leave(fold, round_)


def enter(fold: Fold, round_: RoundState, data: events.RoundFinished, *, whole: bool) -> None:
    """
    End a round with a result that a person entered; `whole` as in `coup_rest.may_come`.
    """
    round_.finished = round_.declared = True
    results.offer(fold, round_.number, data, entered=True)
    round_.owns_rest = coup_rest.may_come(fold, round_, whole=whole)
    _leave(fold, round_)


def abort(fold: Fold, round_: RoundState, cause: events.AbortCause) -> None:
    """
    Let a round come to nothing: its number is used up, its cards stay counted.

    That a draw of it is missing stays open until a person has closed it.
    """
    fold.emit(events.RoundAborted(cause))
    results.note_unfinished(fold, round_.number, cause)
    round_.declared = True  # a result that comes now is not about it
    _leave(fold, round_)
    shoe_holder.after_round(fold, None)


def void(fold: Fold, round_: RoundState) -> None:
    """
    Make the round in progress void: no wager is settled, its cards stay counted.
    """
    for alert in [each for each in fold.state.alerts if each.round == round_.number]:
        fold.close_alert(alert, "void_round", "the round is void")
    fold.emit(events.RoundVoided(None, None, fold.operator, fold.reason))
    results.note_unfinished(fold, round_.number, None)
    round_.declared = True  # a result that comes now is not about it
    round_.owns_rest = coup_rest.may_come(fold, round_, whole=not round_.partial)
    _leave(fold, round_)
    shoe_holder.after_round(fold, None)


def give_up(fold: Fold, round_: RoundState) -> None:
    """
    End a round without the card that it lacks: a person lets play go on.
    """
    round_.owns_rest = coup_rest.may_come(fold, round_, whole=not round_.partial)
    abort(fold, round_, "new_round")


def _leave(fold: Fold, round_: RoundState) -> None:
    state = fold.state
    round_.ended = True
    second_reader.round_left(fold, round_)
    if round_.excess:
        results.keep_excess(fold, round_)
    fold.in_round = False
    state.quiet_at = state.reveal_at = None
    if round_.owns_rest:
        if hidden_faces.has_known(round_):
            round_.over = False  # an end that only hidden faces show ends no coup
        reader_state.await_quiet(fold)
    elif state.betting == "closed" and not round_.next_closed:
        state.betting = "open"
    if state.shoe is not None:
        shoe_lifecycle.round_ended(fold, state.shoe)
    if state.next_session is not None:
        fold.configure(state.next_session)


def leave(fold: Fold, round_: RoundState) -> None:
    """
    Turn away from a round because another begins: end it if it can be ended.
    """
    if round_.finished or (not round_.partial and is_complete(round_)):
        end(fold, round_)
    else:
        abort(fold, round_, "restart" if round_.restarted else "new_round")


def find_missing(fold: Fold, round_: RoundState, code: str) -> None:
    """
    Say that a draw is missing, in the sentence of a code; the round stays open.
    """
    round_.over = True
    if round_.missing:
        return
    round_.missing = True
    verdict = truth(round_)
    slot = DEALING_ORDER[verdict.spot or 0]
    hand = Hand.PLAYER if slot.value.startswith("P") else Hand.BANKER
    said = detail(code, hand=hand, slot=slot)
    fold.raise_alert(IrregularityKind.MISSING_DRAW, said, slot=Slot(slot))

"""The results of the rounds of a shoe: publish, hold, release, revise, void."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from shoe_daemon.game import (
    FIRST_CARDS,
    Card,
    CountedHand,
    Coup,
    Kind,
    Outcome,
    Settlement,
)
from shoe_daemon.table import events, ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import RoundFinished
from shoe_daemon.table.facts import Round
from shoe_daemon.table.observations import Result
from shoe_daemon.table.public_document_types import LastResult
from shoe_daemon.table.shoe_state import (
    HeldResult,
    PlayedRound,
    ShoeState,
    UnfinishedRound,
)
from shoe_daemon.table.shoes import holder
from shoe_daemon.table.view import View

MAX_PLAYED_ROUNDS: Final = 200
"""
Rounds of a shoe that are remembered; twelve decks give fewer. Where cards are shuffled
after every hand there are more: then so many are forgotten at once that the bead plate,
which has six rows, moves seldom and by whole columns.
"""
_DROPPED_ROUNDS: Final = 60

_ON_HOLD_REASON: Final = "the table is on hold"
_IRREGULARITY_REASON: Final = "an irregularity waits for a person"


def publish_or_hold(
    context: TableContext, number: int, data: RoundFinished, *, entered: bool = False
) -> None:
    """Publish a result, or hold it while an irregularity or the table's hold is open."""
    held = find_held_result(context, number)
    if held is not None:
        held.data, held.lost, held.entered = data, False, entered
        return
    holding = holding_alerts(context, number)
    if holding is None:
        publish_result(context, number, data, entered=entered)
        return
    context.state.held.append(HeldResult(number, data, entered, at=context.at))
    reason = _IRREGULARITY_REASON if holding else _ON_HOLD_REASON
    context.emit(events.RoundHeld(public_ids(context, holding), None, reason), number)


def public_ids(context: TableContext, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ids that belong to public irregularities."""
    public = {alert.data.id for alert in context.state.alerts if not alert.staff_only}
    return tuple(each for each in ids if each in public)


def holding_alerts(context: TableContext, number: int) -> tuple[int, ...] | None:
    """Return the alerts that hold a result; empty if the table is on hold, None if none does."""
    threshold = context.options.hold_from
    grave = [
        alert.data.id
        for alert in context.state.alerts
        if threshold is not None
        and alert.data.severity >= threshold
        and ledger.concerns_round(alert, number)
    ]
    return tuple(grave) if grave or context.state.on_hold else None


def release_results(context: TableContext, *, at_once: bool = False) -> None:
    """Publish, in order, the held results that nothing holds any more; `at_once` all of them."""
    for held in list(context.state.held):
        if at_once or holding_alerts(context, held.number) is None:
            context.state.held.remove(held)
            context.emit(events.RoundReleased(context.operator, context.reason), held.number)
            if held.lost:
                _store_unpublished(context, held)
            else:
                publish_result(context, held.number, held.data, entered=held.entered)


def publish_result(
    context: TableContext, number: int, data: RoundFinished, *, entered: bool = False
) -> None:
    """Publish the result of a round, and store it in the shoe."""
    state = context.state
    shoe = state.shoe
    before = find_lost_round(context, number)
    if before is not None and before.seq:
        _restore_result(context, before, data)
        return
    context.emit(data, number)
    if shoe is None:
        return
    if before is not None:
        shoe.played.remove(before)
    _store_played_round(shoe, PlayedRound(number, context.at, state.seq, data, entered=entered))
    _count_result(shoe, data, 1)
    update_last_result(context)
    holder.pass_after_round(context, data.outcome)


def find_held_result(context: TableContext, number: int | None) -> HeldResult | None:
    """Return the held result of a round; None if there is none."""
    for held in context.state.held:
        if held.number == number:
            return held
    return None


def _store_unpublished(context: TableContext, held: HeldResult, *, voided: bool = False) -> None:
    if context.state.shoe is not None:
        played = PlayedRound(held.number, context.at, 0, held.data, entered=held.entered)
        played.voided, played.lost = voided, held.lost and not voided
        _store_played_round(context.state.shoe, played)


def _store_played_round(shoe: ShoeState, played: PlayedRound) -> None:
    # A held result may be published after that of a later round.
    insort(shoe.played, played, key=lambda each: each.number)
    if len(shoe.played) > MAX_PLAYED_ROUNDS:
        del shoe.played[:_DROPPED_ROUNDS]
        for number in [each for each in shoe.declared if each < shoe.played[0].number]:
            del shoe.declared[number]


def store_unfinished_round(
    context: TableContext, number: int, cause: events.AbortCause | None
) -> None:
    """Store for the history a round without a result; `cause` is None if a person voided it."""
    shoe, held = context.state.shoe, find_held_result(context, number)
    if held is not None:
        context.state.held.remove(held)  # a correction has removed its result
    lost = find_lost_round(context, number)
    if shoe is not None and lost is not None:
        shoe.played.remove(lost)  # likewise, after it was published
    if shoe is not None:
        shoe.unfinished.append(UnfinishedRound(number, context.at, cause))
        del shoe.unfinished[:-MAX_PLAYED_ROUNDS]


def _restore_result(context: TableContext, played: PlayedRound, data: RoundFinished) -> None:
    context.emit(events.ResultRevised(data, None, context.operator, context.reason), played.number)
    played.data, played.lost = data, False
    if context.state.shoe is not None:
        _count_result(context.state.shoe, data, 1)
        update_last_result(context)


def _count_result(shoe: ShoeState, data: RoundFinished, by: int) -> None:
    # Hands without wagers are not counted.
    if data.kind is not Kind.NORMAL:
        return
    shoe.rounds += by
    shoe.player += by * (data.outcome is Outcome.PLAYER)
    shoe.banker += by * (data.outcome is Outcome.BANKER)
    shoe.tie += by * (data.outcome is Outcome.TIE)
    shoe.player_pair += by * bool(data.player.pair)
    shoe.banker_pair += by * bool(data.banker.pair)
    shoe.natural += by * bool(data.player.natural or data.banker.natural)


def update_last_result(context: TableContext) -> None:
    """Set the last result that displays show."""
    shoe, played = context.state.shoe, find_played_round(context, None)
    context.state.last_result = None
    if shoe is not None and played is not None:
        context.state.last_result = LastResult(
            played.at, played.data, played.entered, played.number, played.seq, shoe.number
        )


def find_played_round(context: TableContext, number: int | None) -> PlayedRound | None:
    """Return a round of this shoe with a valid result; the latest if no number is given."""
    shoe = context.state.shoe
    for played in reversed(shoe.played if shoe is not None else []):
        if number in {None, played.number} and not (played.voided or played.lost):
            return played
    return None


def find_result(context: TableContext, number: int) -> PlayedRound | HeldResult | None:
    """Return the result of a round, published or held."""
    return find_held_result(context, number) or find_played_round(context, number)


def find_lost_round(context: TableContext, number: int | None) -> PlayedRound | None:
    """
    Return a round of this shoe that lost its result by a correction; the latest if no number
    is given.
    """
    shoe = context.state.shoe
    for played in reversed(shoe.played if shoe is not None else []):
        if number is not None and played.number < number:
            break  # the list is in the order of the numbers
        if played.lost and number in {None, played.number}:
            return played
    return None


def find_voided_round(context: TableContext, number: int) -> PlayedRound | None:
    """Return a round of this shoe whose result is void."""
    return next((each for each in _rounds_numbered(context, number) if each.voided), None)


def _rounds_numbered(context: TableContext, number: int) -> list[PlayedRound]:
    # The list is in the order of the numbers, and mostly the latest is wanted.
    shoe, found = context.state.shoe, []
    for played in reversed(shoe.played if shoe is not None else ()):
        if played.number < number:
            break
        if played.number == number:
            found.append(played)
    return found[::-1]


def revise_result(context: TableContext, played: PlayedRound, after: RoundFinished | None) -> None:
    """Replace the published result of a round; None removes it."""
    shoe = context.state.shoe
    before = played.data
    if shoe is None or (after is None if played.lost else after == before):
        return
    context.emit(
        events.ResultRevised(after, before, context.operator, context.reason), played.number
    )
    _count_result(shoe, before, -1)
    if after is None:
        played.lost = True
    else:
        played.data = after
        _count_result(shoe, after, 1)
    update_last_result(context)


def replace_result(
    context: TableContext, result: PlayedRound | HeldResult, after: RoundFinished | None
) -> None:
    """
    Replace a result, published or held; None removes it.

    If an irregularity holds the round, the published result is withdrawn and the new result is
    held.
    """
    if isinstance(result, PlayedRound):
        holding = holding_alerts(context, result.number)
        if holding and after not in {None, result.data}:
            revise_result(context, result, None)
            publish_or_hold(context, result.number, after, entered=result.entered)
        else:
            revise_result(context, result, after)
    else:
        result.lost = after is None
        result.data = after or result.data


def void_played_round(context: TableContext, played: PlayedRound) -> None:
    """Void a round that has a result."""
    shoe = context.state.shoe
    if shoe is None:
        return
    context.emit(
        events.RoundVoided(None, played.data, context.operator, context.reason), played.number
    )
    played.voided = True
    _count_result(shoe, played.data, -1)
    update_last_result(context)


def void_lost_round(context: TableContext, number: int) -> None:
    """Void a round that lost its result by a correction."""
    context.emit(events.RoundVoided(None, None, context.operator, context.reason), number)
    store_unfinished_round(context, number, None)


def void_held_result(context: TableContext, held: HeldResult) -> None:
    """Void a round whose result is held."""
    before = None if held.lost else held.data
    context.emit(events.RoundVoided(None, before, context.operator, context.reason), held.number)
    if held.lost:
        store_unfinished_round(context, held.number, None)
    else:
        _store_unpublished(context, held, voided=True)
    holder.pass_after_round(context, None)


_OUTCOME_OF_TEXT: Final = {each.value: each for each in Outcome}
# A constant: in Python 3.11 looking up a member of an enumeration is slow.
_NORMAL_KIND = Kind.NORMAL


def from_cards(context: TableContext, round_: Round) -> events.RoundFinished:
    """Return the result of a complete round from its cards."""
    spots = round_.view.spots
    coup = Coup.of(_faces(spots[::2]), _faces(spots[1::2]))
    return events.RoundFinished(
        banker=_hand_result(coup.banker),
        kind=round_.kind,
        outcome=coup.outcome,
        partial=round_.doubts != 0,
        player=_hand_result(coup.player),
        wagers=(_wager_results(context.house.settle(coup)) if round_.kind is _NORMAL_KIND else ()),
    )


def _faces(cards: Sequence[DrawnCard | None]) -> tuple[Card, ...]:
    return tuple([card.face for card in cards if card is not None and card.face is not None])


def _hand_result(hand: CountedHand) -> events.HandResult:
    return events.HandResult(hand.cards, hand.natural, hand.pair, hand.total)


@lru_cache(maxsize=4096)
def _wager_results(settled: tuple[Settlement, ...]) -> tuple[events.WagerResult, ...]:
    return tuple(events.WagerResult(each.pays, each.result, each.wager) for each in settled)


def as_declared(
    view: View, kind: Kind, declared: Outcome | None, *, partial: bool
) -> events.RoundFinished:
    """
    Return the declared result of a round whose cards are not all known.

    `partial`: cards were missed; else one was not read, and the other hand may be known.
    """
    return events.RoundFinished(
        banker=_partial_hand_result(view, 1, partial=partial),
        kind=kind,
        outcome=declared,
        partial=True,
        player=_partial_hand_result(view, 0, partial=partial),
        wagers=(),
    )


def _partial_hand_result(view: View, side: int, *, partial: bool) -> events.HandResult:
    cards = [card for card in view.spots[side::2] if card is not None]
    shown = tuple(card.face if card.public else None for card in cards)
    known = tuple(face for face in shown if face is not None)
    if not partial and known == shown:
        # Only the other hand holds an unread card: this hand is known.
        return _hand_result(CountedHand.of(known))
    return events.HandResult(shown, None, None if partial else _is_pair(shown), None)


def _is_pair(cards: Sequence[Card | None]) -> bool | None:
    first, second = (*cards[:FIRST_CARDS], None, None)[:FIRST_CARDS]
    return None if first is None or second is None else first.rank == second.rank


def declared_winner(obs: Result) -> Outcome | None:
    """Return the winner of a `result` observation; None if it names none."""
    return None if obs.outcome is None else _OUTCOME_OF_TEXT[obs.outcome]

"""
The results of a shoe: published, held back for a person, revised, voided.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Final

from shoe_daemon.game.round import Kind, Outcome
from shoe_daemon.table import curating, events
from shoe_daemon.table.snapshot import LastResult
from shoe_daemon.table.state import Held, Played

if TYPE_CHECKING:
    from shoe_daemon.table.events import RoundFinished
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.state import ShoeState

MOST_PLAYED: Final = 200
"""
Rounds of a shoe that are remembered; twelve decks give fewer. Where cards are shuffled
after every hand there are more: then so many are forgotten at once that the bead plate,
which has six rows, moves seldom and by whole columns.
"""
_FORGOTTEN: Final = 60

_ON_HOLD: Final = "the table is on hold"
_IRREGULAR: Final = "an irregularity waits for a person"


def offer(fold: Fold, number: int, data: RoundFinished, *, entered: bool = False) -> None:
    """
    Publish a result, or hold it back while something waits for a person.
    """
    waits_for = _waits_for(fold, number)
    if waits_for is None:
        publish(fold, number, data, entered=entered)
        return
    fold.state.held.append(Held(number, data, entered))
    reason = _IRREGULAR if waits_for else _ON_HOLD
    fold.emit(events.RoundHeld(waits_for, None, reason), number)


def _waits_for(fold: Fold, number: int) -> tuple[int, ...] | None:
    threshold = fold.options.hold_from
    grave = (
        ()
        if threshold is None
        else tuple(
            alert.data.id
            for alert in fold.state.alerts
            if alert.round == number and alert.data.severity >= threshold
        )
    )
    return grave if grave or fold.state.on_hold else None


def release(fold: Fold, *, at_once: bool = False) -> None:
    """
    Publish, in order, the held results that nothing waits for any more; at once
    all of them, where the shoe that they are of is over.
    """
    for held in list(fold.state.held):
        if at_once or _waits_for(fold, held.number) is None:
            fold.state.held.remove(held)
            fold.emit(events.RoundReleased(fold.operator, fold.reason), held.number)
            publish(fold, held.number, held.data, entered=held.entered)
            _keep_dealt(fold, held)


def publish(fold: Fold, number: int, data: RoundFinished, *, entered: bool = False) -> None:
    """
    Say the result of a round, and enter it into the shoe.
    """
    state = fold.state
    shoe = state.shoe
    before = lost(fold, number)
    if before is not None and before.seq:
        _find_again(fold, before, data)
        return
    fold.emit(data, number)
    if shoe is None:
        return
    if before is not None:
        shoe.played.remove(before)
    _enter(shoe, Played(number, fold.at, state.seq, data, entered=entered))
    _count(shoe, data, 1)
    _show_last(fold, shoe)
    curating.after_round(fold, data.outcome)


def _keep_dealt(fold: Fold, held: Held) -> None:
    played = find(fold, held.number)
    if played is not None:
        played.dealt = held.dealt or played.dealt


def _enter(shoe: ShoeState, played: Played) -> None:
    # A result that was held may come after that of a later round.
    insort(shoe.played, played, key=lambda each: each.number)
    if len(shoe.played) > MOST_PLAYED:
        del shoe.played[:_FORGOTTEN]


def _find_again(fold: Fold, played: Played, data: RoundFinished) -> None:
    fold.emit(events.ResultRevised(data, None, fold.operator, fold.reason), played.number)
    played.data, played.lost = data, False
    if fold.state.shoe is not None:
        _count(fold.state.shoe, data, 1)
        _show_last(fold, fold.state.shoe)


def _count(shoe: ShoeState, data: RoundFinished, by: int) -> None:
    # A hand without wagers is in no count.
    if data.kind is not Kind.NORMAL:
        return
    shoe.rounds += by
    shoe.player += by * (data.outcome is Outcome.PLAYER)
    shoe.banker += by * (data.outcome is Outcome.BANKER)
    shoe.tie += by * (data.outcome is Outcome.TIE)
    shoe.player_pair += by * bool(data.player.pair)
    shoe.banker_pair += by * bool(data.banker.pair)
    shoe.natural += by * bool(data.player.natural or data.banker.natural)


def _show_last(fold: Fold, shoe: ShoeState) -> None:
    for played in reversed(shoe.played):
        if not (played.voided or played.lost):
            fold.state.last_result = LastResult(
                played.at, played.data, played.entered, played.number, played.seq, shoe.number
            )
            return
    fold.state.last_result = None


def find(fold: Fold, number: int | None) -> Played | None:
    """
    Return a round of this shoe that has a result, and is not void; the latest
    where no number is given.
    """
    shoe = fold.state.shoe
    for played in reversed(shoe.played if shoe is not None else []):
        if number in {None, played.number} and not (played.voided or played.lost):
            return played
    return None


def lost(fold: Fold, number: int) -> Played | None:
    """
    Return a round of this shoe that by a correction has no result any more.
    """
    return next((each for each in _of_number(fold, number) if each.lost), None)


def voided(fold: Fold, number: int) -> Played | None:
    """
    Return a round of this shoe whose result is void.
    """
    return next((each for each in _of_number(fold, number) if each.voided), None)


def _of_number(fold: Fold, number: int) -> list[Played]:
    shoe = fold.state.shoe
    return [each for each in shoe.played if each.number == number] if shoe is not None else []


def revise(fold: Fold, played: Played, after: RoundFinished | None) -> None:
    """
    Give a round another result than was published, or none.
    """
    shoe = fold.state.shoe
    before = played.data
    if shoe is None or (after is None if played.lost else after == before):
        return
    fold.emit(events.ResultRevised(after, before, fold.operator, fold.reason), played.number)
    _count(shoe, before, -1)
    if after is None:
        played.lost = True
    else:
        played.data = after
        _count(shoe, after, 1)
    _show_last(fold, shoe)


def put(fold: Fold, result: Played | Held, after: RoundFinished | None) -> None:
    """
    Put another result in the place of one, published or held back, or none.
    """
    if isinstance(result, Played):
        revise(fold, result, after)
    elif after is not None:
        result.data = after
    elif fold.state.shoe is not None:
        fold.state.held.remove(result)  # what waited is no result any more
        lost_one = Played(result.number, fold.at, 0, result.data, lost=True)
        lost_one.entered, lost_one.dealt = result.entered, result.dealt
        _enter(fold.state.shoe, lost_one)


def void(fold: Fold, played: Played) -> None:
    """
    Make a round void that has a result.
    """
    shoe = fold.state.shoe
    if shoe is None:
        return
    fold.emit(events.RoundVoided(None, played.data, fold.operator, fold.reason), played.number)
    played.voided = True
    _count(shoe, played.data, -1)
    _show_last(fold, shoe)


def void_held(fold: Fold, held: Held) -> None:
    """
    Make a round void whose result was held back.
    """
    fold.emit(events.RoundVoided(None, held.data, fold.operator, fold.reason), held.number)
    if fold.state.shoe is not None:
        played = Played(held.number, fold.at, fold.state.seq, held.data, entered=held.entered)
        played.voided = True
        _enter(fold.state.shoe, played)
    curating.after_round(fold, None)


def restore(fold: Fold, played: Played) -> None:
    """
    Take back that a round is void.
    """
    shoe = fold.state.shoe
    if shoe is None:
        return
    fold.emit(events.ResultRevised(played.data, None, fold.operator, fold.reason), played.number)
    played.voided = False
    _count(shoe, played.data, 1)
    _show_last(fold, shoe)

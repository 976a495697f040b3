"""
The results of a shoe: published, held back for a person, revised, voided.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Final

from shoe_daemon.game import Kind, Outcome
from shoe_daemon.table import events
from shoe_daemon.table.public_types import LastResult
from shoe_daemon.table.shoes import shoe_holder
from shoe_daemon.table.table_state import Held, Played, Unfinished

if TYPE_CHECKING:
    from shoe_daemon.table.events import RoundFinished
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState, ShoeState

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
    held = held_back(fold, number)
    if held is not None:
        held.data, held.lost, held.entered = data, False, entered
        return
    holding = waits_for(fold, number)
    if holding is None:
        publish(fold, number, data, entered=entered)
        return
    fold.state.held.append(Held(number, data, entered, at=fold.at))
    reason = _IRREGULAR if holding else _ON_HOLD
    fold.emit(events.RoundHeld(shown(fold, holding), None, reason), number)


def shown(fold: Fold, ids: tuple[int, ...]) -> tuple[int, ...]:
    """
    Return those of some irregularities that the players have been told of.
    """
    public = {alert.data.id for alert in fold.state.alerts if not alert.staff_only}
    return tuple(each for each in ids if each in public)


def waits_for(fold: Fold, number: int) -> tuple[int, ...] | None:
    """
    Return the irregularities that hold the result of a round back, none where the table is
    on hold; None where nothing does.
    """
    threshold = fold.options.hold_from
    grave = (
        ()
        if threshold is None
        else tuple(
            alert.data.id
            for alert in fold.state.alerts
            if fold.concerns(alert, number) and alert.data.severity >= threshold
        )
    )
    return grave if grave or fold.state.on_hold else None


def release(fold: Fold, *, at_once: bool = False) -> None:
    """
    Publish, in order, the held results that nothing waits for any more; at once
    all of them, where the shoe that they are of is over.
    """
    for held in list(fold.state.held):
        if at_once or waits_for(fold, held.number) is None:
            fold.state.held.remove(held)
            fold.emit(events.RoundReleased(fold.operator, fold.reason), held.number)
            if held.lost:
                _enter_unpublished(fold, held)
            else:
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
    show_last(fold)
    shoe_holder.after_round(fold, data.outcome)


def held_back(fold: Fold, number: int | None) -> Held | None:
    """
    Return the result of a round that waits for a person; None where none does.
    """
    for held in fold.state.held:
        if held.number == number:
            return held
    return None


def _enter_unpublished(fold: Fold, held: Held, *, voided: bool = False) -> None:
    if fold.state.shoe is not None:
        played = Played(held.number, fold.at, 0, held.data, entered=held.entered)
        played.voided, played.lost = voided, held.lost and not voided
        played.dealt, played.excess = held.dealt, held.excess
        _enter(fold.state.shoe, played)


def keep_excess(fold: Fold, round_: RoundState) -> None:
    """
    Keep the cards too many of a round that has ended, of which nothing is decided yet.
    """
    undecided = {alert.data.id for alert in fold.state.alerts}
    faces = [card.face for card in round_.excess if card.alert in undecided]
    record = held_back(fold, round_.number) or find(fold, round_.number)
    if record is not None and None not in faces:
        record.excess = tuple(filter(None, faces))


def _keep_dealt(fold: Fold, held: Held) -> None:
    played = find(fold, held.number)
    if played is not None:
        played.dealt = held.dealt or played.dealt
        played.excess = held.excess or played.excess


def _enter(shoe: ShoeState, played: Played) -> None:
    # A result that was held may come after that of a later round.
    insort(shoe.played, played, key=lambda each: each.number)
    if len(shoe.played) > MOST_PLAYED:
        del shoe.played[:_FORGOTTEN]
        for number in [each for each in shoe.declared if each < shoe.played[0].number]:
            del shoe.declared[number]


def note_unfinished(fold: Fold, number: int, cause: events.AbortCause | None) -> None:
    """
    Remember a round that ended without a result, for the history.

    Args:
        fold: The table.
        number: The round.
        cause: Why it was aborted; None where a person made it void.
    """
    shoe, held = fold.state.shoe, held_back(fold, number)
    if held is not None:
        fold.state.held.remove(held)  # a correction had left it without a result
    if shoe is not None:
        shoe.unfinished.append(Unfinished(number, fold.at, cause))
        del shoe.unfinished[:-MOST_PLAYED]


def _find_again(fold: Fold, played: Played, data: RoundFinished) -> None:
    fold.emit(events.ResultRevised(data, None, fold.operator, fold.reason), played.number)
    played.data, played.lost = data, False
    if fold.state.shoe is not None:
        _count(fold.state.shoe, data, 1)
        show_last(fold)


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


def show_last(fold: Fold) -> None:
    """
    Show the latest result of the shoe on the board.
    """
    shoe = fold.state.shoe
    for played in reversed(shoe.played if shoe is not None else ()):
        if shoe is not None and not (played.voided or played.lost):
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
    for played in _of_number(fold, number):
        if played.lost:
            return played
    return None


def voided(fold: Fold, number: int) -> Played | None:
    """
    Return a round of this shoe whose result is void.
    """
    return next((each for each in _of_number(fold, number) if each.voided), None)


def _of_number(fold: Fold, number: int) -> list[Played]:
    # They stand in the order of their numbers, and mostly the latest is wanted.
    shoe, found = fold.state.shoe, []
    for played in reversed(shoe.played if shoe is not None else ()):
        if played.number < number:
            break
        if played.number == number:
            found.append(played)
    return found[::-1]


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
    show_last(fold)


def put(fold: Fold, result: Played | Held, after: RoundFinished | None) -> None:
    """
    Put another result in the place of one, published or held back, or none.

    Where an irregularity of the round waits for a person, what was published is taken
    back, and the new result is held back.
    """
    if isinstance(result, Played):
        holding = waits_for(fold, result.number)
        if holding and after not in {None, result.data}:
            revise(fold, result, None)
            offer(fold, result.number, after, entered=result.entered)
        else:
            revise(fold, result, after)
    else:
        result.lost = after is None
        result.data = after or result.data


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
    show_last(fold)


def void_held(fold: Fold, held: Held) -> None:
    """
    Make a round void whose result was held back.
    """
    before = None if held.lost else held.data
    fold.emit(events.RoundVoided(None, before, fold.operator, fold.reason), held.number)
    _enter_unpublished(fold, held, voided=True)
    shoe_holder.after_round(fold, None)

"""
Undo: the table becomes what it would be if the latest correction, entry or void of this
shoe had never been ordered.

The state before such a command is kept, and the observations after it. To undo the
command, these are folded again without it; what differs is published. Numbers that were
used up stay used up: of events, and of rounds that the command began; the history lists such
a round as aborted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, Action, Slot
from shoe_daemon.table import events
from shoe_daemon.table.observations import Command, Observation, Tick
from shoe_daemon.table.rounds import next_card, results
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.table_context import closed_event, raised_event
from shoe_daemon.table.table_state import Change, TableState, decode_state, encode_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn, OpenAlert, Played, RoundState

_MOST_CHANGES: Final = 20
_MOST_OBSERVATIONS: Final = 500
_UNDOABLE: Final = frozenset({"correct_card", "enter_card", "enter_result", "void_round"})
_COUNTERS: Final = frozenset({"seq", "now", "shoes", "changes", "since"})


def carry_out(fold: Fold, order: Command, act: Callable[[Fold, Command], object]) -> None:
    """
    Carry a command out, and remember it: so that it can be undone, if it is such a command.
    """
    if order.name == "undo":
        act(fold, order)
        return
    state = fold.state
    if not _is_undoable(order):
        act(fold, order)
        observe(state, order)
        return
    shoe = state.shoe or shoe_lifecycle.start(fold, announced=False)
    before, seq, begun = encode_state(state), state.seq, shoe.begun
    act(fold, order)
    if state.shoe is shoe:
        observe(state, order)
        number = order.round or (shoe.begun if state.round is None else state.round.number)
        change = Change(order.name, number, before, seq, shoe.begun - begun, len(state.since))
        state.changes.append(change)
        _forget(state)


def _is_undoable(order: Command) -> bool:
    return order.name in _UNDOABLE or (order.name, order.action) == ("rule", Action.VOID_ROUND)


def observe(state: TableState, observation: Observation) -> None:
    """
    Keep an observation that came after a command that can be undone.
    """
    if state.changes and not isinstance(observation, Tick):
        state.since.append(observation)  # type: ignore[arg-type] # each is one of the union
        _forget(state)


def _forget(state: TableState) -> None:
    while state.changes and (
        len(state.changes) > _MOST_CHANGES
        or len(state.since) - state.changes[0].since > _MOST_OBSERVATIONS
    ):
        del state.changes[0]
    kept_from = state.changes[0].since if state.changes else len(state.since)
    del state.since[:kept_from]
    for change in state.changes:
        change.since -= kept_from


def check_undo(fold: Fold, order: Command) -> str | None:
    """
    Say why the latest change cannot be undone.
    """
    if not fold.state.changes:
        return "no correction of this shoe can be undone"
    change = fold.state.changes[-1]
    obstacle = _fold_without(fold, change, order.at or fold.at)
    if isinstance(obstacle, TableState):
        return None
    where = f"{change.verb} in round {change.round}"
    return f"the latest change, {where}, cannot be undone any more: {obstacle}"


def undo(fold: Fold, _order: Command) -> None:
    """
    Take the latest change of this shoe back.
    """
    state, change = fold.state, fold.state.changes[-1]
    without = _fold_without(fold, change, fold.at)
    if not isinstance(without, TableState):
        return
    before = replace(state)
    for name in TableState.__struct_fields__:
        if name not in _COUNTERS:
            setattr(state, name, getattr(without, name))
    del state.changes[-1]
    # The command itself is among the observations after an earlier change.
    del state.since[max(change.since - 1, 0) : change.since]
    fold.resume()
    _publish_differences(fold, before, change)
    _forget(state)


def _fold_without(fold: Fold, change: Change, at: str) -> TableState | str:
    """
    Return the table without a change, or why there is none.
    """
    state, later = fold.state, fold.state.since[change.since :]
    for each in later:
        if isinstance(each, Command) and (each.irregularity or 0) > change.seq:
            return "an irregularity that arose since was decided"
    without = decode_state(change.before)
    if without.shoe is not None:
        without.shoe.begun += change.begun
    if not fold.refold(without, [*later, Tick(at=at)]):
        return "an order that was given since would not fit"
    if state.shoe is None or without.shoe is None:
        return "the shoe is not on the table any more"
    if state.shoe.begun != without.shoe.begun:
        return "other rounds would have begun since"
    if state.shoe.finished is not without.shoe.finished:
        return "the shoe was finished since"
    return without


def _publish_differences(fold: Fold, before: TableState, change: Change) -> None:
    _publish_cards(fold, before.round)
    _publish_alerts(fold, before, change.seq)
    _publish_due(fold, before.round)
    _publish_results(fold, before)
    if fold.state.rotation.holder != before.rotation.holder:
        _emit(fold, events.ShoePassed(fold.state.rotation.holder), None)


def _emit(fold: Fold, data: events.EventData, number: int | None) -> None:
    # An event that belongs to no round gets none, also where a round is in progress.
    in_round, fold.in_round = fold.in_round, False
    fold.emit(data, number)
    fold.in_round = in_round


def _publish_cards(fold: Fold, old: RoundState | None) -> None:
    new = fold.state.round
    if old is None:
        return
    if new is None or new.number != old.number:
        if not old.ended:
            _emit(fold, events.RoundAborted("new_round"), old.number)
            results.note_unfinished(fold, old.number, "new_round")
        return
    for slot, was, now in zip(DEALING_ORDER, old.spots, new.spots, strict=True):
        _publish_card(fold, new, Slot(slot), was, now)


def _publish_card(
    fold: Fold, round_: RoundState, slot: Slot, was: Drawn | None, now: Drawn | None
) -> None:
    face_before, shown_before = _faces(was)
    face, shown = _faces(now)
    if was is None and now is not None:
        player, banker = next_card.public_totals(round_.spots)
        _emit(fold, events.CardDealt(banker, shown, player, slot), round_.number)
    elif None not in {face, face_before} and shown is shown_before is None:
        pass  # there is nothing that the players see of it
    elif face is face_before and shown is not None and shown_before is None:
        player, banker = next_card.public_totals(round_.spots)
        _emit(fold, events.CardDisclosed(banker, shown, player, slot), round_.number)
    elif was is not None and (now is None or face is not face_before):
        corrected = events.CardCorrected(shown, shown_before, fold.operator, fold.reason, slot)
        _emit(fold, corrected, round_.number)
    else:
        return
    if face is not None and shown is None and face is not face_before:
        _emit(fold, events.StaffCardDealt(face, slot), round_.number)


def _faces(card: Drawn | None) -> tuple[Card | None, Card | None]:
    if card is None:
        return None, None
    return card.face, card.face if card.public else None


def _publish_alerts(fold: Fold, before: TableState, seq: int) -> None:
    old = list(before.alerts)
    ids: dict[int, int] = {}
    raised: list[OpenAlert] = []
    for alert in fold.state.alerts:
        same = next((each for each in old if _is_same(each, alert, seq)), None)
        if same is None:
            raised.append(alert)
            continue
        old.remove(same)
        ids[alert.data.id] = same.data.id
        alert.data = same.data
    for alert in old:
        reason = fold.reason or "the change was undone"
        closed = closed_event(alert)("continue", alert.data.id, fold.operator, reason)
        _emit(fold, closed, alert.round)
    for alert in raised:
        if alert.data.id > seq:
            ids[alert.data.id] = fold.state.seq + 1
            alert.data = replace(alert.data, id=fold.state.seq + 1)
        _emit(fold, raised_event(alert), alert.round)
    for card in _cards(fold.state):
        card.alert = ids.get(card.alert or 0, card.alert)


def _is_same(old: OpenAlert, new: OpenAlert, seq: int) -> bool:
    if new.data.id <= seq or old.data.id <= seq:
        return old.data.id == new.data.id and old.staff_only is new.staff_only
    return (old.at, old.round, old.staff_only, replace(old.data, id=0)) == (
        new.at,
        new.round,
        new.staff_only,
        replace(new.data, id=0),
    )


def _cards(state: TableState) -> Iterator[Drawn]:
    if state.round is not None:
        yield from state.round.excess
        yield from state.round.cards
    if state.seed is not None:
        yield state.seed


def _publish_due(fold: Fold, old: RoundState | None) -> None:
    new = fold.state.round
    if new is None or new.due is None or new.ended:
        return
    if old is None or old.number != new.number or old.ended or old.due != new.due:
        _emit(fold, new.due, new.number)


def _publish_results(fold: Fold, before: TableState) -> None:
    old, new = _played(before), _played(fold.state)
    held_before = {each.number: each for each in before.held}
    held = {each.number for each in fold.state.held}
    open_ones = set(held_before)
    if before.round is not None and not before.round.ended:
        open_ones.add(before.round.number)
    for number in sorted(old.keys() | new.keys() | held_before.keys() | held):
        was, now = old.get(number), new.get(number)
        if number in held_before and number not in held:
            _emit(fold, events.RoundReleased(fold.operator, fold.reason), number)
        _publish_result(fold, number, was, now, is_open=number in open_ones)
        if number in held and number not in held_before:
            waits_for = results.waits_for(fold, number) or ()
            waits_for = results.shown(fold, waits_for)
            _emit(fold, events.RoundHeld(waits_for, fold.operator, fold.reason), number)
    results.show_last(fold)


def _publish_result(
    fold: Fold, number: int, was: Played | None, now: Played | None, *, is_open: bool
) -> None:
    before, after = _result(was), _result(now)
    if was is not None and now is not None:
        now.at, now.seq = was.at, was.seq
    if after == before:
        return
    if after is not None and is_open and (was is None or was.seq == 0):
        _emit(fold, after, number)
    else:
        _emit(fold, events.ResultRevised(after, before, fold.operator, fold.reason), number)
    if now is not None and (was is None or was.seq == 0):
        now.at, now.seq = fold.at, fold.state.seq


def _result(played: Played | None) -> events.RoundFinished | None:
    return None if played is None or played.voided or played.lost else played.data


def _played(state: TableState) -> dict[int, Played]:
    return {each.number: each for each in (state.shoe.played if state.shoe is not None else ())}

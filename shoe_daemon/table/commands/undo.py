"""
Undo the latest correction, entry or void of this shoe.

The state before such a command is kept, and the observations after it. Undo replays these
without the command and publishes the differences. Used numbers stay used: of events, and of
rounds that the command began; the history lists such a round as aborted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, Action, Card, Slot
from shoe_daemon.table import events
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.ledger import alert_closed_type, alert_raised_event, ruling_event
from shoe_daemon.table.observations import Command, Observation, Tick
from shoe_daemon.table.rounds import lifecycle, results
from shoe_daemon.table.shoe_state import PlayedRound
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.state import (
    OpenAlert,
    TableState,
    UndoableCommand,
    decode_state,
    encode_state,
)
from shoe_daemon.table.view import totals

_MAX_UNDOABLE_COMMANDS: Final = 20
_MAX_OBSERVATIONS: Final = 500
_UNDOABLE_VERBS: Final = frozenset({"correct_card", "enter_card", "enter_result", "void_round"})
_KEPT_FIELDS: Final = frozenset({"seq", "now", "shoes", "changes", "since"})


def run_command(
    context: TableContext, command: Command, act: Callable[[TableContext, Command], object]
) -> None:
    """Run a command; store the state before it if the command can be undone."""
    if command.name == "undo":
        act(context, command)
        return
    state = context.state
    if not _is_undoable(command):
        act(context, command)
        record_observation(state, command)
        return
    shoe = state.shoe or shoe_lifecycle.start_shoe(context, announced=False)
    before, seq, begun = encode_state(state), state.seq, shoe.begun
    act(context, command)
    if state.shoe is shoe:
        record_observation(state, command)
        number = command.round or (shoe.begun if state.round is None else state.round.number)
        change = UndoableCommand(
            command.name, number, before, seq, shoe.begun - begun, len(state.since)
        )
        state.changes.append(change)
        _drop_old_commands(state)


def _is_undoable(command: Command) -> bool:
    return command.name in _UNDOABLE_VERBS or (command.name, command.action) == (
        "rule",
        Action.VOID_ROUND,
    )


def record_observation(state: TableState, observation: Observation) -> None:
    """Store an observation that follows a command that can be undone."""
    if state.changes and not isinstance(observation, Tick):
        state.since.append(observation)  # type: ignore[arg-type] # each is one of the union
        _drop_old_commands(state)


def _drop_old_commands(state: TableState) -> None:
    while state.changes and (
        len(state.changes) > _MAX_UNDOABLE_COMMANDS
        or len(state.since) - state.changes[0].since > _MAX_OBSERVATIONS
    ):
        del state.changes[0]
    kept_from = state.changes[0].since if state.changes else len(state.since)
    del state.since[:kept_from]
    for change in state.changes:
        change.since -= kept_from


def undo_refusal(context: TableContext, command: Command) -> Detail | None:
    """Return the reason why the latest command cannot be undone; None if it can."""
    if not context.state.changes:
        return make_detail("refused_nothing_to_undo")
    change = context.state.changes[-1]
    obstacle = _state_without(context, change, command.at or context.at)
    if isinstance(obstacle, TableState):
        return None
    return make_detail(obstacle, order=change.verb, round=change.round)


def may_show_faces(context: TableContext, _command: Command) -> bool:
    """
    Return whether an undo may show faces that the players have not seen: of the round in
    progress, or of a round that the undone command ended or began.
    """
    if not context.state.changes:
        return False
    change = context.state.changes[-1]
    round_ = decode_state(change.before).round
    for each in (context.state.round, round_):
        if each is not None and not each.phase and each.hides_faces:
            return True
    if context.face_up:
        return False
    return bool(change.begun) or (round_ is not None and not round_.finished)


def concerns_finished_round(context: TableContext) -> bool:
    """Return whether an undo would change a round other than the one that is being dealt."""
    if not context.state.changes:
        return False
    number, round_ = context.state.changes[-1].round, lifecycle.in_progress(context)
    return round_ is None or round_.number != number or round_.finished


def undo_latest(context: TableContext, _command: Command) -> None:
    """Undo the latest command of this shoe that can be undone."""
    state, change = context.state, context.state.changes[-1]
    without = _state_without(context, change, context.at)
    if not isinstance(without, TableState):
        return
    before = replace(state)
    for name in TableState.__struct_fields__:
        if name not in _KEPT_FIELDS:
            setattr(state, name, getattr(without, name))
    del state.changes[-1]
    # The command itself is among the observations after an earlier change.
    del state.since[max(change.since - 1, 0) : change.since]
    context.reload_state()
    _publish_differences(context, before, change)
    _drop_old_commands(state)


def _state_without(context: TableContext, change: UndoableCommand, at: str) -> TableState | str:
    """Return the state without a command, or the code of the refusal where there is none."""
    state, later = context.state, context.state.since[change.since :]
    for each in later:
        if isinstance(each, Command) and (each.irregularity or 0) > change.seq:
            return "refused_undo_after_ruling"
    without = decode_state(change.before)
    if without.shoe is not None:
        without.shoe.begun += change.begun
    if not context.replay(without, [*later, Tick(at=at)]):
        return "refused_undo_after_order"
    if state.shoe is None or without.shoe is None:
        return "refused_undo_without_shoe"
    over = {each.number for each in state.shoe.unfinished if each.cause is not None}
    if state.shoe.begun != without.shoe.begun or any(each.number in over for each in without.held):
        return "refused_undo_other_rounds"
    if state.shoe.finished is not without.shoe.finished:
        return "refused_undo_shoe_finished"
    return without


def _publish_differences(
    context: TableContext, before: TableState, change: UndoableCommand
) -> None:
    _publish_cards(context, before.round, decode_state(change.before).round)
    _publish_alerts(context, before, change.seq)
    _publish_due(context, before.round)
    _publish_results(context, before)
    if context.state.rotation.holder != before.rotation.holder:
        _emit(context, events.ShoePassed(context.state.rotation.holder), None)


def _emit(context: TableContext, data: events.EventData, number: int | None) -> None:
    # An event that belongs to no round gets none, also where a round is in progress.
    in_round, context.in_round = context.in_round, False
    context.emit(data, number)
    context.in_round = in_round


def _publish_cards(context: TableContext, old: Round | None, ended: Round | None) -> None:
    """Publish the cards that differ; `ended` is the round that the undone command has ended."""
    new = context.state.round
    if old is None:
        return
    if new is None or new.number != old.number:
        if not old.phase:
            _emit(context, events.RoundAborted("new_round"), old.number)
            results.store_unfinished_round(context, old.number, "new_round")
        return
    if old.cause is not None and new.cause is None and ended is not None:
        # After the end without a result its faces were published for staff only.
        shown = {card.order for card in ended.drawn if card.public}
        for card in old.drawn:
            card.public = card.order in shown
    for slot, was, now in zip(DEALING_ORDER, old.view.spots, new.view.spots, strict=True):
        _publish_card(context, new, Slot(slot), was, now)
    unplaced = [card for card in new.cards if card.slot is None]
    for card in unplaced[sum(card.slot is None for card in old.cards) :]:
        _publish_card(context, new, None, None, card)


def _publish_card(
    context: TableContext,
    round_: Round,
    slot: Slot | None,
    was: DrawnCard | None,
    now: DrawnCard | None,
) -> None:
    face_before, shown_before = _known_and_public_face(was)
    face, public_face = _known_and_public_face(now)
    if was is None and now is not None:
        player, banker = totals(round_.view)
        _emit(context, events.CardDealt(banker, public_face, player, slot), round_.number)
    elif None not in {face, face_before} and public_face is shown_before is None:
        pass  # the players see no difference
    elif face is face_before and public_face is not None and shown_before is None:
        player, banker = totals(round_.view)
        _emit(context, events.CardDisclosed(banker, public_face, player, slot), round_.number)
    elif was is not None and (now is None or face is not face_before):
        corrected = events.CardCorrected(
            public_face, shown_before, context.operator, context.reason, slot
        )
        _emit(context, corrected, round_.number)
    else:
        return
    if face is not None and public_face is None and face is not face_before:
        _emit(context, events.StaffCardDealt(face, slot), round_.number)


def _known_and_public_face(card: DrawnCard | None) -> tuple[Card | None, Card | None]:
    if card is None:
        return None, None
    return card.face, card.face if card.public else None


def _publish_alerts(context: TableContext, before: TableState, seq: int) -> None:
    old = list(before.alerts)
    raised: list[OpenAlert] = []
    for alert in context.state.alerts:
        same = next((each for each in old if _is_same_alert(each, alert, seq)), None)
        if same is None:
            raised.append(alert)
            continue
        old.remove(same)
        if alert.data.id > seq:
            alert.data = same.data
    for alert in old:
        reason = context.reason or "the change was undone"
        closed = alert_closed_type(alert)("continue", alert.data.id, context.operator, reason)
        _emit(context, closed, alert.round)
    for alert in raised:
        if alert.data.id > seq:
            alert.data = replace(alert.data, id=context.state.seq + 1)
        _emit(context, alert_raised_event(alert), alert.round)
        if (ordered := ruling_event(alert)) is not None:
            _emit(context, ordered, alert.round)


def _is_same_alert(old: OpenAlert, new: OpenAlert, seq: int) -> bool:
    if new.data.id <= seq or old.data.id <= seq:
        return old.data.id == new.data.id and old.staff_only is new.staff_only
    return (old.at, old.round, old.staff_only, replace(old.data, id=0)) == (
        new.at,
        new.round,
        new.staff_only,
        replace(new.data, id=0),
    )


def _publish_due(context: TableContext, old: Round | None) -> None:
    new = context.state.round
    if new is None or new.due is None or new.phase:
        return
    if old is None or old.number != new.number or old.phase or old.due != new.due:
        _emit(context, new.due, new.number)


def _publish_results(context: TableContext, before: TableState) -> None:
    old, new = _played_rounds(before), _played_rounds(context.state)
    held_before = {each.number: each for each in before.held}
    held = {each.number for each in context.state.held}
    open_ones = set(held_before)
    if before.round is not None and not before.round.phase:
        open_ones.add(before.round.number)
    for number in sorted(old.keys() | new.keys() | held_before.keys() | held):
        was, now = old.get(number), new.get(number)
        if number in held_before and number not in held:
            _emit(context, events.RoundReleased(context.operator, context.reason), number)
        _publish_result(context, number, was, now, is_open=number in open_ones)
        if number in held and number not in held_before:
            waits_for = results.holding_alerts(context, number) or ()
            waits_for = results.public_ids(context, waits_for)
            _emit(context, events.RoundHeld(waits_for, context.operator, context.reason), number)
    results.update_last_result(context)


def _publish_result(
    context: TableContext,
    number: int,
    was: PlayedRound | None,
    now: PlayedRound | None,
    *,
    is_open: bool,
) -> None:
    before, after = _public_result(was), _public_result(now)
    if was is not None and now is not None:
        now.at, now.seq = was.at, was.seq
    if after == before:
        return
    if after is not None and is_open and (was is None or was.seq == 0):
        _emit(context, after, number)
    else:
        _emit(
            context, events.ResultRevised(after, before, context.operator, context.reason), number
        )
    if now is not None and (was is None or was.seq == 0):
        now.at, now.seq = context.at, context.state.seq


def _public_result(played: PlayedRound | None) -> events.RoundFinished | None:
    return None if played is None or played.voided or played.lost else played.data


def _played_rounds(state: TableState) -> dict[int, PlayedRound]:
    return {each.number: each for each in (state.shoe.played if state.shoe is not None else ())}

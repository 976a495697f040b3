"""The table: the fold of observations into events, and the replay of an observation log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import DealingStyle, Result
from shoe_daemon.table import attribute, observations
from shoe_daemon.table.commands import authority, dispatch, rulings, undo
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, uncoded_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import Event, is_staff
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.public_document_types import (
    Alert,
    PublicHistory,
    PublicTable,
    RoundDocuments,
)
from shoe_daemon.table.public_documents import (
    changed_round,
    public_history,
    public_table,
    road_results,
    round_documents,
)
from shoe_daemon.table.readers import checker, faults, replacement, tags
from shoe_daemon.table.rounds import boundaries, faces, lifecycle, results
from shoe_daemon.table.shoes import counts, shoe_lifecycle
from shoe_daemon.table.state import TableState, decode_state
from shoe_daemon.table.times import from_microseconds, to_microseconds
from shoe_daemon.table.upgrade import state_of_table_2

_PLAY_ROLE: Final = observations.Role.PLAY
_NOT_APPLIED: Final = observations.GapDetail.NOT_APPLIED

_CHECKPOINT_HEADER: Final = b"table-3\n"
"""The first bytes of a checkpoint of this version."""
_EARLIER_HEADER: Final = b"table-2\n"


class PreviewedCommand(NamedTuple):
    """
    Preview of a command: public facts only.

    Attributes:
        command: As it would be judged; `refused` is the reason of a refusal.
        seq: The last event before it.
        events: The public events that it would cause.
        before: The round that it would change; None where it would change none.
        after: The same round after it; None where no document would show it.
        faces_hidden: Its effect may depend on cards that lie face down, and is left out. Such a
            card may also decide whether an ``undo`` is refused.
        refusal: The reason of a refusal with its code; None where it would be accepted.
        needs: What the command needs at a table with an operators file.
    """

    command: observations.Command
    seq: int
    events: tuple[Event, ...] = ()
    before: RoundDocuments | None = None
    after: RoundDocuments | None = None
    faces_hidden: bool = False
    refusal: Detail | None = None
    needs: authority.Needs = authority.Needs()


class Table:
    """
    One baccarat table: a pure fold of observations into events.

    The same observations always give the same events, byte for byte: without I/O, clock or
    random numbers. No observation raises an exception.
    """

    def __init__(self, state: TableState | None = None) -> None:
        self.state = state or TableState()
        self._context = TableContext(self.state, _replay_observations)

    def apply(self, observation: observations.Observation) -> list[Event]:
        """
        Apply an observation and return the events that it causes, in order.

        An earlier deadline is applied first, at its own time.
        """
        if type(observation) is observations.Gap and observation.detail is _NOT_APPLIED:
            return self._apply_after_error(observation)
        return self._apply(observation)

    def _apply_after_error(self, gap: observations.Gap) -> list[Event]:
        # What ended in an error would do so again: no deadline, and no gap, may.
        self._drop_deadlines(gap.at)
        before = self.checkpoint()
        try:
            return self._apply(gap)
        except Exception:  # noqa: BLE001 - the journal has to fold after any error
            self.go_back(before)
            self.state.now = gap.at
            return []

    def _apply(self, observation: observations.Observation) -> list[Event]:
        context, state = self._context, self.state
        events: list[Event] = []
        context.events, context.chain_head = events, observation.chain_head
        if type(observation) is observations.Gap and observation.next_seq is not None:
            if observation.published is not None and observation.published < state.seq:
                state.withheld = [*state.withheld, (observation.published + 1, state.seq)]
            state.seq = max(state.seq, observation.next_seq - 1)
        if state.quiet_at is not None or state.reveal_at is not None:
            self._meet_deadlines(observation.at)
        context.at = state.now = observation.at
        handler = _HANDLERS.get(type(observation))
        if handler is not None:
            handler(context, observation)
        if state.changes and handler is not dispatch.apply_command:
            undo.record_observation(state, observation)
        if state.held:
            results.release_results(context)
        return events

    def may_finish_shoe(self, observation: observations.Observation) -> bool:
        """Return whether an observation may finish the shoe; False is certain."""
        shoe = self.state.shoe
        if shoe is None or shoe.finished:
            return False
        return shoe.rounds_left is not None or isinstance(observation, observations.Command)

    @property
    def deals_face_down(self) -> bool:
        """True if the house, now or from the next round on, deals or burns cards face down."""
        following = self.state.next_session
        houses = [self._context.house, *([observations.house_of(following)] if following else [])]
        return any(
            house.dealing_style is not DealingStyle.FACE_UP or house.burn.face_down
            for house in houses
        )

    def refusal(self, command: observations.Command) -> Detail | None:
        """Return the reason to refuse a command now; None accepts it."""
        return dispatch.command_refusal(self._context, command)

    def needs(self, command: observations.Command) -> authority.Needs:
        """
        Return what a command needs at its time, at a table with an operators file.

        An earlier deadline has to be applied before. Cards that lie face down do not count:
        what follows when they are turned over is not decided by the command.
        """
        context, handler = self._context, dispatch.COMMANDS.get(command.name)
        if handler is None:
            return authority.Needs()
        supervisor = handler.privileged
        if not supervisor and not dispatch.may_show_faces(context, command):
            copy = self.copy()
            copy.apply(command)
            supervisor = authority.is_supervisors(context, command, copy.state)
        return authority.Needs(supervisor, authority.needs_reason(context, command))

    def preview(
        self, command: observations.Command, refusal: Detail | None = None
    ) -> PreviewedCommand:
        """
        Return what a command would do at its time; the table stays as it is.

        An earlier deadline has to be applied before.

        Args:
            command: The command, with its time; one that is refused already stays refused.
            refusal: The reason to refuse it whatever the table's state is.
        """
        if refusal is None and command.refused is not None:
            refusal = uncoded_detail(command.refused)
        seq, hidden = self.state.seq, dispatch.may_show_faces(self._context, command)
        if refusal is None and not (hidden and command.name == "undo"):
            # Hidden faces may decide whether an undo is refused.
            refusal = self.refusal(command)
        if refusal is not None:
            return PreviewedCommand(replace(command, refused=refusal.text), seq, refusal=refusal)
        if hidden:
            return PreviewedCommand(command, seq, faces_hidden=True)
        copy, before = self.copy(), round_documents(self.state)
        events = tuple(event for event in copy.apply(command) if not is_staff(event.type))
        after = round_documents(copy.state)
        changed = changed_round(before, after, command.round)
        if changed is None:
            return PreviewedCommand(command, seq, events)
        return PreviewedCommand(command, seq, events, before.get(changed), after.get(changed))

    @property
    def repeats(self) -> int:
        """The number of cards left out so far because they were reported again, by their tags."""
        return self._context.repeats

    @property
    def mode(self) -> RoundEnd:
        """The effective `Options.round_end`; ``auto`` until the first card."""
        return self._context.mode

    @property
    def deadline(self) -> tuple[int, str] | None:
        """The next deadline, in microseconds since 1970, and its name; a `Tick` is due then."""
        reveal_at, quiet_at = self.state.reveal_at, self.state.quiet_at
        if quiet_at is not None and (reveal_at is None or quiet_at <= reveal_at):
            return quiet_at, "quiet"
        return None if reveal_at is None else (reveal_at, "reveal")

    @property
    def exact_until(self) -> int | None:
        """
        Until when spans have to be exact, in microseconds since 1970: the wall clock is not
        adopted before. None between rounds.
        """
        round_ = lifecycle.in_progress(self._context)
        card_at = None if round_ is None else round_.card_at
        return None if not card_at else to_microseconds(card_at) + self._context.draw_within_us

    def _meet_deadlines(self, at: str) -> None:
        now, context = to_microseconds(at), self._context
        while (due := self.deadline) is not None and due[0] <= now:
            context.at = from_microseconds(due[0])
            if due[1] == "reveal":
                self.state.reveal_at = None
                boundaries.apply_reveal(context)
            else:
                self.state.quiet_at = None
                boundaries.apply_quiet_deadline(context)
            if self.state.held:
                results.release_results(context)

    def _drop_deadlines(self, at: str) -> None:
        now = to_microseconds(at)
        while (due := self.deadline) is not None and due[0] <= now:
            if due[1] == "reveal":
                self.state.reveal_at = None
            else:
                self.state.quiet_at = None

    def public(self) -> PublicTable:
        """Return the public table, complete for a display."""
        alerts = rulings.open_alerts(self._context, staff_only=False)
        return public_table(self.state, self._context, alerts)

    def staff_alerts(self) -> tuple[Alert, ...]:
        """Return the open irregularities that are for staff only."""
        return rulings.open_alerts(self._context, staff_only=True)

    def results(self) -> list[Result]:
        """Return the results on the roads, oldest first."""
        return road_results(self.state.shoe)

    def history(self) -> PublicHistory:
        """Return the past rounds and shoes, public facts only."""
        return public_history(self.state)

    def copy(self) -> Table:
        """Return an independent table in the same state."""
        return Table.restore(self.checkpoint())

    def checkpoint(self) -> bytes:
        """Return the whole state in bytes, for `restore`."""
        return _CHECKPOINT_HEADER + msgspec.msgpack.encode(self.state)

    def go_back(self, checkpoint: bytes) -> None:
        """Return to the state of a checkpoint of this table."""
        before = Table.restore(checkpoint).state
        for name in TableState.__struct_fields__:
            setattr(self.state, name, getattr(before, name))
        self._context = TableContext(self.state, _replay_observations)

    @classmethod
    def restore(cls, body: bytes) -> Table:
        """
        Return the table of a checkpoint.

        Raises:
            UserError: Another version wrote it; replay from the start.
        """
        try:
            if body.startswith(_EARLIER_HEADER):
                return cls(state_of_table_2(body[len(_EARLIER_HEADER) :]))
            if not body.startswith(_CHECKPOINT_HEADER):
                raise UserError("This checkpoint was written by another version.")
            state = decode_state(body[len(_CHECKPOINT_HEADER) :])
        except (msgspec.DecodeError, ValueError, LookupError, TypeError) as error:
            raise UserError(f"This checkpoint cannot be read: {error}.") from error
        return cls(state)


def _replay_observations(state: TableState, sequence: Iterable[observations.Observation]) -> bool:
    table = Table(state)
    for each in sequence:
        if isinstance(each, observations.Command) and table.refusal(each) is not None:
            return False
        table.apply(each)
    return True


def _apply_session(context: TableContext, obs: observations.Session) -> None:
    if lifecycle.in_progress(context) is None:
        context.apply_session(obs)
    else:
        observations.house_of(obs)  # an invalid house raises now, not at the next round
        context.state.next_session = obs


def _apply_card(context: TableContext, obs: observations.CardDrawn) -> None:
    if obs.tag is None:
        _apply_read_card(context, obs)
    else:
        tags.apply_once(context, obs, _apply_read_card)


def _apply_read_card(context: TableContext, obs: observations.CardDrawn) -> None:
    if context.options.checkers and faults.compare_checker_card(context, obs.source, obs.card):
        return
    context.state.placing = False
    if context.options.least_gap is not None:
        context.is_double_feed = counts.is_double_feed(context)
    _apply_drawn_card(context, obs)
    context.is_double_feed = False


def _apply_drawn_card(context: TableContext, obs: observations.CardDrawn) -> None:
    if obs.slot is None and shoe_lifecycle.awaits_ordered_burn(context) and _may_burn(context):
        _apply_burned_card(context, obs)
    elif obs.role is _PLAY_ROLE:
        round_ = context.state.round
        # Only of a card whose face is not in the view can this be a second reading.
        is_hidden = round_ is not None and round_.view.hidden
        if not (is_hidden and faces.apply_second_reading(context, obs.slot, obs.card)):
            _apply_played_card(context, obs)
    elif obs.role is observations.Role.OUTSIDE:
        attribute.add_outside_card(context, DrawnCard(obs.card, tag=tags.tag_key(obs)))
    else:
        _apply_burned_card(context, obs)


def _may_burn(context: TableContext) -> bool:
    """Return whether a card drawn now may be a burned card: none is due to a hand."""
    round_ = lifecycle.in_progress(context)
    return round_ is None or round_.view.complete


def _apply_played_card(context: TableContext, obs: observations.CardDrawn) -> None:
    card = DrawnCard(obs.card, obs.slot)
    if obs.tag is not None:
        card.tag = tags.tag_key(obs)
    reader = context.state.readers.get(obs.source or "")
    if reader is None or not reader.errors:
        attribute.apply_drawn_card(context, card)
    else:
        faults.apply_card_after_errors(context, card, obs.source, reader)


def _apply_link(context: TableContext, obs: observations.Link) -> None:
    faults.apply_link(context, obs.source, up=obs.up)
    if obs.up:
        return
    if obs.source in context.options.checkers:
        checker.mark_cards_missed(context, obs.source)
    for card in replacement.undealt_cards(context):
        attribute.apply_drawn_card(context, DrawnCard(card))


def _apply_burned_card(context: TableContext, obs: observations.CardDrawn) -> None:
    first = obs.role is observations.Role.FIRST
    round_ = lifecycle.in_progress(context)
    if first and round_ is not None and attribute.begins_shoe(context, round_):
        lifecycle.end_or_abort_round(context, round_)
        round_ = None
    shoe = context.state.shoe
    if shoe is None or shoe.finished or (first and round_ is None and shoe.out):
        shoe = shoe_lifecycle.start_shoe(context, announced=first or shoe is not None)
    declared = first or obs.role is observations.Role.BURN
    shoe_lifecycle.burn_card(context, shoe, obs.card, first=first, declared=declared)


_HANDLERS: Final[dict[type, Callable[..., object]]] = {
    observations.Session: _apply_session,
    observations.CardDrawn: _apply_card,
    observations.Disclosed: lambda context, obs: faces.disclose_face(context, obs.slot, obs.card),
    observations.Withdrawn: faults.apply_withdrawn_card,
    observations.Carried: faults.apply_carried_card,
    observations.Unreadable: lambda context, obs: tags.apply_once(
        context, obs, faults.apply_unreadable_card
    ),
    observations.Placed: lambda context, obs: faces.apply_placed_card(
        context, obs.slot, obs.card, obs.source
    ),
    observations.CutCardSeen: lambda context, _obs: boundaries.apply_cut_card(context),
    observations.Booted: faults.apply_boot,
    observations.TableCleared: lambda context, obs: boundaries.clear_table(context, obs.source),
    observations.Result: boundaries.apply_result,
    observations.DeviceError: faults.apply_device_error,
    observations.DeviceErrorCleared: faults.clear_device_error,
    observations.Lock: faults.apply_lock,
    observations.Link: _apply_link,
    observations.Gap: faults.apply_gap,
    observations.NoMoreBets: lambda context, _obs: boundaries.close_betting(context),
    observations.BettingOpen: lambda context, _obs: boundaries.open_betting(context),
    observations.Command: dispatch.apply_command,
}
"""The handler of each observation; `Tick`, `Standby` and `ClockSet` only advance the time."""


def decode_log(lines: Iterable[bytes | str]) -> Iterator[observations.Observation]:
    """
    Yield the observations of a log; empty lines are skipped.

    Raises:
        UserError: A line is not a valid observation, or its `at` is earlier than the `at` of
            the line above. The message names the line by its number.
    """
    latest = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            observation = observations.decode_observation(line)
        except UserError as error:
            raise UserError(f"line {number}: {one_line(error)}") from error
        now = to_microseconds(observation.at)
        if now < latest:
            raise UserError(
                f"line {number}: `at` goes back: {observation.at} is before the line above"
            )
        latest = now
        yield observation


def fold(
    table: Table, log: Iterable[observations.Observation]
) -> Iterator[tuple[observations.Observation, list[Event]]]:
    """
    Apply the observations of a log, and yield each with the events that it causes.

    One that a gap `not_applied` follows is left out: see `was_applied`.
    """
    for observation, following in pairwise(chain(log, [None])):
        if observation is not None:
            applied = was_applied(following)
            yield observation, table.apply(observation) if applied else []


def was_applied(following: observations.Observation | None) -> bool:
    """Return whether the daemon applied an observation, given the one that follows it."""
    return not (isinstance(following, observations.Gap) and following.detail is _NOT_APPLIED)


def replay(lines: Iterable[bytes | str], table: Table | None = None) -> Iterator[Event]:
    """
    Yield the events that the observations of a log cause, in order.

    Args:
        lines: One JSON object a line, as in `docs/observations.md`.
        table: Applies the observations; a new table with default options if None. Pass a table
            to choose its options, or to read its state afterwards.

    Raises:
        UserError: As `decode_log`.
    """
    table = table or Table()
    for _, events in fold(table, decode_log(lines)):
        yield from events

"""
The table: the fold of observations into events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from shoe_daemon.errors import UserError
from shoe_daemon.table import observations as seen
from shoe_daemon.table.commands import dispatch, undo
from shoe_daemon.table.history import public_history, results_of
from shoe_daemon.table.public_snapshot import public_table, staff_alerts
from shoe_daemon.table.readers import reader_faults, second_reader
from shoe_daemon.table.rounds import card_draw, disclosure, lifecycle, results, round_end
from shoe_daemon.table.shoes import inventory, shoe_lifecycle
from shoe_daemon.table.table_context import Fold
from shoe_daemon.table.table_state import Drawn, TableState, decode_state
from shoe_daemon.table.timestamps import from_microseconds, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shoe_daemon.game import Result
    from shoe_daemon.table.events import Event
    from shoe_daemon.table.options import RoundEnd
    from shoe_daemon.table.public_types import Alert, PublicHistory, PublicTable

_PLAY: Final = seen.Role.PLAY

_FORM: Final = b"table-2\n"
"""What a checkpoint of this version begins with."""


class Table:
    """
    One baccarat table.

    The same observations always give the same events, byte for byte: nothing
    here does I/O, reads a clock or rolls a die. No observation raises.
    """

    def __init__(self, state: TableState | None = None) -> None:
        self.state = state or TableState()
        self._fold = Fold(self.state, _refold)

    def apply(self, observation: seen.Observation) -> list[Event]:
        """
        Take the next observation and return what it causes, in order.

        A deadline that lies before it is met first, at its own moment.
        """
        fold, state = self._fold, self.state
        events: list[Event] = []
        fold.events, fold.chain_head = events, observation.chain_head
        if state.quiet_at is not None or state.reveal_at is not None:
            self._meet_deadlines(observation.at)
        fold.at = state.now = observation.at
        handler = _HANDLERS.get(type(observation))
        if handler is not None:
            handler(fold, observation)
        if state.changes and handler is not dispatch.command:
            undo.observe(state, observation)
        if state.held:
            results.release(fold)
        return events

    def may_finish_shoe(self, observation: seen.Observation) -> bool:
        """
        Tell whether an observation could finish the shoe; seldom told without need.
        """
        shoe = self.state.shoe
        if shoe is None or shoe.finished:
            return False
        return shoe.rounds_left is not None or isinstance(observation, seen.Command)

    def refusal(self, order: seen.Command) -> str | None:
        """
        Say why an order would be refused now; None where it fits the moment.
        """
        return dispatch.refusal(self._fold, order)

    @property
    def mode(self) -> RoundEnd:
        """
        What ends a round here; ``auto`` until a card has told.
        """
        return self._fold.mode

    @property
    def deadline(self) -> tuple[int, str] | None:
        """
        The next deadline: microseconds since 1970, and its name; a `Tick` is
        owed then.
        """
        reveal_at, quiet_at = self.state.reveal_at, self.state.quiet_at
        if reveal_at is None and quiet_at is None:
            return None
        due = [
            (at, name)
            for at, name in ((reveal_at, "reveal"), (quiet_at, "quiet"))
            if at is not None
        ]
        return min(due)

    def _meet_deadlines(self, at: str) -> None:
        now, fold = to_microseconds(at), self._fold
        while (due := self.deadline) is not None and due[0] <= now:
            fold.at = from_microseconds(due[0])
            if due[1] == "reveal":
                self.state.reveal_at = None
                round_end.reveal(fold)
            else:
                self.state.quiet_at = None
                round_end.quiet(fold)
            if self.state.held:
                results.release(fold)

    def public(self) -> PublicTable:
        """
        Return what a display may know, all of it.
        """
        return public_table(self.state, self._fold.house, self._fold.policy)

    def staff_alerts(self) -> tuple[Alert, ...]:
        """
        Return the open irregularities that only staff may know of yet.
        """
        return staff_alerts(self.state)

    def results(self) -> list[Result]:
        """
        Return what is on the roads, oldest first.
        """
        return results_of(self.state.shoe)

    def history(self) -> PublicHistory:
        """
        Return what anybody may know of the rounds that lie behind.
        """
        return public_history(self.state)

    def checkpoint(self) -> bytes:
        """
        Write the whole state down, for `restore`.
        """
        return _FORM + msgspec.msgpack.encode(self.state)

    @classmethod
    def restore(cls, body: bytes) -> Table:
        """
        Read a state back.

        Raises:
            UserError: It was written by another version; fold from the start.
        """
        try:
            if not body.startswith(_FORM):
                raise UserError("This checkpoint was written by another version.")
            state = decode_state(body[len(_FORM) :])
        except (msgspec.DecodeError, ValueError) as error:
            raise UserError(f"This checkpoint cannot be read: {error}.") from error
        return cls(state)


def _refold(state: TableState, observations: Iterable[seen.Observation]) -> bool:
    table = Table(state)
    for each in observations:
        if isinstance(each, seen.Command) and table.refusal(each) is not None:
            return False
        table.apply(each)
    return True


def _session(fold: Fold, obs: seen.Session) -> None:
    if lifecycle.in_progress(fold) is None:
        fold.configure(obs)
    else:
        seen.house_of(obs)  # what is wrong with it is said now, not at the next round
        fold.state.next_session = obs


def _card(fold: Fold, obs: seen.CardDrawn) -> None:
    if fold.options.checkers and reader_faults.only_checks(fold, obs.source, obs.card):
        return
    fold.state.placing = False
    if fold.options.least_gap is not None:
        fold.together = inventory.too_close(fold)
    _drawn(fold, obs)
    fold.together = False


def _drawn(fold: Fold, obs: seen.CardDrawn) -> None:
    if obs.slot is None and shoe_lifecycle.awaits_burn(fold) and lifecycle.may_burn(fold):
        _burned(fold, obs)
    elif obs.role is _PLAY:
        if not disclosure.read_again(fold, obs.slot, obs.card):
            reader_faults.play(fold, obs)
    elif obs.role is seen.Role.OUTSIDE:
        reader_faults.outside(fold, obs.card)
    else:
        _burned(fold, obs)


def _link(fold: Fold, obs: seen.Link) -> None:
    reader_faults.linked(fold, obs.source, up=obs.up)
    if obs.up:
        return
    if obs.source in fold.options.checkers:
        second_reader.misses(fold, obs.source)
    for card in second_reader.undealt(fold):
        card_draw.play(fold, Drawn(card))


def _burned(fold: Fold, obs: seen.CardDrawn) -> None:
    first = obs.role is seen.Role.FIRST
    round_ = lifecycle.in_progress(fold)
    if (
        first
        and round_ is not None
        and (round_.partial or round_.over or lifecycle.is_complete(round_))
    ):
        lifecycle.leave(fold, round_)
        round_ = None
    shoe = fold.state.shoe
    if shoe is None or shoe.finished or (first and round_ is None and shoe.out):
        shoe = shoe_lifecycle.start(fold, announced=first or shoe is not None)
    said = first or obs.role is seen.Role.BURN
    shoe_lifecycle.burned(fold, shoe, obs.card, first=first, said=said)


_HANDLERS: Final[dict[type, Callable[..., object]]] = {
    seen.Session: _session,
    seen.CardDrawn: _card,
    seen.Disclosed: lambda fold, obs: disclosure.disclose(fold, obs.slot, obs.card),
    seen.Withdrawn: reader_faults.withdrawn,
    seen.Carried: reader_faults.carried,
    seen.Unreadable: reader_faults.unreadable,
    seen.Placed: lambda fold, obs: disclosure.placed(fold, obs.slot, obs.card, obs.source),
    seen.CutCardSeen: lambda fold, _obs: round_end.cut_card(fold),
    seen.Booted: reader_faults.booted,
    seen.TableCleared: lambda fold, _obs: round_end.table_cleared(fold),
    seen.Result: round_end.result,
    seen.DeviceError: reader_faults.device_error,
    seen.DeviceErrorCleared: reader_faults.device_error_cleared,
    seen.Lock: reader_faults.locked,
    seen.Link: _link,
    seen.Gap: reader_faults.gap,
    seen.NoMoreBets: lambda fold, _obs: round_end.no_more_bets(fold),
    seen.BettingOpen: lambda fold, _obs: round_end.betting_open(fold),
    seen.Command: dispatch.command,
}
"""What each observation does; a `Tick` and a `Standby` only bring the time."""

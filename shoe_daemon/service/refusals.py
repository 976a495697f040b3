"""
The reasons to refuse a command, in the order in which they are tried.

The parser finds a fault of the message (`mqtt.commands`), the operators file an operator without
the right (`operators`), and the table a command that does not fit it (`table.commands`). All other
reasons are here, and the order of all of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Final, NamedTuple

from shoe_daemon.limits import Budget
from shoe_daemon.mqtt.commands import Earlier, ReceivedCommand
from shoe_daemon.service import guard
from shoe_daemon.table import (
    BUTTON_COMMANDS,
    COMMANDS,
    Authority,
    Command,
    Detail,
    Needs,
    Table,
    from_microseconds,
    make_detail,
    uncoded_detail,
)

_MAX_PENDING: Final = 50
"""Commands that may wait to be judged; operators give a few per hour."""

_MAX_PENDING_OF_VERB: Final = 10
"""Of these: a flood of one verb leaves room for the others."""

_MAX_PENDING_REPLAYS: Final = 3
_REPLAYS: Final = 10
_REPLAYS_S: Final = 10.0
"""Replays that are judged in a span of seconds: whoever may order one needs no PIN."""

_MAX_PENDING_PREVIEWS: Final = 3
"""Previews among them: one of `undo` takes tens of milliseconds, for which a card may wait."""

_MAX_REFUSAL_LENGTH: Final = 800

KEPT_S: Final = 24 * 3600.0
"""
Seconds for which an id is remembered, by the monotonic clock: `expires_at` is compared with the
wall clock, which may be set back.
"""

MAX_IDS: Final = 50_000
MAX_UNPROVED_IDS: Final = 40_000
"""With so many, a command without the right PIN is refused."""

MAX_IDS_OF_VERB: Final = 10_000
"""With so many of its verb, likewise: a flood of one verb leaves room for the others."""

REPLAY: Final = "replay"
"""It changes nothing: the broker's rights decide who may order it."""

UNKNOWN_VERB: Final = "unknown"

INTERNAL_ERROR: Final = make_detail("internal_error")
STOPPING: Final = make_detail("refused_stopping")
TOO_MANY: Final = make_detail("refused_too_many")
_IDS_FULL: Final = make_detail("refused_ids_full")
_PLAIN_PIN: Final = make_detail("refused_plain_pin")


def verb_of(command: Command) -> str:
    """Return the name of a command; all unknown ones have one."""
    return command.name if command.name in COMMANDS else UNKNOWN_VERB


def code_of(refusal: Detail | None) -> str | None:
    """Return the code of a refusal; None without one."""
    return None if refusal is None else refusal.code or None


class _Place(NamedTuple):
    """The place of a command until a moment; an invalid command without an id takes one too."""

    until: float
    verb: str
    id: str | None


class Refusals:
    """
    Refuses the commands of one table, whatever the table's state is; `table_refusal` judges by it.
    Reads no clock: `now` is monotonic.

    A command is carried out at most once: the ids of the last day are kept with their results.
    """

    def __init__(self, *, refuses_pins: bool) -> None:
        """`refuses_pins`: a PIN would be sent in plain text, so it must not be used."""
        self._refuses_pins = refuses_pins
        self._replays = Budget(_REPLAYS, _REPLAYS_S)
        self._earlier: dict[str, Earlier] = {}
        self._places: deque[_Place] = deque()
        self._of_verb: Counter[str] = Counter()

    def before_parsing(
        self, verb: str, pending: Collection[ReceivedCommand], now: float
    ) -> Detail | None:
        """Return why a command is not even parsed: too many are `pending`."""
        of_verb = sum(verb_of(each.command) == verb for each in pending)
        if verb == REPLAY and not (of_verb < _MAX_PENDING_REPLAYS and self._replays.take(now)):
            return TOO_MANY
        has_room = of_verb < _MAX_PENDING_OF_VERB and len(pending) < _MAX_PENDING
        return None if has_room else TOO_MANY

    def after_parsing(
        self, received: ReceivedCommand, pending: Collection[ReceivedCommand]
    ) -> Detail | None:
        """Return why a parsed command is not judged; a PIN in plain text is noted in it."""
        if self._refuses_pins and received.pin is not None:
            received.refusal = received.refusal or _PLAIN_PIN
        previews = sum(each.dry_run for each in pending)
        return TOO_MANY if received.dry_run and previews >= _MAX_PENDING_PREVIEWS else None

    @staticmethod
    def before_judging(
        received: ReceivedCommand,
        earlier: Earlier | None,
        *,
        seq: int,
        wall_us: int,
        replaying: bool,
    ) -> Detail | None:
        """
        Return why a command is refused whatever the table's state is.

        Args:
            received: The command.
            earlier: The result of the first one with its id.
            seq: The table's last event.
            wall_us: The wall clock, in microseconds since 1970.
            replaying: A replay is under way.
        """
        if earlier is not None:
            result = "carried out" if earlier.ok else f"refused: {earlier.refused}"
            text = f"its id was given before, at {earlier.at}, and {result}"
            return uncoded_detail(text[:_MAX_REFUSAL_LENGTH])
        if received.refusal is not None:
            return received.refusal
        expires_us = received.expires_us
        if expires_us is not None and expires_us < wall_us:
            return make_detail("refused_expired", at=from_microseconds(expires_us))
        if received.command.name == REPLAY:
            return _replay_refusal(received.command.from_seq, seq, replaying=replaying)
        return None

    def before_journaling(self, received: ReceivedCommand, now: float) -> Detail | None:
        """Return why a command is not journaled: too many were, without the right PIN."""
        self._forget(now)
        verb, places = verb_of(received.command), len(self._places)
        if verb == REPLAY:
            return None
        if received.pin_verified:
            has_room = places < MAX_IDS
        else:
            has_room = places < MAX_UNPROVED_IDS and self._of_verb[verb] < MAX_IDS_OF_VERB
        return None if has_room else _IDS_FULL

    def find_earlier(self, command_id: str | None, now: float) -> Earlier | None:
        """Return the result of the command with this id; None for a new id."""
        self._forget(now)
        return None if command_id is None else self._earlier.get(command_id)

    def remember(self, command: Command, refusal: Detail | None, judged_at: float) -> None:
        """
        Remember a command with its result; the oldest is added first. A replay changes nothing
        and may be repeated.
        """
        if command.name == REPLAY:
            return
        verb = verb_of(command)
        self._places.append(_Place(judged_at + KEPT_S, verb, command.id))
        self._of_verb[verb] += 1
        if command.id is None:
            return
        earlier = Earlier(
            at=command.at,
            detail_code=code_of(refusal),
            detail_values={} if refusal is None else refusal.values,
            name=command.name,
            ok=command.refused is None,
            refused=command.refused,
        )
        self._earlier.setdefault(command.id, earlier)

    def _forget(self, now: float) -> None:
        while self._places and self._places[0].until <= now:
            _, verb, command_id = self._places.popleft()
            self._of_verb[verb] -= 1
            if command_id is not None:
                self._earlier.pop(command_id, None)


def _replay_refusal(from_seq: int | None, seq: int, *, replaying: bool) -> Detail | None:
    if from_seq is None:
        return uncoded_detail("from which event on? give from_seq")
    if from_seq > seq:
        return uncoded_detail(f"the last event is {seq}")
    if replaying:
        return uncoded_detail("a replay is under way: wait for its end")
    return None


def table_refusal(table: Table, command: Command, authority: Authority | None) -> Detail | None:
    """
    Return why a command is refused in the table's present state.

    `authority` is the sender's; None where everybody may give every command.
    """
    try:
        needs = needs_of(table, command, authority)
        reason = sender_refusal(table, command, needs, authority, preview=False)
        return reason or table.refusal(command)
    except Exception as error:  # noqa: BLE001 - the guard
        guard.log_exception("command_not_judged", error)
        return INTERNAL_ERROR


def needs_of(table: Table, command: Command, authority: Authority | None) -> Needs:
    """Return what a command needs at this moment: nothing where everybody may give it."""
    return Needs() if authority is None else table.needs(command)


def sender_refusal(
    table: Table, command: Command, needs: Needs, authority: Authority | None, *, preview: bool
) -> Detail | None:
    """
    Return why a command is refused that would fit the table: its sender may not decide this, or
    expects another last event.
    """
    if authority is not None:
        reason = needs.refusal(command, authority, preview=preview)
        if reason is not None:
            return reason
    expected, seq = command.expects_seq, table.state.seq
    if expected is None or expected == seq:
        return None
    if expected > seq:
        return uncoded_detail(f"the table is at {seq}, and has not reached {expected}")
    return make_detail("refused_moved_on", expected=expected, seq=seq)


def button_refusal(table: Table, command: Command) -> Detail | None:
    """Return why the command of a button is refused."""
    if command.name not in BUTTON_COMMANDS:
        return uncoded_detail(f"no button can order {command.name}; an operator can")
    return table_refusal(table, command, None)

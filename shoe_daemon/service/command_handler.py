"""
Commands of operators: parsed on the publisher's thread, judged and journaled on
the core's, and answered once.

A PIN takes a tenth of a second to check, so a thread of its own does that: no
card waits for it.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final

import structlog
from msgspec.structs import replace

from shoe_daemon.config import Setup
from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.mqtt.commands import IncomingCommand, PendingCommand, parse_command
from shoe_daemon.mqtt.document_contents import (
    Earlier,
    Preview,
    Reply,
    previewed_events,
    reply,
)
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.operators import AuthenticationError
from shoe_daemon.service import guard
from shoe_daemon.service.processing_core import Core
from shoe_daemon.table import (
    COMMANDS,
    Command,
    Detail,
    Event,
    from_microseconds,
    make_detail,
    uncoded_detail,
)

_log = structlog.get_logger(__name__)

_MAX_PENDING: Final = 50
"""Commands that may wait to be judged; operators give a few per hour."""

_MAX_PENDING_PREVIEWS: Final = 3
"""Previews among them: one of `undo` takes tens of milliseconds, for which a card may wait."""

_MAX_IDS: Final = 1000
"""Ids of commands that are remembered."""

_MAX_OBSERVATIONS_READ: Final = 50_000
"""Observations among which earlier commands are searched: some days of a table."""

_MAX_REPLY_EVENTS: Final = 800
"""Numbers of events that fit into a reply."""

_MAX_REFUSAL_LENGTH: Final = 800

MAX_REPLAYED_EVENTS: Final = 5000
"""Events that one command publishes again."""

_READ_AGAIN_S: Final = 2.0
"""Between two attempts to read an operators file that has a fault."""

_STOPPING: Final = make_detail("refused_stopping")
_TOO_MANY: Final = make_detail("refused_too_many")


class CommandHandler:
    """
    The commands of one table, from the broker to their replies.

    Attributes:
        publisher: Publishes the replies; set before the first command can be received.
    """

    def __init__(
        self, core: Core, setup: Setup, session: str, enqueue: Callable[[PendingCommand], None]
    ) -> None:
        """
        `enqueue` queues a command for the core's thread, which calls `judge`; it raises
        `queue.Full` where there is no room.
        """
        self.publisher: Publisher | None = None
        self._core = core
        self._session = session
        self._enqueue = enqueue
        self._operator_in_topic = setup.config.orders.operator_in_topic
        self._operators = setup.operators
        self._pin_checker = ThreadPoolExecutor(1, "orders") if setup.operators else None
        self._operators_read_at = time.monotonic()
        self._alert: str | None = None
        self._first_by_id: dict[str, Earlier] = {}
        for command in reversed(core.reader.last_commands(_MAX_IDS, among=_MAX_OBSERVATIONS_READ)):
            self._remember(command)
        self._lock = Lock()
        self._pending: set[PendingCommand] = set()
        self._closed: Detail | None = None

    @property
    def alerts(self) -> list[str]:
        """One sentence if the operators file has a fault; for the unit's status."""
        return [] if self._alert is None else [self._alert]

    def check(self) -> None:
        """Log a fault of the operators file, and read it again; for the core's thread."""
        operators, checker = self._operators, self._pin_checker
        if operators is None or checker is None:
            return
        alert = operators.alert
        if alert is not None and alert != self._alert:
            _log.error("operators_file_alert", reason=alert)
        elif alert is None and self._alert is not None:
            _log.warning("operators_file_good")
        self._alert = alert
        now = time.monotonic()
        if alert is not None and now - self._operators_read_at >= _READ_AGAIN_S:
            self._operators_read_at = now
            checker.submit(operators.load)

    def receive(self, incoming: IncomingCommand) -> None:
        """Receive a command; for the publisher's thread."""
        pending = parse_command(incoming, operator_in_topic=self._operator_in_topic)
        with self._lock:
            alarm = self._core.alarm
            reason = self._closed if alarm is None else alarm
            if reason is None and self._is_full(pending):
                reason = _TOO_MANY
            if reason is None:
                self._pending.add(pending)
        if reason is not None:
            self._refuse(pending, reason)
        elif self._pin_checker is None:
            self._enqueue_or_refuse(pending)
        else:
            self._pin_checker.submit(self._authenticate, pending)

    def judge(self, pending: PendingCommand) -> list[Event]:
        """
        Judge a command, journal it and reply; for the core's thread. A dry run is only
        answered.

        Returns:
            The events that were journaled with it; none where the journal cannot be
            written: the command is then refused, as if it had not been given.
        """
        if not self._remove_pending(pending):
            return []
        earlier = self._first_by_id.get(pending.command.id or "")
        refusal: Detail | None = make_detail("internal_error")
        with guard.guarded("command_not_judged"):
            refusal = self._refusal(pending, earlier)
        is_claimed = pending.command.claimed and not pending.pin_verified
        command = replace(pending.command, claimed=is_claimed)
        if pending.dry_run:
            with guard.guarded("reply_not_sent"):
                self._preview(pending, command, refusal, earlier)
            return []
        try:
            judged = self._core.judge(command, refusal)
        except JournalUnwritable as error:
            self._refuse(pending, make_detail("refused_not_recorded", reason=str(error)))
            return []
        self._remember(judged.command, judged.refusal)
        with guard.guarded("reply_not_sent"):
            replayed = self._replayed(judged.command, self._core.table.state.seq)
            if replayed is not None and self.publisher is not None:
                self.publisher.replay(replayed.start, replayed.stop - 1)
            self._reply(
                pending,
                judged.command,
                judged.refusal,
                caused=judged.caused,
                earlier=earlier,
                replayed=replayed,
            )
        return judged.events

    def _preview(
        self,
        pending: PendingCommand,
        command: Command,
        refusal: Detail | None,
        earlier: Earlier | None,
    ) -> None:
        previewed = self._core.preview(command, refusal)
        preview, replayed = None, None
        if previewed.refusal is None:
            replayed = self._replayed(previewed.command, previewed.seq)
            preview = Preview(
                after=previewed.after,
                before=previewed.before,
                events=previewed_events(previewed.events),
                faces_hidden=previewed.faces_hidden,
                seq=previewed.seq,
            )
        self._reply(
            pending,
            previewed.command,
            previewed.refusal,
            earlier=earlier,
            replayed=replayed,
            preview=preview,
        )

    def refuse_pending(self, reason: Detail) -> None:
        """Refuse all pending commands: the core cannot judge them."""
        with self._lock:
            pending, self._pending = self._pending, set()
        for each in pending:
            self._refuse(each, reason)

    def close(self) -> None:
        """Refuse pending and future commands."""
        self._closed = _STOPPING
        self.refuse_pending(_STOPPING)
        if self._pin_checker is not None:
            self._pin_checker.shutdown(wait=False)

    def _authenticate(self, pending: PendingCommand) -> None:
        command, operators = pending.command, self._operators
        order = COMMANDS.get(command.name)
        # A replay changes nothing: the broker's rights decide who may order one.
        is_free = command.name == "replay" or pending.refused
        if operators and order and command.operator and not is_free:
            try:
                pending.pin_verified = operators.authenticate(
                    command.operator,
                    pending.pin,
                    privileged=order.privileged,
                    preview=pending.dry_run,
                )
            except AuthenticationError as error:
                pending.refused = error.reason
            except Exception as error:  # noqa: BLE001 - on this thread it would be lost
                _log.error("pin_not_checked", reason=type(error).__name__)
                pending.refused = make_detail("refused_pin_not_checked")
        self._enqueue_or_refuse(pending)

    def _is_full(self, pending: PendingCommand) -> bool:
        previews = sum(each.dry_run for each in self._pending)
        is_preview_too_many = pending.dry_run and previews >= _MAX_PENDING_PREVIEWS
        return is_preview_too_many or len(self._pending) >= _MAX_PENDING

    def _enqueue_or_refuse(self, pending: PendingCommand) -> None:
        try:
            self._enqueue(pending)
        except queue.Full:
            if self._remove_pending(pending):
                self._refuse(pending, _TOO_MANY)

    def _remove_pending(self, pending: PendingCommand) -> bool:
        """Remove a pending command; False if it was removed before."""
        with self._lock:
            is_pending = pending in self._pending
            self._pending.discard(pending)
        return is_pending

    def _refusal(self, pending: PendingCommand, earlier: Earlier | None) -> Detail | None:
        """Return why a command is refused whatever the table's state is."""
        if earlier is not None:
            result = "carried out" if earlier.ok else f"refused: {earlier.refused}"
            text = f"its id was given before, at {earlier.at}, and {result}"
            return uncoded_detail(text[:_MAX_REFUSAL_LENGTH])
        if pending.refused is not None:
            return pending.refused
        expires_us = pending.expires_us
        if expires_us is not None and expires_us < self._core.clock.wall_us():
            return make_detail("refused_expired", at=from_microseconds(expires_us))
        return self._replay_refusal(pending.command)

    def _replay_refusal(self, command: Command) -> Detail | None:
        if command.name != "replay":
            return None
        seq = self._core.table.state.seq
        if command.from_seq is None:
            return uncoded_detail("from which event on? give from_seq")
        if command.from_seq > seq:
            return uncoded_detail(f"the last event is {seq}")
        if self.publisher is not None and self.publisher.is_replaying:
            return uncoded_detail("a replay is under way: wait for its end")
        return None

    @staticmethod
    def _replayed(command: Command, last: int) -> range | None:
        """Return the numbers of the events that a command publishes again."""
        if command.name != "replay" or command.refused is not None or command.from_seq is None:
            return None
        until = min(last, command.from_seq + MAX_REPLAYED_EVENTS - 1)
        return range(command.from_seq, until + 1)

    def _refuse(self, pending: PendingCommand, reason: Detail) -> None:
        """Refuse a command that is not journaled."""
        self._reply(pending, replace(pending.command, refused=reason.text), reason)

    def _reply(  # noqa: PLR0913 - the parts of a reply
        self,
        pending: PendingCommand,
        command: Command,
        refusal: Detail | None,
        *,
        caused: Sequence[Event] = (),
        earlier: Earlier | None = None,
        replayed: range | None = None,
        preview: Preview | None = None,
    ) -> None:
        _log.info(
            "command_previewed" if pending.dry_run else "command_judged",
            verb=command.name,
            operator=command.operator,
            id=command.id,
            refused=command.refused,
        )
        seq = self._core.table.state.seq
        public = None
        if replayed is not None:
            public = self._core.reader.count_public_events(replayed.start, replayed.stop - 1)
        answer = Reply(
            detail_code=_code_of(refusal),
            detail_values={} if refusal is None else refusal.values,
            earlier=earlier,
            events=tuple(event.seq for event in caused[:_MAX_REPLY_EVENTS]),
            id=command.id,
            name=command.name,
            ok=command.refused is None,
            preview=preview,
            refused=command.refused,
            replayed=None if replayed is None else len(replayed),
            replayed_public=public,
            seq=seq,
            session=self._session,
        )
        if self.publisher is not None:
            self.publisher.reply(
                reply(answer),
                seq,
                command_id=command.id,
                response_topic=pending.response_topic,
                correlation=pending.correlation,
            )

    def _remember(self, command: Command, refusal: Detail | None = None) -> None:
        """Remember the result of the first command with an id."""
        if command.id is None or command.id in self._first_by_id:
            return
        self._first_by_id[command.id] = Earlier(
            at=command.at,
            detail_code=_code_of(refusal),
            detail_values={} if refusal is None else refusal.values,
            name=command.name,
            ok=command.refused is None,
            refused=command.refused,
        )
        if len(self._first_by_id) > _MAX_IDS:
            del self._first_by_id[next(iter(self._first_by_id))]


def _code_of(refusal: Detail | None) -> str | None:
    return None if refusal is None else refusal.code or None

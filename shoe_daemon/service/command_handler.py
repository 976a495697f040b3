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
from itertools import islice
from threading import Lock
from typing import Final

import structlog
from msgspec.structs import replace

from shoe_daemon.config import Setup
from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.mqtt.commands import VERBS, IncomingCommand, PendingCommand, parse_command
from shoe_daemon.mqtt.document_contents import (
    Earlier,
    Preview,
    Reply,
    previewed_events,
    reply,
)
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.operators import AuthenticationError
from shoe_daemon.retry_and_log_limits import Budget, LogRateLimit
from shoe_daemon.service import guard
from shoe_daemon.service.command_ids import KEPT_S, MAX_IDS, CommandIds
from shoe_daemon.service.processing_core import Core
from shoe_daemon.table import (
    COMMANDS,
    Authority,
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

_MAX_PENDING_OF_VERB: Final = 10
"""Of these: a flood of one verb leaves room for the others."""

_MAX_PENDING_REPLAYS: Final = 3
_REPLAYS: Final = 10
_REPLAYS_S: Final = 10.0
"""Replays that are judged in a span of seconds: whoever may order one needs no PIN."""

_REFUSALS_OF_VERB: Final = 10
"""Commands of a verb that are refused at once and answered in a second; others get no reply."""

_MAX_PENDING_PREVIEWS: Final = 3
"""Previews among them: one of `undo` takes tens of milliseconds, for which a card may wait."""

_MAX_REPLY_EVENTS: Final = 800
"""Numbers of events that fit into a reply."""

_MAX_REFUSAL_LENGTH: Final = 800

MAX_REPLAYED_EVENTS: Final = 5000
"""Events that one command publishes again."""

HOLD_S: Final = 5.0
"""An operator's hold of a table that is on hold anyway is journaled once in so many seconds."""

_READ_AGAIN_S: Final = 2.0
"""Between two attempts to read an operators file that has a fault."""

_STOPPING: Final = make_detail("refused_stopping")
_TOO_MANY: Final = make_detail("refused_too_many")
_IDS_FULL: Final = make_detail("refused_ids_full")

_REPLAY: Final = "replay"
"""It changes nothing: the broker's rights decide who may order it."""

_UNKNOWN_VERB: Final = "unknown"


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
        self._operators, self._refuses_pins = setup.operators, setup.refuses_pins
        self._pin_checker = ThreadPoolExecutor(1, "orders") if setup.operators else None
        self._operators_read_at = time.monotonic()
        self._alert: str | None = None
        self._ids = CommandIds()
        recent = list(islice(core.reader.recent_commands(KEPT_S), MAX_IDS))
        for command, age_s in reversed(recent):
            self._remember(command, age_s=age_s)
        self._held_at: dict[str | None, float] = {}
        self._replays = Budget(_REPLAYS, _REPLAYS_S)
        self._answers = {
            verb: Budget(_REFUSALS_OF_VERB, 1.0) for verb in (*COMMANDS, _UNKNOWN_VERB)
        }
        self._may_log = LogRateLimit()
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
        """
        Receive a command; for the publisher's thread.

        One that is refused at once is answered, unless too many of its verb are.
        """
        verb, now = self._verb(incoming.verb), self._core.clock.monotonic()
        pending: PendingCommand | None = None
        with self._lock:
            reason = self._core.alarm or self._closed
            if reason is None and not self._has_room(verb, now):
                reason = _TOO_MANY
            if reason is None:
                pending = self._parse(incoming)
                if pending.dry_run and self._previews() >= _MAX_PENDING_PREVIEWS:
                    reason = _TOO_MANY
                else:
                    self._pending.add(pending)
        if reason is not None:
            # Not even parsed where it gets no reply.
            if self._may_answer(verb):
                self._answer_refused(pending or self._parse(incoming), reason)
        elif pending is not None:
            self._authenticate_or_enqueue(pending)

    def _parse(self, incoming: IncomingCommand) -> PendingCommand:
        pending = parse_command(incoming, operator_in_topic=self._operator_in_topic)
        if self._refuses_pins and pending.pin is not None:
            pending.refused = pending.refused or make_detail("refused_plain_pin")
        return pending

    def _authenticate_or_enqueue(self, pending: PendingCommand) -> None:
        if self._pin_checker is None:
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
        now = self._core.clock.monotonic()
        earlier = self._ids.find(pending.command.id, now)
        refusal: Detail | None = make_detail("internal_error")
        with guard.guarded("command_not_judged"):
            refusal = self._refusal(pending, earlier)
        authority = self._authority_of(pending)
        is_claimed = pending.command.claimed and not pending.pin_verified
        command = replace(pending.command, claimed=is_claimed)
        if pending.dry_run:
            with guard.guarded("reply_not_sent"):
                self._preview(pending, command, refusal, earlier, authority)
            return []
        if self._answers_unjournaled(pending, command, refusal, earlier):
            return []
        try:
            judged = self._core.judge(command, refusal, authority)
        except JournalUnwritable as error:
            self._refuse(pending, make_detail("refused_not_recorded", reason=str(error)))
            return []
        self._remember(judged.command, judged.refusal)
        if command.name == "hold" and judged.refusal is None:
            recent = {who: at for who, at in self._held_at.items() if now - at < HOLD_S}
            self._held_at = {**recent, command.operator: now}
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

    def _answers_unjournaled(
        self,
        pending: PendingCommand,
        command: Command,
        refusal: Detail | None,
        earlier: Earlier | None,
    ) -> bool:
        """Answer a command that is not journaled; return whether it was one."""
        now, verb = self._core.clock.monotonic(), _name_of(command)
        if earlier is not None and refusal is not None:
            # The journal has the first command with this id: repeats may come without end.
            self._refuse(pending, refusal, earlier)
        elif refusal is None and self._repeats_hold(command, now):
            command = replace(command, at=self._core.clock.at())
            self._remember(command)
            with guard.guarded("reply_not_sent"):
                self._reply(pending, command, None)
        elif verb != _REPLAY and not self._ids.has_room(verb, now, proved=pending.pin_verified):
            self._refuse(pending, _IDS_FULL)
        else:
            return False
        return True

    def _preview(
        self,
        pending: PendingCommand,
        command: Command,
        refusal: Detail | None,
        earlier: Earlier | None,
        authority: Authority | None,
    ) -> None:
        previewed = self._core.preview(command, refusal, authority)
        preview, replayed = None, None
        if previewed.refusal is None:
            replayed = self._replayed(previewed.command, previewed.seq)
            preview = Preview(
                after=previewed.after,
                before=previewed.before,
                events=previewed_events(previewed.events),
                faces_hidden=previewed.faces_hidden,
                needs_pin=previewed.needs.supervisor,
                needs_reason=previewed.needs.reason,
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

    def _authority_of(self, pending: PendingCommand) -> Authority | None:
        """Return the sender's authority; None where everybody may give the command."""
        is_free = self._operators is None or pending.command.name == _REPLAY
        return None if is_free else Authority(pending.supervisor, pending.pin_verified)

    def _authenticate(self, pending: PendingCommand) -> None:
        command, operators = pending.command, self._operators
        order = COMMANDS.get(command.name)
        is_free = command.name == _REPLAY or pending.refused
        if operators and order and command.operator and not is_free:
            try:
                pending.pin_verified = operators.authenticate(
                    command.operator,
                    pending.pin,
                    privileged=order.privileged,
                    preview=pending.dry_run,
                )
                pending.supervisor = operators.is_supervisor(command.operator)
            except AuthenticationError as error:
                pending.refused = error.reason
            except Exception as error:  # noqa: BLE001 - on this thread it would be lost
                _log.error("pin_not_checked", reason=type(error).__name__)
                pending.refused = make_detail("refused_pin_not_checked")
        self._enqueue_or_refuse(pending)

    def _verb(self, topic_verb: str) -> str:
        """Return the name of the command at the end of a topic; all unknown ones are one."""
        verb = topic_verb.partition("/")[0] if self._operator_in_topic else topic_verb
        return VERBS.get(verb, _UNKNOWN_VERB)

    def _has_room(self, verb: str, now: float) -> bool:
        of_verb = sum(_name_of(each.command) == verb for each in self._pending)
        if verb == _REPLAY and not (of_verb < _MAX_PENDING_REPLAYS and self._replays.take(now)):
            return False
        return of_verb < _MAX_PENDING_OF_VERB and len(self._pending) < _MAX_PENDING

    def _previews(self) -> int:
        return sum(each.dry_run for each in self._pending)

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

    def _repeats_hold(self, command: Command, now: float) -> bool:
        """Return whether a hold changes nothing, and its operator gave one a moment ago."""
        state = self._core.table.state
        changes = not state.on_hold or state.on_hold_by not in {None, command.operator}
        if command.name != "hold" or command.kind is not None or changes:
            return False
        return now - self._held_at.get(command.operator, float("-inf")) < HOLD_S

    def _replay_refusal(self, command: Command) -> Detail | None:
        if command.name != _REPLAY:
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
        if command.name != _REPLAY or command.refused is not None or command.from_seq is None:
            return None
        until = min(last, command.from_seq + MAX_REPLAYED_EVENTS - 1)
        return range(command.from_seq, until + 1)

    def _refuse(
        self, pending: PendingCommand, reason: Detail, earlier: Earlier | None = None
    ) -> None:
        """Refuse a command that is not journaled; only so many of its verb get a reply."""
        if self._may_answer(_name_of(pending.command)):
            self._answer_refused(pending, reason, earlier)

    def _may_answer(self, verb: str) -> bool:
        now = self._core.clock.monotonic()
        if self._answers[verb].take(now):
            return True
        if commands := self._may_log(f"unanswered {verb}", now):
            _log.warning("commands_unanswered", verb=verb, commands=commands)
        return False

    def _answer_refused(
        self, pending: PendingCommand, reason: Detail, earlier: Earlier | None = None
    ) -> None:
        command = replace(pending.command, refused=reason.text)
        self._reply(pending, command, reason, earlier=earlier)

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
        self._log_judged(pending, command, refusal)
        seq = self._core.table.state.seq
        public = None
        if replayed is not None:
            public = self._core.count_public_events(replayed.start, replayed.stop - 1)
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

    def _log_judged(
        self, pending: PendingCommand, command: Command, refusal: Detail | None
    ) -> None:
        """Log a command: each that was carried out, the others once a minute for each cause."""
        lines, facts = 1, {}
        if command.refused is not None or pending.dry_run or command.name == _REPLAY:
            cause = f"{_name_of(command)} {pending.dry_run} {_code_of(refusal)}"
            lines = self._may_log(cause, self._core.clock.monotonic())
            facts = {"commands": lines} if lines > 1 else {}
        if lines:
            _log.info(
                "command_previewed" if pending.dry_run else "command_judged",
                verb=command.name,
                operator=command.operator,
                id=command.id,
                refused=command.refused,
                **facts,
            )

    def _remember(
        self, command: Command, refusal: Detail | None = None, *, age_s: float = 0.0
    ) -> None:
        """Remember a command with its result; a replay changes nothing and may be repeated."""
        if command.name == _REPLAY:
            return
        earlier = Earlier(
            at=command.at,
            detail_code=_code_of(refusal),
            detail_values={} if refusal is None else refusal.values,
            name=command.name,
            ok=command.refused is None,
            refused=command.refused,
        )
        now = self._core.clock.monotonic()
        self._ids.add(_name_of(command), command.id, earlier, now, age_s)


def _name_of(command: Command) -> str:
    return command.name if command.name in COMMANDS else _UNKNOWN_VERB


def _code_of(refusal: Detail | None) -> str | None:
    return None if refusal is None else refusal.code or None

"""
Commands of operators: parsed on the publisher's thread, judged and journaled on
the core's, and answered once.

A PIN takes a tenth of a second to check, so a thread of its own does that: no
card waits for it.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Lock
from typing import Final

import structlog
from msgspec.structs import replace

from shoe_daemon.config.table import Setup
from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.limits import Budget, LogRateLimit
from shoe_daemon.mqtt.commands import (
    VERBS,
    Earlier,
    Preview,
    ReceivedCommand,
    Reply,
    parse_command,
    previewed_events,
    reply,
)
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.operators import AuthenticationError
from shoe_daemon.service import guard
from shoe_daemon.service.core import Core, JudgedCommand
from shoe_daemon.service.refusals import (
    INTERNAL_ERROR,
    KEPT_S,
    MAX_IDS,
    REPLAY,
    STOPPING,
    TOO_MANY,
    UNKNOWN_VERB,
    Refusals,
    code_of,
    verb_of,
)
from shoe_daemon.table import (
    COMMANDS,
    Authority,
    Command,
    Detail,
    Event,
    PreviewedCommand,
    make_detail,
)

_log = structlog.get_logger(__name__)

_REFUSALS_OF_VERB: Final = 10
"""Commands of a verb that are refused at once and answered in a second; others get no reply."""

_MAX_REPLY_EVENTS: Final = 800
"""Numbers of events that fit into a reply."""

MAX_REPLAYED_EVENTS: Final = 5000
"""Events that one command publishes again."""

HOLD_S: Final = 5.0
"""An operator's hold of a table that is on hold anyway is journaled once in so many seconds."""

_READ_AGAIN_S: Final = 2.0
"""Between two attempts to read an operators file that has a fault."""


class Commands:
    """
    The commands of one table, from the broker to their replies.

    Attributes:
        publisher: Publishes the replies; set before the first command can be received.
    """

    def __init__(
        self, core: Core, setup: Setup, session: str, enqueue: Callable[[ReceivedCommand], None]
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
        self._refusals = Refusals(refuses_pins=setup.refuses_pins)
        recent, now = list(islice(core.reader.recent_commands(KEPT_S), MAX_IDS)), self._now
        for command, age_s in reversed(recent):
            self._refusals.remember(command, None, now - age_s)
        self._held_at: dict[str | None, float] = {}
        self._answers = {
            verb: Budget(_REFUSALS_OF_VERB, 1.0) for verb in (*COMMANDS, UNKNOWN_VERB)
        }
        self._may_log = LogRateLimit()
        self._lock = Lock()
        self._pending: set[ReceivedCommand] = set()
        self._closed: Detail | None = None

    @property
    def _now(self) -> float:
        return self._core.clock.monotonic()

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

    def receive(self, topic_verb: str, message: MessageReceived) -> None:
        """
        Receive a command; for the publisher's thread.

        One that is refused at once is answered, unless too many of its verb are.

        Args:
            topic_verb: The end of its topic.
            message: As the broker delivered it.
        """
        verb, operator = topic_verb, ""
        if self._operator_in_topic:
            verb, _, operator = topic_verb.partition("/")
        name, now = VERBS.get(verb, UNKNOWN_VERB), self._now
        received: ReceivedCommand | None = None
        with self._lock:
            reason = self._core.alarm or self._closed
            reason = reason or self._refusals.before_parsing(name, self._pending, now)
            if reason is None:
                received = parse_command(verb, message, operator=operator)
                reason = self._refusals.after_parsing(received, self._pending)
            if received is not None and reason is None:
                self._pending.add(received)
        if reason is not None:
            # Not even parsed where it gets no reply.
            if self._may_answer(name):
                received = received or parse_command(verb, message, operator=operator)
                self._answer_refused(received, reason)
        elif received is not None:
            self._authenticate_or_enqueue(received)

    def _authenticate_or_enqueue(self, received: ReceivedCommand) -> None:
        if self._pin_checker is None:
            self._enqueue_or_refuse(received)
        else:
            self._pin_checker.submit(self._authenticate, received)

    def judge(self, received: ReceivedCommand) -> list[Event]:
        """
        Judge a command, journal it and reply; for the core's thread. A dry run is only
        answered.

        Returns:
            The events that were journaled with it; none where the journal cannot be
            written: the command is then refused, as if it had not been given.
        """
        if not self._remove_pending(received):
            return []
        earlier = self._refusals.find_earlier(received.command.id, self._now)
        refusal: Detail | None = INTERNAL_ERROR
        with guard.guarded("command_not_judged"):
            replaying = self.publisher is not None and self.publisher.is_replaying
            refusal = self._refusals.before_judging(
                received,
                earlier,
                seq=self._core.table.state.seq,
                wall_us=self._core.clock.wall_us(),
                replaying=replaying,
            )
        is_claimed = received.command.claimed and not received.pin_verified
        command = replace(received.command, claimed=is_claimed)
        if received.dry_run:
            with guard.guarded("reply_not_sent"):
                previewed = self._core.preview(command, refusal, received.authority)
                self._reply(received, previewed, earlier)
            return []
        if self._answers_unjournaled(received, command, refusal, earlier):
            return []
        try:
            judged = self._core.judge(command, refusal, received.authority)
        except JournalUnwritable as error:
            self._refuse(received, make_detail("refused_not_recorded", reason=str(error)))
            return []
        self._refusals.remember(judged.command, judged.refusal, self._now)
        if command.name == "hold" and judged.refusal is None:
            self._note_hold(command)
        with guard.guarded("reply_not_sent"):
            replayed = _replayed(judged)
            if replayed is not None and self.publisher is not None:
                self.publisher.replay(replayed.start, replayed.stop - 1)
            self._reply(received, judged, earlier)
        return list(judged.events)

    def _answers_unjournaled(
        self,
        received: ReceivedCommand,
        command: Command,
        refusal: Detail | None,
        earlier: Earlier | None,
    ) -> bool:
        """Answer a command that is not journaled; return whether it was one."""
        if earlier is not None and refusal is not None:
            # The journal has the first command with this id: repeats may come without end.
            self._refuse(received, refusal, earlier)
        elif refusal is None and self._repeats_hold(command):
            held = replace(command, at=self._core.clock.at())
            self._refusals.remember(held, None, self._now)
            with guard.guarded("reply_not_sent"):
                self._reply(received, JudgedCommand(held, None, self._core.table.state.seq))
        elif (reason := self._refusals.before_journaling(received, self._now)) is not None:
            self._refuse(received, reason)
        else:
            return False
        return True

    def refuse_pending(self, reason: Detail) -> None:
        """Refuse all pending commands: the core cannot judge them."""
        with self._lock:
            pending, self._pending = self._pending, set()
        for each in pending:
            self._refuse(each, reason)

    def close(self) -> None:
        """Refuse pending and future commands."""
        self._closed = STOPPING
        self.refuse_pending(STOPPING)
        if self._pin_checker is not None:
            self._pin_checker.shutdown(wait=False)

    def _authenticate(self, received: ReceivedCommand) -> None:
        command, operators = received.command, self._operators
        order = COMMANDS.get(command.name)
        is_free = command.name == REPLAY or received.refusal
        if operators and order and command.operator and not is_free:
            try:
                pin_verified = operators.authenticate(
                    command.operator,
                    received.pin,
                    privileged=order.privileged,
                    preview=received.dry_run,
                )
                is_supervisor = operators.is_supervisor(command.operator)
                received.authority = Authority(is_supervisor, pin_verified)
            except AuthenticationError as error:
                received.refusal = error.reason
            except Exception as error:  # noqa: BLE001 - on this thread it would be lost
                _log.error("pin_not_checked", reason=type(error).__name__)
                received.refusal = make_detail("refused_pin_not_checked")
        self._enqueue_or_refuse(received)

    def _enqueue_or_refuse(self, received: ReceivedCommand) -> None:
        try:
            self._enqueue(received)
        except queue.Full:
            if self._remove_pending(received):
                self._refuse(received, TOO_MANY)

    def _remove_pending(self, received: ReceivedCommand) -> bool:
        """Remove a pending command; False if it was removed before."""
        with self._lock:
            is_pending = received in self._pending
            self._pending.discard(received)
        return is_pending

    def _repeats_hold(self, command: Command) -> bool:
        """Return whether a hold changes nothing, and its operator gave one a moment ago."""
        state = self._core.table.state
        changes = not state.on_hold or state.on_hold_by not in {None, command.operator}
        if command.name != "hold" or command.kind is not None or changes:
            return False
        held_at = self._held_at.get(command.operator, float("-inf"))
        return self._now - held_at < HOLD_S

    def _note_hold(self, command: Command) -> None:
        now = self._now
        recent = {who: at for who, at in self._held_at.items() if now - at < HOLD_S}
        self._held_at = {**recent, command.operator: now}

    def _refuse(
        self, received: ReceivedCommand, reason: Detail, earlier: Earlier | None = None
    ) -> None:
        """Refuse a command that is not journaled; only so many of its verb get a reply."""
        if self._may_answer(verb_of(received.command)):
            self._answer_refused(received, reason, earlier)

    def _may_answer(self, verb: str) -> bool:
        now = self._now
        if self._answers[verb].take(now):
            return True
        if commands := self._may_log(f"unanswered {verb}", now):
            _log.warning("commands_unanswered", verb=verb, commands=commands)
        return False

    def _answer_refused(
        self, received: ReceivedCommand, reason: Detail, earlier: Earlier | None = None
    ) -> None:
        command = replace(received.command, refused=reason.text)
        judged = JudgedCommand(command, reason, self._core.table.state.seq)
        self._reply(received, judged, earlier)

    def _reply(
        self, received: ReceivedCommand, judged: JudgedCommand, earlier: Earlier | None = None
    ) -> None:
        """Log a command and reply to it; `earlier` is the result of the first with its id."""
        self._log_judged(received, judged)
        command, refusal, seq = judged.command, judged.refusal, self._core.table.state.seq
        replayed, public = _replayed(judged), None
        if replayed is not None:
            public = self._core.count_public_events(replayed.start, replayed.stop - 1)
        answer = Reply(
            detail_code=code_of(refusal),
            detail_values={} if refusal is None else refusal.values,
            earlier=earlier,
            events=tuple(event.seq for event in judged.caused[:_MAX_REPLY_EVENTS]),
            id=command.id,
            name=command.name,
            ok=command.refused is None,
            preview=_preview(judged.preview),
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
                response_topic=received.response_topic,
                correlation=received.correlation,
            )

    def _log_judged(self, received: ReceivedCommand, judged: JudgedCommand) -> None:
        """
        Log a command: each that was carried out, the others once a minute for each cause. What
        displays do all day, replays and previews, has level debug.
        """
        command, lines, facts = judged.command, 1, {}
        if command.refused is not None or received.dry_run or command.name == REPLAY:
            cause = f"{verb_of(command)} {received.dry_run} {code_of(judged.refusal)}"
            lines = self._may_log(cause, self._now)
            facts = {"commands": lines} if lines > 1 else {}
        if lines:
            routine = command.refused is None and (received.dry_run or command.name == REPLAY)
            (_log.debug if routine else _log.info)(
                "command_previewed" if received.dry_run else "command_judged",
                verb=command.name,
                operator=command.operator,
                id=command.id,
                refused=command.refused,
                **facts,
            )


def _replayed(judged: JudgedCommand) -> range | None:
    """Return the numbers of the events that a command publishes again."""
    command = judged.command
    if command.name != REPLAY or command.refused is not None or command.from_seq is None:
        return None
    until = min(judged.seq, command.from_seq + MAX_REPLAYED_EVENTS - 1)
    return range(command.from_seq, until + 1)


def _preview(previewed: PreviewedCommand | None) -> Preview | None:
    """Return the effects that an accepted command would have; None for a refused one."""
    if previewed is None or previewed.refusal is not None:
        return None
    return Preview(
        after=previewed.after,
        before=previewed.before,
        events=previewed_events(previewed.events),
        faces_hidden=previewed.faces_hidden,
        needs_pin=previewed.needs.supervisor,
        needs_reason=previewed.needs.reason,
        seq=previewed.seq,
    )

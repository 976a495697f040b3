"""The daemon of one table, from its start to its end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from drivers import Forward, Frame, Reader, ReaderEnvironment
from shoe_daemon.config.table import Reading, Setup
from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.mqtt.commands import ReceivedCommand
from shoe_daemon.mqtt.home_assistant import discovery_document
from shoe_daemon.mqtt.publication import ChainHead
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.topics import HOME_ASSISTANT, TableIdentity, Topics
from shoe_daemon.process import notify_systemd
from shoe_daemon.service import guard
from shoe_daemon.service.commands import Commands
from shoe_daemon.service.core import CURSOR, Core
from shoe_daemon.service.inputs import InputQueue
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.service.parts import MAKERS
from shoe_daemon.service.rollback import Rollback
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.service.watchdog import Watchdog
from shoe_daemon.table import Event, make_detail

_log = structlog.get_logger(__name__)

_MAX_INPUTS: Final = 1000
"""Frames and commands in the queue; a reader that finds no room stops reading."""

_MAX_BATCH: Final = 64
"""Frames in one transaction when they come faster than the disk can write."""

_MAX_WAIT_S: Final = 0.25
"""The core checks deadlines, readers and threads after this time without a frame."""

_WAIT_WHILE_UNPUBLISHED_S: Final = 0.005
"""The same while the last observation's documents are not published."""

_CHECK_INTERVAL_S: Final = 0.05
"""The same while frames come without a pause."""

_WRITE_RETRY_S: Final = 1.0
"""Between two attempts to write to an unwritable journal."""

_RESTART_WITHIN_S: Final = 600.0
"""So long `restart_soon` waits for the end of a round."""

_READER_PUT_TIMEOUT_S: Final = 0.5
_READERS_STOP_TIMEOUT_S: Final = 2.0
"""For all of them together: systemd waits 15 s for the whole stop."""

_LAST_INPUTS_TIMEOUT_S: Final = 2.0
_READY_TIMEOUT_S: Final = 2.0

Input = tuple[str, Frame] | ReceivedCommand


class _WriteAbandoned(Exception):  # noqa: N818 - a regular end, not a failure
    """
    The daemon was stopped while the journal was unwritable.

    Nothing may be written after it: later frames would seem to follow the journal's
    last ones, without the gap that the next start records.
    """


class Daemon:
    """Everything of one table; `run` works on the thread that calls it."""

    def __init__(
        self,
        setup: Setup,
        *,
        on_events: Callable[[list[Event], Core], None] | None = None,
        environment: ReaderEnvironment | None = None,
    ) -> None:
        """
        `on_events` is called on the core's thread with events that are on disk.

        Raises:
            UserError: The journal cannot be used.
        """
        for fault in setup.faults:
            _log.error("file_unusable", reason=fault)
        self.core = Core(setup)
        self._on_events = on_events or (lambda _events, _core: None)
        self._inputs: InputQueue[Input] = InputQueue(_MAX_INPUTS)
        self._stopping = False
        self._restart_by: float | None = None
        self._retry_wait: InputQueue[None] = InputQueue(1)
        self.readers = [self._make_reader(each, environment) for each in setup.readers]
        self._session = secrets.token_hex(4)
        self._rollback = Rollback(self.core, setup.signer, self.core.reader.cursor(CURSOR))
        self._commands = Commands(self.core, setup, self._session, self._inputs.put)
        self.publisher = self._commands.publisher = self._make_publisher(setup)
        self._rollback.publisher = self.publisher
        self._state = StatePublisher(
            self.core,
            self.publisher,
            self.readers,
            self._session,
            heartbeat=0 if setup.config.mqtt is None else setup.config.mqtt.heartbeat,
        )
        self._watchdog = Watchdog(self.readers, self.publisher)
        self._parts: list[Part] = []
        surroundings = Surroundings(
            setup,
            self.core,
            self._state,
            self.readers,
            self.publisher,
            self._session,
            lambda source, frame: self._inputs.put((source, frame)),
            lambda: len(self._inputs),
            self._parts,
        )
        made = (make(surroundings) for make in MAKERS)
        self._parts += [part for part in made if part is not None]
        self._ready = False
        self._was_full = False
        self._busy_since: float | None = None

    def _make_reader(self, reading: Reading, environment: ReaderEnvironment | None) -> Reader:
        return Reader(
            reading.id,
            reading.driver,
            reading.port,
            reading.line,
            partial(self._receive, reading.id),
            forward=None if reading.forward is None else Forward(reading.id, reading.forward),
            environment=environment,
        )

    def _make_publisher(self, setup: Setup) -> Publisher | None:
        config = setup.config
        if config.mqtt is None:
            return None
        identity = TableIdentity(config.site, config.table.id, self._session, config.table.name)
        publisher = Publisher(
            config.mqtt,
            identity,
            self.core.written,
            self.core.reader.cursor(CURSOR),
            partial(self.core.journal.set_cursor, CURSOR),
            on_command=self._commands.receive,
            chain_head=self._chain_head,
            compare=self._rollback.compare,
            lamps=[each.topic for each in config.lamp if each.topic is not None],
        )
        if config.mqtt.home_assistant:
            topics = Topics(config.site, config.table.id, config.mqtt.prefix)
            readers = [each.id for each in setup.readers]
            document = discovery_document(topics, identity, readers, config.mqtt.heartbeat)
            publisher.retain(HOME_ASSISTANT, document, 0)
        return publisher

    def _chain_head(self) -> ChainHead | None:
        journal = self.core.journal
        digest = journal.public_hash
        return None if digest is None else ChainHead(journal.head.seq, digest)

    def run(self) -> None:
        """Work until `stop`; a crash needs no other end."""
        for part in self._parts:
            part.start()
        try:
            self._record()
        except _WriteAbandoned as abandoned:
            _log.warning("write_abandoned", reason=str(abandoned))
        finally:
            self._end()

    @property
    def is_idle(self) -> bool:
        """True if everything that the readers have read is on disk and announced."""
        return not any(each.busy for each in self.readers) and self._inputs.is_processed

    def stop(self) -> None:
        """Ask `run` to end, from any thread or a signal handler."""
        # Takes no lock: the thread that a signal interrupts may hold it.
        self._stopping = True
        self._inputs.wake()
        self._retry_wait.wake()

    def restart_soon(self) -> None:
        """
        Ask `run` to end between two rounds, at most `_RESTART_WITHIN_S` later: systemd starts the
        daemon again, of a new version. From any thread or a signal handler.
        """
        self._restart_by = self._restart_by or time.monotonic() + _RESTART_WITHIN_S
        self._inputs.wake()

    def _record(self) -> None:
        """Journal this start and everything that is read until `stop`."""
        try:
            self._announce(self._write(self.core.record_start))
            self._start()
            while not self._stopping:
                self._run_once()
        finally:
            self._stop_readers()
        self._process_last_inputs()

    def _start(self) -> None:
        for reader in self.readers:
            reader.start()
        self._become_ready()
        _log.info("daemon_started", session=self._session, seq=self.core.table.state.seq)

    def _become_ready(self) -> None:
        """
        Start the publisher and notify systemd, once; on a full disk too: its alarm
        must be published.
        """
        if self._ready:
            return
        self._ready = True
        self._state.publish()
        if self.publisher is not None:
            self.publisher.start()
        # Sent once, so it must arrive; the watchdog's lines are sent every second.
        notify_systemd("READY=1", f"STATUS={self._state.summary}", timeout_s=_READY_TIMEOUT_S)

    def _receive(self, source: str, frame: Frame) -> None:
        self._inputs.put((source, frame), timeout_s=_READER_PUT_TIMEOUT_S)

    def _run_once(self) -> None:
        inputs = self._next_inputs()
        if inputs:
            self._process(inputs)
        if not inputs or self._is_check_due():
            self._check()

    def _is_check_due(self) -> bool:
        # The events of the first frame after a pause are being sent, and the publisher
        # cannot run while the core does: everything else waits for the next pause.
        now = time.monotonic()
        if self._busy_since is None:
            self._busy_since = now
        return now - self._busy_since > _CHECK_INTERVAL_S

    def _check(self) -> None:
        """Do everything that a frame need not wait for."""
        self._announce(self._write(self.core.process_deadlines))
        self._announce(self._write(self._rollback.check))
        self._state.publish_if_changed()
        self._check_parts()
        self._watchdog.feed(self._state)
        self._busy_since = None
        self._stop_between_rounds()

    def _stop_between_rounds(self) -> None:
        """Stop if that was asked for, and no round is open or the time is over."""
        if self._restart_by is None:
            return
        played = self.core.table.state.round
        is_open = played is not None and not played.ended
        if not is_open or time.monotonic() >= self._restart_by:
            _log.info("restart_begun", round_open=is_open)
            self.stop()

    def _check_parts(self) -> None:
        with guard.guarded("check_failed"):
            self._state.publish_devices(blocked=self._is_blocked())
            self._commands.check()
        for part in self._parts:
            with guard.guarded("check_failed"):
                part.check()
        self._state.notes = (
            *self._commands.alerts,
            *(alert for part in self._parts for alert in part.alerts),
            *(each.forward.alert for each in self.readers if each.forward and each.forward.alert),
        )

    def _is_blocked(self) -> bool:
        # The alarm ends when the queue is half empty.
        half_full = len(self._inputs) > _MAX_INPUTS // 2
        blocked = self._was_full or (self._state.blocked and half_full)
        self._was_full = False
        return blocked

    def _process(self, inputs: list[Input]) -> None:
        frames = [each for each in inputs if not isinstance(each, ReceivedCommand)]
        if frames:
            events = self._write(partial(self.core.process, frames))
            for part in self._parts:
                part.on_frames(frames)
            self.core.count_rejected(frames)
            self._announce(events)
        if inputs and isinstance(last := inputs[-1], ReceivedCommand):
            self._announce(self._commands.judge(last))
            self._show([])  # a hold is no event
        self._inputs.mark_processed(len(inputs))

    def _next_inputs(self) -> list[Input]:
        self._was_full |= self._inputs.is_full
        wait_s = _WAIT_WHILE_UNPUBLISHED_S if self._state.is_outdated else _MAX_WAIT_S
        item = self._inputs.get(self.core.seconds_until_deadline(wait_s))
        inputs: list[Input] = []
        while item is not None:
            inputs.append(item)
            # A command is judged after the frames before it, and affects those after it.
            if len(inputs) == _MAX_BATCH or isinstance(item, ReceivedCommand):
                break
            item = self._inputs.get(0)
        return inputs

    def _write(self, write: Callable[[], list[Event]]) -> list[Event]:
        """
        Write to the journal; retry until the disk has room again, with an alarm.

        Raises:
            _WriteAbandoned: Nothing is written, and the daemon is to stop.
        """
        while True:
            try:
                events = write()
            except JournalUnwritable as error:
                if self._stopping:
                    raise _WriteAbandoned(str(error)) from error
                self._raise_alarm(str(error))
            else:
                self._clear_alarm()
                return events

    def _raise_alarm(self, reason: str) -> None:
        if self.core.alarm is None:
            _log.critical("journal_unwritable", reason=reason)
        self.core.alarm = make_detail("not_recorded", reason=reason)
        self._become_ready()
        self._commands.refuse_pending(self.core.alarm)
        self._state.publish()
        self._show([])
        self._watchdog.feed(self._state)
        self._retry_wait.get(_WRITE_RETRY_S)

    def _clear_alarm(self) -> None:
        if self.core.alarm is not None:
            self.core.alarm = None
            _log.warning("journal_writable_again")
            self._state.publish()
            self._show([])

    def _announce(self, events: list[Event]) -> None:
        if events:
            self._state.notify_events()
            self._show(events)

    def _show(self, events: list[Event]) -> None:
        """Show the parts what is on disk now, or with no events that something else changed."""
        for part in self._parts:
            with guard.guarded("events_not_shown"):
                part.on_events(events)
        if events:
            with guard.guarded("events_not_shown"):
                self._on_events(events, self.core)

    def _stop_readers(self) -> None:
        notify_systemd("STOPPING=1")
        for reader in self.readers:
            reader.stop()
        until = time.monotonic() + _READERS_STOP_TIMEOUT_S
        for reader in self.readers:
            reader.join(max(0.0, until - time.monotonic()))
        for part in self._parts:
            part.stop()

    def _end(self) -> None:
        self._commands.close()
        self._state.publish_if_changed()
        if self.publisher is not None:
            self.publisher.stop()
        self.core.close()
        _log.info("daemon_stopped", seq=self.core.table.state.seq)

    def _process_last_inputs(self) -> None:
        until = time.monotonic() + _LAST_INPUTS_TIMEOUT_S
        while len(self._inputs) and time.monotonic() < until:
            self._process(self._next_inputs())

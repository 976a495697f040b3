"""
The daemon of one table, from its start to its end.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from drivers import Frame, Reader, Surroundings
from shoe_daemon.config import Setup
from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.publisher_context import ChainHead
from shoe_daemon.mqtt.table_identity import Identity
from shoe_daemon.service.command_handler import Orders, Ticket
from shoe_daemon.service.input_queue import Inbox
from shoe_daemon.service.processing_core import Core
from shoe_daemon.service.state_publisher import Bulletin
from shoe_daemon.service.watchdog import Watch
from shoe_daemon.systemd_notify import tell_systemd
from shoe_daemon.table import Event, detail

_log = structlog.get_logger(__name__)

_INBOX: Final = 1000
"""Frames that may wait; a reader that finds no room waits with its line."""

_BATCH: Final = 64
"""Frames that share a transaction when they come faster than the disk."""

_TURN: Final = 0.25
"""Seconds after which the core looks around although nothing came."""

_LULL: Final = 0.005
"""Seconds without a frame after which the core does what can wait."""

_LOOK: Final = 0.05
"""Seconds without a lull after which it does so although frames come."""

_RETRY: Final = 1.0
"""Seconds between two attempts to write to a journal that cannot be written."""

CURSOR: Final = "mqtt"
"""The publisher's name in the journal."""

Item = tuple[str, Frame] | Ticket


class _WriteGivenUp(Exception):  # noqa: N818 - an end in good order, not a failure
    """
    The daemon was asked to stop while the journal was unwritable.

    Nothing may be written after it: later frames would seem to follow what is in the journal,
    without the gap that the next start records.
    """


class Daemon:
    """
    Everything of one table, run by `run` on the thread that calls it.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        on_events: Callable[[list[Event], Core], None] | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """
        Args:
            setup: The configuration.
            on_events: Told, on the core's thread, what is on disk.
            surroundings: What its readers take of the world, where that is not this one's.

        Raises:
            UserError: The journal cannot be used.
        """
        self.core = Core(setup)
        self._on_events = on_events or (lambda _events, _core: None)
        self._inbox: Inbox[Item] = Inbox(_INBOX)
        self._stopping = False
        self._pausing: Inbox[None] = Inbox(1)
        self.readers = [
            Reader(
                each.id,
                each.driver,
                each.port,
                each.line,
                partial(self._receive, each.id),
                surroundings=surroundings,
            )
            for each in setup.readers
        ]
        self._session = secrets.token_hex(4)
        self._orders = Orders(self.core, setup, self._session, self._inbox.put)
        self.publisher = self._orders.publisher = self._make_publisher(setup)
        self._bulletin = Bulletin(
            self.core,
            self.publisher,
            self.readers,
            self._session,
            heartbeat=0 if setup.config.mqtt is None else setup.config.mqtt.heartbeat,
        )
        self._watch = Watch(self.readers, self.publisher)
        self._ready = False
        self._overfull = False
        self._busy_since: float | None = None

    def _make_publisher(self, setup: Setup) -> Publisher | None:
        config = setup.config
        if config.mqtt is None:
            return None
        return Publisher(
            config.mqtt,
            Identity(config.site, config.table.id, self._session, config.table.name),
            self.core.outbox,
            self.core.outbox.cursor(CURSOR),
            partial(self.core.journal.set_cursor, CURSOR),
            on_command=self._orders.receive,
            chain_head=self._chain_head,
        )

    def _chain_head(self) -> ChainHead:
        head = self.core.journal.head
        return ChainHead(head.seq, head.hash.hex())

    def run(self) -> None:
        """
        Work until `stop`: crash-only, so there is no other end.
        """
        try:
            self._record()
        except _WriteGivenUp as given_up:
            _log.warning("write_given_up", reason=str(given_up))
        finally:
            self._end()

    @property
    def settled(self) -> bool:
        """
        Whether all that the readers have read so far is on disk, and was told.
        """
        return not any(each.busy for each in self.readers) and self._inbox.settled

    def stop(self) -> None:
        """
        Ask `run` to come to an end, from any thread or a signal's handler.
        """
        # No lock is taken here: the thread that a signal interrupts may hold it.
        self._stopping = True
        self._inbox.wake()
        self._pausing.wake()

    def _record(self) -> None:
        """
        Record this start, and all that is read until `stop`.
        """
        try:
            self._say(self._until_written(self.core.begin))
            self._start()
            while not self._stopping:
                self._turn()
        finally:
            self._stop_readers()
        self._take_what_is_left()

    def _start(self) -> None:
        for reader in self.readers:
            reader.start()
        self._be_ready()
        _log.info("started", session=self._session, seq=self.core.table.state.seq)

    def _be_ready(self) -> None:
        """
        Go public, once: with a full disk too, because somebody has to say so.
        """
        if self._ready:
            return
        self._ready = True
        self._bulletin.publish()
        if self.publisher is not None:
            self.publisher.start()
        # Told once, so it has to arrive; what is told every second need not.
        tell_systemd("READY=1", f"STATUS={self._bulletin.summary}", patience=2.0)

    def _receive(self, source: str, frame: Frame) -> None:
        self._inbox.put((source, frame), timeout=0.5)

    def _turn(self) -> None:
        items = self._next_items()
        if items:
            self._take(items)
        if not items or self._is_overdue():
            self._look_around()

    def _is_overdue(self) -> bool:
        # What the first frame after a lull has caused is on its way out, and the publisher
        # could not work while the core does: all else waits for the next lull.
        now = time.monotonic()
        if self._busy_since is None:
            self._busy_since = now
        return now - self._busy_since > _LOOK

    def _look_around(self) -> None:
        """
        Do all that a frame need not wait for.
        """
        self._say(self._until_written(self.core.tick))
        self._bulletin.catch_up()
        self._bulletin.refresh(blocked=self._is_blocked())
        self._watch.feed(self._bulletin)
        self._busy_since = None

    def _is_blocked(self) -> bool:
        # It has to come down to the half before all is well again.
        half_full = len(self._inbox) > _INBOX // 2
        blocked = self._overfull or (self._bulletin.blocked and half_full)
        self._overfull = False
        return blocked

    def _take(self, items: list[Item]) -> None:
        frames = [item for item in items if not isinstance(item, Ticket)]
        if frames:
            events = self._until_written(partial(self.core.take, frames))
            self.core.count(frames)
            self._say(events)
        if items and isinstance(last := items[-1], Ticket):
            self._say(self._orders.judge(last))
        self._inbox.done(len(items))

    def _next_items(self) -> list[Item]:
        self._overfull |= self._inbox.full
        most = _LULL if self._bulletin.owes else _TURN
        item = self._inbox.get(self.core.patience(most))
        items: list[Item] = []
        while item is not None:
            items.append(item)
            # An order is judged by what came before it, and changes what comes after.
            if len(items) == _BATCH or isinstance(item, Ticket):
                break
            item = self._inbox.get(0)
        return items

    def _until_written(self, write: Callable[[], list[Event]]) -> list[Event]:
        """
        Write, however long the disk takes to have room again; nothing is
        dropped, and everybody is told meanwhile.

        Raises:
            _WriteGivenUp: Nothing is written, and the daemon is to stop.
        """
        while True:
            try:
                events = write()
            except JournalUnwritable as error:
                if self._stopping:
                    raise _WriteGivenUp(str(error)) from error
                self._sound_alarm(str(error))
            else:
                self._end_alarm()
                return events

    def _sound_alarm(self, why: str) -> None:
        if self.core.alarm is None:
            _log.critical("journal_unwritable", reason=why)
        self.core.alarm = detail("not_recorded", reason=why)
        self._be_ready()
        self._orders.refuse_waiting(self.core.alarm.text)
        self._bulletin.publish()
        self._watch.feed(self._bulletin)
        self._pausing.get(_RETRY)

    def _end_alarm(self) -> None:
        if self.core.alarm is not None:
            self.core.alarm = None
            _log.warning("journal_writable_again")
            self._bulletin.publish()

    def _say(self, events: list[Event]) -> None:
        if events:
            self._bulletin.tell_events()
            self._on_events(events, self.core)

    def _stop_readers(self) -> None:
        tell_systemd("STOPPING=1")
        for reader in self.readers:
            reader.stop()
        for reader in self.readers:
            if reader.alive:
                reader.join(2.0)

    def _end(self) -> None:
        self._orders.close()
        self._bulletin.catch_up()
        if self.publisher is not None:
            self.publisher.stop()
        self.core.close()
        _log.info("stopped", seq=self.core.table.state.seq)

    def _take_what_is_left(self) -> None:
        until = time.monotonic() + 2.0
        while len(self._inbox) and time.monotonic() < until:
            self._take(self._next_items())

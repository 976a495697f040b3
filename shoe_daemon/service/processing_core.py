"""
The core: frames become observations, observations become events, and all of it
is on disk before anybody hears of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import structlog
from msgspec.structs import replace

from drivers import Frame, FrameKind, driver_version
from shoe_daemon import __version__
from shoe_daemon.clock import Clock
from shoe_daemon.config import Setup
from shoe_daemon.errors import UserError
from shoe_daemon.game import house_to_mapping, policy_to_mapping
from shoe_daemon.journal import Entry, Journal, JournalReader, JournalUnwritable, Step
from shoe_daemon.journal.restore_table import fold_table
from shoe_daemon.service.event_outbox import Outbox
from shoe_daemon.table import (
    Command,
    Detail,
    Event,
    Gap,
    GapDetail,
    Observation,
    ReaderRecord,
    Session,
    Table,
    Tick,
    from_microseconds,
    to_microseconds,
)

_log = structlog.get_logger(__name__)

_SHOE_STARTED: Final = "shoe_started"

_ORDERS: Final = 1000
_ORDERS_AMONG: Final = 50_000
"""Observations that are looked through for orders: some days of a table."""


class Given(NamedTuple):
    """
    An order that is on disk.

    Attributes:
        order: As it was judged; `refused` says why it was not carried out.
        caused: What it caused.
        events: All that was written with it: deadlines may have passed before it.
    """

    order: Command
    caused: list[Event]
    events: list[Event]


class Core:
    """
    The table and its journal, which one thread owns.

    Attributes:
        table: After everything that is on disk, and nothing else.
        alarm: Why the journal cannot be written; None when it can.
        outbox: The events that are on disk, for the publisher.
    """

    def __init__(self, setup: Setup, *, clock: Clock | None = None) -> None:
        """
        Open the journal and fold the table from it.

        Raises:
            UserError: The journal is not ours, broken, or cannot be written.
        """
        self._setup = setup
        config = setup.config
        self.journal = Journal.open(setup.journal, config.site, config.table.id)
        self._reader = self.journal.reader()
        self.table = _fold(self._reader)
        self.clock = clock or Clock(self.table.state.now)
        self.alarm: Detail | None = None
        self.outbox = Outbox(self.journal.reader())

    def begin(self) -> list[Event]:
        """
        Enter this start into the journal: its configuration, and the gap before it.
        """
        config, setup = self._setup.config, self._setup
        session = Session(
            site=config.site,
            table=config.table.id,
            house=setup.house.id,
            policy=setup.policy.id,
            program=__version__,
            readers=tuple(
                ReaderRecord(each.id, each.driver, driver_version(each.driver), each.options)
                for each in config.reader
            ),
            rulings=policy_to_mapping(setup.policy),
            # Why a rule is as it is decides nothing: the log needs what holds.
            rules=house_to_mapping(replace(setup.house, resolutions=())),
            options=setup.options,
        )
        return self.observe(session, Gap(detail=GapDetail.RESTART))

    def observe(self, *observations: Observation) -> list[Event]:
        """
        Take observations that came of no bytes, as of now.

        Raises:
            JournalUnwritable: As `take`.
        """
        at = self.clock.at()
        stamped = [replace(each, at=at) for each in observations]
        return self._write(
            lambda: [Entry(steps=[step for each in stamped for step in self._steps(each)])]
        )

    def give(self, order: Command) -> Given:
        """
        Take an operator's order as of now, refused or not; what does not fit the
        moment is refused here.

        Raises:
            JournalUnwritable: As `take`.
        """
        at = self.clock.at()
        judged: list[tuple[Command, Step]] = []

        def judge() -> list[Entry]:
            before = list(self._overdue(at))
            refused = order.refused or self.table.refusal(order)
            stamped = replace(order, at=at, refused=refused)
            judged.append((stamped, self._step(stamped)))
            return [Entry(steps=[*before, judged[0][1]])]

        events = self._write(judge)
        stamped, step = judged[0]
        return Given(stamped, list(step.events), events)

    def last_orders(self) -> list[Command]:
        """
        Return the latest orders that are remembered, the latest first.
        """
        return self._reader.last_orders(_ORDERS, among=_ORDERS_AMONG)

    def take(self, frames: Iterable[tuple[str, Frame]]) -> list[Event]:
        """
        Take frames of readers, in one transaction; repeats and noise are counted.

        Returns:
            What they caused; it is on disk.

        Raises:
            JournalUnwritable: Nothing of it is, and the table is as it was: the
                same frames may be given again.
        """
        said = [(source, frame) for source, frame in frames if frame.kind is FrameKind.FRAME]
        if not said:
            return []
        return self._write(
            lambda: [entry for source, frame in said for entry in self._entries(source, frame)]
        )

    def count(self, frames: Iterable[tuple[str, Frame]]) -> None:
        """
        Count the repeats and the noise among frames that were taken.
        """
        for source, frame in frames:
            if frame.kind is FrameKind.REPEAT:
                self.journal.count(source, repeats=1, bytes=len(frame.raw))
            elif frame.kind is FrameKind.NOISE:
                self.journal.count(source, noise=1, bytes=len(frame.raw))

    def tick(self) -> list[Event]:
        """
        Meet the deadlines that have passed by now.
        """
        deadline = self.table.deadline
        if deadline is None:
            # No moment is asked for: time would never stand where the clock was put back.
            self.clock.set()
            return []
        now = self.clock.at()
        if deadline[0] > to_microseconds(now):
            return []
        return self._write(lambda: [Entry(steps=list(self._overdue(now)))])

    def patience(self, most: float) -> float:
        """
        Return for how long, at most `most` seconds, nothing will be due.
        """
        deadline = self.table.deadline
        return most if deadline is None else min(most, self.clock.until(deadline[0]))

    def close(self) -> None:
        """
        Close the journal.
        """
        self._reader.close()
        self.outbox.close()
        self.journal.close()

    def _entries(self, source: str, frame: Frame) -> Iterator[Entry]:
        at = self.clock.at(frame.received)
        if overdue := list(self._overdue(at)):
            # What was due before these bytes came is not of them.
            yield Entry(steps=overdue)
        steps = [
            step
            for each in frame.observations
            for step in self._steps(replace(each, at=at, source=source))
        ]
        yield Entry(raw=frame.raw, steps=steps, at=at, source=source)

    def _steps(self, observation: Observation) -> Iterable[Step]:
        yield from self._overdue(observation.at)
        yield self._step(observation)

    def _overdue(self, at: str) -> Iterable[Step]:
        # What was due before is met at its own moment, however late we are.
        while (deadline := self.table.deadline) is not None:
            if deadline[0] > to_microseconds(at):
                return
            yield self._step(Tick(at=from_microseconds(deadline[0]), deadline=deadline[1]))

    def _step(self, observation: Observation) -> Step:
        if self.table.may_finish_shoe(observation):
            # The table knows no journal: what it publishes of one comes with the observation.
            observation = replace(observation, chain_head=self.journal.head.hash.hex())
        events = self.table.apply(observation)
        started = any(event.type == _SHOE_STARTED for event in events)
        return Step(observation, events, self.table.checkpoint() if started else None)

    def _write(self, make: Callable[[], list[Entry]]) -> list[Event]:
        """
        Let the table make entries and write them: both, or neither.
        """
        entries = make()
        try:
            stored = self.journal.append(entries)
        except JournalUnwritable as error:
            self.table = self._fold_again(error)
            raise
        self.outbox.add(stored)
        return [event for entry in entries for step in entry.steps for event in step.events]

    def _fold_again(self, why: JournalUnwritable) -> Table:
        # It happens so rarely that no state is kept for it: the journal has it, even one
        # that was moved away, because this reader has it open.
        try:
            return _fold(self._reader)
        except (UserError, sqlite3.Error) as worse:
            raise UserError(f"{why}; nor can it be read: {worse}", exit_status=1) from worse


def _fold(reader: JournalReader) -> Table:
    table, head = fold_table(reader), reader.head()
    if table.state.seq != head.seq:
        # A newer version may read old observations otherwise: what was said stays said.
        _log.warning("fold_differs", folded=table.state.seq, journal=head.seq)
        table.state.seq = head.seq
    return table

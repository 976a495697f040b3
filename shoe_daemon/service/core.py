"""
The core: turns frames into observations and events, and journals them before they
are published.
"""

from __future__ import annotations

import sqlite3
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import structlog
from msgspec.structs import replace

from drivers import Frame, FrameKind, driver_version
from shoe_daemon import __version__
from shoe_daemon.config.table import Setup
from shoe_daemon.errors import UserError
from shoe_daemon.game import DealingStyle, House, house_to_mapping, policy_to_mapping
from shoe_daemon.journal import (
    Entry,
    Journal,
    JournalReader,
    JournalUnwritable,
    Step,
    StoredEvent,
)
from shoe_daemon.journal.reader import fold_table
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.service import guard
from shoe_daemon.service.clock import Clock
from shoe_daemon.service.floods import Floods
from shoe_daemon.service.refusals import (
    INTERNAL_ERROR,
    REPLAY,
    button_refusal,
    needs_of,
    sender_refusal,
    table_refusal,
)
from shoe_daemon.service.written_events import WrittenEvents
from shoe_daemon.table import (
    Authority,
    ClockSet,
    Command,
    Detail,
    Event,
    Gap,
    GapDetail,
    Needs,
    Observation,
    Options,
    PreviewedCommand,
    ReaderRecord,
    Session,
    Table,
    Tick,
    encode_event,
    encode_observation,
    from_microseconds,
    make_detail,
    to_microseconds,
)

_log = structlog.get_logger(__name__)

_SHOE_STARTED: Final = "shoe_started"

_BEGINNINGS: Final = frozenset({_SHOE_STARTED, "round_started"})

_CLOCK_SET_US: Final = 5_000_000
_MINUTE_US: Final = 60_000_000

_DRAW_WITHIN_S: Final = 20.0
"""Longer than a dealer takes for a card that is due, and shorter than a coup: in `quiet` the next
coup's first card must not become a missing one."""
_DRAW_WITHIN_SQUEEZED_S: Final = 300.0

CURSOR: Final = "mqtt"
"""The publisher's name in the journal."""

WRITE_BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the classes of `WriteTimes`."""

AnObservation = TypeVar("AnObservation", bound=Observation)


class JudgedCommand(NamedTuple):
    """
    A command with its judgement.

    Attributes:
        command: As it was judged; `refused` is the reason of a refusal.
        refusal: The same reason with its code; None where the command was accepted.
        seq: The last event after it; of a preview, the last before it.
        caused: The events that it caused.
        events: All events that were journaled with it, passed deadlines included.
        preview: What it would do; None where it was not only previewed.
    """

    command: Command
    refusal: Detail | None
    seq: int
    caused: Sequence[Event] = ()
    events: Sequence[Event] = ()
    preview: PreviewedCommand | None = None


class WriteTimes:
    """
    The duration of durable writes to the journal.

    Attributes:
        counts: Writes up to each of `WRITE_BOUNDS_S`, and slower ones last.
        sum_s: Seconds of all of them.
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(WRITE_BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a write."""
        self.counts[bisect_left(WRITE_BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class Core:
    """
    The table and its journal, owned by one thread.

    Attributes:
        table: Its state after everything that is on disk.
        alarm: Why the journal cannot be written; None while it can.
        notice: What a person has to know, though the table goes on; None without it.
        fault: An observation could not be applied; None again when the next round begins.
        repeats: Cards that each reader reported again, by their tags, since the start.
        reader: Reads the journal.
        written: The events that are on disk, for the publisher.
        write_times: Of the writes that succeeded.
    """

    def __init__(self, setup: Setup, *, clock: Clock | None = None) -> None:
        """
        Open the journal and fold the table from it.

        Raises:
            UserError: The journal is another table's, damaged, or cannot be written.
        """
        self._setup = setup
        config = setup.config
        self.journal = Journal.open(
            setup.journal, config.site, config.table.id, signer=setup.signer
        )
        self.reader = self.journal.reader()
        self.table = _fold(self.reader)
        self.clock = clock or Clock(self.table.state.now)
        self.alarm: Detail | None = None
        self.notice = _keyboard_notice(setup)
        self.fault: Detail | None = None
        self.repeats: Counter[str] = Counter()
        self._careful = False
        self._clock_left_us = self._clock_set_us = 0
        self.written = WrittenEvents(self.journal.reader(), self.table.state.withheld)
        self.write_times = WriteTimes()
        self._floods = Floods()
        self._may_log = LogRateLimit()

    def record_start(self) -> list[Event]:
        """Journal this start: its configuration, and the gap before it."""
        config, setup = self._setup.config, self._setup
        self._clock_left_us = self.clock.difference_us()
        session = Session(
            site=config.site,
            table=config.table.id,
            house=setup.house.id,
            policy=setup.policy.id,
            program=__version__,
            readers=tuple(
                ReaderRecord(
                    each.id,
                    each.driver,
                    driver_version(each.driver),
                    each.options if (own := reading.driver.recorded_options) is None else own,
                )
                for each, reading in zip(config.reader, setup.readers, strict=True)
            ),
            rulings=policy_to_mapping(setup.policy),
            # The log needs the rules in force, not their history.
            rules=house_to_mapping(replace(setup.house, resolutions=())),
            options=_with_draw_within(setup.options, setup.house),
        )
        return self.observe(session, Gap(detail=GapDetail.RESTART))

    def skip_numbers(self, next_seq: int, *, published: int) -> list[Event]:
        """
        Journal that an older journal was put back: the next event is `next_seq`, and those after
        `published` are not published.

        Raises:
            JournalUnwritable: As `process`.
        """
        # In the same transaction, so that no start publishes from the old cursor on.
        self.journal.set_cursor(CURSOR, next_seq - 1)
        gap = Gap(detail=GapDetail.RESTORED, next_seq=next_seq, published=published)
        events = self.observe(gap)
        self.written.withheld = self.table.state.withheld
        return events

    def count_public_events(self, first: int, last: int) -> int:
        """Return the number of events from `first` to `last` that are published to players."""
        return self.reader.count_public_events(first, last, self.table.state.withheld)

    def observe(self, *observations: Observation) -> list[Event]:
        """
        Process observations without bytes, as of now.

        Raises:
            JournalUnwritable: As `process`.
        """
        before = self._write_gaps()
        at = self.clock.at()
        stamped = [replace(each, at=at) for each in observations]
        return before + self._write(
            lambda: [Entry(steps=[step for each in stamped for step in self._steps(each)])]
        )

    def judge(
        self,
        command: Command,
        refusal: Detail | None = None,
        authority: Authority | None = None,
    ) -> JudgedCommand:
        """
        Journal an operator's command as of now, refused or not; a command that does
        not fit the table's state is refused here. A refused ``replay`` is not journaled:
        it changes nothing, and needs no PIN.

        Args:
            command: The command, without a time and not refused yet.
            refusal: The reason to refuse it whatever the table's state is.
            authority: The sender's, by which it is judged what the command needs at this moment;
                None where everybody may give every command.

        Raises:
            JournalUnwritable: As `process`.
        """
        before = self._write_gaps()
        at = self.clock.at()
        judged: list[tuple[Command, Detail | None, list[Step]]] = []

        def make_entries() -> list[Entry]:
            steps = list(self._passed_deadlines(self.table, at))
            stamped = replace(command, at=at)
            reason = refusal or table_refusal(self.table, stamped, authority)
            stamped = replace(stamped, refused=None if reason is None else reason.text)
            applied: list[Step] = []
            if reason is None or stamped.name != REPLAY:
                applied = self._apply(self.table, stamped)
            judged.append((stamped, reason, applied))
            steps += applied
            return [Entry(steps=steps)] if steps else []

        events = self._write(make_entries)
        stamped, reason, applied = judged[-1]
        if reason is None and any(
            isinstance(each.observation, Command) and each.observation.refused for each in applied
        ):
            stamped, reason = replace(stamped, refused=INTERNAL_ERROR.text), INTERNAL_ERROR
        caused = applied[0].events if applied else ()
        return JudgedCommand(stamped, reason, self.table.state.seq, caused, before + events)

    def preview(
        self,
        command: Command,
        refusal: Detail | None = None,
        authority: Authority | None = None,
    ) -> JudgedCommand:
        """
        Return what an operator's command would do as of now, after all deadlines that have passed.

        Nothing changes, neither the table nor the journal. `refusal` and `authority` are
        as in `judge`.
        """
        at = self.clock.at()
        command = replace(command, at=at)
        try:
            table = self.table.copy()
            for _ in self._passed_deadlines(table, at):
                pass
            needs = Needs() if refusal else needs_of(table, command, authority)
            reason = refusal or sender_refusal(table, command, needs, authority, preview=True)
            preview = table.preview(self._with_chain_head(table, command), reason)
        except Exception as error:  # noqa: BLE001 - the guard
            guard.log_exception("command_not_previewed", error)
            refused = replace(command, refused=INTERNAL_ERROR.text)
            return JudgedCommand(refused, INTERNAL_ERROR, self.table.state.seq)
        preview = preview._replace(needs=needs)
        return JudgedCommand(preview.command, preview.refusal, preview.seq, preview=preview)

    def process(self, frames: Iterable[tuple[str, Frame]]) -> list[Event]:
        """
        Process frames of readers in one transaction; repeats and noise have no effect.

        Of a flood only the number of frames is journaled, within a second (`Floods`).

        Returns:
            The events that they caused; they are on disk.

        Raises:
            JournalUnwritable: Nothing is on disk, and the table is as before: the
                same frames may be processed again.
        """
        valid = [(source, frame) for source, frame in frames if frame.kind is FrameKind.FRAME]
        if not valid:
            return []
        return self._write(
            lambda: [entry for source, frame in valid for entry in self._entries(source, frame)]
        )

    @property
    def flood(self) -> Detail | None:
        """The alarm about the fastest reader whose frames are only counted; None without one."""
        rate = self._floods.highest(self.clock.monotonic())
        return rate and make_detail("reader_flood", reader=rate.reader, rate=rate.frames)

    def count_rejected(self, frames: Iterable[tuple[str, Frame]]) -> None:
        """Count the repeats and the noise among processed frames."""
        for source, frame in frames:
            if frame.kind is FrameKind.REPEAT:
                self.journal.count(source, repeats=1, bytes=len(frame.raw))
            elif frame.kind is FrameKind.NOISE:
                self.journal.count(source, noise=1, bytes=len(frame.raw))

    def process_deadlines(self) -> list[Event]:
        """Process the deadlines that have passed by now, and the end of a flood's second."""
        events: list[Event] = []
        deadline = self.table.deadline
        if self._floods.is_due(self.clock.monotonic()) or self.seconds_until_deadline(1) <= 0:
            events = self._write_gaps()
            deadline = self.table.deadline
        if deadline is None:
            return events + self._adopt_clock()
        now = self.clock.at()
        if deadline[0] > to_microseconds(now):
            return events
        return events + self._write(
            lambda: [Entry(steps=list(self._passed_deadlines(self.table, now)))]
        )

    def _adopt_clock(self) -> list[Event]:
        """Correct the clock where no span has to be exact; journal a correction of over 5 s."""
        exact_until = self.table.exact_until
        if exact_until is not None and self.clock.until(exact_until) > 0:
            return []
        by_us = self.clock.difference_us() - self._clock_left_us
        self.clock.set(exact_until or 0)
        self._clock_left_us = self.clock.difference_us()
        if abs(by_us) > _CLOCK_SET_US:
            _log.warning("clock_set", seconds=by_us / 1_000_000)
            self._clock_set_us += by_us
        if not self._clock_set_us:
            return []
        events = self.observe(ClockSet(by=self._clock_set_us // 1000))
        self._clock_set_us = 0
        return events

    @property
    def clock_alarm(self) -> Detail | None:
        """The alarm that times differ from the computer's clock by over a minute, or None."""
        difference_us = self.clock.difference_us()
        minutes = abs(difference_us) // _MINUTE_US
        if not minutes:
            return None
        return make_detail("clock_ahead" if difference_us > 0 else "clock_behind", minutes=minutes)

    def seconds_until_deadline(self, max_s: float) -> float:
        """Return the seconds until the next deadline, at most `max_s`."""
        deadline = self.table.deadline
        return max_s if deadline is None else min(max_s, self.clock.until(deadline[0]))

    def close(self) -> None:
        """Close the journal."""
        self.reader.close()
        self.written.close()
        self.journal.close()

    def _entries(self, source: str, frame: Frame) -> Iterator[Entry]:
        if not self._floods.keeps(source, frame, self.clock.monotonic()):
            return
        if gaps := self._gap_steps():
            yield Entry(steps=gaps)
        at = self.clock.at(frame.received)
        if passed := list(self._passed_deadlines(self.table, at)):
            # Deadlines before these bytes are not caused by them.
            yield Entry(steps=passed)
        steps = [
            step
            for each in frame.observations
            for step in self._steps(replace(each, at=at, source=source))
        ]
        yield Entry(raw=frame.raw, steps=steps, at=at, source=source)

    def _write_gaps(self) -> list[Event]:
        """Journal the gaps of floods: what follows must not seem to be complete."""

        def make_entries() -> list[Entry]:
            steps = self._gap_steps()
            return [Entry(steps=steps)] if steps else []

        return self._write(make_entries)

    def _gap_steps(self) -> list[Step]:
        steps: list[Step] = []
        for gap, received in self._floods.take():
            if seconds := self._may_log(f"flood {gap.source}", received):
                _log.warning("reader_flood", reader=gap.source, frames=gap.count, seconds=seconds)
            steps += self._steps(replace(gap, at=self.clock.at(received)))
        return steps

    def _steps(self, observation: Observation) -> Iterable[Step]:
        yield from self._passed_deadlines(self.table, observation.at)
        if isinstance(observation, Command):
            reason = button_refusal(self.table, observation)
            observation = replace(observation, refused=None if reason is None else reason.text)
        yield from self._apply(self.table, observation)

    def _passed_deadlines(self, table: Table, at: str) -> Iterable[Step]:
        # A passed deadline is processed as of its own time, however late.
        while (deadline := table.deadline) is not None:
            if deadline[0] > to_microseconds(at):
                return
            tick = Tick(at=from_microseconds(deadline[0]), deadline=deadline[1])
            yield from self._apply(table, tick)

    def _apply(self, table: Table, observation: Observation) -> list[Step]:
        if not self._careful:
            return [self._step(table, observation)]
        before = table.checkpoint()
        tried = [observation]
        if isinstance(observation, Command) and observation.refused is None:
            tried.append(replace(observation, refused=INTERNAL_ERROR.text))
        for each in tried:
            try:
                step = self._step(table, each)
                encode_observation(each)
                for event in step.events:
                    encode_event(event)
            except Exception as error:  # noqa: BLE001 - the guard
                guard.log_exception("observation_not_applied", error)
                table.go_back(before)
            else:
                return [step]
        return self._skip(table, tried[-1])

    def _skip(self, table: Table, observation: Observation) -> list[Step]:
        """Leave an observation out: every fold knows it by the gap that follows."""
        try:
            encode_observation(observation)
        except Exception:  # noqa: BLE001 - nor can it be written
            observation = Tick(at=observation.at)
        self.fault = make_detail("not_applied")
        gap = Gap(at=observation.at, source=observation.source, detail=GapDetail.NOT_APPLIED)
        return [Step(observation), self._step(table, gap)]

    def _step(self, table: Table, observation: Observation) -> Step:
        observation = self._with_chain_head(table, observation)
        repeats = table.repeats
        events = table.apply(observation)
        if table.repeats > repeats:
            self.repeats[observation.source or ""] += 1
        started = any(event.type == _SHOE_STARTED for event in events)
        return Step(observation, events, table.checkpoint() if started else None)

    def _with_chain_head(self, table: Table, observation: AnObservation) -> AnObservation:
        # The table knows no journal: the chain's hash comes with the observation.
        if not table.may_finish_shoe(observation):
            return observation
        return replace(observation, chain_head=self.journal.public_hash)

    def _write(self, make_entries: Callable[[], list[Entry]]) -> list[Event]:
        """
        Apply entries to the table and write them: both, or neither.

        After an unforeseen exception the same entries are made again without the observations
        that raise.
        """
        before, floods = self.fault, self._floods.copy()
        try:
            entries, stored, seconds = self._append(make_entries)
        except (JournalUnwritable, UserError):
            self._floods = floods
            raise
        except Exception as error:  # noqa: BLE001 - the guard
            guard.log_exception("entries_not_written", error)
            self.table, self._floods, self._careful = _fold(self.reader), floods.copy(), True
            try:
                entries, stored, seconds = self._append(make_entries)
            except JournalUnwritable:
                self._floods = floods
                raise
            finally:
                self._careful = False
        if not entries:
            return []
        if self.fault is before and any(each.type in _BEGINNINGS for each in stored):
            self.fault = None
        self.write_times.add(seconds)
        self.written.add(stored)
        current = self.table.state.round
        structlog.contextvars.bind_contextvars(round=current.number if current else None)
        return [event for entry in entries for step in entry.steps for event in step.events]

    def _append(
        self, make_entries: Callable[[], list[Entry]]
    ) -> tuple[list[Entry], list[StoredEvent], float]:
        """Return the entries, their events as stored, and the seconds of the write."""
        entries = make_entries()
        if not entries:
            return [], [], 0.0
        start = time.perf_counter()
        try:
            return entries, self.journal.append(entries), time.perf_counter() - start
        except JournalUnwritable as error:
            self.table = self._fold_again(error)
            raise

    def _fold_again(self, unwritable: JournalUnwritable) -> Table:
        # Rare, so no copy of the state is kept: the journal has it, and this reader has
        # it open even if the file was moved away.
        try:
            return _fold(self.reader)
        except (UserError, sqlite3.Error) as error:
            raise UserError(f"{unwritable}; nor can it be read: {error}", exit_status=1) from error


def _with_draw_within(options: Options, house: House) -> Options:
    """Return the options with the default of `draw_within`: sessions without it have another."""
    if options.draw_within is not None:
        return options
    is_squeezed = house.dealing_style is DealingStyle.SQUEEZE
    return replace(options, draw_within=_DRAW_WITHIN_SQUEEZED_S if is_squeezed else _DRAW_WITHIN_S)


def _keyboard_notice(setup: Setup) -> Detail | None:
    """Return the alarm about a reader that may exchange aces and queens; None without one."""
    for each in setup.readers:
        if each.driver.may_exchange_cards:
            return make_detail("keyboard_layout", reader=each.id)
    return None


def _fold(reader: JournalReader) -> Table:
    table, head = fold_table(reader), reader.head()
    if table.state.seq != head.seq:
        # A newer version may fold old observations differently: published numbers stay.
        _log.warning("fold_differs", folded=table.state.seq, journal=head.seq)
        table.state.seq = head.seq
    return table

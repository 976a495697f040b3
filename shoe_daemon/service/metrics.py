"""
Files about the running daemon: figures for Prometheus, and its state as JSON.

The daemon has no listener, so it writes files. They are for staff: the number of a reader's bytes
may follow from a hidden face.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import structlog
from msgspec import Struct

from drivers import Counts, Reader
from shoe_daemon import __version__
from shoe_daemon.errors import describe_exception
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.mqtt.publisher import Health, Publisher
from shoe_daemon.service.core import Core
from shoe_daemon.service.state import DeviceState, StatePublisher
from shoe_daemon.settings.files import replace_file
from shoe_daemon.table import CardDealt, Event, Irregularity, RoundFinished, from_microseconds

_log = structlog.get_logger(__name__)

_INTERVAL_S: Final = 10.0
_FILE_MODE: Final = 0o640

UNKNOWN_OUTCOME: Final = "unknown"
"""Outcome of a partial round that was not declared."""


class ReaderFigures(Struct, frozen=True, kw_only=True):
    """
    A reader.

    Attributes:
        last_frame: When a valid frame was last received, Unix time; None before the first.
    """

    id: str
    state: DeviceState
    counts: Counts
    last_frame: float | None


class ForwardFigures(Struct, frozen=True, kw_only=True):
    """
    The copy of a reader's line.

    Attributes:
        id: The reader's id.
        open: Whether the serial port is open, or the TCP port listens.
        dropped: Reads of the line that a receiver did not get.
    """

    id: str
    open: bool
    dropped: int


class Figures(Struct, frozen=True, kw_only=True):
    """
    The daemon at one moment; counts are since its start.

    Attributes:
        at: Unix time.
        alarm: Why the daemon cannot do its work; None while it can.
        broker: None if none is configured.
        held: Rounds whose results wait for a person.
        irregularities: By severity.
        journal_writable: False while events cannot be written.
        lamps: Whether each lamp can be switched, by its id.
        open_irregularities: By severity; those for staff only are not counted.
        rounds: Finished ones by outcome.
        seq: The last event of the journal.
        waiting_inputs: Frames and commands that are not yet processed.
        witnesses: Whether each witness has video and writes its clips, by its id.
        write_counts: As `WriteTimes.counts`.
        write_sum_s: As `WriteTimes.sum_s`.
    """

    at: float
    started_at: float
    site: str
    table: str
    alarm: str | None
    broker: Health | None
    cards: int
    forwards: tuple[ForwardFigures, ...] = ()
    held: int
    irregularities: dict[int, int]
    journal_writable: bool
    lamps: dict[str, bool] = {}
    on_hold: bool
    open_irregularities: dict[int, int]
    readers: tuple[ReaderFigures, ...]
    rounds: dict[str, int]
    seq: int
    waiting_inputs: int
    write_counts: tuple[int, ...]
    write_sum_s: float
    witnesses: dict[str, bool] = {}
    version: str = __version__


class TableMetrics:
    """
    Counts events and collects figures, on the core's thread.

    `working` returns whether the lamps, or the witnesses, work, by id.
    """

    def __init__(
        self,
        core: Core,
        state: StatePublisher,
        readers: Sequence[Reader],
        publisher: Publisher | None,
        *,
        working: Callable[[str], dict[str, bool]] = lambda _name: {},
    ) -> None:
        self._core, self._state = core, state
        self._working = working
        self._readers, self._publisher = readers, publisher
        self._started_at = time.time()
        self._cards = 0
        self._rounds: Counter[str] = Counter()
        self._irregularities: Counter[int] = Counter()

    def count(self, events: Sequence[Event]) -> None:
        """Count new events; those for staff only are not counted."""
        for event in events:
            match event.data:
                case CardDealt():
                    self._cards += 1
                case RoundFinished(outcome=outcome):
                    self._rounds[outcome or UNKNOWN_OUTCOME] += 1
                case Irregularity(severity=severity):
                    self._irregularities[severity] += 1

    def figures(self, waiting_inputs: int) -> Figures:
        """Return the figures of this moment; `waiting_inputs` as in `Figures`."""
        core, state = self._core, self._core.table.state
        alarm = self._state.alarm
        return Figures(
            at=time.time(),
            started_at=self._started_at,
            site=core.journal.identity.site,
            table=core.journal.identity.table,
            alarm=None if alarm is None else alarm.text,
            broker=None if self._publisher is None else self._publisher.health,
            cards=self._cards,
            forwards=tuple(
                ForwardFigures(id=each.name, open=each.alert is None, dropped=each.dropped)
                for reader in self._readers
                if (each := reader.forward)
            ),
            held=len(state.held),
            irregularities=dict(self._irregularities),
            journal_writable=core.alarm is None,
            lamps=self._working("lamps"),
            on_hold=state.on_hold,
            open_irregularities=Counter(
                each.data.severity for each in state.alerts if not each.staff_only
            ),
            readers=tuple(map(self._reader, self._readers)),
            rounds=dict(self._rounds),
            seq=state.seq,
            waiting_inputs=waiting_inputs,
            witnesses=self._working("witnesses"),
            write_counts=tuple(core.write_times.counts),
            write_sum_s=core.write_times.sum_s,
        )

    def _reader(self, reader: Reader) -> ReaderFigures:
        now, last_frame = time.monotonic(), reader.ages.last_frame
        return ReaderFigures(
            id=reader.name,
            state=self._state.reader_state(reader, now),
            counts=self._state.reader_counts(reader),
            last_frame=None if last_frame is None else time.time() - (now - last_frame),
        )


class MetricsWriter:
    """
    Writes the files on a thread of its own: a slow disk delays no card.

    Each file is replaced as a whole, and a fault of one is logged, at most once a minute.
    `files` has a function for each path, which makes the content.
    """

    def __init__(self, files: dict[Path, Callable[[Figures], bytes]]) -> None:
        self._files = files
        self._queue: queue.SimpleQueue[Figures] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._may_log = LogRateLimit()
        self._next_at = 0.0

    def start(self) -> None:
        """Start the thread, if there is a file to write."""
        if self._files:
            self._thread.start()

    @property
    def is_due(self) -> bool:
        """True if figures are to be written now; False while the last ones wait."""
        due = bool(self._files) and time.monotonic() >= self._next_at
        return due and self._queue.empty()

    def write(self, figures: Figures) -> None:
        """Write figures soon."""
        self._next_at = time.monotonic() + _INTERVAL_S
        self._queue.put(figures)

    def _run(self) -> None:
        while True:
            figures = self._queue.get()
            for path, render in self._files.items():
                try:
                    replace_file(path, render(figures), _FILE_MODE)
                except Exception as error:  # noqa: BLE001 - the next figures are written again
                    if self._may_log(str(path), time.monotonic()):
                        reason = describe_exception(error)
                        _log.warning("metrics_not_written", file=str(path), reason=reason)


def health_json(figures: Figures) -> bytes:
    """
    Return the state of the daemon as JSON: `ok` is true if it reads its readers, writes its
    journal, reaches its broker, switches its lamps and has the video of its witnesses.
    """
    broker = figures.broker
    readers = {each.id: each.state for each in figures.readers}
    facts = {
        "alarm": figures.alarm,
        "at": from_microseconds(int(figures.at * 1_000_000)),
        "broker": broker
        and {
            "connected": broker.connected,
            "queued": broker.queued,
            "in_flight": broker.in_flight,
            "error": broker.refusal if broker.connected else broker.last_error,
        },
        "held": figures.held,
        "lamps": figures.lamps,
        "ok": figures.alarm is None
        and all((*figures.lamps.values(), *figures.witnesses.values()))
        and (broker is None or broker.connected)
        and all(state == "connected" for state in readers.values()),
        "open_irregularities": sum(figures.open_irregularities.values()),
        "readers": readers,
        "seq": figures.seq,
        "site": figures.site,
        "started_at": from_microseconds(int(figures.started_at * 1_000_000)),
        "table": figures.table,
        "version": figures.version,
        "witnesses": figures.witnesses,
    }
    return msgspec.json.encode(facts) + b"\n"

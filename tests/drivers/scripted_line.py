"""A scripted line, decoder and sink for tests of the reader thread, without real time."""

from __future__ import annotations

from collections.abc import Callable

from drivers.angel_eye_ii import AngelEyeII
from drivers.driver import Driver, Frame, LineSettings
from drivers.reader_thread import Reader, ReaderEnvironment
from drivers.simulators.angel_eye import Settings, scenario
from drivers.transport import LineError
from shoe_daemon.table.observations import Gap, Link, Observation

DATA = scenario(Settings(rounds=8, seed=4)).stream(3)
WHOLE = [o for frame in AngelEyeII().decoder().feed(DATA, 0) for o in frame.observations]

Event = bytes | Exception | Callable[[], None]


TURN = 0.125
"""Seconds that a read takes: a number that floats can count with."""


class Script:
    """
    A line whose every read is written down beforehand; the clock goes on by
    `TURN` with each, and whole waits are instant.
    """

    def __init__(self, *openings: Exception | list[Event]) -> None:
        self.openings = list(openings)
        self.reads: list[Event] = []
        self.now = 100.0
        self.waits: list[float] = []
        self.closed = 0
        self.checked = 0
        self.written: list[bytes] = []
        self.check_fails: list[Exception | None] = []
        self.reader: Reader

    def environment(self) -> ReaderEnvironment:
        return ReaderEnvironment(self.open, lambda: self.now, self.wait, lambda: 0.5)

    def open(self, url: str, line: LineSettings) -> Script:
        if not self.openings:
            self.reader.stop()
            raise LineError("the script is over")
        opening = self.openings.pop(0)
        if isinstance(opening, Exception):
            raise opening
        self.reads = list(opening)
        return self

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def read(self) -> bytes:
        self.now += TURN
        if not self.reads:
            raise LineError("gone")
        event = self.reads.pop(0)
        if isinstance(event, Exception):
            raise event
        if isinstance(event, bytes):
            return event
        event()
        return b""

    def check(self) -> None:
        self.checked += 1
        failure = self.check_fails.pop(0) if self.check_fails else None
        if failure:
            raise failure

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.closed += 1


class Heard(list[Frame]):
    @property
    def observations(self) -> list[Observation]:
        return [observation for frame in self for observation in frame.observations]

    @property
    def links(self) -> list[Observation]:
        return [said for said in self.observations if isinstance(said, Link | Gap)]


def played(
    script: Script,
    sink: Callable[[Frame], object] | None = None,
    url: str = "/dev/shoe/1",
    driver: Driver | None = None,
) -> tuple[Reader, Heard]:
    """Run a reader through a whole script, in this thread."""
    heard = Heard()
    driver = driver or AngelEyeII()
    reader = Reader(
        "shoe",
        driver,
        url,
        driver.line,
        sink or heard.append,
        environment=script.environment(),
    )
    script.reader = reader
    reader.run()
    return reader, heard


def down(detail: str) -> Link:
    return Link(up=False, detail=detail)

"""
A reader: one thread that keeps one line open and hands on what comes.

It cannot die. Whatever goes wrong (the port, the driver, the sink), the line is
closed, the loss is said as an observation, and the line is opened again after
0.5 to 10 seconds. Only `Reader.stop`, or a capture's end, ends it.
"""

from __future__ import annotations

import contextlib
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from drivers.backoff import SHORTEST, Backoff, Complaint
from drivers.decoder_errors import raised_at
from drivers.driver_interface import Driver, Frame, FrameKind, LineSettings, OpensLine, Transport
from drivers.redact import discreet
from drivers.transport import EndOfCaptureError, LineError, open_transport
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Gap, GapDetail, Link, Observation

__all__ = ["Ages", "Counts", "Reader", "Surroundings"]

_CHECK_EVERY: Final = 1.0

_log = structlog.get_logger(__name__)


class Ages(Struct, frozen=True):
    """
    When something last happened, in seconds of the monotonic clock.

    Attributes:
        link: When the line was opened; None while it is not.
        last_byte: When any byte last came.
        last_frame: When a valid frame last came, repeats too.
        last_event: When a frame with observations last came.
    """

    link: float | None = None
    last_byte: float | None = None
    last_frame: float | None = None
    last_event: float | None = None


class Counts(Struct):
    """
    What has come since the reader was made; `failures` counts lost and refused lines.
    """

    bytes: int = 0
    frames: int = 0
    repeats: int = 0
    noise: int = 0
    failures: int = 0


class Surroundings(Struct, frozen=True):
    """
    What a reader takes of the world; tests put their own here.

    Attributes:
        open_line: Opens the line that a url names, where the driver does not do so itself.
        clock: Monotonic seconds.
        wait: Waits so many seconds, less when the reader is stopped; None for that.
        jitter: A number from 0 to 1.
    """

    open_line: Callable[[str, LineSettings], Transport] = open_transport
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], object] | None = None
    jitter: Callable[[], float] = random.random


class Reader:
    """
    One reader of a table.

    The sink takes each frame in turn and may block, which holds the reader back
    and loses nothing. For a reader that can be stopped meanwhile, it blocks for
    half a second at most and raises `queue.Full`; it is then asked again::

        Reader("shoe", driver, port, line, partial(inbox.put, timeout=0.5))

    Attributes:
        name: The reader's id.
        url: The line, as `open_transport` takes it.
        ages: When what last happened; may be read from any thread.
        counts: What has come; may be read from any thread.
        beat: When the loop last turned (monotonic seconds): older than some
            seconds means that the reader hangs in its driver or its sink.
        busy: Whether bytes that were read have yet to become frames in the sink; what
            `counts` has of bytes is either there or `busy` says so.
        blocked_since: Since when the sink has refused a frame; None while it has not.
        detail: Why there is no line, on one line of text; empty while there is.
    """

    def __init__(  # noqa: PLR0913 - what a line is made of
        self,
        name: str,
        driver: Driver,
        url: str,
        line: LineSettings,
        sink: Callable[[Frame], object],
        *,
        surroundings: Surroundings | None = None,
    ) -> None:
        around = surroundings or Surroundings()
        self.name = name
        self.url = url
        self.counts = Counts()
        self.ages = Ages()
        self.beat = around.clock()
        self.busy = False
        self.blocked_since: float | None = None
        self.detail = "not opened yet"
        self._driver = driver
        self._decoder = driver.decoder()
        self._line = line
        self._sink = sink
        self._around = around
        self._stopping = threading.Event()
        self._wait = around.wait or self._stopping.wait
        self._backoff = Backoff(around.jitter)
        log = _log.bind(reader=name, port=discreet(url))
        self._complaint = Complaint(log)
        self._decoder_complaint = Complaint(log, "decoder_failed")
        self._transport: Transport | None = None
        self._ever_up = False
        self._said_up: bool | None = None
        self._thread = threading.Thread(target=self.run, name=f"reader-{name}", daemon=True)

    @property
    def alive(self) -> bool:
        """
        Whether the thread runs.
        """
        return self._thread.is_alive()

    def start(self) -> None:
        """
        Start the thread; once.
        """
        self._thread.start()

    def stop(self) -> None:
        """
        Ask the thread to end; it does within half a second, the sink permitting.
        """
        self._stopping.set()

    def join(self, timeout: float | None = None) -> bool:
        """
        Wait for the end of the thread; tell whether it has come.
        """
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def send(self, data: bytes) -> None:
        """
        Write a driver's command to the line, from any thread.

        Raises:
            LineError: The line is down.
        """
        transport = self._transport
        if transport is None:
            raise LineError(f"{discreet(self.url)}: not open")
        transport.write(data)

    def run(self) -> None:
        """
        Read until stopped: the body of the thread.
        """
        while not self._stopping.is_set():
            try:
                self._read_until_it_fails()
            except EndOfCaptureError as end:
                self._lost(end)
                return
            except Exception as error:  # noqa: BLE001 - the supervisor: nothing may end it
                # To say it may fail too.
                with contextlib.suppress(Exception):
                    self._lost(error)
                with contextlib.suppress(Exception):
                    self._wait(self._backoff.next())

    def _read_until_it_fails(self) -> None:
        self._turn()
        transport = self._open_line()
        try:
            self._transport = transport
            self._opened()
            self._read(transport)
        finally:
            self._transport = None
            self.ages = replace(self.ages, link=None)
            transport.close()

    def _open_line(self) -> Transport:
        if isinstance(self._driver, OpensLine):
            return self._driver.open_line(self.url)
        return self._around.open_line(self.url, self._line)

    def _opened(self) -> None:
        now = self._turn()
        self.ages, self.detail = replace(self.ages, link=now), ""
        observations: tuple[Observation, ...] = (Link(up=True),)
        if self._ever_up:
            observations += (Gap(detail=GapDetail.RECONNECT),)
            self._decoder.reset()
        self._ever_up = self._said_up = True
        self._deliver(Frame(b"", FrameKind.FRAME, observations, now))
        self._complaint.over()

    def _read(self, transport: Transport) -> None:
        checked = self._turn()
        while not self._stopping.is_set():
            data = transport.read()
            now = self._turn()
            if data:
                self._take(data, now)
            if now - checked >= _CHECK_EVERY:
                checked = now
                transport.check()

    def _take(self, data: bytes, now: float) -> None:
        self.busy = True
        self.counts.bytes += len(data)
        self.ages = replace(self.ages, last_byte=now)
        self._backoff.reset()
        try:
            for frame in self._decode(data, now):
                self._count(frame)
                self._deliver(frame)
        finally:
            self.busy = False

    def _decode(self, data: bytes, now: float) -> list[Frame]:
        try:
            return self._decoder.feed(data, now)
        except Exception as error:
            # A driver that breaks its promise; what it choked on is kept as noise.
            self._complain_of_decoder(error, now)
            self._decoder = self._driver.decoder()
            self._deliver(Frame(data, FrameKind.NOISE, (), now, f"the driver failed: {error!r}"))
            raise

    def _complain_of_decoder(self, error: Exception, now: float) -> None:
        self._decoder_complaint.about(
            now,
            driver=self._driver.name,
            error=type(error).__name__,
            text=str(error),
            where=raised_at(error),
        )

    def _count(self, frame: Frame) -> None:
        if frame.kind is FrameKind.NOISE:
            self.counts.noise += 1
            return
        if frame.kind is FrameKind.REPEAT:
            self.counts.repeats += 1
        else:
            self.counts.frames += 1
        event = frame.received if frame.observations else self.ages.last_event
        self.ages = replace(self.ages, last_frame=frame.received, last_event=event)

    def _lost(self, error: Exception) -> None:
        now = self._turn()
        self.counts.failures += 1
        known = isinstance(error, LineError | UserError)
        self.detail = str(error) if known else f"{type(error).__name__}: {error}"
        if self._said_up is not False:
            self._said_up = False
            link = Link(up=False, detail=self.detail)
            self._deliver(Frame(b"", FrameKind.FRAME, (link,), now))
        self._complaint.about(now, detail=self.detail)

    def _deliver(self, frame: Frame) -> None:
        """
        Give a frame to the sink, however often it must be offered.
        """
        while not self._stopping.is_set():
            try:
                self._sink(frame)
            except queue.Full:
                self._blocked(None)
            except Exception as error:  # noqa: BLE001 - the sink's own fault; the frame is still owed
                self._blocked(error)
                self._wait(SHORTEST)
            else:
                self.blocked_since = None
                return

    def _blocked(self, error: Exception | None) -> None:
        now = self._turn()
        if self.blocked_since is not None:
            return
        self.blocked_since = now
        if error:
            with contextlib.suppress(Exception):
                _log.error("sink_failed", reader=self.name, exc_info=error)

    def _turn(self) -> float:
        self.beat = now = self._around.clock()
        return now

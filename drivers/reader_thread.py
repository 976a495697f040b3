"""
A reader: one thread that keeps one line open, decodes it and passes the frames on.

The thread does not end by an error: on any failure (of the port, the driver or the
sink) the line is closed, the loss is reported as an observation, and the line is
opened again after 0.5 to 10 seconds. Only `Reader.stop`, or a capture's end, ends it.
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

from drivers.driver import Driver, Frame, FrameKind, LineSettings, Transport
from drivers.line_forward import Forward
from drivers.transport import (
    EndOfCaptureError,
    LineError,
    ReadOnlyLineError,
    open_transport,
    raised_at,
    redact_url,
)
from shoe_daemon.errors import UserError, describe_exception
from shoe_daemon.limits import LoggedFailure, RetryDelay
from shoe_daemon.table.observations import Gap, GapDetail, Link, Observation

_LINE_CHECK_INTERVAL_S: Final = 1.0
_SINK_RETRY_S: Final = 0.5
_GOOD_LINE_S: Final = 5.0
_FORWARD_STOP_TIMEOUT_S: Final = 1.0
"""A line that closes sooner after its opening is refused: its bytes are the words of a device
server, and the waits go on growing."""

_log = structlog.get_logger(__name__)


class Ages(Struct, frozen=True):
    """
    Times of the latest events, in seconds of the monotonic clock.

    Attributes:
        link: When the line was opened; None while it is closed.
        last_byte: When a byte was last received.
        last_frame: When a valid frame was last received, repeats too.
        last_event: When a frame with observations was last received.
    """

    link: float | None = None
    last_byte: float | None = None
    last_frame: float | None = None
    last_event: float | None = None


class Counts(Struct):
    """Totals since the reader was created; `failures` counts lost and refused lines."""

    bytes: int = 0
    frames: int = 0
    repeats: int = 0
    noise: int = 0
    failures: int = 0


class ReaderEnvironment(Struct, frozen=True):
    """
    Lines, clock and waits of a reader; tests replace them.

    Attributes:
        open_line: Opens the line of a url, where the driver does not do so itself.
        clock: Monotonic seconds.
        wait: Waits for some seconds, or until the reader is stopped; None for the default.
        jitter: Returns a number from 0 to 1.
    """

    open_line: Callable[[str, LineSettings], Transport] = open_transport
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], object] | None = None
    jitter: Callable[[], float] = random.random


class Reader:
    """
    One reader of a table.

    The sink receives each frame in turn and may block, which blocks the reader
    and loses nothing. It should block for half a second at most and then raise
    `queue.Full`, so that the reader can be stopped; it is then called again::

        Reader("shoe", driver, port, line, partial(inputs.put, timeout_s=0.5))

    Attributes:
        name: The reader's id.
        url: The line, as `open_transport` takes it.
        forward: Receives the bytes of each read before they are decoded; starts and ends with the
            reader.
        ages: Times of the latest events; may be read from any thread.
        counts: Totals; may be read from any thread.
        last_loop: When the loop last ran (monotonic).
        hung_after_s: Seconds without a loop after which the thread hangs in the driver or the
            sink.
        busy: Whether bytes were read whose frames the sink has not received yet; all
            other bytes in `counts` have been processed.
        blocked_since: When the sink began to refuse a frame; None while it accepts.
        detail: Why the line is closed, on one line; empty while it is open.
    """

    def __init__(  # noqa: PLR0913 - a line, its driver and its sink
        self,
        name: str,
        driver: Driver,
        url: str,
        line: LineSettings,
        sink: Callable[[Frame], object],
        *,
        forward: Forward | None = None,
        environment: ReaderEnvironment | None = None,
    ) -> None:
        environment = environment or ReaderEnvironment()
        self.name = name
        self.url = url
        self.forward = forward
        self.counts = Counts()
        self.ages = Ages()
        self.last_loop = environment.clock()
        self.hung_after_s = driver.hung_after_s
        self.busy = False
        self.blocked_since: float | None = None
        self.detail = "not opened yet"
        self._driver = driver
        self._decoder = driver.decoder()
        self._line = line
        self._sink = sink
        self._environment = environment
        self._stopping = threading.Event()
        self._wait = environment.wait or self._stopping.wait
        self._retry_delay = RetryDelay(jitter=environment.jitter)
        log = _log.bind(reader=name, port=redact_url(url))
        self._link_failure = LoggedFailure(log, "link_lost", "link_up")
        self._decoder_failure = LoggedFailure(log, "decoder_failed")
        self._transport: Transport | None = None
        self._reported_up: bool | None = None
        self._thread = threading.Thread(target=self.run, name=f"reader-{name}", daemon=True)

    @property
    def alive(self) -> bool:
        """True if the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; once."""
        if self.forward is not None:
            self.forward.start()
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; it does within half a second, unless the sink blocks."""
        self._stopping.set()

    def join(self, timeout: float | None = None) -> bool:
        """
        Wait for the end of the thread, and of the forward up to a second; return whether the
        thread has ended.
        """
        if self.alive:
            self._thread.join(timeout)
        if self.forward is not None:
            self.forward.stop()
            self.forward.join(_FORWARD_STOP_TIMEOUT_S)
        return not self.alive

    def send(self, data: bytes) -> None:
        """Write a driver's command to the line, from any thread; a `LineError` if it is down."""
        transport = self._transport
        if transport is None:
            raise LineError(f"{redact_url(self.url)}: not open")
        transport.write(data)

    def run(self) -> None:
        """Read until stopped: the body of the thread."""
        while not self._stopping.is_set():
            try:
                self._read_until_failure()
            except EndOfCaptureError as end:
                self._lost(end)
                return
            except Exception as error:  # noqa: BLE001 - the thread must not end
                # Reporting may fail too.
                with contextlib.suppress(Exception):
                    self._lost(error)
                with contextlib.suppress(Exception):
                    self._wait(self._retry_delay.next())

    def _read_until_failure(self) -> None:
        self._mark_loop()
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
        if self._driver.opens_line:
            return self._driver.open_line(self.url)
        return self._environment.open_line(self.url, self._line)

    def _opened(self) -> None:
        now = self._mark_loop()
        self.ages, self.detail = replace(self.ages, link=now), ""
        observations: tuple[Observation, ...] = (Link(up=True),)
        # Cards may have been dealt while the first attempts failed, too.
        if self._reported_up is not None:
            observations += (Gap(detail=GapDetail.RECONNECT),)
            self._decoder.reset()
        self._reported_up = True
        self._deliver(Frame(b"", FrameKind.FRAME, observations, now))
        self._link_failure.succeeded()

    def _read(self, transport: Transport) -> None:
        checked = self._mark_loop()
        has_received = False
        while not self._stopping.is_set():
            data = transport.read()
            now = self._mark_loop()
            has_received = has_received or bool(data)
            if has_received:
                self._process(data, now, transport)
            if now - checked >= _LINE_CHECK_INTERVAL_S:
                checked = now
                transport.check()

    def _process(self, data: bytes, now: float, transport: Transport) -> None:
        """Decode bytes, or a silence after bytes: it may end a frame."""
        self.busy = True
        if data:
            if self.forward is not None:
                with contextlib.suppress(Exception):  # a card is worth more than its copy
                    self.forward.copy(data)
            self.counts.bytes += len(data)
            self.ages = replace(self.ages, last_byte=now)
            if self.ages.link is not None and now - self.ages.link >= _GOOD_LINE_S:
                self._retry_delay.reset()
        try:
            for frame in self._decode(data, now):
                self._count(frame)
                if self._deliver(frame) and frame.answer:
                    with contextlib.suppress(ReadOnlyLineError):
                        transport.write(frame.answer)
        finally:
            self.busy = False

    def _decode(self, data: bytes, now: float) -> list[Frame]:
        try:
            return self._decoder.feed(data, now)
        except Exception as error:
            # A decoder must not raise; the bytes are kept as noise.
            self._decoder_failure.failed(
                now,
                driver=self._driver.name,
                error=type(error).__name__,
                text=str(error),
                where=raised_at(error),
            )
            self._decoder = self._driver.decoder()
            self._deliver(Frame(data, FrameKind.NOISE, (), now, f"the driver failed: {error!r}"))
            raise

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
        now = self._mark_loop()
        self.counts.failures += 1
        expected = isinstance(error, LineError | UserError)
        self.detail = str(error) if expected else describe_exception(error)
        if self._reported_up is not False:
            self._reported_up = False
            link = Link(up=False, detail=self.detail)
            self._deliver(Frame(b"", FrameKind.FRAME, (link,), now))
        self._link_failure.failed(now, detail=self.detail)

    def _deliver(self, frame: Frame) -> bool:
        """Pass a frame to the sink; repeat until it accepts, or the reader is stopped."""
        while not self._stopping.is_set():
            try:
                self._sink(frame)
            except queue.Full:
                self._blocked(None)
            except Exception as error:  # noqa: BLE001 - the frame must not be lost
                self._blocked(error)
                self._wait(_SINK_RETRY_S)
            else:
                self.blocked_since = None
                return True
        return False

    def _blocked(self, error: Exception | None) -> None:
        now = self._mark_loop()
        if self.blocked_since is not None:
            return
        self.blocked_since = now
        if error:
            with contextlib.suppress(Exception):
                _log.error("sink_failed", reader=self.name, exc_info=error)

    def _mark_loop(self) -> float:
        self.last_loop = now = self._environment.clock()
        return now

"""
Copies of a reader's line for other programs: a second serial port, or listeners on TCP.

Bytes go one way. A receiver that is slow, absent or dead neither delays the reader nor loses a
card: each has a bounded buffer, and loses its oldest reads. What a receiver sends is read and
thrown away. A receiver gets the bytes that the reader sends while it is connected, none of
before.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import select
import socket
import sys
import termios
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import structlog
from msgspec import Struct

from drivers.driver import LineSettings
from drivers.transport import LineError, SerialLine, keep_alive
from shoe_daemon.errors import UserError, describe_exception, one_line
from shoe_daemon.limits import LoggedFailure, LogRateLimit, RetryDelay
from shoe_daemon.threads import WakeableThread

MAX_LISTENERS: Final = 8
"""Connections to a TCP port; further ones are closed at once."""

MAX_WAITING_BYTES: Final = 65_536
"""Bytes that wait for a receiver; the oldest reads beyond them are dropped."""

_MAX_UNTAKEN_READS: Final = 1024
"""Reads of the line that the thread has not taken yet, each of at most 4096 bytes."""

_CHECK_INTERVAL_S: Final = 1.0
_INPUT_INTERVAL_S: Final = 0.05
"""A receiver that sends without a pause is read so often, and takes no time from the reader."""

_INPUT_BYTES: Final = 65_536
_SEND_BUFFER_BYTES: Final = 16_384
"""The system's own buffer of a connection: what waits in it cannot be dropped."""

_DEAD_AFTER_MS: Final = 30_000
"""A listener that acknowledges no byte for this time is disconnected."""

_DRAIN_S: Final = 0.3
"""The last bytes have this time to leave a serial port that is closed."""

_DRAIN_POLL_S: Final = 0.01
_TCP: Final = "tcp://"
_GONE: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL

_log = structlog.get_logger(__name__)


class ForwardTarget(Struct, frozen=True):
    """
    The place to which the bytes of a reader are copied.

    Attributes:
        to: A serial port's path, or ``tcp://HOST:PORT``, an address of this computer.
        line: The settings of the serial port.
    """

    to: str
    line: LineSettings = LineSettings()

    def check(self) -> None:
        """Check `to` without opening it; a `UserError` if it is neither a path nor an address."""
        if self.is_tcp:
            _address(self.to)
        elif not self.to.startswith("/"):
            raise UserError(f"{self.to!r}; expected a serial port's path, or tcp://127.0.0.1:PORT")

    @property
    def is_tcp(self) -> bool:
        """True if programs connect to receive the bytes."""
        return self.to.startswith(_TCP)

    @property
    def is_open_to_network(self) -> bool:
        """True if other computers can connect."""
        if not self.is_tcp:
            return False
        host, _ = _address(self.to)
        try:
            return not ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host != "localhost"

    def open(self) -> _Port | _Listeners:
        """
        Open the serial port, or listen.

        Raises:
            LineError: It cannot be opened now.
            UserError: The settings of the line are invalid.
        """
        return _Listeners(self.to) if self.is_tcp else _Port(self)


def _address(to: str) -> tuple[str, int]:
    fault = f"{to!r}; expected tcp://127.0.0.1:PORT"
    try:
        parts = urlsplit(to)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UserError(fault) from None
    if not host or not port or "@" in parts.netloc or to.removeprefix(_TCP) != parts.netloc:
        raise UserError(fault)
    return host, port


class _Output:
    """
    One receiver: a descriptor that does not block, and the reads that wait for it. It is gone
    if an `OSError` is raised.

    Attributes:
        dropped: Reads that were dropped.
        ignored: Bytes that the receiver has sent.
    """

    def __init__(self, descriptor: int, close: Callable[[], object]) -> None:
        self.descriptor = descriptor
        self.close = close
        self.dropped = 0
        self.ignored = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._rest = b""
        self._input_at = 0.0

    def add(self, data: bytes) -> None:
        """Queue a read; drop the oldest whole ones where there is no room."""
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        while self._waiting_bytes > MAX_WAITING_BYTES:
            self._waiting_bytes -= len(self._waiting.popleft())
            self.dropped += 1

    def write(self) -> None:
        """Write what is taken without a wait."""
        with contextlib.suppress(BlockingIOError):
            while self._rest or self._waiting:
                if not self._rest:
                    self._rest = self._waiting.popleft()
                    self._waiting_bytes -= len(self._rest)
                self._rest = self._rest[os.write(self.descriptor, self._rest) :]

    def wanted(self, now: float) -> int:
        """Return the events of `select.poll` to wait for."""
        writes = select.POLLOUT if self._rest or self._waiting else 0
        return writes | (select.POLLIN if now >= self._input_at else 0)

    def seconds_without_input(self, now: float) -> float:
        """Return for how long nothing is read from the receiver."""
        return max(0.0, self._input_at - now)

    def happened(self, events: int, now: float) -> None:
        """Read and throw away what it has sent."""
        if events & select.POLLIN:
            self._input_at = now + _INPUT_INTERVAL_S
            with contextlib.suppress(BlockingIOError):
                data = os.read(self.descriptor, _INPUT_BYTES)
                if not data:
                    raise ConnectionError("closed by the other side")
                self.ignored += len(data)
        elif events & _GONE:
            raise ConnectionError("closed by the other side")


class _Port:
    """A serial port, the only receiver."""

    def __init__(self, target: ForwardTarget) -> None:
        self._line: SerialLine = SerialLine(target.to, target.line)
        self.receivers = [_Output(self._line.fileno(), self._line.close)]

    def failed(self, output: _Output, error: OSError) -> None:
        del output
        raise error

    def check(self) -> None:
        self._line.check()

    def close(self) -> None:
        # Closing would wait up to half a minute for bytes that a handshake holds back.
        with contextlib.suppress(Exception):
            until = time.monotonic() + _DRAIN_S
            while self._unsent_bytes() and time.monotonic() < until:
                time.sleep(_DRAIN_POLL_S)
            termios.tcflush(self._line.fileno(), termios.TCOFLUSH)
        self._line.close()

    def _unsent_bytes(self) -> int:
        answer = fcntl.ioctl(self._line.fileno(), termios.TIOCOUTQ, bytes(4))
        return int.from_bytes(answer, sys.byteorder)


class _Listeners:
    """A TCP port and its connections; at the descriptor `door` further ones arrive."""

    def __init__(self, to: str) -> None:
        host, port = _address(to)
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._server = socket.create_server((host, port), family=family)
        except OSError as error:
            # Without the address that Python adds, which is in `to`.
            reason = one_line(error).partition(" (while")[0]
            raise LineError(f"{to}: {reason}") from error
        self._server.setblocking(False)  # noqa: FBT003 - as Python names it
        self._to = to
        self._may_log = LogRateLimit()
        self.door = self._server.fileno()
        self.receivers: list[_Output] = []

    def accept(self) -> None:
        try:
            connection, address = self._server.accept()
        except (BlockingIOError, ConnectionError):
            return  # it has left again
        peer = f"{address[0]}:{address[1]}"
        if len(self.receivers) >= MAX_LISTENERS:
            connection.close()
            if self._may_log("refused", time.monotonic()):
                _log.warning("forward_listener_refused", peer=peer, limit=MAX_LISTENERS)
            return
        try:
            connection.setblocking(False)  # noqa: FBT003 - as Python names it
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_AFTER_MS)
            keep_alive(connection)
        except OSError:
            connection.close()
            return
        self.receivers.append(_Output(connection.fileno(), connection.close))
        if self._may_log("accepted", time.monotonic()):
            _log.info("forward_listener_accepted", peer=peer, listeners=len(self.receivers))

    def failed(self, output: _Output, error: OSError) -> None:
        del error
        self.receivers.remove(output)
        output.close()

    def check(self) -> None:
        """Do nothing: a dead listener is noticed by the system."""

    def close(self) -> None:
        self._server.close()
        for output in self.receivers:
            output.close()


class Forward(WakeableThread):
    """
    The copies of one reader's bytes; `stop` lets it write what it can without a wait.

    Attributes:
        name: The reader's id.
        target: Where the bytes go.
        detail: The reason if they go nowhere, on one line; empty while they do.
    """

    def __init__(self, name: str, target: ForwardTarget) -> None:
        super().__init__("forward", name)
        self.target = target
        self.detail = "not opened yet"
        # A full one drops its oldest read by itself: `copy` takes no lock.
        self._untaken: deque[bytes] = deque(maxlen=_MAX_UNTAKEN_READS)
        self._untaken_dropped = self._dropped = self._dropped_logged = 0
        self._retry_delay = RetryDelay()
        self._log = _log.bind(reader=name, to=target.to)
        self._failure = LoggedFailure(self._log, "forward_lost", "forward_up")
        self._may_log = LogRateLimit()

    def copy(self, data: bytes) -> None:
        """Copy a read of the line soon; takes microseconds. For the reader's thread."""
        if len(self._untaken) == _MAX_UNTAKEN_READS:
            self._untaken_dropped += 1
        self._untaken.append(data)
        self._wakeup.wake()

    @property
    def dropped(self) -> int:
        """Reads that were dropped since the start: for a slow receiver, or while there is none."""
        return self._dropped + self._untaken_dropped

    @property
    def alert(self) -> str | None:
        """One sentence for people while the bytes go nowhere; None otherwise."""
        return f"copy of reader {self.name}: {self.detail}" if self.detail else None

    def run(self) -> None:
        """Copy until stopped: the body of the thread."""
        while not self._stopping.is_set():
            try:
                self._copy_until_failure()
            except Exception as error:  # noqa: BLE001 - the thread must not end
                with contextlib.suppress(Exception):
                    self._lost(error)
                with contextlib.suppress(Exception):
                    self._stopping.wait(self._retry_delay.next())

    def _copy_until_failure(self) -> None:
        opened = self.target.open()
        try:
            # A display that comes back must not show cards of long ago.
            self._dropped += len(self._take())
            self.detail = ""
            self._failure.succeeded()
            self._copy(opened)
        finally:
            opened.close()

    def _copy(self, opened: _Port | _Listeners) -> None:
        checked = time.monotonic()
        is_last = False
        while not is_last:
            is_last = self._stopping.is_set()
            # Cleared before the reads are taken: a later one ends the next wait.
            self._wakeup.clear()
            reads = self._take()
            for output in list(opened.receivers):
                for data in reads:
                    output.add(data)
                self._attempt(opened, output, output.write)
            if not is_last:
                self._wait(opened)
            now = time.monotonic()
            if now - checked >= _CHECK_INTERVAL_S:
                checked = now
                opened.check()
                self._retry_delay.reset()

    def _take(self) -> list[bytes]:
        reads = []
        while self._untaken:
            reads.append(self._untaken.popleft())
        return reads

    def _wait(self, opened: _Port | _Listeners) -> None:
        now = time.monotonic()
        poll = select.poll()
        poll.register(self._wakeup.descriptor, select.POLLIN)
        if isinstance(opened, _Listeners):
            poll.register(opened.door, select.POLLIN)
        wait_s = _CHECK_INTERVAL_S
        for output in opened.receivers:
            poll.register(output.descriptor, output.wanted(now))
            muted_s = output.seconds_without_input(now)
            wait_s = min(wait_s, muted_s or wait_s)
        happened = dict(poll.poll(wait_s * 1000))
        now = time.monotonic()
        for output in list(opened.receivers):
            if events := happened.get(output.descriptor, 0):
                self._attempt(opened, output, partial(output.happened, events, now))
        if isinstance(opened, _Listeners) and opened.door in happened:
            opened.accept()

    def _attempt(
        self, opened: _Port | _Listeners, output: _Output, act: Callable[[], object]
    ) -> None:
        """Do something with a receiver, which may be gone; log what was lost and ignored."""
        try:
            act()
        except OSError as error:
            opened.failed(output, error)
        finally:
            self._report(output)

    def _report(self, output: _Output) -> None:
        if output.dropped:
            self._dropped += output.dropped
            output.dropped = 0
            if self._may_log("dropped", time.monotonic()):
                reads, self._dropped_logged = self.dropped - self._dropped_logged, self.dropped
                self._write("warning", "forward_dropped", reads=reads)
        if output.ignored:
            count, output.ignored = output.ignored, 0
            if self._may_log("ignored", time.monotonic()):
                self._write("info", "forward_input_ignored", bytes=count)

    def _lost(self, error: Exception) -> None:
        if isinstance(error, LineError | UserError):
            self.detail = str(error)
        elif isinstance(error, OSError):
            self.detail = f"{self.target.to}: {one_line(error)}"
        else:
            self.detail = describe_exception(error)
        self._failure.failed(time.monotonic(), detail=self.detail)

    def _write(self, level: str, event: str, **facts: object) -> None:
        # A log that cannot be written must not stop the copies.
        with contextlib.suppress(Exception):
            getattr(self._log, level)(event, **facts)

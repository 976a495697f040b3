"""The simulator's end of a line: a pseudo-terminal, or a TCP port like a device server's."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
import time
import tty
from abc import ABC, abstractmethod
from pathlib import Path
from threading import Event
from typing import Final

from shoe_daemon.errors import UserError, one_line

_WRITE_POLL_S: Final = 0.1
_CHUNK_BYTES: Final = 4096
_DRAIN_POLL_S: Final = 0.03
_EMPTY_POLLS_NEEDED: Final = 4
"""
Consecutive empty polls before a line counts as drained: bytes in transit are briefly in neither
buffer.
"""

FLUSH_TIMEOUT_S: Final = 5.0
"""Time after which a program that has not flushed its input is assumed to never do so."""


class Line(ABC):
    """The line that a simulated reader writes to. Used by one thread."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The address for a reader, as `port` in its configuration."""

    @abstractmethod
    def is_open(self) -> bool:
        """Return True if a reader is connected."""

    def is_ready(self) -> bool:
        """Return whether a reader is ready for the first data: as soon as it is connected."""
        return self.is_open()

    @abstractmethod
    def send(self, data: bytes, stopping: Event) -> None:
        """Send data; without a reader it is lost."""

    def drain(self, stopping: Event) -> None:  # noqa: B027 - most lines need no wait
        """Wait until nothing would be lost by the end of the line; here, sent data arrives."""

    @abstractmethod
    def unplug(self) -> None:
        """Interrupt the line."""

    @abstractmethod
    def plug(self) -> None:
        """Restore the line at the same address."""

    def close(self) -> None:
        """Close the line for good."""
        self.unplug()


class PtyLine(Line):
    """
    A pseudo-terminal, addressed by its own path or a stable link.

    Args:
        link: The link.
        flush_timeout_s: See `is_ready`.
    """

    def __init__(
        self, link: Path | None = None, *, flush_timeout_s: float = FLUSH_TIMEOUT_S
    ) -> None:
        self._link, self._flush_timeout_s = link, flush_timeout_s
        self._master: int | None = None
        self._path = ""
        self._open_since: float | None = None
        self._flushed = False
        self.plug()

    @property
    def address(self) -> str:
        """The link, or the path, which changes with each `plug`."""
        return str(self._link or self._path)

    def is_open(self) -> bool:
        """Return whether a program has the terminal open."""
        if self._master is None:
            return False
        self._read_incoming(self._master)
        if _poll(self._master, 0) & select.POLLHUP:
            self._open_since, self._flushed = None, False
        elif self._open_since is None:
            self._open_since = time.monotonic()
        return self._open_since is not None

    def is_ready(self) -> bool:
        """
        Return whether a program has the terminal open and has flushed its input.

        Programs flush when they open a serial port; after a timeout the flush is no longer
        expected.
        """
        if not self.is_open():
            return False
        since = self._open_since or 0.0
        return self._flushed or time.monotonic() - since > self._flush_timeout_s

    def _read_incoming(self, master: int) -> None:
        """Discard received commands, and note the packet that reports a flush."""
        with contextlib.suppress(OSError):  # no more data, or no program
            while came := os.read(master, _CHUNK_BYTES):
                self._flushed |= bool(came[0] & termios.TIOCPKT_FLUSHREAD)

    def send(self, data: bytes, stopping: Event) -> None:
        """Write as fast as the other side reads."""
        while data and self._master is not None and not stopping.is_set():
            happened = _poll(self._master, _WRITE_POLL_S)
            if happened & select.POLLHUP:
                return
            if happened & select.POLLIN:
                self._read_incoming(self._master)
            if happened & select.POLLOUT:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self._master, data) :]

    def drain(self, stopping: Event) -> None:
        """Wait until all data is read: unread data is lost when the terminal closes."""
        looks = 0
        while looks < _EMPTY_POLLS_NEEDED and self.is_open():
            looks = 0 if _unread(self._path) else looks + 1
            if stopping.wait(_DRAIN_POLL_S):
                return

    def unplug(self) -> None:
        """
        Remove the link, as udev does, and close the terminal, which ends all reads at its
        other end. Another program may get a terminal of the same number.
        """
        if self._master is None:
            return
        if self._link and self._link.is_symlink() and str(self._link.readlink()) == self._path:
            self._link.unlink()
        os.close(self._master)
        self._master = None

    def plug(self) -> None:
        """Open a new terminal and point the link to it."""
        self._master, slave = os.openpty()
        # Raw until a reader configures it: an ETX must not act as Ctrl-C.
        tty.setraw(slave)
        self._path = os.ttyname(slave)
        # With our own descriptor closed, a hang-up means that no program has it open.
        os.close(slave)
        os.set_blocking(self._master, False)
        # Packet mode: each read starts with a control byte.
        fcntl.ioctl(self._master, termios.TIOCPKT, struct.pack("i", 1))
        self._open_since, self._flushed = None, False
        if self._link:
            _point_link(self._link, self._path)


class TcpLine(Line):
    """A TCP port; each client receives the bytes sent after it connected."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._listener: socket.socket | None = None
        self._clients: list[socket.socket] = []
        self.plug()

    @property
    def address(self) -> str:
        """``socket://HOST:PORT``, with the actual port for port 0."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"socket://{host}:{self._port}"

    def is_open(self) -> bool:
        """Return whether a client is connected."""
        self._accept_clients()
        for client in list(self._clients):
            if select.select([client], [], [], 0)[0]:
                self._read_from(client)
        return bool(self._clients)

    def send(self, data: bytes, stopping: Event) -> None:
        """Write to all clients, as fast as the slowest one reads."""
        if not self.is_open():
            return
        for client in list(self._clients):
            self._send_to(client, data, stopping)

    def unplug(self) -> None:
        """Refuse new connections, then close all: none comes back before ``plug``."""
        if self._listener:
            self._listener.close()
        for client in self._clients:
            client.close()
        self._clients, self._listener = [], None

    def plug(self) -> None:
        """Listen at the same port again."""
        try:
            family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            listener = socket.create_server((self._host, self._port), family=family)
        except OSError as error:
            raise UserError(f"{self.address}: {one_line(error)}") from error
        listener.settimeout(0)
        self._listener, self._port = listener, listener.getsockname()[1]

    def _accept_clients(self) -> None:
        while self._listener:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.settimeout(0)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._clients.append(client)

    def _read_from(self, client: socket.socket) -> None:
        try:
            if client.recv(_CHUNK_BYTES):
                return  # an ignored command
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(client)

    def _send_to(self, client: socket.socket, data: bytes, stopping: Event) -> None:
        while data and not stopping.is_set():
            if not select.select([], [client], [], _WRITE_POLL_S)[1]:
                continue
            try:
                data = data[client.send(data) :]
            except BlockingIOError:
                continue
            except OSError:
                self._drop(client)
                return

    def _drop(self, client: socket.socket) -> None:
        client.close()
        self._clients.remove(client)


def _poll(terminal: int, timeout: float, what: int = select.POLLIN | select.POLLOUT) -> int:
    poll = select.poll()
    poll.register(terminal, what)
    return sum(happened for _, happened in poll.poll(timeout * 1000))


def _unread(path: str) -> bool:
    """Return whether a terminal opened by another program has unread data."""
    terminal = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return bool(_poll(terminal, 0, select.POLLIN))
    finally:
        os.close(terminal)


def _point_link(link: Path, path: str) -> None:
    """Point the link to a path atomically."""
    if link.exists() and not link.is_symlink():
        raise UserError(f"{link}: there is a file of this name already")
    new = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        new.symlink_to(path)
        new.replace(link)
    except OSError as error:
        raise UserError(f"{link}: {one_line(error)}") from error

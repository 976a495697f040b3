"""
The other end of a line: a pseudo terminal, or a TCP port like a device server's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import termios
import tty
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from shoe_daemon.errors import UserError

__all__ = ["Line", "PtyLine", "TcpLine"]

_PATIENCE: Final = 0.1
_CHUNK: Final = 4096
_DRAIN_EVERY: Final = 0.05
_DRAIN_LOOKS: Final = 100


class Line(Protocol):
    """
    What a simulated reader writes to. Used by one thread.
    """

    @property
    def address(self) -> str:
        """
        What a configuration gives as the port.
        """
        ...

    def heard(self) -> bool:
        """
        Tell whether anybody has the other end open.
        """
        ...

    def send(self, data: bytes, stopping: Event) -> None:
        """
        Write to whoever listens, and to nobody else; waits for slow ones.
        """
        ...

    def drain(self, stopping: Event) -> None:
        """
        Wait until the other side has read what was sent, a few seconds at most.
        """
        ...

    def unplug(self) -> None:
        """
        Take the line away, as if the adapter were pulled out.
        """
        ...

    def plug(self) -> None:
        """
        Put it back, at the same address where there can be one.
        """
        ...

    def close(self) -> None:
        """
        Take it away for good.
        """
        ...


class PtyLine:
    """
    A pseudo terminal, reached by its own path or by a stable link to it.
    """

    def __init__(self, link: Path | None = None) -> None:
        self._link = link
        self._master: int | None = None
        self._path = ""
        self.plug()

    @property
    def address(self) -> str:
        """
        The link, or the path, which is another one after each `plug`.
        """
        return str(self._link or self._path)

    def heard(self) -> bool:
        """
        Tell whether a program has the terminal open.
        """
        return self._master is not None and not _poll(self._master, 0) & select.POLLHUP

    def send(self, data: bytes, stopping: Event) -> None:
        """
        Write as fast as the other side reads.
        """
        while data and self._master is not None and not stopping.is_set():
            happened = _poll(self._master, _PATIENCE)
            if happened & select.POLLHUP:
                return
            if happened & select.POLLIN:
                os.read(self._master, _CHUNK)  # a command that nobody obeys
            if happened & select.POLLOUT:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self._master, data) :]

    def drain(self, stopping: Event) -> None:
        """
        Wait until the other side has read all: what is unread when it closes is lost.
        """
        if not self.heard():
            return
        slave = os.open(self._path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            for _ in range(_DRAIN_LOOKS):
                # What was just written may still be on its way to where it is counted.
                if stopping.wait(_DRAIN_EVERY) or not _unread(slave):
                    return
        finally:
            os.close(slave)

    def unplug(self) -> None:
        """
        Close the terminal, which ends every read at its other end.
        """
        if self._master is not None:
            os.close(self._master)
            self._master = None

    def plug(self) -> None:
        """
        Open a new terminal and lead the link to it.
        """
        self._master, slave = os.openpty()
        # Until a reader sets it so: an ETX must not be taken for a Ctrl-C.
        tty.setraw(slave)
        self._path = os.ttyname(slave)
        # Closed once, it tells from now on whether anybody else has it open.
        os.close(slave)
        os.set_blocking(self._master, False)
        if self._link:
            _lead(self._link, self._path)

    def close(self) -> None:
        """
        Close the terminal and remove the link.
        """
        self.unplug()
        if self._link and self._link.is_symlink() and str(self._link.readlink()) == self._path:
            self._link.unlink()


class TcpLine:
    """
    A TCP port; every client gets the bytes from when it came.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._listener: socket.socket | None = None
        self._clients: list[socket.socket] = []
        self.plug()

    @property
    def address(self) -> str:
        """
        ``socket://HOST:PORT``, with the port that was found where 0 was asked for.
        """
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"socket://{host}:{self._port}"

    def heard(self) -> bool:
        """
        Tell whether a client is connected.
        """
        self._welcome()
        for client in list(self._clients):
            if select.select([client], [], [], 0)[0]:
                self._listen_to(client)
        return bool(self._clients)

    def send(self, data: bytes, stopping: Event) -> None:
        """
        Write to every client, as fast as the slowest reads.
        """
        if not self.heard():
            return
        for client in list(self._clients):
            self._send_to(client, data, stopping)

    def drain(self, stopping: Event) -> None:
        """
        Do nothing: what is sent arrives even when the connection is closed then.
        """

    def unplug(self) -> None:
        """
        Close all connections and refuse new ones.
        """
        for client in [*self._clients, *([self._listener] if self._listener else [])]:
            client.close()
        self._clients, self._listener = [], None

    def plug(self) -> None:
        """
        Listen at the same port again.
        """
        try:
            listener = socket.create_server((self._host, self._port), family=self._family())
        except OSError as error:
            raise UserError(f"{self.address}: {error.strerror or error}") from error
        listener.settimeout(0)
        self._listener, self._port = listener, listener.getsockname()[1]

    def close(self) -> None:
        """
        Close all.
        """
        self.unplug()

    def _family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self._host else socket.AF_INET

    def _welcome(self) -> None:
        while self._listener:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.settimeout(0)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._clients.append(client)

    def _listen_to(self, client: socket.socket) -> None:
        try:
            if client.recv(_CHUNK):
                return  # a command that nobody obeys
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(client)

    def _send_to(self, client: socket.socket, data: bytes, stopping: Event) -> None:
        while data and not stopping.is_set():
            if not select.select([], [client], [], _PATIENCE)[1]:
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


def _poll(terminal: int, timeout: float) -> int:
    poll = select.poll()
    poll.register(terminal, select.POLLIN | select.POLLOUT)
    return sum(happened for _, happened in poll.poll(timeout * 1000))


def _unread(terminal: int) -> bool:
    return any(fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))


def _lead(link: Path, path: str) -> None:
    """
    Let the link lead to this path, in one step, so that it never leads nowhere.
    """
    if link.exists() and not link.is_symlink():
        raise UserError(f"{link}: there is a file of this name already")
    new = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        new.symlink_to(path)
        new.replace(link)
    except OSError as error:
        raise UserError(f"{link}: {error.strerror or error}") from error

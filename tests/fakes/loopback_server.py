"""A loopback server that can stop and start again at the same port."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Final, Self

__all__ = ["LoopbackServer", "read_request"]

_HOST: Final = "127.0.0.1"
_JOIN_TIMEOUT_S: Final = 60.0


class LoopbackServer(ABC):
    """
    Serves each connection in its own thread, from `__enter__` to `__exit__`.

    Attributes:
        visits: Number of connections so far.
    """

    def __init__(self) -> None:
        self.visits = 0
        self._port = 0
        self._lines: list[tuple[socket.socket, threading.Thread]] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Host and port; the same after each restart."""
        return f"{_HOST}:{self._port}"

    def start(self) -> None:
        """Listen, at the same port as before."""
        door = socket.create_server((_HOST, self._port))
        self._port = door.getsockname()[1]
        self._begin(partial(self._listen, door), door)

    def stop(self) -> None:
        """Close all connections and stop listening."""
        # The listener is first in the list: connections accepted meanwhile are behind it.
        for line, thread in self._lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            thread.join(_JOIN_TIMEOUT_S)
        self._lines.clear()

    @abstractmethod
    def serve(self, connection: socket.socket, number: int, /) -> None:
        """
        Serve one connection (`number` counts from 1); it is closed afterwards.

        Raises:
            OSError: The connection broke.
        """

    def _listen(self, door: socket.socket) -> None:
        while True:
            connection, _ = door.accept()
            self.visits += 1
            self._begin(partial(self.serve, connection, self.visits), connection)

    def _begin(self, what: Callable[[], None], line: socket.socket) -> None:
        def run() -> None:
            with line, contextlib.suppress(OSError):
                what()

        thread = threading.Thread(target=run, daemon=True)
        self._lines.append((line, thread))
        thread.start()


def read_request(connection: socket.socket) -> str:
    """
    Read a request up to its empty line.

    Raises:
        OSError: The connection broke.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        got = connection.recv(4096)
        if not got:
            raise ConnectionResetError("hung up")
        data += got
    return data.decode("latin-1")

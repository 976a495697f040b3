"""
A server on loopback that goes away and comes back at its port, for whoever measures or tests
what its clients make of that.
"""

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
_PATIENCE: Final = 60.0


class LoopbackServer(ABC):
    """
    Serves each connection in a thread of its own, from `__enter__` to `__exit__`.

    Attributes:
        visits: How many came.
    """

    def __init__(self) -> None:
        self.visits = 0
        self._port = 0
        self._lines: list[tuple[socket.socket, threading.Thread]] = []

    def __enter__(self) -> Self:
        self.come_back()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_away()

    @property
    def place(self) -> str:
        """Host and port, the same ones after each return."""
        return f"{_HOST}:{self._port}"

    def come_back(self) -> None:
        """Answer, at the same place as before."""
        door = socket.create_server((_HOST, self._port))
        self._port = door.getsockname()[1]
        self._begin(partial(self._listen, door), door)

    def go_away(self) -> None:
        """Hang up on all, and answer nobody."""
        # The door is the first: whoever still came in stands behind it in the list.
        for line, thread in self._lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            thread.join(_PATIENCE)
        self._lines.clear()

    @abstractmethod
    def serve(self, connection: socket.socket, number: int, /) -> None:
        """
        Talk with one who came, the first being number 1; then the line is closed.

        Raises:
            OSError: Either side hung up.
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
    Read the lines of a request, up to the empty one.

    Raises:
        OSError: The other side hung up before.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        got = connection.recv(4096)
        if not got:
            raise ConnectionResetError("hung up")
        data += got
    return data.decode("latin-1")

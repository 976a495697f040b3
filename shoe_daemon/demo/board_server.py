"""The display for browsers beside the demo's broker: a `shoe-daemon display` process."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import subprocess
import time
from pathlib import Path
from typing import Final, Self

from shoe_daemon.demo.child_process import end_child, start_child

__all__ = ["HOST", "BoardServer", "free_port", "has_display"]

HOST: Final = "127.0.0.1"

_PREFERRED_PORT: Final = 8080

_EXTRAS: Final = ("starlette", "uvicorn")
_START_TIMEOUT_S: Final = 15.0
_POLL_S: Final = 0.02


def free_port(preferred: int) -> int:
    """Return the preferred port, or another one if it is in use."""
    for wanted in (preferred, 0):
        with contextlib.suppress(OSError), socket.create_server((HOST, wanted)) as probe:
            port: int = probe.getsockname()[1]
            return port
    return preferred


def has_display() -> bool:
    """Tell whether the extra `display` is installed."""
    try:
        return all(importlib.util.find_spec(extra) for extra in _EXTRAS)
    except ValueError:  # the module is blocked in this process
        return False


class BoardServer:
    """
    A display process, from `__enter__` to `__exit__`.

    Attributes:
        url: Its URL without a path.
    """

    def __init__(self, broker: tuple[str, int], folder: Path) -> None:
        """
        Args:
            broker: Host and port.
            folder: Folder of its configuration and log.
        """
        host, port = broker
        self._port = free_port(_PREFERRED_PORT)
        self.url = f"http://{HOST}:{self._port}"
        self._configuration = folder / "display.toml"
        self._configuration.write_text(
            f'[mqtt]\nhost = "{host}"\nport = {port}\nprotocol = "3.1.1"\n'
            f'[display]\nlisten = "{HOST}:{self._port}"\n',
            encoding="utf-8",
        )
        self._log = folder / "display.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the process."""
        with self._log.open("wb") as log:
            self._process = start_child(
                "display", "--config", str(self._configuration), stdout=log, stderr=log
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the process, and wait for its end."""
        if self._process is not None:
            end_child(self._process)

    @property
    def up(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def wait(self) -> None:
        """Wait until the display accepts connections or has failed."""
        until = time.monotonic() + _START_TIMEOUT_S
        while self.up and not _accepts_connections(self._port) and time.monotonic() < until:
            time.sleep(_POLL_S)


def _accepts_connections(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex((HOST, port)) == 0

"""
`shoe-daemon display` beside the demo's broker, and child processes that end with their parent.

Only the parent holds the other end of a pipe, which is closed even if the parent is killed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final, Self

HOST: Final = "127.0.0.1"
OPERATOR: Final = "You"
PIN: Final = "123456"

_EXTRAS: Final = ("starlette", "uvicorn")
_START_TIMEOUT_S: Final = 15.0
_POLL_S: Final = 0.02
_PIPE: Final = 0
"""Standard input of the child; the commands started here do not read it."""

_EXIT_TIMEOUT_S: Final = 10.0
_STOP_TIMEOUT_S: Final = 5.0


def start_child(*arguments: str, **more: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - Popen's
    """Start a command such as ``display``; it ends at the latest with this process."""
    command = [sys.executable, "-m", "shoe_daemon.demo.display", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, **more)  # noqa: S603 - our own command


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Stop a child, and wait for its end."""
    process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_with_parent(timeout: float = _EXIT_TIMEOUT_S) -> None:
    """End this process with its parent: by SIGTERM, and by force after `timeout` seconds."""
    thread = threading.Thread(target=_wait_for_parent, args=(timeout,), name="parent", daemon=True)
    thread.start()


def _wait_for_parent(timeout: float) -> None:
    with contextlib.suppress(OSError):
        while os.read(_PIPE, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(timeout)
    os._exit(1)


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


class DisplayProcess:
    """
    A display, from `__enter__` to `__exit__`.

    Attributes:
        url: Its URL without a path.
    """

    def __init__(
        self, broker: tuple[str, int], folder: Path, *, port: int, takes_orders: bool = False
    ) -> None:
        """
        Args:
            broker: Host and port.
            folder: Folder of its configuration and log.
            port: Of the display; another one if it is in use.
            takes_orders: Whether `OPERATOR` may give orders on its pages.
        """
        self._port = free_port(port)
        self.url = f"http://{HOST}:{self._port}"
        self._configuration = folder / "display.toml"
        self._configuration.write_text(
            f'[mqtt]\nhost = "{broker[0]}"\nport = {broker[1]}\nprotocol = "3.1.1"\n'
            f'[display]\nlisten = "{HOST}:{self._port}"\n'
            + ('[display.orders]\noperators_file = "operators.toml"\n' if takes_orders else ""),
            encoding="utf-8",
        )
        if takes_orders:
            # Its extra is asked for before.
            from shoe_daemon.operators import hash_pin  # noqa: PLC0415

            text = f'[[operator]]\nname = "{OPERATOR}"\npin = "{hash_pin(PIN)}"\n'
            (folder / "operators.toml").write_text(text, encoding="utf-8")
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
        """True while the process is running."""
        return self._process is not None and self._process.poll() is None

    def wait(self) -> None:
        """Wait until the display accepts connections or has failed."""
        until = time.monotonic() + _START_TIMEOUT_S
        while self.up and not _accepts_connections(self._port) and time.monotonic() < until:
            time.sleep(_POLL_S)


def _accepts_connections(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex((HOST, port)) == 0


if __name__ == "__main__":
    end_with_parent()
    runpy.run_module("shoe_daemon", run_name="__main__", alter_sys=True)

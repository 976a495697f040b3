"""
`shoe-daemon display` beside the demo's broker: the board and the pit in a browser.
"""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import subprocess
import time
from pathlib import Path
from typing import Final, Self

from shoe_daemon.demo.child_process import end_child, start_child
from shoe_daemon.demo.pages import HOST, free_port

__all__ = ["BoardServer", "has_display"]

_USUAL: Final = 8080
"""The port of the boards, if nobody has it."""

_EXTRAS: Final = ("starlette", "uvicorn")
_PATIENCE: Final = 15.0
_LOOK: Final = 0.02


def has_display() -> bool:
    """
    Tell whether the extra is installed that the display needs.
    """
    try:
        return all(importlib.util.find_spec(extra) for extra in _EXTRAS)
    except ValueError:  # something has taken it out of this very process
        return False


class BoardServer:
    """
    A display of its own process, from `__enter__` to `__exit__`.

    Attributes:
        url: Where it is, without a path.
    """

    def __init__(self, broker: tuple[str, int], folder: Path) -> None:
        """
        Args:
            broker: Host and port.
            folder: For its configuration and its log.
        """
        host, port = broker
        self._port = free_port(_USUAL)
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
        """
        Start it; it is not ready at once.
        """
        with self._log.open("wb") as log:
            self._process = start_child(
                "display", "--config", str(self._configuration), stdout=log, stderr=log
            )
        return self

    def __exit__(self, *_: object) -> None:
        """
        Stop it; it has ended when this returns.
        """
        if self._process is not None:
            end_child(self._process)

    @property
    def up(self) -> bool:
        """
        Whether it has not ended by itself.
        """
        return self._process is not None and self._process.poll() is None

    def wait(self) -> None:
        """
        Wait until browsers can come, or it is clear that none ever can.
        """
        until = time.monotonic() + _PATIENCE
        while self.up and not _answers(self._port) and time.monotonic() < until:
            time.sleep(_LOOK)


def _answers(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex((HOST, port)) == 0

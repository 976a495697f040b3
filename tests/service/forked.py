"""
Programs that begin as a copy of a process which has imported the daemon.

The imports of a new process take most of a second of a processor, a copy takes milliseconds.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from shoe_daemon.cli import main, run
from shoe_daemon.cli.options import import_structlog_alone

import_structlog_alone()

import shoe_daemon.logs  # noqa: E402 - after structlog
import shoe_daemon.service  # noqa: E402

__all__ = ["ForkedProgram"]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__, run.__name__, shoe_daemon.logs.__name__])


class ForkedProgram:
    """`shoe-daemon` with arguments in a process of its own, used like a `subprocess.Popen`."""

    def __init__(
        self, arguments: list[str], log: Path, environment: Mapping[str, str], patch: str = ""
    ) -> None:
        """
        Args:
            arguments: Of the command line.
            log: Where it says what it says on stdout and stderr.
            environment: All variables of its environment.
            patch: Python that is run before it.
        """
        log.touch()
        given = (arguments, str(log), dict(environment), patch)
        self._process = _context.Process(target=_run, args=given, daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit status."""
        self._process.join(timeout)
        status = self.returncode
        if status is None:
            raise subprocess.TimeoutExpired("shoe-daemon", timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal; does nothing to one that has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)


def _run(arguments: list[str], log: str, environment: dict[str, str], patch: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    said = os.open(log, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(said, stream)
    os.close(said)
    faulthandler.enable()
    if path := environment.get("PYTHONPATH"):
        sys.path[:0] = path.split(":")
    sys.argv = ["shoe-daemon", *arguments]
    exec(patch, {})  # noqa: S102 - a test's own
    main()

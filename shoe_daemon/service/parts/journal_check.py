"""Checks the whole journal of a running table, once a day."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Final

import structlog

from shoe_daemon.service.core import Core
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.table import make_detail, to_microseconds

_log = structlog.get_logger(__name__)

CURSOR: Final = "check"
"""The name of the check in the journal: the last event that it has verified."""

_FIRST_S: Final = 60.0
"""After a start, which may be busy."""

_DAY_S: Final = 86_400.0


def make(daemon: Surroundings) -> Part:
    """Return the daily check of the journal."""
    return JournalCheck(daemon.core)


class JournalCheck(Part):
    """
    Has a process of its own verify the whole journal (`journal.check`), at the lowest priority.

    The journal notes the last event that was verified. The next check is a day after that event,
    also where the daemon was started again; a check that found damage is not noted, so that the
    next start repeats it and its alarm.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._due = time.monotonic() + max(_FIRST_S, self._seconds_left())
        self._child: subprocess.Popen[str] | None = None

    @property
    def is_running(self) -> bool:
        """A check is under way."""
        return self._child is not None

    def check(self) -> None:
        """Start the check if it is time to, or report what it has found."""
        if self._child is not None:
            if self._child.poll() is not None:
                self._finish(self._child)
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + _DAY_S
            self._start()

    def stop(self) -> None:
        """End a check that is under way."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def _start(self) -> None:
        command = (sys.executable, "-m", "shoe_daemon.journal.check", self._core.journal.path)
        try:
            self._child = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            _log.warning("journal_not_checked", reason=str(error))

    def _finish(self, child: subprocess.Popen[str]) -> None:
        output, _ = child.communicate()
        self._child = None
        if child.returncode == 0:
            self._core.journal.set_cursor(CURSOR, int(output))
            _log.info("journal_checked", seq=int(output))
        elif output:
            _log.critical("journal_damaged", reason=output)
            self._core.notice = make_detail("journal_damaged", reason=output)
        else:
            _log.warning("journal_not_checked", reason=f"it ended with {child.returncode}")

    def _seconds_left(self) -> float:
        """Return the seconds until a day has passed since the last check; 0 without one."""
        reader = self._core.reader
        row = reader.connection.execute(
            "SELECT at FROM event WHERE seq = ?", (reader.cursor(CURSOR),)
        ).fetchone()
        if row is None:
            return 0.0
        age_us = to_microseconds(self._core.clock.at()) - to_microseconds(row[0])
        return _DAY_S - age_us / 1_000_000

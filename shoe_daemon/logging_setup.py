"""
How the daemon logs: JSON lines for the service manager, colours for a person.
"""

from __future__ import annotations

import contextlib
import json
import logging
import select
import sys
from collections.abc import Iterator
from typing import Final, TextIO

import structlog

_PATIENCE: Final = 0.05
"""Seconds for which a line of the log may hold somebody up; what is then not taken is dropped."""


def set_up_logs(*, quiet: bool = False) -> None:
    """
    Set structlog up for this process; `quiet` leaves warnings and worse.
    """
    human = sys.stderr.isatty()
    level = logging.WARNING if quiet else logging.INFO
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer() if human else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(_Lines(sys.stderr)),  # type: ignore[arg-type]
    )


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """
    Say warnings and worse on stderr meanwhile, away from what programs read.
    """
    before = structlog.get_config() if structlog.is_configured() else None
    set_up_logs(quiet=True)
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)


class _Lines:
    """
    The lines of a log as far as somebody takes them: nobody waits for a terminal that was
    stopped. What was dropped is told once somebody takes them again.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._dropped = 0

    def write(self, line: str) -> None:
        """
        Write a line, or drop it.
        """
        if not _has_room(self._file):
            self._dropped += 1
            return
        if self._dropped:
            told = {"event": "log_lines_dropped", "count": self._dropped, "level": "warning"}
            line = f"{json.dumps(told)}\n{line}"
            self._dropped = 0
        self._file.write(line)

    def flush(self) -> None:
        """
        Bring what was written on its way.
        """
        self._file.flush()


def _has_room(file: TextIO) -> bool:
    poll = select.poll()
    try:
        poll.register(file, select.POLLOUT)
    except (OSError, ValueError):  # no file of the system, as in a test
        return True
    return bool(poll.poll(_PATIENCE * 1000))

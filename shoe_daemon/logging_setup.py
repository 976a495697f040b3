"""Log output: JSON lines for systemd, colours for a terminal."""

from __future__ import annotations

import contextlib
import json
import logging
import select
import sys
from collections.abc import Iterator
from typing import Final, TextIO

import structlog

_WRITE_TIMEOUT_S: Final = 0.05
"""A blocked stderr stalls the caller for this time; then the line is dropped."""


def configure_logging(*, quiet: bool = False) -> None:
    """Configure structlog for this process; with `quiet`, only warnings and errors are logged."""
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
        logger_factory=structlog.WriteLoggerFactory(_NonBlockingLog(sys.stderr)),  # type: ignore[arg-type]
    )


@contextlib.contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Log warnings and errors to stderr meanwhile: stdout is for programs."""
    before = structlog.get_config() if structlog.is_configured() else None
    configure_logging(quiet=True)
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)


class _NonBlockingLog:
    """
    Writes log lines and drops them while the output is blocked; the number of dropped
    lines is logged when it accepts lines again.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._dropped = 0

    def write(self, line: str) -> None:
        """Write a line, or drop it."""
        if not _has_room(self._file):
            self._dropped += 1
            return
        if self._dropped:
            dropped = {"event": "log_lines_dropped", "count": self._dropped, "level": "warning"}
            line = f"{json.dumps(dropped)}\n{line}"
            self._dropped = 0
        self._file.write(line)

    def flush(self) -> None:
        """Flush the output."""
        self._file.flush()


def _has_room(file: TextIO) -> bool:
    poll = select.poll()
    try:
        poll.register(file, select.POLLOUT)
    except (OSError, ValueError):  # no file descriptor, as in a test
        return True
    return bool(poll.poll(_WRITE_TIMEOUT_S * 1000))

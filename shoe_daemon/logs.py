"""
How the daemon logs: JSON lines for the service manager, colours for a person.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

import structlog


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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
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

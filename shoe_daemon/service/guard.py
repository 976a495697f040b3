"""
The last defence of the core's thread: an exception that the code does not foresee is logged with
its place, and the daemon goes on. Tests run without it, so that it hides no defect.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from drivers import raised_at
from shoe_daemon.limits import LogRateLimit

_log = structlog.get_logger(__name__)
_limit: Final = LogRateLimit()

ENABLED = os.environ.get("SHOE_DAEMON_GUARD") != "off"
"""False in tests: an unforeseen exception ends the daemon."""


def log_exception(event: str, error: Exception) -> None:
    """
    Log the type and the place of an unforeseen exception; without the guard, raise it again.

    Its text is left out because it may name a card that lies face down.
    """
    if not ENABLED:
        raise error
    place = raised_at(error)
    if _limit(f"{event} {place}", time.monotonic()):
        _log.error(event, error=type(error).__name__, where=place)


@contextmanager
def guarded(event: str) -> Iterator[None]:
    """Leave the block at an unforeseen exception, which is logged as `event`."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the next card must be read
        log_exception(event, error)

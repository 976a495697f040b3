"""
How a reader goes on after a failure: not too soon, and without filling the log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

__all__ = ["SHORTEST", "Backoff", "Complaint"]

SHORTEST: Final = 0.5
LONGEST: Final = 10.0
SAY_AGAIN: Final = 60.0

_JITTER: Final = 0.25


class Backoff:
    """
    Waits of 0.5, 1, 2, 4, 8 and then always 10 seconds, each up to a quarter off.

    Args:
        jitter: A number from 0 to 1, so that many readers of one device server
            do not all come at once.
    """

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._next = SHORTEST

    def next(self) -> float:
        """
        Return the seconds to wait now, 0.5 to 10.
        """
        wait = self._next * (1 + _JITTER * (2 * self._jitter() - 1))
        self._next = min(2 * self._next, LONGEST)
        return min(max(wait, SHORTEST), LONGEST)

    def reset(self) -> None:
        """
        Begin with the shortest again: the line has proved to be good.
        """
        self._next = SHORTEST


class Complaint:
    """
    One trouble in the log: a warning at first, then a line a minute while it lasts.

    A line that comes and goes twice a second is one trouble.

    Args:
        log: The logger.
        event: The name of the trouble in the log.
    """

    def __init__(
        self,
        log: Any,  # noqa: ANN401 - structlog's loggers are made at run time
        event: str = "link_lost",
    ) -> None:
        self._log = log
        self._event = event
        self._said_at: float | None = None
        self._failures = 0
        self._owed = True

    def about(self, now: float, **facts: str) -> None:
        """
        Say that it has failed (again), unless that was said within the last minute.
        """
        self._failures += 1
        if self._said_at is None or now - self._said_at >= SAY_AGAIN:
            self._said_at, self._owed = now, True
            self._say("warning", self._event, **facts)

    def over(self) -> None:
        """
        Say that all is well, where the trouble was said too, and at the start.
        """
        if self._owed:
            self._owed = False
            self._say("info", "link_up")
        self._failures = 0

    def _say(self, level: str, event: str, **more: str) -> None:
        # A log that cannot be written is no reason not to read the shoe.
        with contextlib.suppress(Exception):
            getattr(self._log, level)(event, failures=self._failures, **more)

"""Waits between attempts, and limits of what outside input causes: log lines, replies."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any, Final

LOG_INTERVAL_S: Final = 60.0

_MAX_DOUBLINGS: Final = 16
_JITTER: Final = 0.2


def exponential_delay(first_s: float, max_s: float, doublings: int) -> float:
    """Return a delay in seconds that has doubled so many times, but not beyond `max_s`."""
    return min(first_s * 2.0 ** min(doublings, _MAX_DOUBLINGS), max_s)


class RetryDelay:
    """
    Delays that double from `first_s` to `max_s`, each up to a fifth longer or shorter.

    `jitter` returns a number from 0 to 1: clients of one server reconnect at different moments.

    Attributes:
        failures: Failures in a row.
        retry_at: Earliest time of the next attempt, after `failed`; 0 without a failure.
    """

    def __init__(
        self,
        first_s: float = 0.5,
        max_s: float = 10.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._first_s = first_s
        self._max_s = max_s
        self._jitter = jitter
        self.reset()

    def next(self) -> float:
        """Count a failure; return the seconds to wait before the next attempt."""
        delay = exponential_delay(self._first_s, self._max_s, self.failures)
        self.failures += 1
        return delay * (1 + _JITTER * (2 * self._jitter() - 1))

    def failed(self, now: float) -> None:
        """Count a failure at this time."""
        self.retry_at = now + self.next()

    def reset(self) -> None:
        """Start with the shortest delay again, after a success."""
        self.failures = 0
        self.retry_at = 0.0


class LogRateLimit:
    """Allows one log line of each kind per minute, and counts the lines that it stands for."""

    def __init__(self) -> None:
        self._logged_at: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}

    def __call__(self, kind: str, now: float) -> int:
        """
        Return 0 where no line of this kind may be logged now; otherwise it counts as logged, and
        stands for the returned number of lines: itself, and those that were not allowed before it.
        """
        last = self._logged_at.get(kind)
        if last is not None and now - last < LOG_INTERVAL_S:
            self._suppressed[kind] = self._suppressed.get(kind, 0) + 1
            return 0
        self._logged_at[kind] = now
        return 1 + self._suppressed.pop(kind, 0)

    def reset(self, kind: str) -> None:
        """Allow the next line of this kind: its cause had ended."""
        self._logged_at.pop(kind, None)


class Budget:
    """Allows `most` in each span of `span_s` seconds, which begins with the first."""

    def __init__(self, most: int, span_s: float) -> None:
        self._most = most
        self._span_s = span_s
        self._left = most
        self._renewed_at = float("-inf")

    def take(self, now: float) -> bool:
        """Return whether one more is allowed now; if so, it counts."""
        if now - self._renewed_at >= self._span_s:
            self._renewed_at, self._left = now, self._most
        if self._left <= 0:
            return False
        self._left -= 1
        return True


class LoggedFailure:
    """
    Logs a failure that lasts: a warning at once, then one per minute, and its end.

    A line that fails and recovers twice a second is one failure. `recovered` is the log event
    after the failure, and at the first success; none by default.
    """

    def __init__(
        self,
        log: Any,  # noqa: ANN401 - structlog's loggers are made at run time
        event: str,
        recovered: str = "",
    ) -> None:
        self._log = log
        self._event = event
        self._recovered = recovered
        self._limit = LogRateLimit()
        self._failures = 0
        self._log_recovery = True

    def failed(self, now: float, **facts: str) -> None:
        """Count a failure and log it, unless one was logged within the last minute."""
        self._failures += 1
        if self._limit(self._event, now):
            self._log_recovery = True
            self._write("warning", self._event, **facts)

    def succeeded(self) -> None:
        """Log the end of a logged failure, and the first success."""
        if self._recovered and self._log_recovery:
            self._log_recovery = False
            self._write("info", self._recovered)
        self._failures = 0

    def _write(self, level: str, event: str, **facts: str) -> None:
        # A log that cannot be written must not stop the reader.
        with contextlib.suppress(Exception):
            getattr(self._log, level)(event, failures=self._failures, **facts)

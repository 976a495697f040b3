"""Waits of an MQTT client: for an answer, after a lost connection, after a refusal."""

from __future__ import annotations

import random
from typing import Final

from msgspec import Struct

from shoe_daemon.retry_and_log_limits import RetryDelay

_MAX_SHORT_SESSIONS: Final = 3
"""From so many short sessions in a row on, another client has the same id."""


class Timeouts(Struct, frozen=True, kw_only=True):
    """
    All waits in seconds; only tests change them.

    Attributes:
        connect_s: The broker must answer a connection within this time.
        first_retry_s: The wait after the first loss; it doubles with each that follows.
        max_retry_s: The longest wait for a broker that cannot be reached.
        refused_retry_s: The first wait after a refused publish; it doubles too.
        max_refused_retry_s: The longest wait after a refused publish.
        stable_session_s: From this length on, a session counts as stable.
        id_conflict_retry_s: The wait while another client seems to have the same id.
        will_delay_s: The broker holds the will back for this time.
        copies_s: Retained messages follow the answer to a subscription within this time.
        limit_retry_s: A packet limit that was inferred is tried again after this time.
    """

    connect_s: float = 5.0
    first_retry_s: float = 0.5
    max_retry_s: float = 10.0
    refused_retry_s: float = 5.0
    max_refused_retry_s: float = 60.0
    stable_session_s: float = 10.0
    id_conflict_retry_s: float = 15.0
    will_delay_s: int = 3
    copies_s: float = 0.5
    limit_retry_s: float = 3600.0

    def refusal_delay(self) -> RetryDelay:
        """Return the waits after refusals of one kind of message."""
        return RetryDelay(self.refused_retry_s, self.max_refused_retry_s, lambda: 0.5)


class ReconnectDelay:
    """
    The wait before the next connection.

    An accepted session is no proof of success: two clients with one id end each
    other's sessions for ever. So only a stable session resets the wait, and
    several short ones in a row make it long.
    """

    def __init__(self, timeouts: Timeouts, chance: random.Random) -> None:
        self._timeouts = timeouts
        self._chance = chance
        self._retry_delay = RetryDelay(timeouts.first_retry_s, timeouts.max_retry_s, chance.random)
        self._short_sessions = 0
        self._has_failed = False

    @property
    def id_conflict(self) -> bool:
        """True if another client seems to have the same id."""
        return self._short_sessions >= _MAX_SHORT_SESSIONS

    def after_failure(self) -> float:
        """Return the wait after an attempt that failed."""
        # The broker cannot be reached: this explains the short sessions.
        self._short_sessions = 0
        self._has_failed = True
        return self._delay()

    def session_forgotten(self) -> None:
        """
        Reset: the broker has no session of this client, so it was restarted, and no
        other client with this id ended the connection.
        """
        self._short_sessions = 0
        self._retry_delay.reset()

    def after_session(
        self, length_s: float, *, taken_over: bool = False, explained: bool = False
    ) -> float:
        """
        Return the wait after a session of this length; `explained` if it is known to have ended
        for another reason than a client with the same id.
        """
        # A broker that hung may accept an earlier attempt of ours after the one that succeeded.
        is_short = length_s < self._timeouts.stable_session_s
        is_own = taken_over and self._has_failed and is_short
        self._has_failed = False
        if is_own:
            self._retry_delay.reset()
        elif taken_over:
            self._short_sessions = max(self._short_sessions + 1, _MAX_SHORT_SESSIONS)
        elif not is_short:
            self._short_sessions = 0
            self._retry_delay.reset()
        elif not explained:
            self._short_sessions += 1
        return self._delay()

    def _delay(self) -> float:
        delay = self._retry_delay.next()
        if self.id_conflict:
            # A wide spread, so that both clients do not return at the same moment.
            return self._timeouts.id_conflict_retry_s * self._chance.uniform(0.7, 1.3)
        return delay

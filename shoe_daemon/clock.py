"""
The daemon's clock: moments for people, whose spans are those of the monotonic
clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from shoe_daemon.table import from_microseconds, to_microseconds

_STEP = 1_000_000


class Clock:
    """
    Gives moments that never go back, whatever is done to the wall clock.

    Args:
        after: The last moment that was ever given; those to come are not before it.
        wall: Microseconds since 1970.
        monotonic: Seconds.
    """

    def __init__(
        self,
        after: str = "",
        *,
        wall: Callable[[], int] = lambda: time.time_ns() // 1000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._last = to_microseconds(after) if after else 0
        self._offset = 0
        self.set()

    def set(self) -> None:
        """
        Follow the wall clock where it is more than a second away.

        To be called while no span is being measured. Where the wall clock was
        put back, time stands at the last moment until it has caught up.
        """
        monotonic = int(self._monotonic() * 1_000_000)
        ahead = self._wall() - monotonic
        if abs(ahead - self._offset) > _STEP:
            self._offset = max(ahead, self._last - monotonic)

    def at(self, received: float | None = None) -> str:
        """
        Return the moment of a reading of the monotonic clock; None for now.
        """
        seconds = self._monotonic() if received is None else received
        moment = int(seconds * 1_000_000) + self._offset
        self._last = max(self._last, moment // 1000 * 1000)
        return from_microseconds(self._last)

    def until(self, moment: int) -> float:
        """
        Return the seconds until a moment, microseconds since 1970; 0 if past.
        """
        now = int(self._monotonic() * 1_000_000) + self._offset
        return max(0.0, (moment - now) / 1_000_000)

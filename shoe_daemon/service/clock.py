"""The daemon's clock: wall-clock times that advance with the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from shoe_daemon.table import from_microseconds, to_microseconds

_MAX_OFFSET_US: Final = 1_000_000

_MAX_ADVANCE_US: Final = 5_000_000
"""From one reading to the next, where the wall clock is behind: spans up to here are exact."""


class Clock:
    """
    Returns times that never go back, even if the wall clock is set back.

    Args:
        after: The last time that was journaled; later ones are not before it.
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
        self._offset = self._last - int(monotonic() * 1_000_000)
        self.set()

    def set(self, after: int = 0) -> None:
        """
        Adjust to the wall clock if it differs by more than a second.

        Call it where no span is being measured: no deadline is pending, and no card waits for the
        next one. Where the wall clock was set back, the
        time advances by at most five seconds from one reading to the next, until the
        wall clock has caught up; it does not return to `after`, in microseconds since 1970.
        """
        monotonic = int(self._monotonic() * 1_000_000)
        ahead = self._wall() - monotonic
        if abs(ahead - self._offset) > _MAX_OFFSET_US:
            latest = max(self._last + _MAX_ADVANCE_US, after + 1000) - monotonic
            self._offset = max(ahead, min(self._offset, latest))

    def at(self, received: float | None = None) -> str:
        """Return the time of a reading of the monotonic clock; None for now."""
        seconds = self._monotonic() if received is None else received
        moment = int(seconds * 1_000_000) + self._offset
        self._last = max(self._last, moment // 1000 * 1000)
        return from_microseconds(self._last)

    def difference_us(self) -> int:
        """Return the microseconds by which the wall clock is ahead; negative if it is behind."""
        return self._wall() - int(self._monotonic() * 1_000_000) - self._offset

    def wall_us(self) -> int:
        """
        Return the wall clock's time, in microseconds since 1970, for comparison with the clocks
        of other computers: where it was set back, `at` is later.
        """
        return self._wall()

    def monotonic(self) -> float:
        """Return the monotonic clock's time, in seconds: no correction of the wall clock shows."""
        return self._monotonic()

    def until(self, moment: int) -> float:
        """Return the seconds until a time, in microseconds since 1970; 0 if past."""
        now = int(self._monotonic() * 1_000_000) + self._offset
        return max(0.0, (moment - now) / 1_000_000)

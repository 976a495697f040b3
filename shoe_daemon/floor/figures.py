"""The last hour of a table, for a floor manager."""

from __future__ import annotations

from collections import deque
from typing import Final

from msgspec import Struct

from shoe_daemon.table import to_microseconds

_HOUR_US: Final = 3_600_000_000
_LEAST_US: Final = 600_000_000
"""A pace over less than ten minutes says nothing."""

_MOST: Final = 400
_TYPES: Final = ("round_finished", "irregularity", "irregularity_closed")


class HourFigures(Struct, frozen=True):
    """
    The last hour of a table.

    Attributes:
        pace: Rounds an hour; None before ten minutes are known.
        opened: Irregularities that were found.
        decided: Irregularities that were closed.
    """

    pace: int | None
    opened: int
    decided: int


class Figures:
    """Times of the events of one table that count."""

    def __init__(self) -> None:
        self._times: dict[str, deque[int]] = {each: deque(maxlen=_MOST) for each in _TYPES}

    def note(self, kind: str, at: str) -> None:
        """Remember an event."""
        if kind in self._times:
            self._times[kind].append(to_microseconds(at))

    def hour(self, now: str, since: str) -> HourFigures:
        """
        Return the figures of the hour before a time.

        Args:
            now: The time, RFC 3339.
            since: Events are known from here on, RFC 3339.
        """
        end = to_microseconds(now)
        begin = max(end - _HOUR_US, to_microseconds(since))
        rounds, opened, decided = (
            sum(begin <= at <= end for at in self._times[each]) for each in _TYPES
        )
        known = end - begin
        pace = None if known < _LEAST_US else round(rounds * _HOUR_US / known)
        return HourFigures(pace, opened, decided)

"""The time of a shift: how people give it, and its events in a long record."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from shoe_daemon.errors import UserError
from shoe_daemon.table import moment_to_microseconds

_DAY: Final = timedelta(days=1)
_LOCALTIME: Final = Path("/etc/localtime")


class Period(NamedTuple):
    """The time of a shift in microseconds since 1970, from `start` up to, without, `end`."""

    start: int
    end: int
    zone: tzinfo

    def overlap(self, start: int, end: int) -> int:
        """Return the microseconds that a time has in common with the period."""
        return max(0, min(end, self.end) - max(start, self.start))


def parse_period(start: str, end: str | None, zone: tzinfo, names: tuple[str, str]) -> Period:
    """
    Parse the two times of a shift; it lasts until now without an end.

    Args:
        start: A date and a time, with an offset or in the zone.
        end: The first moment after the shift.
        zone: The time zone of the report.
        names: What the two are called in messages.

    Raises:
        UserError: A time is invalid, or there is none between them.
    """
    first = _moment(names[0], start, zone)
    now = moment_to_microseconds(datetime.now(UTC))
    last = now if end is None else _moment(names[1], end, zone)
    if last <= first:
        raise UserError(f"{names[1]} {end or 'now'}: expected a time after {names[0]} {start}")
    return Period(first, last, zone)


def _moment(name: str, text: str, zone: tzinfo) -> int:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        moment.astimezone(zone) + _DAY  # the hours of its day exist in the zone, too
        return moment_to_microseconds(moment)
    except (ValueError, OverflowError):
        raise UserError(
            f"{name} {text}: expected a date and a time, such as 2026-11-22T18:00"
        ) from None


def computers_time_zone() -> tzinfo:
    """Return the time zone of this computer; its offset of today if it has no name."""
    try:
        return ZoneInfo(
            os.environ.get("TZ") or str(_LOCALTIME.resolve(strict=True)).partition("zoneinfo/")[2]
        )
    except (ValueError, OSError, KeyError):
        return datetime.now(UTC).astimezone().tzinfo or UTC


def first_event_at(
    event_from: Callable[[int], tuple[int, int] | None], low: int, high: int, at: int
) -> int:
    """
    Find the first event at a time or later, in a record ordered by number and time.

    Args:
        event_from: Returns number and time of the first event from a number on; None after the
            last event.
        low: A number that is not larger than the answer.
        high: The answer if all events are earlier.
        at: Microseconds since 1970.
    """
    while low < high:
        middle = (low + high) // 2
        found = event_from(middle)
        if found is None or found[1] >= at:
            high = middle
        else:
            low = found[0] + 1
    return low

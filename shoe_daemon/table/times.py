"""
Timestamps: RFC 3339 in UTC, and microseconds since 1970.

A moment from outside is valid if it is in the years 1970 to 9999 in UTC, whatever its offset: only
such moments can be written, compared and added to. This module reads no clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]00:00)", re.ASCII
)


def to_microseconds(at: str) -> int:
    """
    Return the microseconds from 1970 to `at`.

    Raises:
        ValueError: `at` is not an RFC 3339 timestamp in UTC, or before 1970.
    """
    if not _RFC_3339.fullmatch(at):
        msg = f"{at!r} is no RFC 3339 moment in UTC, such as 2026-11-21T09:34:46.120Z"
        raise ValueError(msg)
    return moment_to_microseconds(datetime.fromisoformat(at.upper()))


def moment_to_microseconds(moment: datetime) -> int:
    """
    Return the microseconds from 1970 to a moment, which may have any offset.

    Raises:
        ValueError: The moment has no offset, or is not within 1970 to 9999 in UTC.
    """
    if moment.tzinfo is None:
        msg = f"{moment.isoformat()} has no offset"
        raise ValueError(msg)
    microseconds = (moment - _EPOCH) // _MICROSECOND
    if not 0 <= microseconds <= _LAST:
        msg = f"{moment.isoformat()} is not within the years 1970 to 9999 in UTC"
        raise ValueError(msg)
    return microseconds


def from_microseconds(microseconds: int) -> str:
    """
    Return a timestamp, ``2026-11-21T09:34:46.120Z``: with microseconds if it has any.

    What is computed, or read from a clock, and lies outside 1970 to 9999 becomes the first or the
    last moment of these years.
    """
    microseconds = min(max(microseconds, 0), _LAST)
    moment = _EPOCH + timedelta(microseconds=microseconds)
    precision = "microseconds" if microseconds % 1000 else "milliseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"

"""
Timestamps: RFC 3339 in UTC, and microseconds since 1970.

This module reads no clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]00:00)")


def to_microseconds(at: str) -> int:
    """
    Return the microseconds from 1970 to `at`.

    Raises:
        ValueError: `at` is not an RFC 3339 timestamp in UTC.
    """
    if not _RFC_3339.fullmatch(at):
        msg = f"{at!r} is no RFC 3339 moment in UTC, such as 2026-11-21T09:34:46.120Z"
        raise ValueError(msg)
    return (datetime.fromisoformat(at.upper()) - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> str:
    """Return a timestamp, ``2026-11-21T09:34:46.120Z``: with microseconds if it has any."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    precision = "microseconds" if microseconds % 1000 else "milliseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"

"""
Freshness of a table: live, stale, stopping, offline or unknown. Pure; the time is an argument.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from shoe_daemon.table import to_microseconds

__all__ = [
    "DeadlineQueue",
    "Freshness",
    "LastContact",
    "Link",
    "Moment",
    "freshness_of",
    "stale_at",
]

DEFAULT_HEARTBEAT_S: Final = 10
MISSED_HEARTBEATS: Final = 3
"""Heartbeats that may be missing before a table is stale."""

LATE_HEARTBEAT_S: Final = 2.0
"""Tolerance for the first heartbeat after a retained copy."""

MAX_CANCELLED_DEADLINES: Final = 1000
"""Cancelled entries above which the heap is rebuilt."""

FreshnessState = Literal["live", "stale", "stopping", "offline", "no_broker", "unknown"]


class Moment(NamedTuple):
    """The current time: monotonic seconds, and RFC 3339."""

    monotonic: float
    wall: str


class Freshness(Struct, frozen=True, rename={"state": "is"}):
    """
    Freshness as pages receive it.

    Attributes:
        state: ``live``, or the reason why the table is greyed.
        since: Start of the state, RFC 3339; None if unknown, and while live.
    """

    state: FreshnessState
    since: str | None = None


class Link(Struct, frozen=True):
    """
    The display's own connection to the broker.

    Attributes:
        connected: The broker has accepted the connection and all subscriptions.
        since: Start of this state; None before the first connection.
        detail: Reason of a lost connection; None while connected.
    """

    connected: bool = False
    since: str | None = None
    detail: str | None = None


class LastContact(Struct):
    """
    Everything that the freshness of one table depends on.

    Attributes:
        status: The table's last `status`; None if none was received or the topic was cleared.
        status_session: Session of that `status`.
        status_since: Time of its arrival; None for a retained copy.
        session: Session of the last `state`; None without a `state`.
        published: Time at which that `state` was published.
        at: The same on this computer's monotonic clock.
        heartbeat: Heartbeat interval in seconds; None if unknown.
        is_copy: The last `state` is a retained copy: nothing was published since this
            connection began, so the daemon may no longer run.
        clock_lead: Seconds by which the table's clock is ahead, as far as known.
    """

    status: Literal["online", "stopping", "offline"] | None = None
    status_session: str | None = None
    status_since: str | None = None
    session: str | None = None
    published: str | None = None
    at: float = 0.0
    heartbeat: int | None = None
    is_copy: bool = False
    clock_lead: float = 0.0

    def record_state(self, session: str, published: str, moment: Moment, *, copied: bool) -> None:
        """Record a `state`, or a retained copy of a `state`."""
        lag = (to_microseconds(moment.wall) - to_microseconds(published)) / 1e6
        if not copied:
            self.at, self.is_copy, self.clock_lead = moment.monotonic, False, -lag
        elif (self.session, self.published) != (session, published):
            self.at = moment.monotonic - max(0.0, lag + self.clock_lead)
            self.is_copy = True
        self.session, self.published = session, published


class DeadlineQueue:
    """
    The next deadline of each table; a call of `due` costs nothing while no deadline has passed.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._by_key: dict[str, float] = {}

    def schedule(self, key: str, at: float) -> None:
        """Add a deadline; an earlier one of the same table is kept."""
        if at < self._by_key.get(key, math.inf):
            self._by_key[key] = at
            heapq.heappush(self._heap, (at, key))

    def cancel(self, key: str) -> None:
        """Remove the deadline of a table."""
        self._by_key.pop(key, None)
        if len(self._heap) > 2 * len(self._by_key) + MAX_CANCELLED_DEADLINES:
            self._heap = [(at, name) for name, at in self._by_key.items()]
            heapq.heapify(self._heap)

    def due(self, now: float) -> Iterator[str]:
        """Remove and yield the tables whose deadline has passed."""
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            if self._by_key.get(key) == at:
                del self._by_key[key]
                yield key


def stale_at(contact: LastContact, stale_after: float | None = None) -> float:
    """Return the monotonic time from which a table is stale without a further message."""
    heartbeat = contact.heartbeat or DEFAULT_HEARTBEAT_S
    timeout = stale_after or MISSED_HEARTBEATS * heartbeat
    return contact.at + (
        min(timeout, heartbeat + LATE_HEARTBEAT_S) if contact.is_copy else timeout
    )


def freshness_of(
    contact: LastContact | None, link: Link, now: float, stale_after: float | None = None
) -> Freshness:
    """
    Return the freshness of a table.

    Args:
        contact: The table's last contact; None if nothing was received.
        link: The connection to the broker.
        now: Monotonic seconds.
        stale_after: Timeout in seconds; None for three heartbeats.
    """
    if not link.connected:
        return Freshness("no_broker", link.since)
    if contact is None:
        return Freshness("unknown")
    if contact.status in {"offline", "stopping"}:
        return Freshness(contact.status, contact.status_since or contact.published)
    differs = contact.session is None or contact.session != contact.status_session
    if differs or now >= stale_at(contact, stale_after):
        return Freshness("stale", contact.published)
    return Freshness("live")

"""
Whether what is shown of a table is still true: a pure question of what was heard
and of the time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from shoe_daemon.table import to_microseconds

__all__ = ["Deadlines", "Fresh", "Heard", "Link", "Moment", "fresh", "stale_at"]

_HEARTBEAT: Final = 10
_MISSED: Final = 3
"""So many heartbeats may fail to come before a table is stale."""

_LATE: Final = 2.0
"""Seconds that the next heartbeat may be late after a word that is mere hearsay."""

_IDLE: Final = 1000
"""So many entries of tables that are no more are not worth the work."""

Is = Literal["live", "stale", "stopping", "offline", "no_broker", "unknown"]


class Moment(NamedTuple):
    """
    Now, by both clocks: monotonic seconds, and RFC 3339.
    """

    monotonic: float
    wall: str


class Fresh(Struct, frozen=True, rename={"state": "is"}):
    """
    What a page is told.

    Attributes:
        state: ``live``, or why the table is to be greyed.
        since: From when on, RFC 3339; None where that is not known, and while live.
    """

    state: Is
    since: str | None = None


class Link(Struct, frozen=True):
    """
    The display's own connection to the broker.

    Attributes:
        connected: The broker is there and has taken our subscriptions.
        since: From when on it is so; None before the first connection.
        detail: Why there is none; None where there is one.
    """

    connected: bool = False
    since: str | None = None
    detail: str | None = None


class Heard(Struct):
    """
    What the freshness of one table follows from.

    Attributes:
        status: What it last said of itself; None before, or when it was cleared.
        status_session: The session that said so.
        status_since: When; None for a copy that the broker had kept.
        session: The session of the last `state`; None where there is none.
        published: When that was sent.
        at: The same by our monotonic clock.
        heartbeat: Seconds within which the next one is due; None where it is not told.
        hearsay: It has not said anything itself over this connection: what it said is a
            copy, and nobody may be there any more who would say more.
        ahead: So many seconds its clock is ahead of ours, as far as is known.
    """

    status: Literal["online", "stopping", "offline"] | None = None
    status_session: str | None = None
    status_since: str | None = None
    session: str | None = None
    published: str | None = None
    at: float = 0.0
    heartbeat: int | None = None
    hearsay: bool = False
    ahead: float = 0.0

    def note(self, session: str, published: str, moment: Moment, *, copied: bool) -> None:
        """
        Take note of a `state`, or of a copy of one that the broker had kept.
        """
        lag = (to_microseconds(moment.wall) - to_microseconds(published)) / 1e6
        if not copied:
            self.at, self.hearsay, self.ahead = moment.monotonic, False, -lag
        elif (self.session, self.published) != (session, published):
            self.at, self.hearsay = moment.monotonic - max(0.0, lag + self.ahead), True
        self.session, self.published = session, published


class Deadlines:
    """
    When each table is to be looked at again; asking costs nothing while none is due.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}

    def note(self, key: str, at: float) -> None:
        """
        Look at a table again at that moment, or before.
        """
        if at < self._due.get(key, math.inf):
            self._due[key] = at
            heapq.heappush(self._heap, (at, key))

    def forget(self, key: str) -> None:
        """
        The table is no more.
        """
        self._due.pop(key, None)
        if len(self._heap) > 2 * len(self._due) + _IDLE:
            self._heap = [(at, name) for name, at in self._due.items()]
            heapq.heapify(self._heap)

    def passed(self, now: float) -> Iterator[str]:
        """
        Give the tables that are due; they are to be noted again.
        """
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            if self._due.get(key) == at:
                del self._due[key]
                yield key


def stale_at(heard: Heard, stale_after: float | None = None) -> float:
    """
    Return the moment from which a table is stale if nothing comes, monotonic.
    """
    heartbeat = heard.heartbeat or _HEARTBEAT
    patience = stale_after or _MISSED * heartbeat
    return heard.at + (min(patience, heartbeat + _LATE) if heard.hearsay else patience)


def fresh(heard: Heard | None, link: Link, now: float, stale_after: float | None = None) -> Fresh:
    """
    Say how fresh a table is.

    Args:
        heard: What was heard of it; None for nothing.
        link: Our connection to the broker.
        now: Monotonic seconds.
        stale_after: Seconds, where three heartbeats are not the measure.
    """
    if not link.connected:
        return Fresh("no_broker", link.since)
    if heard is None:
        return Fresh("unknown")
    if heard.status in {"offline", "stopping"}:
        return Fresh(heard.status, heard.status_since or heard.published)
    differs = heard.session is None or heard.session != heard.status_session
    if differs or now >= stale_at(heard, stale_after):
        return Fresh("stale", heard.published)
    return Fresh("live")

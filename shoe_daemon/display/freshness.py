"""
Whether what is shown of a table is still true: a pure question of what was heard
and of the time.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

__all__ = ["Fresh", "Heard", "Link", "fresh", "stale_at"]

_HEARTBEAT: Final = 10
_MISSED: Final = 3
"""So many heartbeats may fail to come before a table is stale."""

Is = Literal["live", "stale", "stopping", "offline", "no_broker", "unknown"]


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
    """

    status: Literal["online", "stopping", "offline"] | None = None
    status_session: str | None = None
    status_since: str | None = None
    session: str | None = None
    published: str | None = None
    at: float = 0.0
    heartbeat: int | None = None


def stale_at(heard: Heard, stale_after: float | None = None) -> float:
    """
    Return the moment from which a table is stale if nothing comes, monotonic.
    """
    return heard.at + (stale_after or _MISSED * (heard.heartbeat or _HEARTBEAT))


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

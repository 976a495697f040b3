"""
State of one table as received from the broker: documents, latest events, last contact; and its
freshness: live, stale, stopping, offline or unknown. Pure; the time is an argument.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from shoe_daemon.floor.figures import Figures
from shoe_daemon.floor.messages import Document
from shoe_daemon.mqtt.documents import NotifierStatus
from shoe_daemon.mqtt.topics import STATE
from shoe_daemon.table import Detail, make_detail, to_microseconds

TABLE_NAME: Final = re.compile(r"(?P<site>[a-z0-9-]{1,40}\.)?[a-z0-9-]{1,40}")
"""How people name a table: its id, or site and id."""

MAX_PAST_SESSIONS: Final = 8
MAX_FAULT_RECORDS: Final = 20
MAX_FAULT_TOPIC_LENGTH: Final = 120

DEFAULT_HEARTBEAT_S: Final = 10
MISSED_HEARTBEATS: Final = 3
"""Heartbeats that may be missing before a table is stale."""

LATE_HEARTBEAT_S: Final = 2.0
"""Tolerance for the first heartbeat after a retained copy."""

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


class Deadlines:
    """The next deadline of each table."""

    def __init__(self) -> None:
        self._by_key: dict[str, float] = {}

    def schedule(self, key: str, at: float) -> None:
        """Add a deadline; an earlier one of the same table is kept."""
        self._by_key[key] = min(at, self._by_key.get(key, math.inf))

    def cancel(self, key: str) -> None:
        """Remove the deadline of a table."""
        self._by_key.pop(key, None)

    def due(self, now: float) -> list[str]:
        """Remove and return the tables whose deadline has passed, the earliest first."""
        found = sorted((at, key) for key, at in self._by_key.items() if at <= now)
        for _, key in found:
            del self._by_key[key]
        return [key for _, key in found]


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


class NotifierFault(Struct, frozen=True, kw_only=True):
    """
    A reason why people are not notified, as the pit shows it.

    Attributes:
        recipient: Its failing recipient; None if the notifier itself is off.
        since: Start, RFC 3339; None if unknown. The other fields are those of `RecipientStatus`.
    """

    notifier: str
    recipient: str | None = None
    since: str | None = None
    attempts: int = 0
    detail: str | None = None
    detail_code: str | None = None
    detail_values: dict[str, int] = field(default_factory=dict)


class Notifier:
    """The last report of a notifier about itself; `copied` marks a retained copy."""

    def __init__(self, name: str, status: NotifierStatus, moment: Moment, *, copied: bool) -> None:
        self._name, self._status = name, status
        contact = LastContact(at=moment.monotonic, heartbeat=status.heartbeat, is_copy=copied)
        self._silent_at = stale_at(contact)
        # The time in a last will is that of the connection's begin.
        self._off_since = None if copied else moment.wall

    def faults(self, now: float) -> list[NotifierFault]:
        """Return the failing recipients, or that the notifier itself is off."""
        status = self._status
        if status.state == "offline":
            return [NotifierFault(notifier=self._name, since=self._off_since)]
        if now >= self._silent_at:
            return [NotifierFault(notifier=self._name, since=status.at)]
        return [
            NotifierFault(
                notifier=self._name,
                recipient=each.id,
                since=each.failing_since,
                attempts=each.attempts,
                detail=each.detail,
                detail_code=each.detail_code,
                detail_values=each.detail_values,
            )
            for each in status.recipients
            if each.detail is not None
        ]


class Limits(Struct, frozen=True):
    """
    Limits on what publishers can make the display store; `devices`, `events` and `event_bytes`
    are for each table.
    """

    notifiers: int = 20
    tables: int = 2000
    devices: int = 16
    events: int = 200
    event_bytes: int = 200_000
    bytes: int = 256_000_000


class Message(NamedTuple):
    """A message from the broker; `retained` marks the retained copy sent after a subscription."""

    topic: str
    payload: bytes
    retained: bool = False


class Change(NamedTuple):
    """
    A change that pages may show.

    Attributes:
        key: The table; None for a change that concerns all tables.
        what: ``board``, ``roads``, ``history``, ``alerts``, ``row``, ``event``,
            ``device``, ``link``, ``new``, ``gone`` or ``pit``.
        event: JSON of the event, if the change is an event.
        urgent: Publish immediately; other changes are published once a second.
    """

    key: str | None
    what: str
    event: bytes | None = None
    urgent: bool = True


class FaultRecord(Struct, frozen=True):
    """An invalid message, as the pit shows it."""

    at: str
    topic: str
    what: str


class FaultLog(Struct):
    """Number of invalid messages, and the latest of them."""

    total: int = 0
    last: deque[FaultRecord] = field(default_factory=lambda: deque(maxlen=MAX_FAULT_RECORDS))

    def add(self, topic: str, what: str, moment: Moment) -> None:
        """Count and record an invalid message."""
        self.total += 1
        self.last.append(FaultRecord(moment.wall, topic[:MAX_FAULT_TOPIC_LENGTH], what))


class MemoryBudget:
    """Bytes that all tables together store, and their limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0

    def add(self, size: int) -> None:
        """Change the number of used bytes; a negative size releases bytes."""
        self._used += size

    def has_room(self, size: int) -> bool:
        """Return whether so many further bytes may be stored."""
        return self._used + size <= self.limit


class EventLog:
    """The latest events of one table by sequence number; the oldest are dropped first."""

    def __init__(self, max_count: int, max_bytes: int, budget: MemoryBudget) -> None:
        self._max_count, self._max_bytes, self._budget = max_count, max_bytes, budget
        self._by_seq: dict[int, bytes] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._by_seq)

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_seq)

    @property
    def json(self) -> list[bytes]:
        """JSON of every event, oldest first."""
        return list(self._by_seq.values())

    @property
    def last_seq(self) -> int:
        """Sequence number of the latest event; 0 if there are no events."""
        return next(reversed(self._by_seq), 0)

    def add(self, seq: int, json: bytes) -> bool:
        """Store an event; return False if it is stored already or older than all stored events."""
        if seq in self._by_seq or (self._by_seq and seq < next(iter(self._by_seq))):
            return False
        in_order = seq > self.last_seq
        self._by_seq[seq] = json
        self._add_size(len(json))
        if not in_order:
            self._by_seq = dict(sorted(self._by_seq.items()))
        while self._by_seq and self._is_over_limit():
            self._add_size(-len(self._by_seq.pop(next(iter(self._by_seq)))))
        return True

    def clear(self) -> None:
        """Drop all events."""
        self._add_size(-self._size)
        self._by_seq.clear()

    def _is_over_limit(self) -> bool:
        over = len(self._by_seq) > self._max_count or self._size > self._max_bytes
        return over or not self._budget.has_room(0)

    def _add_size(self, size: int) -> None:
        self._size += size
        self._budget.add(size)


class Table:
    """
    One table.

    Attributes:
        key: Both ids, joined by a dot.
        contact: What the freshness depends on.
        documents: Documents by kind: `state`, `roads` …; devices as ``device/<id>``.
        figures: What happened in the last hour.
        events_since: Time from which on `events` is complete, apart from dropped old events.
        faults: Number of invalid messages.
        freshness: The freshness that was published last.
        past_sessions: Sessions that a later session has replaced.
        published: The last event of an earlier session, while the table's own numbers are below
            it: its journal went back. None if it did not.
        cached_views: Encoded documents for pages, by name; removed when they change.
    """

    def __init__(self, site: str, table: str, since: str, events: EventLog) -> None:
        self.site, self.table, self.key = site, table, f"{site}.{table}"
        self.contact = LastContact()
        self.documents: dict[str, Document] = {}
        self.events = events
        self.figures = Figures()
        self.events_since = since
        self.faults = 0
        self.freshness = Freshness("unknown")
        self.past_sessions: deque[str] = deque(maxlen=MAX_PAST_SESSIONS)
        self.published: int | None = None
        self.cached_views: dict[str, bytes] = {}

    def body(self, kind: str) -> Any:  # noqa: ANN401 - the type that the kind has
        """Return the document of a kind, or None."""
        found = self.documents.get(kind)
        return None if found is None else found.body

    @property
    def alarm(self) -> Detail | None:
        """An alarm that the table does not raise itself; None without one."""
        state = self.body(STATE)
        if self.published is None or state is None:
            return None
        return make_detail(
            "journal_went_back", seq=state.seq, published=self.published, next_seq=None
        )

    @property
    def devices(self) -> Iterator[tuple[str, Document]]:
        """The devices of the current session, by their ids."""
        for kind, document in sorted(self.documents.items()):
            if kind.startswith("device/") and document.body.session == self.contact.session:
                yield kind.partition("/")[2], document

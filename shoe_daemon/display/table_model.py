"""
What is known of one table, and the words in which the model speaks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from shoe_daemon.display.event_log import Events
from shoe_daemon.display.freshness import Fresh, Heard, Moment
from shoe_daemon.display.message_validation import Document, Fault

__all__ = ["Change", "Faults", "Limits", "Message", "Moment", "Table", "Told"]

_SESSIONS: Final = 8
_TOLD: Final = 20


class Limits(Struct, frozen=True):
    """
    What a publisher cannot exceed, whatever it sends.

    Attributes:
        tables: Known at a time.
        devices: Of one table.
        events: Kept of one table.
        event_bytes: All events of one table together.
        bytes: All that is kept.
    """

    tables: int = 2000
    devices: int = 16
    events: int = 200
    event_bytes: int = 200_000
    bytes: int = 256_000_000


class Message(NamedTuple):
    """
    What the broker sent: `retained` where it is a copy that it had kept.
    """

    topic: str
    payload: bytes
    retained: bool = False


class Change(NamedTuple):
    """
    Something that pages may want to know.

    Attributes:
        key: The table; None for what concerns all.
        what: ``board``, ``roads``, ``history``, ``alerts``, ``row``, ``event``,
            ``device``, ``link``, ``new``, ``gone`` or ``pit``.
        event: The event's JSON, where it is one.
        urgent: Pages want it at once; else within a second, however often it comes.
    """

    key: str | None
    what: str
    event: bytes | None = None
    urgent: bool = True


class Told(Struct, frozen=True):
    """
    A fault, as the pit is told of it.
    """

    at: str
    topic: str
    what: str


class Faults(Struct):
    """
    What was wrong: how often, and the latest.
    """

    total: int = 0
    last: deque[Told] = field(default_factory=lambda: deque(maxlen=_TOLD))


class Table:
    """
    What is known of one table.

    Attributes:
        site: Where it stands.
        table: Its id.
        key: Both, with a dot between.
        heard: What its freshness follows from.
        documents: By kind: `state`, `roads` …; devices as ``device/<id>``.
        events: The latest.
        events_since: From when on none is missing, unless it fell out at the other end.
        faults: How many of its messages were wrong.
        fresh: As it was last told.
        past: Sessions that another one has replaced.
        views: What pages are given, by name, while nothing has changed.
    """

    def __init__(self, site: str, table: str, since: str, events: Events) -> None:
        self.site, self.table, self.key = site, table, f"{site}.{table}"
        self.heard = Heard()
        self.documents: dict[str, Document] = {}
        self.events = events
        self.events_since = since
        self.faults = 0
        self.fresh = Fresh("unknown")
        self.past: deque[str] = deque(maxlen=_SESSIONS)
        self.views: dict[str, bytes] = {}

    def body(self, kind: str) -> Any:  # noqa: ANN401 - the type that `documents` gives the kind
        """
        Return the document of a kind, or None.
        """
        found = self.documents.get(kind)
        return None if found is None else found.body

    def check_session(self, session: str) -> None:
        """
        See that a session is not over.

        Raises:
            Fault: Another one has replaced it.
        """
        if session in self.past:
            raise Fault(f"session {session[:20]!r} is over: another one has replaced it")

    def check_devices(self, most: int) -> None:
        """
        See that there is room for one device more.

        Raises:
            Fault: There is none.
        """
        if sum(name.startswith("device/") for name in self.documents) >= most:
            raise Fault(f"more than {most} devices")

    @property
    def devices(self) -> Iterator[tuple[str, Document]]:
        """
        Its readers, by their ids; those of a session that is over are no more.
        """
        for kind, document in sorted(self.documents.items()):
            if kind.startswith("device/") and document.body.session == self.heard.session:
                yield kind.partition("/")[2], document

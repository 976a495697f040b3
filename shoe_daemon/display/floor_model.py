"""
The model: what is known of every table. Pure: no I/O, and time comes in.

What comes from the broker is untrusted. A message that is wrong changes nothing
but the count of faults; what was good before stays. What can grow has a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from shoe_daemon.display.event_log import Events, Scale
from shoe_daemon.display.freshness import Deadlines, Fresh, Link, fresh, stale_at
from shoe_daemon.display.message_validation import (
    Document,
    Fault,
    Place,
    decode,
    place_of,
    same_but_time,
)
from shoe_daemon.display.table_model import Change, Faults, Limits, Message, Moment, Table, Told
from shoe_daemon.mqtt.topics import (
    ALERTS,
    DEFAULT_PREFIX,
    HISTORY,
    RESULT,
    ROADS,
    STAFF_ALERTS,
    STATE,
    STATUS,
)

__all__ = ["Tables"]

_AUDIENCE: Final[dict[str, tuple[str, ...]]] = {
    ALERTS: ("alerts", "row"),
    HISTORY: ("history",),
    RESULT: (),
    ROADS: ("roads", "row"),
    STAFF_ALERTS: ("alerts", "row"),
}
"""What is to be told anew when a document has changed."""

_AHEAD: Final = 100_000
"""Events come before the state that they lead to, but not by so many."""

_TOPIC_TOLD: Final = 120

_PARDON: Final = 30.0
"""Seconds that a daemon may take to come back to a broker that has lost its memory."""


class Tables:
    """
    All tables that were heard of.

    Attributes:
        link: Our connection to the broker.
        faults: What was wrong with what came.
        generation: Another number whenever there are other tables.
        prefix: What stands before the site in every topic.
        staff_alerts: The alerts that only staff may see are accepted.
    """

    def __init__(
        self,
        prefix: str = DEFAULT_PREFIX,
        *,
        staff_alerts: bool = False,
        stale_after: float | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.prefix = prefix
        self.staff_alerts = staff_alerts
        self.link = Link()
        self.faults = Faults()
        self._stale_after = stale_after
        self._limits = limits or Limits()
        self._by_key: dict[str, Table] = {}
        self._by_id: dict[str, list[str]] = {}
        self.generation = 0
        self._scale = Scale(self._limits.bytes)
        self._deadlines = Deadlines()
        self._missing = Deadlines()

    def __iter__(self) -> Iterator[Table]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def keys(self) -> Iterable[str]:
        """
        Return the keys of all tables.
        """
        return self._by_key.keys()

    def get(self, key: str) -> Table | None:
        """
        Return a table by its key, or None where nothing was heard of it.
        """
        return self._by_key.get(key)

    def named(self, name: str) -> list[Table]:
        """
        Return the tables that an address may mean: by key, or by id at any site.
        """
        if "." in name:
            found = self._by_key.get(name)
            return [] if found is None else [found]
        return [self._by_key[key] for key in self._by_id.get(name, ())]

    def fresh(self, table: Table | None, now: float) -> Fresh:
        """
        Say how fresh a table is at this moment.
        """
        heard = None if table is None else table.heard
        return fresh(heard, self.link, now, self._stale_after)

    def receive(self, message: Message, moment: Moment) -> list[Change]:
        """
        Take a message from the broker; never raises.
        """
        place: Place | None = None
        try:
            place = place_of(message.topic, self.prefix, staff_alerts=self.staff_alerts)
            return self._take(place, message, moment)
        except Fault as fault:
            table = None if place is None else self._by_key.get(place.key)
            return self.note_fault(message.topic, str(fault), moment, table)

    def note_fault(
        self, topic: str, what: str, moment: Moment, table: Table | None = None
    ) -> list[Change]:
        """
        Count a fault, and say whom it concerns.
        """
        self.faults.total += 1
        self.faults.last.append(Told(moment.wall, topic[:_TOPIC_TOLD], what))
        changes = [Change(None, "pit", urgent=False)]
        if table is not None:
            table.faults += 1
            table.views.pop("row", None)
            changes.append(Change(table.key, "row", urgent=False))
        return changes

    def _take(self, place: Place, message: Message, moment: Moment) -> list[Change]:
        if not message.payload:
            return self._clear(place, moment)
        self._missing.forget(place.key)
        document = decode(place, message.payload)
        table = self._by_key.get(place.key)
        if place.kind == "event":
            return [] if table is None else self._take_event(table, document)
        if table is not None:
            return self._take_retained(table, place, document, message, moment)
        if len(self._by_key) >= self._limits.tables:
            raise Fault(f"more than {self._limits.tables} tables")
        limits = self._limits
        events = Events(limits.events, limits.event_bytes, self._scale)
        table = Table(place.site, place.table, moment.wall, events)
        changes = self._take_retained(table, place, document, message, moment)
        self._add(table)
        return [Change(table.key, "new"), *changes]

    def _add(self, table: Table) -> None:
        self._by_key[table.key] = table
        self._by_id.setdefault(table.table, []).append(table.key)
        self.generation += 1

    def _take_retained(
        self,
        table: Table,
        place: Place,
        document: Document,
        message: Message,
        moment: Moment,
    ) -> list[Change]:
        if place.kind == STATUS:
            return self._take_status(table, document, message, moment)
        return self._take_document(table, place, document, message, moment)

    def _take_status(
        self, table: Table, document: Document, message: Message, moment: Moment
    ) -> list[Change]:
        heard, status = table.heard, document.body
        again = (heard.status, heard.status_session) == (status.state, status.session)
        self._put(table, STATUS, document)
        if not again:
            heard.status, heard.status_session = status.state, status.session
            heard.status_since = None if message.retained else moment.wall
        if status.session in table.past:
            table.past.remove(status.session)
        return self._freshened(table, moment.monotonic)

    def _take_document(
        self,
        table: Table,
        place: Place,
        document: Document,
        message: Message,
        moment: Moment,
    ) -> list[Change]:
        name = f"device/{place.name}" if place.name else place.kind
        before = table.documents.get(name)
        table.check_session(document.body.session)
        if before is not None and self._is_older(table, before.body, document.body, moment):
            if message.retained:
                return []  # the broker had kept an older copy: it lost some time, and lies not
            raise Fault(f"seq went back from {before.body.seq} to {document.body.seq}")
        if place.kind == "device" and before is None:
            table.check_devices(self._limits.devices)
        self._put(table, name, document)
        if place.kind == STATE:
            return self._take_state(table, before, document, message, moment)
        return self._told(table, place.kind, before, document)

    def _is_older(self, table: Table, before: Any, after: Any, moment: Moment) -> bool:  # noqa: ANN401
        """
        Tell whether a document contradicts the one before it.

        Only while that is fresh: a number that is wrong must not keep what is
        right away for ever.
        """
        if before.session != after.session or after.seq >= before.seq:
            return False
        return moment.monotonic < stale_at(table.heard, self._stale_after)

    def _take_state(
        self,
        table: Table,
        before: Document | None,
        document: Document,
        message: Message,
        moment: Moment,
    ) -> list[Change]:
        state = document.body
        begun: list[Change] = []
        if before is not None and before.body.session != state.session:
            begun = self._begin_session(table, before.body.session, state)
        table.heard.note(state.session, state.published, moment, copied=message.retained)
        table.heard.heartbeat = state.heartbeat
        self._look_again(table)
        changes = self._freshened(table, moment.monotonic)
        same = before is not None and same_but_time(before.body, state)
        if changes or same:
            return begun + changes
        return begun + self._changed(table, "board", "row")

    def _begin_session(self, table: Table, before: str, state: Any) -> list[Change]:  # noqa: ANN401
        table.past.append(before)
        if state.seq >= table.events.last:
            return []
        # A journal that began anew begins to count anew.
        table.events.clear()
        return [Change(table.key, "events")]

    def _told(
        self, table: Table, kind: str, before: Document | None, after: Document
    ) -> list[Change]:
        if before is not None and before.json == after.json:
            return []
        if kind == "device":
            # Its ages change all the time: only who looks at this one table is told.
            same = before is not None and before.body.state == after.body.state
            table.views.pop("row", None)
            return self._changed(table, "device", *(() if same else ("row",)))
        return self._changed(table, *_AUDIENCE[kind])

    def _take_event(self, table: Table, document: Document) -> list[Change]:
        seq, state = document.body.seq, table.body(STATE)
        if state is not None and seq > state.seq + _AHEAD:
            raise Fault(f"seq {seq} is far beyond that of the table, {state.seq}")
        if not table.events.add(seq, document.json):
            return []
        return [Change(table.key, "event", document.json)]

    def _put(self, table: Table, name: str, document: Document) -> None:
        before = table.documents.get(name)
        size = len(document.json) - (0 if before is None else len(before.json))
        if size > 0 and not self._scale.bears(size):
            raise Fault(f"more than {self._scale.most} bytes for all tables together")
        self._scale.add(size)
        table.documents[name] = document

    def _clear(self, place: Place, moment: Moment) -> list[Change]:
        """
        Take note that a topic was cleared; without its `state` a table is no more.
        """
        table = self._by_key.get(place.key)
        if table is None or place.kind == "event":
            return []
        if place.kind == STATE:
            return self._remove(table)
        name = f"device/{place.name}" if place.name else place.kind
        gone = table.documents.pop(name, None)
        if gone is None:
            return []
        self._scale.add(-len(gone.json))
        if place.kind == STATUS:
            table.heard.status = table.heard.status_session = None
            return self._freshened(table, moment.monotonic)
        return self._changed(table, *_AUDIENCE.get(place.kind, ("row",)))

    def _remove(self, table: Table) -> list[Change]:
        table.events.clear()
        self._scale.add(-sum(len(each.json) for each in table.documents.values()))
        self._deadlines.forget(table.key)
        self._missing.forget(table.key)
        del self._by_key[table.key]
        self._by_id[table.table].remove(table.key)
        self._by_id = {name: keys for name, keys in self._by_id.items() if keys}
        self.generation += 1
        return [Change(table.key, "gone"), Change(None, "pit")]

    def _changed(self, table: Table, *what: str) -> list[Change]:
        for each in what:
            table.views.pop(each, None)
        return [Change(table.key, each) for each in what]

    def _freshened(self, table: Table, now: float) -> list[Change]:
        """
        Say who is to be told where the freshness of a table has changed.
        """
        is_now = self.fresh(table, now)
        if is_now == table.fresh:
            return []
        table.fresh = is_now
        return self._changed(table, "board", "row")

    def _look_again(self, table: Table) -> None:
        self._deadlines.note(table.key, stale_at(table.heard, self._stale_after))

    def pass_time(self, now: float) -> list[Change]:
        """
        Say what has changed only because time has passed.
        """
        over = list(self._missing.passed(now))
        changes = [each for key in over for each in self._remove(self._by_key[key])]
        for key in self._deadlines.passed(now):
            table = self._by_key.get(key)
            if table is not None:
                changes += self._freshened(table, now)
                if stale_at(table.heard, self._stale_after) > now:
                    self._look_again(table)
        return changes

    def miss(self, there: frozenset[str], now: float) -> None:
        """
        Take note of which tables the broker has anything, by their keys.

        Those that are not there, and do not come back within half a minute, are no more.
        """
        for key in self._by_key.keys() - there:
            self._missing.note(key, now + _PARDON)

    def set_link(self, link: Link, now: float) -> list[Change]:
        """
        Take note of our own connection: without it nothing is fresh, and after it was lost
        nothing is more than hearsay until it is said again.
        """
        self.link = link
        self._missing = Deadlines()
        changes = [Change(None, "pit"), Change(None, "link")]
        for table in self:
            table.heard.hearsay = True
            self._look_again(table)
            changes += self._freshened(table, now)
            if link.connected and link.since is not None:
                # What was said meanwhile, nobody has told us.
                table.events_since = link.since
                changes.append(Change(table.key, "events"))
        return changes

"""
Model of all tables, updated by messages from the broker. Pure: no I/O, time is an argument.

Messages are untrusted. An invalid message is counted and changes nothing else; the last valid
document stays. Everything that can grow has a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from shoe_daemon.floor.copies import Copies, LateCopy
from shoe_daemon.floor.messages import (
    Document,
    InvalidMessage,
    TopicParts,
    decode,
    decode_notifier,
    is_same_state,
    notifier_id,
    parse_topic,
)
from shoe_daemon.floor.table import (
    Change,
    Deadlines,
    EventLog,
    FaultLog,
    Freshness,
    Limits,
    Link,
    MemoryBudget,
    Message,
    Moment,
    Notifier,
    NotifierFault,
    Table,
    freshness_of,
    stale_at,
)
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

_VIEWS_OF_DOCUMENT: Final[dict[str, tuple[str, ...]]] = {
    ALERTS: ("alerts", "public_alerts", "row"),
    HISTORY: ("history",),
    RESULT: (),
    ROADS: ("roads", "row"),
    STAFF_ALERTS: ("alerts", "row"),
}
"""The views that change with a document."""

MAX_SEQ_LEAD: Final = 100_000
"""Limit on how far the `seq` of an event may be ahead of the `state`, which follows later."""

MISSING_TABLE_TIMEOUT_S: Final = 30.0
"""Time for a daemon to publish again to a broker that has lost its retained documents."""


class _Update(NamedTuple):
    """A valid message for a retained topic."""

    topic: TopicParts
    document: Document
    retained: bool
    moment: Moment


class Floor:
    """
    All tables.

    Attributes:
        link: The display's connection to the broker.
        faults: Invalid messages.
        generation: Changes whenever a table is added or removed.
        prefix: First levels of every topic.
        staff_alerts: Alerts for staff only are accepted.
        notifier_faults: Why people are not notified; empty unless `notifier_status` is set.
        late_copies: Tables that the back office's database is behind.

    Args:
        notifier_status: Accept what notifiers tell of themselves.
        site: The only site whose notifiers count; None for all.
        stale_after: Seconds after which a table is stale; None for three heartbeats.
        limits: Limits on what publishers can make the display store.
    """

    def __init__(  # noqa: PLR0913 - each is optional
        self,
        prefix: str = DEFAULT_PREFIX,
        *,
        staff_alerts: bool = False,
        notifier_status: bool = False,
        site: str | None = None,
        stale_after: float | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.prefix = prefix
        self.staff_alerts = staff_alerts
        self._notifier_status, self._site = notifier_status, site
        self._notifiers: dict[str, Notifier] = {}
        self.notifier_faults: list[NotifierFault] = []
        self._copies = Copies()
        self.late_copies: list[LateCopy] = []
        self.link = Link()
        self.faults = FaultLog()
        self._stale_after = stale_after
        self._limits = limits or Limits()
        self._by_key: dict[str, Table] = {}
        self._keys_by_id: dict[str, list[str]] = {}
        self.generation = 0
        self._budget = MemoryBudget(self._limits.bytes)
        self._stale_deadlines = Deadlines()
        self._missing_deadlines = Deadlines()

    def __iter__(self) -> Iterator[Table]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def keys(self) -> Iterable[str]:
        """Return the keys of all tables."""
        return self._by_key.keys()

    def get(self, key: str) -> Table | None:
        """Return a table by its key, or None."""
        return self._by_key.get(key)

    def named(self, name: str) -> list[Table]:
        """Return the tables with this key, or with this id at any site."""
        if "." in name:
            found = self._by_key.get(name)
            return [] if found is None else [found]
        return [self._by_key[key] for key in self._keys_by_id.get(name, ())]

    def freshness(self, table: Table | None, now: float) -> Freshness:
        """Return the freshness of a table now; None stands for an unknown table."""
        contact = None if table is None else table.contact
        return freshness_of(contact, self.link, now, self._stale_after)

    def receive(self, message: Message, moment: Moment) -> list[Change]:
        """Apply a message from the broker; never raises."""
        topic: TopicParts | None = None
        try:
            notifier = notifier_id(message.topic, self.prefix) if self._notifier_status else None
            if notifier is not None:
                return self._apply_notifier(notifier, message, moment)
            topic = parse_topic(message.topic, self.prefix, staff_alerts=self.staff_alerts)
            return self._apply(topic, message, moment)
        except InvalidMessage as error:
            table = None if topic is None else self._by_key.get(topic.key)
            return self.count_fault(message.topic, str(error), moment, table)

    def count_fault(
        self, topic: str, what: str, moment: Moment, table: Table | None = None
    ) -> list[Change]:
        """Count and record an invalid message."""
        self.faults.add(topic, what, moment)
        changes = [Change(None, "pit", urgent=False)]
        if table is not None:
            table.faults += 1
            table.cached_views.pop("row", None)
            changes.append(Change(table.key, "row", urgent=False))
        return changes

    def _apply_notifier(self, name: str, message: Message, moment: Moment) -> list[Change]:
        if not message.payload:
            self._notifiers.pop(name, None)
            return self._update_notifier_faults(moment.monotonic)
        status = decode_notifier(message.payload)
        if None not in {status.site, self._site} and status.site != self._site:
            return []
        if len(self._notifiers.keys() | {name}) > self._limits.notifiers:
            raise InvalidMessage(f"more than {self._limits.notifiers} notifiers")
        self._notifiers[name] = Notifier(name, status, moment, copied=message.retained)
        return self._update_notifier_faults(moment.monotonic)

    def _update_notifier_faults(self, now: float) -> list[Change]:
        faults = [
            fault
            for _, notifier in sorted(self._notifiers.items())
            for fault in notifier.faults(now)
        ]
        if faults == self.notifier_faults:
            return []
        self.notifier_faults = faults
        return [Change(None, "pit")]

    def _apply(self, topic: TopicParts, message: Message, moment: Moment) -> list[Change]:
        if not message.payload:
            return self._clear_topic(topic, moment)
        self._missing_deadlines.cancel(topic.key)
        document = decode(topic, message.payload)
        table = self._by_key.get(topic.key)
        if topic.kind == "event":
            return [] if table is None else self._apply_event(table, document)
        update = _Update(topic, document, message.retained, moment)
        apply = self._apply_status if topic.kind == STATUS else self._apply_document
        if table is not None:
            return apply(table, update)
        if len(self._by_key) >= self._limits.tables:
            raise InvalidMessage(f"more than {self._limits.tables} tables")
        limits = self._limits
        events = EventLog(limits.events, limits.event_bytes, self._budget)
        table = Table(topic.site, topic.table, moment.wall, events)
        changes = apply(table, update)
        self._by_key[table.key] = table
        self._keys_by_id.setdefault(table.table, []).append(table.key)
        self.generation += 1
        return [Change(table.key, "new"), *changes]

    def _apply_status(self, table: Table, update: _Update) -> list[Change]:
        contact, status = table.contact, update.document.body
        self._store(table, STATUS, update.document)
        if (contact.status, contact.status_session) != (status.state, status.session):
            contact.status, contact.status_session = status.state, status.session
            contact.status_since = None if update.retained else update.moment.wall
        if status.session in table.past_sessions:
            table.past_sessions.remove(status.session)
        return self._update_freshness(table, update.moment.monotonic)

    def _apply_document(self, table: Table, update: _Update) -> list[Change]:
        topic, document = update.topic, update.document
        name = topic.document_name
        before = table.documents.get(name)
        session = document.body.session
        if session in table.past_sessions:
            raise InvalidMessage(f"session {session[:20]!r} is over: another one has replaced it")
        if before is not None and self._is_older(table, before.body, document.body, update.moment):
            if update.retained:
                return []  # the broker restored an older copy; this is not an error
            raise InvalidMessage(f"seq went back from {before.body.seq} to {document.body.seq}")
        if topic.kind == "device" and before is None:
            devices = sum(each.startswith("device/") for each in table.documents)
            if devices >= self._limits.devices:
                raise InvalidMessage(f"more than {self._limits.devices} devices")
        self._store(table, name, document)
        if topic.kind == STATE:
            return self._apply_state(table, before, update)
        if before is not None and before.json == document.json:
            return []
        if topic.kind == "device":
            # Its ages change with each message; only the page of this table shows them.
            same = before is not None and before.body.state == document.body.state
            table.cached_views.pop("row", None)
            return self._view_changes(table, "device", *(() if same else ("row",)))
        return self._view_changes(table, *_VIEWS_OF_DOCUMENT[topic.kind])

    def _is_older(self, table: Table, before: Any, after: Any, moment: Moment) -> bool:  # noqa: ANN401
        """
        Return whether a document is older than the stored one.

        Only while the table is fresh: a wrong, too high `seq` must not block valid documents
        for ever.
        """
        if before.session != after.session or after.seq >= before.seq:
            return False
        return moment.monotonic < stale_at(table.contact, self._stale_after)

    def _apply_state(self, table: Table, before: Document | None, update: _Update) -> list[Change]:
        state, moment = update.document.body, update.moment
        session_changes: list[Change] = []
        if before is not None and before.body.session != state.session:
            table.past_sessions.append(before.body.session)
            if state.seq < before.body.seq:
                table.published = max(before.body.seq, table.published or 0)
            if state.seq < table.events.last_seq:
                # A new journal starts its sequence numbers again.
                table.events.clear()
                table.events_since = moment.wall
                session_changes.append(Change(table.key, "events"))
        if table.published is not None and state.seq >= table.published:
            table.published = None
        table.contact.record_state(state.session, state.published, moment, copied=update.retained)
        table.contact.heartbeat = state.heartbeat
        self._schedule_stale(table)
        changes = self._update_freshness(table, moment.monotonic)
        same = before is not None and is_same_state(before.body, state)
        if changes or same:
            return session_changes + changes
        return session_changes + self._view_changes(table, "board", "row")

    def _apply_event(self, table: Table, document: Document) -> list[Change]:
        seq, state = document.body.seq, table.body(STATE)
        if state is not None and seq > state.seq + MAX_SEQ_LEAD:
            raise InvalidMessage(f"seq {seq} is far beyond that of the table, {state.seq}")
        if not table.events.add(seq, document.json):
            return []
        table.figures.note(document.body.type, document.body.at)
        return [Change(table.key, "event", document.json)]

    def _store(self, table: Table, name: str, document: Document) -> None:
        before = table.documents.get(name)
        size = len(document.json) - (0 if before is None else len(before.json))
        if size > 0 and not self._budget.has_room(size):
            raise InvalidMessage(f"more than {self._budget.limit} bytes for all tables together")
        self._budget.add(size)
        table.documents[name] = document

    def _clear_topic(self, topic: TopicParts, moment: Moment) -> list[Change]:
        """Remove a document whose topic was cleared; a cleared `state` removes the table."""
        table = self._by_key.get(topic.key)
        if table is None or topic.kind == "event":
            return []
        if topic.kind == STATE:
            return self._remove(table)
        removed = table.documents.pop(topic.document_name, None)
        if removed is None:
            return []
        self._budget.add(-len(removed.json))
        if topic.kind == STATUS:
            table.contact.status = table.contact.status_session = None
            return self._update_freshness(table, moment.monotonic)
        return self._view_changes(table, *_VIEWS_OF_DOCUMENT.get(topic.kind, ("row",)))

    def _remove(self, table: Table) -> list[Change]:
        table.events.clear()
        self._budget.add(-sum(len(each.json) for each in table.documents.values()))
        self._stale_deadlines.cancel(table.key)
        self._missing_deadlines.cancel(table.key)
        del self._by_key[table.key]
        self._keys_by_id[table.table].remove(table.key)
        self._keys_by_id = {name: keys for name, keys in self._keys_by_id.items() if keys}
        self.generation += 1
        return [Change(table.key, "gone"), Change(None, "pit")]

    def _view_changes(self, table: Table, *names: str) -> list[Change]:
        for name in names:
            table.cached_views.pop(name, None)
        return [Change(table.key, name) for name in names]

    def _update_freshness(self, table: Table, now: float) -> list[Change]:
        freshness = self.freshness(table, now)
        if freshness == table.freshness:
            return []
        table.freshness = freshness
        return self._view_changes(table, "board", "row")

    def _schedule_stale(self, table: Table) -> None:
        self._stale_deadlines.schedule(table.key, stale_at(table.contact, self._stale_after))

    def advance_time(self, now: float) -> list[Change]:
        """Return the changes that follow from the time alone."""
        removed = self._missing_deadlines.due(now)
        changes = [each for key in removed for each in self._remove(self._by_key[key])]
        for key in self._stale_deadlines.due(now):
            table = self._by_key.get(key)
            if table is not None:
                changes += self._update_freshness(table, now)
                if stale_at(table.contact, self._stale_after) > now:
                    self._schedule_stale(table)
        return changes + self._update_notifier_faults(now)

    def compare_copies(self, copied: Mapping[str, int], moment: Moment) -> list[Change]:
        """Compare the tables with the last copied event of each, by keys."""
        late = self._copies.late(self, copied, moment)
        if late == self.late_copies:
            return []
        self.late_copies = late
        return [Change(None, "pit")]

    def expire_missing(self, known_tables: frozenset[str], now: float) -> None:
        """Remove all tables but the known ones, unless they publish within half a minute."""
        for key in self._by_key.keys() - known_tables:
            self._missing_deadlines.schedule(key, now + MISSING_TABLE_TIMEOUT_S)

    def set_link(self, link: Link, now: float) -> list[Change]:
        """
        Set the state of the connection: without it no table is fresh, and after a loss every
        document is unconfirmed until republished.
        """
        self.link = link
        self._missing_deadlines = Deadlines()
        if not link.connected:
            # The broker sends again what notifiers told; what was cleared meanwhile is gone.
            self._notifiers.clear()
            self.notifier_faults = []
        changes = [Change(None, "pit"), Change(None, "link")]
        for table in self:
            table.contact.is_copy = True
            self._schedule_stale(table)
            changes += self._update_freshness(table, now)
            if link.connected and link.since is not None:
                # Events published during the loss were not received.
                table.events_since = link.since
                changes.append(Change(table.key, "events"))
        return changes

"""
Receiving connection to the broker, on a thread of its own; the display publishes nothing.

The thread subscribes to what players may see (and to the alerts for staff, if configured),
reconnects for ever, and puts every message into its `inbox`. A program that tells how it
is (`shoe-daemon notify`) publishes one retained document, its `Announcement`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import structlog

from shoe_daemon.floor.inbox import Inbox, now_rfc3339
from shoe_daemon.floor.table import Link, Message
from shoe_daemon.mqtt.connection import (
    REFUSED,
    Acknowledged,
    Connected,
    Connection,
    ConnectionEvent,
    ConnectionLost,
    MessageReceived,
    PacketTooLarge,
    Subscribed,
    Will,
)
from shoe_daemon.mqtt.session import Session
from shoe_daemon.mqtt.settings import MqttSettings, Timeouts
from shoe_daemon.mqtt.topics import STAFF_ALERTS, STATE, STATUS

_log = structlog.get_logger(__name__)

QUIET_S: Final = 2.0
"""Time without a retained message after which a broker counts as done with them."""

MAX_TABLES: Final = 100_000
"""Above this number somebody publishes invented tables: discovery is abandoned."""

LOOP_INTERVAL_S: Final = 1.0
STOP_TIMEOUT_S: Final = 1.0
HUNG_AFTER_S: Final = 30.0
"""Inactivity after which the thread counts as hung; a slow name server takes less."""

CLEARING_TIMEOUT_S: Final = 0.7
_SUBSCRIPTION_ROUNDS: Final = 2
MAX_EXTRA_FAILURES: Final = 2
"""Connections that may end with an extra subscription, before it is given up."""


class TableDiscovery:
    """
    Finds out which tables have retained messages, over one connection. Pure.

    A broker does not tell when it has sent all retained messages. Some send them before they
    confirm a subscription, some after, and most wait for acknowledgements. After a quiet time
    one topic is therefore subscribed to again, which only a living broker confirms; the second
    quiet time is the end.

    The result may be wrong for a very slow broker. Nothing is lost then: a later message adds
    its table again.

    Args:
        quiet: Seconds of a quiet time.
    """

    def __init__(self, prefix: str, quiet: float = QUIET_S) -> None:
        self._start = f"{prefix}/"
        self._quiet = quiet
        self._keys: set[str] = set()
        self._done = False
        self._confirmations = 0
        self._quiet_since: float | None = None

    def add_message(self, topic: str, payload: bytes, *, retained: bool, now: float) -> None:
        """Record the table of a message; a message that clears its topic is ignored."""
        if self._done or not payload or not topic.startswith(self._start):
            return
        site, _, rest = topic[len(self._start) :].partition("/")
        self._keys.add(f"{site}.{rest.partition('/')[0]}")
        if retained and self._quiet_since is not None:
            self._quiet_since = now
        if len(self._keys) > MAX_TABLES:
            self.abandon()

    def confirm_subscriptions(self, now: float) -> None:
        """Record that the broker has confirmed all subscriptions."""
        self._confirmations += 1
        self._quiet_since = now

    def abandon(self) -> None:
        """Give no result for this connection."""
        self._done = True
        self._keys.clear()

    def should_resubscribe(self, now: float) -> bool:
        """Return True once, after the first quiet time."""
        if self._confirmations >= _SUBSCRIPTION_ROUNDS or not self._is_quiet(now):
            return False
        self._quiet_since = None
        return True

    def result(self, now: float) -> frozenset[str] | None:
        """Return the keys of all tables with retained messages once; None before and after."""
        if self._confirmations < _SUBSCRIPTION_ROUNDS or not self._is_quiet(now):
            return None
        self._done = True
        keys, self._keys = frozenset(self._keys), set()
        return keys

    def _is_quiet(self, now: float) -> bool:
        since = self._quiet_since
        return not self._done and since is not None and now - since >= self._quiet


class Announcement(NamedTuple):
    """
    The document with the state of a program: retained, replaced by the last will when the
    connection is lost, and cleared by `Feed.stop`.

    Attributes:
        last_will: Returns the payload of the last will.
    """

    topic: str
    last_will: Callable[[], bytes]


class Recorder(Protocol):
    """Receives every message, and when some may be missing; no method may block."""

    def put(self, message: Message) -> None:
        """Take a message."""

    def connected(self) -> None:
        """Note that all events and `state` documents are received since now."""

    def lost(self) -> None:
        """Note that the connection to the broker is lost."""


class Feed(Session):
    """
    The thread, from `start` to `stop`.

    Attributes:
        inbox: Messages and changes of the connection, for the subscriber's thread.

    Args:
        topic_filters: Subscriptions; see `messages.topic_filters`. Those outside the
            tables' tree follow last, and cost nothing where the broker does not grant them.
        notify: Called when an empty inbox receives something; see `Inbox`.
        recorder: Receives the same messages and changes of the connection; None without.
        client: Beginning of the client ids.
        announcement: What `announce` publishes; None for a program that publishes nothing.
    """

    def __init__(  # noqa: PLR0913 - the recorder is one more receiver
        self,
        settings: MqttSettings,
        topic_filters: Sequence[str],
        notify: Callable[[], None],
        *,
        timeouts: Timeouts | None = None,
        recorder: Recorder | None = None,
        client: str = "shoe-display",
        announcement: Announcement | None = None,
    ) -> None:
        super().__init__("feed", settings, timeouts)
        self._announcement = announcement
        self._announced: bytes | None = None
        self._sent: bytes | None = None
        self._refused = False
        self._refused_filters: set[str] = set()
        self._recorder, self._client = recorder, client
        self.inbox = Inbox(notify)
        self._link = Link()
        self._accepted_at: float | None = None
        start = f"{settings.prefix}/"
        self._filters = [each for each in topic_filters if each.startswith(start)]
        self._extra_filters = [each for each in topic_filters if not each.startswith(start)]
        self._extra_pending, self._extra_failures = False, 0
        self._status_filter = next(each for each in topic_filters if each.endswith(f"/{STATUS}"))
        self._discovery = TableDiscovery(settings.prefix)

    def announce(self, payload: bytes) -> None:
        """Publish the announcement, now or once the broker is connected; from any thread."""
        self._announced = payload
        self._wakeup.wake()

    def stop(self) -> None:
        """
        Clear the announcement, disconnect and stop the thread; returns after a timeout if the
        thread hangs.
        """
        self._end(STOP_TIMEOUT_S)

    @property
    def works(self) -> bool:
        """True unless the thread has ended, or hangs."""
        return self.alive and time.monotonic() - self.last_loop < HUNG_AFTER_S

    def _identify(self) -> tuple[str, Will | None]:
        # A unique client id: the broker disconnects the older of two clients with one id.
        client_id = f"{self._client}-{secrets.token_hex(4)}"
        if self._announcement is None:
            return client_id, None
        return client_id, Will(self._announcement.topic, self._announcement.last_will(), 0)

    def _serve(self, connection: Connection) -> None:
        self._sent, self._refused = None, False
        self._refused_filters.clear()
        self._discovery = TableDiscovery(self._settings.prefix)
        self._connect(connection)
        self._receive(connection)

    def _connect(self, connection: Connection) -> None:
        """Wait for the broker to accept the connection, and subscribe."""
        until = time.monotonic() + self._timeouts.connect_s
        while time.monotonic() < until:
            for event in self._events(connection):
                if isinstance(event, Connected):
                    self._accepted_at = time.monotonic()
                    for each in self._filters:
                        connection.subscribe(each)
                    return
        raise ConnectionLost("the broker does not answer")

    def _receive(self, connection: Connection) -> None:
        unconfirmed = set(self._filters)
        until = time.monotonic() + self._timeouts.connect_s
        while not self._stopping:
            for event in self._events(connection):
                if not isinstance(event, Subscribed):
                    continue
                self._report_refused(event)
                if event.topic_filter in self._extra_filters:
                    self._extra_pending, self._extra_failures = False, 0
                elif event.topic_filter in unconfirmed:
                    unconfirmed.remove(event.topic_filter)
                    if not unconfirmed:
                        self._report_connected()
                        self._subscribe_extra(connection)
                        self._discovery.confirm_subscriptions(time.monotonic())
                elif event.topic_filter in self._refused_filters:
                    self._report_granted(event)
                elif event.topic_filter == self._status_filter:
                    self._discovery.confirm_subscriptions(time.monotonic())
            self._discover_tables(connection)
            self._send_announcement(connection)
            if unconfirmed and time.monotonic() > until:
                raise ConnectionLost("the broker does not confirm the subscriptions")
        self._clear_announcement(connection)
        connection.disconnect()

    def _subscribe_extra(self, connection: Connection) -> None:
        if self._extra_filters and self._extra_failures < MAX_EXTRA_FAILURES:
            self._extra_pending = True
            for each in self._extra_filters:
                connection.subscribe(each)

    def _send_announcement(self, connection: Connection) -> None:
        payload = self._announced
        if self._announcement is not None and payload is not None and payload is not self._sent:
            self._sent = payload
            try:
                connection.publish(self._announcement.topic, payload, retain=True)
            except PacketTooLarge as error:
                self._warn("announcement_refused", reason=str(error))

    def _clear_announcement(self, connection: Connection) -> None:
        if self._announcement is None:
            return
        number = connection.publish(self._announcement.topic, b"", retain=True)
        for event in connection.events(CLEARING_TIMEOUT_S):
            if isinstance(event, Acknowledged) and event.mid == number:
                return

    def _discover_tables(self, connection: Connection) -> None:
        now = time.monotonic()
        if self._discovery.should_resubscribe(now):
            connection.subscribe(self._status_filter)
        keys = self._discovery.result(now)
        if keys is not None:
            self.inbox.put_known_tables(keys)

    def _events(self, connection: Connection) -> Iterator[ConnectionEvent]:
        """Run the network loop once: queue the messages, give all other events."""
        self.last_loop = time.monotonic()
        for event in connection.poll(LOOP_INTERVAL_S, self._wakeup.descriptor):
            match event:
                case MessageReceived(topic, payload, retained):
                    now = time.monotonic()
                    self._discovery.add_message(topic, payload, retained=retained, now=now)
                    message = Message(topic, payload, retained)
                    self.inbox.put(message)
                    if self._recorder is not None:
                        self._recorder.put(message)
                case Acknowledged(_, code, reason) if code >= REFUSED and not self._refused:
                    self._refused = True
                    hint = "the rights at the broker: mosquitto-shoe.acl"
                    self._warn("announcement_refused", reason=reason, hint=hint)
                case _:
                    yield event
        self._wakeup.clear()

    def _report_refused(self, answer: Subscribed) -> None:
        """Note a refusal; others may be granted, and the pit shows what is missing."""
        topics, reason = answer
        if reason is None:
            return
        if topics not in self._extra_filters and not topics.endswith(STAFF_ALERTS):
            self._discovery.abandon()
            self._refused_filters.add(topics)
        self._warn("subscription_refused", topics=topics, reason=reason)

    def _report_connected(self) -> None:
        if self._may_log("broker_connected", time.monotonic()):
            _log.info("broker_connected", broker=self._broker)
        self._set_link(Link(connected=True, since=now_rfc3339()))
        self._begin_recording()

    def _report_granted(self, answer: Subscribed) -> None:
        """Note that a subscription was granted that had been refused on this connection."""
        if answer.refusal is None:
            self._refused_filters.remove(answer.topic_filter)
            _log.info("subscription_granted", broker=self._broker, topics=answer.topic_filter)
            self._begin_recording()

    def _begin_recording(self) -> None:
        # Without one of these, missing events would count as received.
        needed = (f"/{STATE}", "/event/+")
        if self._recorder is not None and not any(
            each.endswith(needed) for each in self._refused_filters
        ):
            self._recorder.connected()

    def _lost(self, reason: str, _lost: ConnectionLost | None) -> float:
        if self._extra_pending:
            # Some brokers end a connection that asks for what it may not read.
            self._extra_pending = False
            self._extra_failures += 1
            if self._extra_failures == MAX_EXTRA_FAILURES:
                self._warn("subscription_given_up", topics=self._extra_filters)
        if self._recorder is not None:
            self._recorder.lost()
        accepted_at, self._accepted_at = self._accepted_at, None
        lived = 0.0 if accepted_at is None else time.monotonic() - accepted_at
        # A short connection is no sign of a second client with this id: the id is unique.
        short = lived < self._timeouts.stable_session_s
        retry = self._reconnect_delay
        delay = retry.after_failure() if short else retry.after_session(lived)
        self._warn("broker_lost", reason=reason, retry_in=round(delay, 1))
        if self._link.connected or self._link.detail != reason:
            since = now_rfc3339() if self._link.connected else self._link.since
            self._set_link(Link(since=since, detail=reason))
        return delay

    def _set_link(self, link: Link) -> None:
        self._link = link
        self.inbox.put_link(link)

    def _warn(self, event: str, **facts: object) -> None:
        if self._may_log(event, time.monotonic()):
            _log.warning(event, broker=self._broker, **facts)

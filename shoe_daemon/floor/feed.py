"""
Receiving connection to the broker, on a thread of its own; the display publishes nothing.

The thread subscribes to what players may see (and to the alerts for staff, if configured),
reconnects for ever, and puts every message into its `inbox`. A program that tells how it
is (`shoe-daemon notify`) publishes one retained document, its `Announcement`.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import structlog

from shoe_daemon.errors import UserError
from shoe_daemon.floor.inbox import Inbox, now_rfc3339
from shoe_daemon.floor.table import Link, Message
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.paho_connection import (
    REFUSED,
    Acknowledged,
    Connected,
    Connection,
    Disconnected,
    MessageReceived,
    PacketTooLarge,
    Subscribed,
    SubscriptionRefused,
    Will,
)
from shoe_daemon.mqtt.timeouts_and_retry_delays import ReconnectDelay, Timeouts
from shoe_daemon.mqtt.topics import STAFF_ALERTS, STATE, STATUS
from shoe_daemon.retry_and_log_limits import LogRateLimit
from shoe_daemon.thread_wakeup import Wakeup

_log = structlog.get_logger(__name__)

QUIET_S: Final = 2.0
"""Time without a retained message after which a broker counts as done with them."""

MAX_TABLES: Final = 100_000
"""Above this number somebody publishes invented tables: discovery is abandoned."""

LOOP_INTERVAL_S: Final = 1.0
STOP_TIMEOUT_S: Final = 1.0
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


class _ConnectionLost(Exception):  # noqa: N818 - every connection ends so
    pass


class Feed:
    """
    The thread, from `start` to `stop`.

    Attributes:
        inbox: Messages and changes of the connection, for the subscriber's thread.
        last_active: Last activity of the thread, monotonic.

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
        self._announcement = announcement
        self._announced: bytes | None = None
        self._sent: bytes | None = None
        self._refused = False
        self._refused_filters: set[str] = set()
        self._recorder, self._client = recorder, client
        self.last_active = time.monotonic()
        self._settings, self.inbox = settings, Inbox(notify)
        self._link = Link()
        self._broker = "{}:{}".format(*settings.address)
        start = f"{settings.prefix}/"
        self._filters = [each for each in topic_filters if each.startswith(start)]
        self._extra_filters = [each for each in topic_filters if not each.startswith(start)]
        self._extra_pending, self._extra_failures = False, 0
        self._status_filter = next(each for each in topic_filters if each.endswith(f"/{STATUS}"))
        self._discovery = TableDiscovery(settings.prefix)
        self._timeouts = timeouts or Timeouts()
        self._reconnect_delay = ReconnectDelay(self._timeouts, random.Random())
        self._may_log = LogRateLimit()
        self._wakeup = Wakeup()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="display-feed", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def announce(self, payload: bytes) -> None:
        """Publish the announcement, now or once the broker is connected; from any thread."""
        self._announced = payload
        self._wakeup.wake()

    def stop(self) -> None:
        """
        Clear the announcement, disconnect and stop the thread; returns after a timeout if the
        thread hangs.
        """
        self._stopping.set()
        self._wakeup.wake()
        self._thread.join(STOP_TIMEOUT_S)

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._sleep(self._run_connection())

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping.is_set() and (left := until - time.monotonic()) > 0:
            self.last_active = time.monotonic()
            self._stopping.wait(min(left, LOOP_INTERVAL_S))

    def _run_connection(self) -> float:
        """Receive over one connection until it ends; return the delay before the next one."""
        accepted: float | None = None
        reason = "the program stops"
        try:
            connection = self._open_connection()
            self._discovery = TableDiscovery(self._settings.prefix)
            try:
                accepted = self._connect(connection)
                self._receive(connection)
            finally:
                connection.close()
        except _ConnectionLost as lost:
            reason = str(lost)
        except (OSError, UserError) as error:
            reason = str(error) or type(error).__name__
        except Exception:  # noqa: BLE001 - no unexpected error may end the thread
            _log.error("feed_failed", exc_info=True)
            reason = "an error of the program itself; its log says more"
        return self._report_loss(reason, accepted)

    def _open_connection(self) -> Connection:
        # A unique client id: the broker disconnects the older of two clients with one id.
        client_id = f"{self._client}-{secrets.token_hex(4)}"
        will = None
        if self._announcement is not None:
            will = Will(self._announcement.topic, self._announcement.last_will(), 0)
        timeouts = self._timeouts
        connection = Connection(self._settings, client_id, will, timeouts.connect_s, timeouts)
        connection.open()
        self._sent, self._refused = None, False
        self._refused_filters.clear()
        return connection

    def _connect(self, connection: Connection) -> float:
        """Wait for the broker to accept the connection, and subscribe; return the time."""
        until = time.monotonic() + self._timeouts.connect_s
        while time.monotonic() < until:
            for event in self._run_loop_once(connection):
                if isinstance(event, Connected):
                    for each in self._filters:
                        connection.subscribe(each)
                    return time.monotonic()
        raise _ConnectionLost("the broker does not answer")

    def _receive(self, connection: Connection) -> None:
        unconfirmed = set(self._filters)
        until = time.monotonic() + self._timeouts.connect_s
        while not self._stopping.is_set():
            for event in self._run_loop_once(connection):
                if not isinstance(event, Subscribed):
                    continue
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
                raise _ConnectionLost("the broker does not confirm the subscriptions")
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
        until = time.monotonic() + CLEARING_TIMEOUT_S
        while connection.is_open and time.monotonic() < until:
            for event in connection.poll(until - time.monotonic()):
                if isinstance(event, Acknowledged) and event.mid == number:
                    return

    def _discover_tables(self, connection: Connection) -> None:
        now = time.monotonic()
        if self._discovery.should_resubscribe(now):
            connection.subscribe(self._status_filter)
        keys = self._discovery.result(now)
        if keys is not None:
            self.inbox.put_known_tables(keys)

    def _run_loop_once(self, connection: Connection) -> list[object]:
        """Run the network loop once: queue the messages, return all other events."""
        self.last_active = time.monotonic()
        others: list[object] = []
        events = connection.poll(LOOP_INTERVAL_S, self._wakeup.descriptor)
        self._wakeup.clear()
        for event in events:
            match event:
                case MessageReceived(topic, payload, retained):
                    now = time.monotonic()
                    self._discovery.add_message(topic, payload, retained=retained, now=now)
                    message = Message(topic, payload, retained)
                    self.inbox.put(message)
                    if self._recorder is not None:
                        self._recorder.put(message)
                case Disconnected(reason):
                    raise _ConnectionLost(reason)
                case Acknowledged(_, code, reason) if code >= REFUSED and not self._refused:
                    self._refused = True
                    hint = "the rights at the broker: mosquitto-shoe.acl"
                    self._warn("announcement_refused", reason=reason, hint=hint)
                case SubscriptionRefused(reason, topic_filter):
                    # Other subscriptions may be granted; missing documents show in the pit.
                    if topic_filter not in self._extra_filters and not topic_filter.endswith(
                        STAFF_ALERTS
                    ):
                        self._discovery.abandon()
                        self._refused_filters.add(topic_filter)
                    self._warn("subscription_refused", topics=topic_filter, reason=reason)
                case _:
                    others.append(event)
        if not connection.is_open:
            raise _ConnectionLost("the line is closed")
        return others

    def _report_connected(self) -> None:
        if self._may_log("broker_connected", time.monotonic()):
            _log.info("broker_connected", broker=self._broker)
        self._set_link(Link(connected=True, since=now_rfc3339()))
        self._begin_recording()

    def _report_granted(self, answer: Subscribed) -> None:
        """Note that a subscription was granted that had been refused on this connection."""
        if answer.accepted:
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

    def _report_loss(self, reason: str, accepted: float | None) -> float:
        if self._extra_pending:
            # Some brokers end a connection that asks for what it may not read.
            self._extra_pending = False
            self._extra_failures += 1
            if self._extra_failures == MAX_EXTRA_FAILURES:
                self._warn("subscription_given_up", topics=self._extra_filters)
        if self._recorder is not None:
            self._recorder.lost()
        if self._stopping.is_set():
            return 0.0
        lived = 0.0 if accepted is None else time.monotonic() - accepted
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

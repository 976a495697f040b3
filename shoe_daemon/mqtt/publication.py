"""
Publication over one connection: log in, subscribe, publish, and end with `offline`; and the state
that outlives the connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple

import msgspec
import structlog
from msgspec.structs import replace

from shoe_daemon.errors import describe_exception
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.logs import is_debugging
from shoe_daemon.mqtt.connection import (
    REFUSED,
    TOO_LARGE,
    Acknowledged,
    Connected,
    Connection,
    ConnectionEvent,
    ConnectionLost,
    MessageReceived,
    PacketTooLarge,
    Subscribed,
)
from shoe_daemon.mqtt.documents import Status, encode_message
from shoe_daemon.mqtt.outbox import Outbox
from shoe_daemon.mqtt.own_status import OWN_DOCUMENTS, Compare, Comparison, OwnStatus
from shoe_daemon.mqtt.queues import EventSource, Message
from shoe_daemon.mqtt.session import PacketLimit
from shoe_daemon.mqtt.settings import STATE_EXPIRY_HEARTBEATS, MqttSettings, Timeouts
from shoe_daemon.mqtt.topics import STATE, STATUS, TableIdentity, Topics
from shoe_daemon.table import from_microseconds
from shoe_daemon.threads import Wakeup

_MAX_POLL_S: Final = 1.0

_OFFLINE_TIME_S: Final = 2.0
"""Part of a stop's time that is reserved for the documents and an acknowledged `offline`."""

_MAX_SILENT_KEEPALIVES: Final = 3

_NOT_SENT: Final = 0
"""In place of a packet identifier, which is never zero."""


class ChainHead(NamedTuple):
    """The end of the journal's hash chain: its hash in hex, and the last event that it covers."""

    seq: int
    hash: str


class PublisherState:
    """
    State that outlives a connection: queues, callbacks, settings.

    Attributes:
        stop_by: When a stop must have ended (monotonic); None while none is requested.
        last_error: The last error; None before the first.
        last_refusal: The last topic that the broker refused to write, and its reason.
        orders_refusal: Why no order can be received; None while the broker accepts the
            subscription.
        own_status: The table's `status` as the broker has it.
        comparison: Of what the broker had retained before this start, with the journal.
        packet_limit: The largest packet that the broker accepts.
        too_large: The topics of documents and events that are above this limit.
    """

    def __init__(  # noqa: PLR0913 - everything that outlives a connection
        self,
        settings: MqttSettings,
        identity: TableIdentity,
        source: EventSource,
        cursor: int,
        *,
        on_acknowledged: Callable[[int], None],
        on_command: Callable[[str, MessageReceived], None] | None,
        chain_head: Callable[[], ChainHead | None],
        timeouts: Timeouts,
        wakeup: Wakeup,
        compare: Compare | None = None,
        lamps: Iterable[str] = (),
    ) -> None:
        self.settings = settings
        self.identity = identity
        self.timeouts = timeouts
        self.topics = Topics(identity.site, identity.table, settings.prefix, lamps=lamps)
        self.wakeup = wakeup
        self.outbox = Outbox(
            self.topics,
            source,
            cursor,
            timeouts=timeouts,
            now_text=_now_text,
            on_error=self.log_error,
        )
        self.log = structlog.get_logger(__name__).bind(site=identity.site, table=identity.table)
        self.may_log = LogRateLimit()
        self.stop_by: float | None = None
        self.last_error: str | None = None
        self.last_refusal: str | None = None
        self.orders_refusal: str | None = None
        self.own_status = OwnStatus(identity.session)
        self.comparison = Comparison(compare, identity.session, self.log_error)
        self.packet_limit = PacketLimit(timeouts.limit_retry_s)
        self.too_large: frozenset[str] = frozenset()
        self._on_acknowledged, self._on_command = on_acknowledged, on_command
        self._chain_head = chain_head
        self._reported_cursor = cursor

    def status(self, state: Literal["online", "stopping", "offline"]) -> bytes:
        """Return the payload of ``status`` at this moment."""
        return encode_message(self._status(state))

    def will(self) -> bytes:
        """Return the payload of the last will, which the broker publishes later."""
        now = self._status("offline")
        return encode_message(replace(now, head=None, head_at_connect=now.head))

    def online(self, _published: str) -> bytes:
        """Return the payload of ``status`` when the table is online."""
        return self.status("online")

    def _status(self, state: Literal["online", "stopping", "offline"]) -> Status:
        identity, head = self.identity, None
        try:
            head = self._chain_head()
        except Exception as error:  # noqa: BLE001 - a status without the hash is still useful
            self.log_error("chain_head_unknown", error)
        return Status(
            head=head and head.hash,
            head_seq=head and head.seq,
            name=identity.name,
            seq=self.outbox.events.head,
            session=identity.session,
            state=state,
        )

    def report_cursor(self) -> None:
        """Report the cursor if it has moved."""
        cursor = self.outbox.events.cursor
        if cursor == self._reported_cursor:
            return
        self._reported_cursor = cursor
        try:
            self._on_acknowledged(cursor)
        except Exception as error:  # noqa: BLE001 - the next cursor is reported again
            self.log_error("cursor_not_stored", error)

    def receive(self, message: MessageReceived) -> None:
        """Pass a command on, and note the table's own documents; drop any other message."""
        for name in OWN_DOCUMENTS:
            if message.topic == self.topics.retained(name):
                self._receive_own(name, message.payload)
        verb = self.topics.verb(message.topic)
        # Some brokers send messages of topics that were not subscribed.
        if verb is None or self._on_command is None:
            return
        try:
            self._on_command(verb, message)
        except Exception as error:  # noqa: BLE001 - a command must not stop the publisher
            self.log_error("command_not_handled", error)

    def _receive_own(self, name: str, payload: bytes) -> None:
        if name == STATUS:
            self.own_status.receive(payload)
            foreign = self.own_status.foreign
            if foreign is not None and self.may_log("foreign_session", time.monotonic()):
                self.log.critical("foreign_session", session=foreign)
        self.comparison.receive(name, payload)

    def log_error(self, event: str, error: Exception, **facts: str) -> None:
        """Log an error of our own code, at most once a minute."""
        reason = describe_exception(error)
        self.last_error = f"{event}: {reason}"
        if self.may_log(" ".join([event, *facts.values()]), time.monotonic()):
            self.log.error(event, reason=reason, **facts)


class Publication:
    """
    Publishes over one connection.

    Attributes:
        accepted_at: When the broker accepted the connection (monotonic); None before.
        session_present: Whether it had kept the session.
    """

    def __init__(self, state: PublisherState, connection: Connection) -> None:
        self.accepted_at: float | None = None
        self.session_present = False
        now = time.monotonic()
        self._state = state
        self._connection = connection
        self._connect_by = now + state.timeouts.connect_s
        self._progress_at = now
        self._heartbeat_at = now
        self._online_pending = False
        self._announced_limit: int | None = None
        self._unanswered: set[str] = set()
        self._logged: dict[str, dict[str, Any]] = {}
        self._compare_at = self._compare_by = now
        self._offline: bytes | None = None
        self._offline_acknowledged = False

    def run_once(self, now: float) -> None:
        """
        Wait for the broker or for work, and do it.

        Raises:
            ConnectionLost: The connection has ended.
        """
        wakeup = self._state.wakeup
        for event in self._connection.poll(self._poll_timeout(now), wakeup.descriptor):
            self._handle(event)
        self._state.report_cursor()
        # Cleared before the work, so that a wakeup during the work is not missed.
        wakeup.clear()
        self._work()

    def _poll_timeout(self, now: float) -> float:
        until = min(now + _MAX_POLL_S, self._state.outbox.retry_at(now))
        if self.accepted_at is not None:
            until = min(until, self._heartbeat_at)
            if not self._state.comparison.is_done:
                until = min(until, self._compare_at)
        if self._state.stop_by is not None:
            until = min(until, self._state.stop_by)
        return max(until - now, 0.0)

    def _handle(self, event: ConnectionEvent) -> None:
        state = self._state
        match event:
            case Acknowledged():
                self._acknowledge(event)
            case MessageReceived():
                state.receive(event)
            case Connected():
                self._begin(event)
            case Subscribed():
                self._subscribed(event)

    def _begin(self, connected: Connected) -> None:
        """Subscribe and queue everything again: the broker may have lost any of it."""
        state = self._state
        self.accepted_at = self._progress_at = time.monotonic()
        self.session_present = connected.session_present
        self._heartbeat_at = self.accepted_at + state.settings.heartbeat
        state.orders_refusal = None
        state.own_status.begin()
        state.too_large = frozenset()
        self._announced_limit = connected.max_packet
        self._subscribe()
        state.outbox.restart(connected.receive_maximum)
        state.outbox.documents.requeue()
        state.outbox.documents.remove(STATUS)
        self._online_pending = True
        state.log.info("broker_connected", broker=self._connection.settings.name)

    def _subscribe(self) -> None:
        state, timeouts = self._state, self._state.timeouts
        self._connection.subscribe(state.topics.commands)
        own = [STATUS] if state.comparison.is_done else OWN_DOCUMENTS
        for suffix in own:
            self._connection.subscribe(state.topics.retained(suffix), copies=True)
        self._unanswered = {state.topics.retained(suffix) for suffix in own}
        # A broker that does not answer a subscription must not keep the table from its displays.
        self._compare_by = self._compare_at = time.monotonic() + timeouts.connect_s

    def _subscribed(self, answer: Subscribed) -> None:
        state = self._state
        if answer.refusal is not None:
            self._subscription_refused(answer.topic_filter, answer.refusal)
        if answer.topic_filter == state.topics.commands:
            if answer.refusal is None:
                state.orders_refusal = None
        elif answer.topic_filter in self._unanswered:
            self._unanswered.remove(answer.topic_filter)
            if not self._unanswered:
                # Some brokers send the retained messages after their answer.
                until = time.monotonic() + state.timeouts.copies_s
                self._compare_at = min(until, self._compare_by)

    def _subscription_refused(self, topic_filter: str, reason: str) -> None:
        state = self._state
        if topic_filter == state.topics.commands:
            state.last_error = f"orders cannot be received: {reason}"
            state.orders_refusal = f"orders: {reason}"
        if state.may_log(f"subscription_refused {topic_filter}", time.monotonic()):
            state.log.error("subscription_refused", topics=topic_filter, reason=reason)

    def _compare(self, now: float) -> bool:
        """Compare the copies once all have arrived, or in time; return whether to publish."""
        comparison = self._state.comparison
        if not comparison.is_done:
            if now < self._compare_at and (self._unanswered or not comparison.is_complete):
                return False
            comparison.run()
        if not comparison.may_publish:
            return False
        if comparison.skip_to is not None:
            self._state.outbox.events.skip_to(comparison.skip_to)
            comparison.skip_to = None
        return True

    def _acknowledge(self, answer: Acknowledged) -> None:
        now = self._progress_at = time.monotonic()
        state = self._state
        message = state.outbox.acknowledge(answer.mid, answer.reason, now)
        if message is None:
            return
        if answer.reason != TOO_LARGE:
            state.too_large -= {message.topic}
            state.packet_limit.accepted(message.topic)
        elif not message.is_answer:
            state.too_large |= {message.topic}
        if answer.reason >= REFUSED:
            state.last_error = f"{message.topic}: {answer.text}"
            if not message.is_answer:
                state.last_refusal = state.last_error
            # Whoever gives an order names the topic of its reply: all of these are one cause.
            cause = "reply" if message.is_answer else message.topic
            if messages := state.may_log(f"publish_refused {cause}", now):
                state.log.error(
                    "publish_refused",
                    topic=message.topic,
                    reason=answer.text,
                    messages=messages,
                )
        elif message.payload is self._offline:
            self._offline_acknowledged = True

    def _work(self) -> None:
        """Send everything that may be sent, `online` last."""
        now = time.monotonic()
        state = self._state
        if self.accepted_at is None:
            if now > self._connect_by:
                raise ConnectionLost("the broker does not answer")
            return
        self._check_progress(now)
        if not self._compare(now):
            return
        self._connection.max_packet = state.packet_limit.at(now, self._announced_limit)
        if state.stop_by is None and state.own_status.is_due(now):
            state.log.warning("status_published_again")
            state.outbox.documents.requeue()
            state.outbox.documents.remove(STATUS)
            self._online_pending = True
        if now >= self._heartbeat_at:
            self._heartbeat_at = now + state.settings.heartbeat
            state.outbox.documents.requeue(STATE)
        self._send_all(now)
        if self._online_pending and state.outbox.documents_sent(now):
            self._online_pending = False
            state.outbox.documents.put(STATUS, state.online, 0)
            self._send_all(now)

    def _check_progress(self, now: float) -> None:
        limit = _MAX_SILENT_KEEPALIVES * self._connection.settings.keepalive
        if not self._state.outbox.in_flight:
            self._progress_at = now
        elif now - self._progress_at > limit:
            raise ConnectionLost("the broker acknowledges nothing")

    def _send_all(self, now: float) -> None:
        outbox = self._state.outbox
        while (message := outbox.next(now)) is not None:
            try:
                outbox.mark_sent(message, self._send(message))
            except PacketTooLarge as error:
                # As if the broker had refused it: tried again ever more slowly.
                outbox.mark_sent(message, _NOT_SENT)
                self._acknowledge(Acknowledged(_NOT_SENT, TOO_LARGE, str(error)))
            # A slow journal must not use up the time for `offline`.
            if self._is_late(time.monotonic()) and not outbox.skip_events:
                break

    def _send(self, message: Message) -> int:
        expiry_s = None
        if message.suffix == STATE:
            expiry_s = STATE_EXPIRY_HEARTBEATS * self._state.settings.heartbeat
        if is_debugging():
            self._log_sent(message)
        return self._connection.publish(
            message.topic,
            message.payload,
            retain=message.suffix is not None,
            expiry_s=expiry_s,
            correlation=message.correlation,
        )

    def _log_sent(self, message: Message) -> None:
        """Log a message; of a document, only the fields that changed since the last one."""
        facts: dict[str, Any] = {}
        if message.payload.startswith(b"{") and not message.is_event:
            fields = msgspec.json.decode(message.payload)
            before = self._logged.get(message.topic, {})
            facts["changed"] = {
                key: each for key, each in fields.items() if before.get(key) != each
            }
            self._logged[message.topic] = fields
        self._state.log.debug("message_sent", topic=message.topic, **facts)

    def is_stopped(self) -> bool:
        """Return whether a stop was requested and has ended; take its next step."""
        stop_by = self._state.stop_by
        if stop_by is None:
            return False
        now = time.monotonic()
        if self._offline_acknowledged:
            self._connection.disconnect()
        elif now < stop_by:
            # A connection that is not accepted yet may still be in time.
            if self.accepted_at is not None and self._state.comparison.may_publish:
                self._continue_stop(now)
            return False
        return True

    def _is_late(self, now: float) -> bool:
        stop_by = self._state.stop_by
        return stop_by is not None and now > stop_by - _OFFLINE_TIME_S

    def _continue_stop(self, now: float) -> None:
        """Send `stopping` at once, then everything that is queued, then `offline`."""
        state, outbox = self._state, self._state.outbox
        if not outbox.status_first:
            self._online_pending = False
            outbox.status_first = True
            outbox.documents.put(STATUS, state.status("stopping"), 0)
            self._send_all(now)
        elif self._offline is None:
            if self._is_late(now):
                outbox.skip_events = True
                self._send_all(now)
            if self._is_all_sent(now):
                self._offline = state.status("offline")
                outbox.status_only = True
                outbox.documents.put(STATUS, self._offline, 0)
                self._send_all(now)

    def _is_all_sent(self, now: float) -> bool:
        """Return whether all that a stop waits for is done."""
        outbox = self._state.outbox
        return outbox.is_drained or (outbox.skip_events and outbox.documents_sent(now))


def _now_text() -> str:
    return from_microseconds(time.time_ns() // 1000)

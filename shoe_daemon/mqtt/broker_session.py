"""One connection of the publisher: log in, subscribe, publish, and end with `offline`."""

from __future__ import annotations

import time
from typing import Final

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
from shoe_daemon.mqtt.mqtt_settings import STATE_EXPIRY_HEARTBEATS
from shoe_daemon.mqtt.publisher_context import PublisherContext
from shoe_daemon.mqtt.queues import Message
from shoe_daemon.mqtt.topics import SIGNATURE, STATE, STATUS

_MAX_POLL_S: Final = 1.0

_OFFLINE_TIME_S: Final = 2.0
"""Part of a stop's time that is reserved for the documents and an acknowledged `offline`."""

_MAX_SILENT_KEEPALIVES: Final = 3

_NOT_SENT: Final = 0
"""In place of a packet identifier, which is never zero."""


class BrokerSession:
    """
    Publishes over one connection.

    Attributes:
        accepted_at: When the broker accepted the connection (monotonic); None before.
        session_present: Whether it had kept the session.
    """

    def __init__(self, context: PublisherContext, connection: Connection) -> None:
        self.accepted_at: float | None = None
        self.session_present = False
        now = time.monotonic()
        self._context = context
        self._connection = connection
        self._connect_by = now + context.timeouts.connect_s
        self._progress_at = now
        self._heartbeat_at = now
        self._online_pending = False
        self._announced_limit: int | None = None
        self._unanswered: set[str] = set()
        self._compare_at = self._compare_by = now
        self._offline: bytes | None = None
        self._offline_acknowledged = False

    def run_once(self, now: float) -> None:
        """
        Wait for the broker or for work, and do it.

        Raises:
            ConnectionLost: The connection has ended.
        """
        wakeup = self._context.wakeup
        for event in self._connection.poll(self._poll_timeout(now), wakeup.descriptor):
            self._handle(event)
        self._context.report_cursor()
        # Cleared before the work, so that a wakeup during the work is not missed.
        wakeup.clear()
        self._work()

    def _poll_timeout(self, now: float) -> float:
        until = min(now + _MAX_POLL_S, self._context.outgoing.retry_at(now))
        if self.accepted_at is not None:
            until = min(until, self._heartbeat_at)
            if not self._context.is_compared:
                until = min(until, self._compare_at)
        if self._context.stop_by is not None:
            until = min(until, self._context.stop_by)
        return max(until - now, 0.0)

    def _handle(self, event: ConnectionEvent) -> None:
        context = self._context
        match event:
            case Acknowledged():
                self._acknowledge(event)
            case MessageReceived():
                context.handle_message(event)
            case Connected():
                self._begin(event)
            case Subscribed():
                self._subscribed(event)

    def _begin(self, connected: Connected) -> None:
        """Subscribe and queue everything again: the broker may have lost any of it."""
        context = self._context
        self.accepted_at = self._progress_at = time.monotonic()
        self.session_present = connected.session_present
        self._heartbeat_at = self.accepted_at + context.settings.heartbeat
        context.orders_refusal = None
        context.own_status.begin()
        context.too_large = frozenset()
        self._announced_limit = connected.max_packet
        self._subscribe()
        context.outgoing.restart(connected.receive_maximum)
        context.outgoing.documents.requeue()
        context.outgoing.documents.remove(STATUS)
        self._online_pending = True
        host, port = context.settings.address
        context.log.info("broker_connected", broker=f"{host}:{port}")

    def _subscribe(self) -> None:
        context, timeouts = self._context, self._context.timeouts
        self._connection.subscribe(context.topics.commands)
        own = [STATUS] if context.is_compared else [STATUS, SIGNATURE]
        for suffix in own:
            self._connection.subscribe(context.topics.retained(suffix), copies=True)
        self._unanswered = {context.topics.retained(suffix) for suffix in own}
        # A broker that does not answer a subscription must not keep the table from its displays.
        self._compare_by = self._compare_at = time.monotonic() + timeouts.connect_s

    def _subscribed(self, answer: Subscribed) -> None:
        context = self._context
        if answer.refusal is not None:
            self._subscription_refused(answer.topic_filter, answer.refusal)
        if answer.topic_filter == context.topics.commands:
            if answer.refusal is None:
                context.orders_refusal = None
        elif answer.topic_filter in self._unanswered:
            self._unanswered.remove(answer.topic_filter)
            if not self._unanswered:
                # Some brokers send the retained messages after their answer.
                until = time.monotonic() + context.timeouts.copies_s
                self._compare_at = min(until, self._compare_by)

    def _subscription_refused(self, topic_filter: str, reason: str) -> None:
        context = self._context
        if topic_filter == context.topics.commands:
            context.last_error = f"orders cannot be received: {reason}"
            context.orders_refusal = f"orders: {reason}"
        if context.may_log(f"subscription_refused {topic_filter}", time.monotonic()):
            context.log.error("subscription_refused", topics=topic_filter, reason=reason)

    def _compare(self, now: float) -> bool:
        """Compare the copies once all have arrived, or in time; return whether to publish."""
        context = self._context
        if not context.is_compared:
            wanted = {STATUS, SIGNATURE}
            if now < self._compare_at and (self._unanswered or wanted - context.copies.keys()):
                return False
            context.compare()
        if not context.may_publish:
            return False
        if context.skip_to is not None:
            context.outgoing.events.skip_to(context.skip_to)
            context.skip_to = None
        return True

    def _acknowledge(self, answer: Acknowledged) -> None:
        now = self._progress_at = time.monotonic()
        context = self._context
        message = context.outgoing.acknowledge(answer.mid, answer.reason, now)
        if message is None:
            return
        if answer.reason != TOO_LARGE:
            context.too_large -= {message.topic}
            context.packet_limit.accepted(message.topic)
        elif not message.is_answer:
            context.too_large |= {message.topic}
        if answer.reason >= REFUSED:
            context.last_error = f"{message.topic}: {answer.text}"
            if not message.is_answer:
                context.last_refusal = context.last_error
            # Whoever gives an order names the topic of its reply: all of these are one cause.
            cause = "reply" if message.is_answer else message.topic
            if messages := context.may_log(f"publish_refused {cause}", now):
                context.log.error(
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
        context = self._context
        if self.accepted_at is None:
            if now > self._connect_by:
                raise ConnectionLost("the broker does not answer")
            return
        self._check_progress(now)
        if not self._compare(now):
            return
        self._connection.max_packet = context.packet_limit.at(now, self._announced_limit)
        if context.stop_by is None and context.own_status.is_due(now):
            context.log.warning("status_published_again")
            context.outgoing.documents.requeue()
            context.outgoing.documents.remove(STATUS)
            self._online_pending = True
        if now >= self._heartbeat_at:
            self._heartbeat_at = now + context.settings.heartbeat
            context.outgoing.documents.requeue(STATE)
        self._send_all(now)
        if self._online_pending and context.outgoing.documents_sent(now):
            self._online_pending = False
            context.outgoing.documents.put(STATUS, context.online, 0)
            self._send_all(now)

    def _check_progress(self, now: float) -> None:
        limit = _MAX_SILENT_KEEPALIVES * self._context.settings.keepalive
        if not self._context.outgoing.in_flight:
            self._progress_at = now
        elif now - self._progress_at > limit:
            raise ConnectionLost("the broker acknowledges nothing")

    def _send_all(self, now: float) -> None:
        outgoing = self._context.outgoing
        while (message := outgoing.next(now)) is not None:
            try:
                outgoing.mark_sent(message, self._send(message))
            except PacketTooLarge as error:
                # As if the broker had refused it: tried again ever more slowly.
                outgoing.mark_sent(message, _NOT_SENT)
                self._acknowledge(Acknowledged(_NOT_SENT, TOO_LARGE, str(error)))
            # A slow journal must not use up the time for `offline`.
            if self._is_late(time.monotonic()) and not outgoing.skip_events:
                break

    def _send(self, message: Message) -> int:
        expiry_s = None
        if message.suffix == STATE:
            expiry_s = STATE_EXPIRY_HEARTBEATS * self._context.settings.heartbeat
        return self._connection.publish(
            message.topic,
            message.payload,
            retain=message.suffix is not None,
            expiry_s=expiry_s,
            correlation=message.correlation,
        )

    def is_stopped(self) -> bool:
        """Return whether a stop was requested and has ended; take its next step."""
        stop_by = self._context.stop_by
        if stop_by is None:
            return False
        now = time.monotonic()
        if self._offline_acknowledged:
            self._connection.disconnect()
        elif now < stop_by:
            # A connection that is not accepted yet may still be in time.
            if self.accepted_at is not None and self._context.may_publish:
                self._continue_stop(now)
            return False
        return True

    def _is_late(self, now: float) -> bool:
        stop_by = self._context.stop_by
        return stop_by is not None and now > stop_by - _OFFLINE_TIME_S

    def _continue_stop(self, now: float) -> None:
        """Send `stopping` at once, then everything that is queued, then `offline`."""
        context, outgoing = self._context, self._context.outgoing
        if not outgoing.status_first:
            self._online_pending = False
            outgoing.status_first = True
            outgoing.documents.put(STATUS, context.status("stopping"), 0)
            self._send_all(now)
        elif self._offline is None:
            if self._is_late(now):
                outgoing.skip_events = True
                self._send_all(now)
            if self._is_all_sent(now):
                self._offline = context.status("offline")
                outgoing.status_only = True
                outgoing.documents.put(STATUS, self._offline, 0)
                self._send_all(now)

    def _is_all_sent(self, now: float) -> bool:
        """Return whether there is nothing left for which a stop waits."""
        outgoing = self._context.outgoing
        return outgoing.is_drained or (outgoing.skip_events and outgoing.documents_sent(now))

"""
The publisher: one thread that publishes the journal's events and the retained
documents, and reconnects after every loss of the broker.

On every connection it subscribes to commands and to its own `status`, sends unacknowledged
events again from the cursor, then all retained documents, and `online` last. Before the first
message of a start it has what the broker had retained compared with the journal. Nothing is lost
or reordered; a message that is sent twice has the same `seq`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from shoe_daemon.mqtt.connection import (
    TOO_LARGE,
    Connection,
    ConnectionLost,
    MessageReceived,
    Will,
    packet_size,
)
from shoe_daemon.mqtt.own_status import Compare
from shoe_daemon.mqtt.publication import ChainHead, Publication, PublisherState
from shoe_daemon.mqtt.queues import Document, EventSource, Message
from shoe_daemon.mqtt.session import Session
from shoe_daemon.mqtt.settings import MqttSettings, Timeouts
from shoe_daemon.mqtt.topics import STATUS, TableIdentity
from shoe_daemon.table import Detail, make_detail

_ID_CONFLICT: Final = "another client may use this client id"
_MAX_WAIT_S: Final = 1.0

_HUNG_AFTER_S: Final = 5.0
"""From this time without a loop on, the thread counts as hung."""

_HUNG_CONNECTING_AFTER_S: Final = 60.0
"""While it connects: a name server or a TLS handshake may take long."""


class Health(Struct, frozen=True):
    """
    The publisher's health, for `doctor`, the watchdog and the status line.

    Attributes:
        alive: Its thread runs its loop, or connects.
        connected: The broker has accepted the connection.
        cursor: All events up to this one are acknowledged.
        last_loop: When the thread last ran its loop (monotonic).
        in_flight: Messages that were sent and are not acknowledged.
        last_error: The last error; None before the first.
        has_subscribers: Whether a client receives the events; None if unknown.
        queued: Events that are not acknowledged.
        since: When it was connected or disconnected (monotonic).
        refusal: What the broker refuses at present: a topic with its reason, or orders; None if
            nothing. Replies do not count.
    """

    alive: bool
    connected: bool
    cursor: int
    last_loop: float
    in_flight: int
    last_error: str | None
    has_subscribers: bool | None
    queued: int
    since: float
    refusal: str | None = None


class Publisher(Session):
    """
    Publishes for one table from `start` to `stop`; every method is for any thread.

    The callbacks are called on the publisher's thread, so they must not block;
    errors that they raise are logged.

    Attributes:
        broker: The settings of the broker of the latest connection.
        broker_certificate: The certificate that it has shown (DER); None without TLS.
    """

    def __init__(  # noqa: PLR0913 - settings, identity, source and callbacks
        self,
        settings: MqttSettings,
        identity: TableIdentity,
        source: EventSource,
        cursor: int,
        on_acknowledged: Callable[[int], None],
        *,
        on_command: Callable[[str, MessageReceived], None] | None = None,
        chain_head: Callable[[], ChainHead | None] = lambda: None,
        timeouts: Timeouts | None = None,
        compare: Compare | None = None,
        lamps: Iterable[str] = (),
    ) -> None:
        """
        Args:
            settings: The broker.
            identity: The table, and this start of its daemon.
            source: The journal; read on the publisher's thread only.
            cursor: All events up to this one were acknowledged in earlier starts.
            on_acknowledged: Receives the new cursor whenever it has moved.
            on_command: Receives the end of its topic, and the message, of every command.
            chain_head: Returns the journal's head, for `status` and the last will.
            timeouts: All waits; for tests.
            compare: Compares what the broker had retained before this start with the journal,
                before the first message is sent; None compares nothing.
            lamps: The topics of the table's lamps, which get no replies.

        Raises:
            UserError: The site, the table or the prefix is invalid in a topic.
        """
        super().__init__("mqtt-publisher", settings, timeouts)
        self._state = PublisherState(
            settings,
            identity,
            source,
            cursor,
            on_acknowledged=on_acknowledged,
            on_command=on_command,
            chain_head=chain_head,
            timeouts=self._timeouts,
            wakeup=self._wakeup,
            compare=compare,
            lamps=lamps,
        )
        self._publication: Publication | None = None
        self.broker = self._brokers[0]
        self.broker_certificate: bytes | None = None
        self._disconnected_at = self.last_loop

    def begin(self, skip_to: int) -> None:
        """Begin to publish, after a comparison that has found a difference, after this event."""
        # In this order: the publisher's thread looks at the second one first.
        self._state.comparison.skip_to = skip_to
        self._state.comparison.may_publish = True
        self._wakeup.wake()

    @property
    def alarm(self) -> Detail | None:
        """Why displays may not show this table as it is; None if they can."""
        state = self._state
        if state.own_status.foreign is not None:
            return make_detail("foreign_session", session=state.own_status.foreign[:20])
        if state.too_large:
            return make_detail("message_too_large", topics=", ".join(sorted(state.too_large)))
        return None

    def notify(self, head_seq: int) -> None:
        """
        Publish the events up to `head_seq`, which are in the journal.

        Best called after `retain` and last before the caller blocks: from here on
        the two threads share one interpreter lock.
        """
        self._state.outbox.events.head = max(head_seq, self._state.outbox.events.head)
        self._wakeup.wake()

    def retain(self, suffix: str, document: Document, seq: int) -> None:
        """
        Publish a retained document, after the events up to `seq`; the newest wins.

        `document` is the payload, or a function that makes it: it is then called
        on the publisher's thread with the moment of publication. `state` is
        published again at every heartbeat.
        """
        self._state.outbox.documents.put(suffix, document, seq)
        # A document that waits for events is sent after `notify`.
        if seq <= self._state.outbox.events.head:
            self._wakeup.wake()

    def reply(
        self,
        payload: bytes,
        seq: int,
        *,
        command_id: str | None = None,
        response_topic: str | None = None,
        correlation: bytes | None = None,
    ) -> None:
        """
        Publish a reply to a command, after the events up to `seq`: to
        ``reply/<command_id>`` and to the response topic, once if they are the same.

        A response topic among the tables' own topics gets no reply.
        """
        topics = self._state.topics
        places = [] if command_id is None else [topics.reply(command_id)]
        if response_topic is not None and topics.may_reply_to(response_topic):
            places.append(response_topic)
        for topic in dict.fromkeys(places):
            message = Message(topic, payload, seq, correlation=correlation, is_answer=True)
            self._state.outbox.replies.put(message)
        self._wakeup.wake()

    @property
    def is_replaying(self) -> bool:
        """True if events are being published again."""
        return self._state.outbox.replay.is_running

    def replay(self, from_seq: int, until: int) -> None:
        """Publish events of the journal again, when there is nothing else to send."""
        self._state.outbox.replay.start(from_seq, until)
        self._wakeup.wake()

    def stop(self, timeout_s: float = 5.0) -> None:
        """
        Send `stopping`, what is queued, and `offline`; then disconnect.

        Takes little longer than `timeout_s`. Where time is short, the documents are
        sent without the events before them, which the next start sends. A first
        connection that is being made is waited for. Where the broker does not
        acknowledge `offline`, the connection is closed without DISCONNECT, so that
        the broker publishes the will.
        """
        self._state.stop_by = time.monotonic() + timeout_s
        if not self._end(timeout_s + _MAX_WAIT_S):
            # A connection that is still being made, or a callback that blocks. The
            # thread is a daemon thread and ends with the process.
            self._state.log.warning("publisher_thread_abandoned")

    @property
    def health(self) -> Health:
        """The publisher's health at this moment."""
        publication, state = self._publication, self._state
        accepted_at = publication.accepted_at if publication else None
        silent_s = time.monotonic() - self.last_loop
        return Health(
            alive=self.alive
            and silent_s < (_HUNG_CONNECTING_AFTER_S if self._connecting else _HUNG_AFTER_S),
            connected=accepted_at is not None,
            cursor=state.outbox.events.cursor,
            last_loop=self.last_loop,
            in_flight=state.outbox.in_flight,
            last_error=state.last_error,
            has_subscribers=state.outbox.has_subscribers,
            queued=state.outbox.events.unacknowledged,
            since=self._disconnected_at if accepted_at is None else accepted_at,
            refusal=state.orders_refusal
            or (state.last_refusal if state.outbox.is_refused else None),
        )

    def _identify(self) -> tuple[str, Will]:
        state = self._state
        will = Will(state.topics.retained(STATUS), state.will(), self._timeouts.will_delay_s)
        return state.identity.client_id(), will

    def _serve(self, connection: Connection) -> None:
        self.broker = connection.settings
        self.broker_certificate = connection.broker_certificate
        self._publication = Publication(self._state, connection)
        try:
            while not self._publication.is_stopped():
                self.last_loop = time.monotonic()
                self._publication.run_once(self.last_loop)
            self._publication = None
        finally:
            self._state.report_cursor()

    def _lost(self, reason: str, lost: ConnectionLost | None) -> float:
        state, now, publication = self._state, time.monotonic(), self._publication
        state.last_error = reason
        if publication is None or publication.accepted_at is None:
            state.packet_limit.unreachable()
            delay = self._reconnect_delay.after_failure()
            self._publication = None
            self._log_loss("broker_unreachable", reason, delay, now)
            return delay
        self._disconnected_at = now
        self._publication = None
        length_s = now - publication.accepted_at
        if length_s > state.timeouts.stable_session_s:
            state.may_log.reset("broker_connection_lost")
            state.may_log.reset("broker_unreachable")
        if state.settings.protocol == "5" and not publication.session_present:
            self._reconnect_delay.session_forgotten()
        delay = self._reconnect_delay.after_session(
            length_s,
            taken_over=lost is not None and lost.taken_over,
            explained=lost is not None and self._is_explained(lost, now),
        )
        if self._reconnect_delay.id_conflict:
            state.last_error = f"{reason}: {_ID_CONFLICT}"
        self._log_loss("broker_connection_lost", reason, delay, now)
        return delay

    def _is_explained(self, lost: ConnectionLost, now: float) -> bool:
        """Return whether the broker ended the connection for a reason that is known."""
        state, message = self._state, self._state.outbox.largest_in_flight
        certain = lost.code == TOO_LARGE
        if message is None or not (lost.closed or certain):
            return lost.code is not None
        size = packet_size(message.topic, message.payload)
        return state.packet_limit.closed(message.topic, size, now, certain=certain)

    def _log_loss(self, event: str, reason: str, delay: float, now: float) -> None:
        """Log a loss, at most once a minute; a conflict of client ids as critical."""
        state = self._state
        facts = {"broker": self._broker, "reason": reason, "retry_in": round(delay, 1)}
        if not self._reconnect_delay.id_conflict:
            if state.may_log(event, now):
                state.log.warning(event, **facts)
        elif state.may_log("client_id_conflict", now):
            client_id = state.identity.client_id()
            state.log.critical(
                "client_id_conflict",
                client_id=client_id,
                hint=_ID_CONFLICT,
                **facts,
            )

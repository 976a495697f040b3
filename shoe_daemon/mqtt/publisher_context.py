"""State of the publisher that outlives a connection: queues, callbacks, settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import structlog
from msgspec.structs import replace

from shoe_daemon.errors import describe_exception
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.document_contents import Status, encode_message
from shoe_daemon.mqtt.mqtt_settings import MqttSettings, Timeouts
from shoe_daemon.mqtt.outbox import Outbox
from shoe_daemon.mqtt.own_status import OwnStatus, read_status
from shoe_daemon.mqtt.packet_limit import PacketLimit
from shoe_daemon.mqtt.queues import EventSource
from shoe_daemon.mqtt.topics import SIGNATURE, STATUS, TableIdentity, Topics
from shoe_daemon.retry_and_log_limits import LogRateLimit
from shoe_daemon.table import from_microseconds
from shoe_daemon.thread_wakeup import Wakeup


class ChainHead(NamedTuple):
    """The end of the journal's hash chain: its hash in hex, and the last event that it covers."""

    seq: int
    hash: str


Compare = Callable[[Mapping[str, bytes]], bool]
"""
Compares what the broker had retained, by the document's name, with the journal. True lets the
publisher begin; otherwise it waits for `Publisher.begin`.
"""


class PublisherContext:
    """
    State that `Publisher` and each `BrokerSession` share.

    Attributes:
        stop_by: When a stop must have ended (monotonic); None while none is requested.
        last_error: The last error; None before the first.
        last_refusal: The last topic that the broker refused to write, and its reason.
        orders_refusal: Why no order can be received; None while the broker accepts the
            subscription.
        own_status: The table's `status` as the broker has it.
        copies: What the broker had retained before this start, by the document's name.
        may_publish: The copies were compared with the journal.
        skip_to: Events up to this one are not published.
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
        self.outgoing = Outbox(
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
        self.copies: dict[str, bytes] = {}
        self.may_publish = compare is None
        self.skip_to: int | None = None
        self.packet_limit = PacketLimit(timeouts.limit_retry_s)
        self.too_large: frozenset[str] = frozenset()
        self._compare = compare
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
            seq=self.outgoing.events.head,
            session=identity.session,
            state=state,
        )

    def report_cursor(self) -> None:
        """Report the cursor if it has moved."""
        cursor = self.outgoing.events.cursor
        if cursor == self._reported_cursor:
            return
        self._reported_cursor = cursor
        try:
            self._on_acknowledged(cursor)
        except Exception as error:  # noqa: BLE001 - the next cursor is reported again
            self.log_error("cursor_not_stored", error)

    def compare(self) -> None:
        """Compare what the broker had retained with the journal, once."""
        compare, self._compare = self._compare, None
        if compare is not None:
            try:
                self.may_publish = compare(self.copies)
            except Exception as error:  # noqa: BLE001 - a table without displays is worse
                self.log_error("copies_not_compared", error)
                self.may_publish = True

    @property
    def is_compared(self) -> bool:
        """True if the copies were compared; the result may still be awaited."""
        return self._compare is None

    def handle_message(self, message: MessageReceived) -> None:
        """Pass a command on, and note the table's own documents; drop any other message."""
        if message.topic == self.topics.retained(STATUS):
            self.own_status.receive(message.payload)
            foreign = self.own_status.foreign
            if foreign is not None and self.may_log("foreign_session", time.monotonic()):
                self.log.critical("foreign_session", session=foreign)
            status = read_status(message.payload)
            # The will of a connection that was lost before the comparison is no copy.
            if status is not None and status.session != self.identity.session:
                self.copies[STATUS] = message.payload
        elif message.topic == self.topics.retained(SIGNATURE):
            self.copies[SIGNATURE] = message.payload
        verb = self.topics.verb(message.topic)
        # Some brokers send messages of topics that were not subscribed.
        if verb is None or self._on_command is None:
            return
        try:
            self._on_command(verb, message)
        except Exception as error:  # noqa: BLE001 - a command must not stop the publisher
            self.log_error("command_not_handled", error)

    def log_error(self, event: str, error: Exception, **facts: str) -> None:
        """Log an error of our own code, at most once a minute."""
        reason = describe_exception(error)
        self.last_error = f"{event}: {reason}"
        if self.may_log(" ".join([event, *facts.values()]), time.monotonic()):
            self.log.error(event, reason=reason, **facts)


def _now_text() -> str:
    return from_microseconds(time.time_ns() // 1000)

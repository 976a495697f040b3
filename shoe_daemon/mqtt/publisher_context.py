"""
What the publisher has at hand, whatever becomes of a connection: its memory,
its callbacks, its settings, and how it complains.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import structlog
from msgspec.structs import replace

from shoe_daemon.mqtt.connection import Arrived
from shoe_daemon.mqtt.event_queue import Lane, Outbox
from shoe_daemon.mqtt.messages import Status, encode_message
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.outgoing_queue import Pipeline
from shoe_daemon.mqtt.reply_queue import Letters, Rerun
from shoe_daemon.mqtt.retained_queue import Shelf
from shoe_daemon.mqtt.table_identity import Identity
from shoe_daemon.mqtt.timeouts import Pace, Rarely
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.mqtt.wakeup import Bell
from shoe_daemon.table import from_microseconds

__all__ = ["Callbacks", "ChainHead", "Desk", "Order"]


class Order(NamedTuple):
    """
    An operator's order as it came, not yet judged.

    Attributes:
        verb: The last part of its topic.
        payload: Unchecked bytes.
        retained: The broker had kept it: it is to be refused.
        response_topic: Where MQTT 5 wants the answer besides `reply/<id>`.
        correlation: What has to go back with it.
        waited: The broker kept it while we were away.
    """

    verb: str
    payload: bytes
    retained: bool
    response_topic: str | None = None
    correlation: bytes | None = None
    waited: bool = False


class ChainHead(NamedTuple):
    """
    The end of the journal's hash chain: its hash in hex, and the last event that it covers.
    """

    seq: int
    hash: str


class Callbacks(NamedTuple):
    """
    Whom the publisher tells and asks, always on its own thread.
    """

    on_acknowledged: Callable[[int], None]
    on_command: Callable[[Order], None] | None
    chain_head: Callable[[], ChainHead | None]


class Desk:
    """
    All that outlives a connection.

    Attributes:
        deadline: When a stop must be over (monotonic); None while none is wanted.
        last_error: The last thing that went wrong; None before the first.
    """

    def __init__(  # noqa: PLR0913 - all that outlives a connection is laid down once
        self,
        settings: MqttSettings,
        identity: Identity,
        outbox: Outbox,
        cursor: int,
        *,
        callbacks: Callbacks,
        pace: Pace,
    ) -> None:
        self.settings = settings
        self.identity = identity
        self.callbacks = callbacks
        self.pace = pace
        self.topics = Topics(identity.site, identity.table, settings.prefix)
        self.bell = Bell()
        self.shelf = Shelf()
        self.lane = Lane(outbox, cursor, pace, self.trouble)
        self.letters = Letters()
        self.rerun = Rerun(outbox, self.topics.event, self.trouble)
        self.pipeline = Pipeline(
            self.topics,
            self.lane,
            self.shelf,
            letters=self.letters,
            rerun=self.rerun,
            pace=pace,
            moment=_moment,
            trouble=self.trouble,
        )
        self.log = structlog.get_logger(__name__).bind(site=identity.site, table=identity.table)
        self.rarely = Rarely()
        self.deadline: float | None = None
        self.last_error: str | None = None
        self._told = cursor

    def status(self, state: Literal["online", "stopping", "offline"]) -> bytes:
        """
        Return the payload of ``status`` at this moment.
        """
        return encode_message(self._status(state))

    def will(self) -> bytes:
        """
        Return the payload of the last will, which the broker publishes later, as it is now.
        """
        now = self._status("offline")
        return encode_message(replace(now, head=None, head_at_connect=now.head))

    def online(self, _moment: str) -> bytes:
        """
        Return the payload that says that the table is spoken for.
        """
        return self.status("online")

    def _status(self, state: Literal["online", "stopping", "offline"]) -> Status:
        identity, head = self.identity, self._chain_head()
        return Status(
            head=head and head.hash,
            head_seq=head and head.seq,
            name=identity.name,
            seq=self.lane.head,
            session=identity.session,
            state=state,
        )

    def _chain_head(self) -> ChainHead | None:
        try:
            return self.callbacks.chain_head()
        except Exception as error:  # noqa: BLE001 - a status without it is better than none
            self.trouble("the head hash is not known", error)
            return None

    def tell_cursor(self) -> None:
        """
        Hand the cursor over where it has moved.
        """
        cursor = self.lane.cursor
        if cursor == self._told:
            return
        self._told = cursor
        try:
            self.callbacks.on_acknowledged(cursor)
        except Exception as error:  # noqa: BLE001 - the next one will be told again
            self.trouble("the cursor could not be handed over", error)

    def hand_over(self, arrived: Arrived, *, waited: bool = False) -> None:
        """
        Hand an order over; anything else that arrives is let drop.

        `waited`: the broker kept it while we were away.
        """
        verb = self.topics.verb(arrived.topic)
        # Some brokers send what nobody has asked for: only orders are looked at.
        if verb is None or self.callbacks.on_command is None:
            return
        order = Order(verb, *arrived[1:], waited=waited)
        try:
            self.callbacks.on_command(order)
        except Exception as error:  # noqa: BLE001 - an order must not stop the publisher
            self.trouble("an order could not be handed over", error)

    def trouble(self, what: str, error: Exception) -> None:
        """
        Note what went wrong on our own side, and complain, but not too often.
        """
        reason = f"{type(error).__name__}: {error}"
        self.last_error = f"{what}: {reason}"
        if self.rarely(what, time.monotonic()):
            self.log.error(what, reason=reason)


def _moment() -> str:
    return from_microseconds(time.time_ns() // 1000)

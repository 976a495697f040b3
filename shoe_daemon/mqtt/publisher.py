"""
The publisher: one thread that brings the journal's events and the retained
documents to the broker, through every loss of it.

On every connection: orders are subscribed to, unacknowledged events are sent
again from the cursor, then all retained documents, and `online` last. Nothing
is lost and nothing changes its order; what is sent twice has the same `seq`.
"""

from __future__ import annotations

import random
import select
import ssl
import threading
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.connection import Connection, Will
from shoe_daemon.mqtt.event_queue import Outbox
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.publisher_context import Callbacks, ChainHead, Desk, Order
from shoe_daemon.mqtt.reply_queue import Letter
from shoe_daemon.mqtt.retained_queue import Document
from shoe_daemon.mqtt.session import Conversation, ConversationLost
from shoe_daemon.mqtt.table_identity import Identity
from shoe_daemon.mqtt.timeouts import Backoff, Pace
from shoe_daemon.mqtt.topics import STATUS

__all__ = ["Health", "Publisher"]

_TURN: Final = 1.0

_STUCK: Final = 5.0
"""A thread that has not turned for so long is in trouble …"""

_STUCK_CONNECTING: Final = 60.0
"""… but a name server or a handshake may take its time."""


class Health(Struct, frozen=True):
    """
    How the publisher is, for `doctor`, the watchdog and the status line.

    Attributes:
        alive: Its thread turns, or waits for a connection to come about.
        connected: The broker has accepted us.
        cursor: All events up to this one are acknowledged.
        heartbeat: When the thread turned last (monotonic).
        in_flight: Messages that are not yet acknowledged.
        last_error: The last thing that went wrong; None before the first.
        listened: Whether anybody listens to the events; None where unknown.
        queued: Events that are not yet acknowledged.
        since: Since when it is connected, or is not (monotonic).
    """

    alive: bool
    connected: bool
    cursor: int
    heartbeat: float
    in_flight: int
    last_error: str | None
    listened: bool | None
    queued: int
    since: float


class Publisher:
    """
    Publishes for one table from `start` to `stop`; every method is for any thread.

    The callbacks are called on the publisher's thread, so they must not block;
    whatever they raise is logged and does no harm.
    """

    def __init__(  # noqa: PLR0913 - what it works with is told once
        self,
        settings: MqttSettings,
        identity: Identity,
        outbox: Outbox,
        cursor: int,
        on_acknowledged: Callable[[int], None],
        *,
        on_command: Callable[[Order], None] | None = None,
        chain_head: Callable[[], ChainHead | None] = lambda: None,
        pace: Pace | None = None,
    ) -> None:
        """
        Args:
            settings: The broker.
            identity: The table, and this start.
            outbox: The journal; read on the publisher's thread only.
            cursor: All events up to this one were acknowledged in earlier starts.
            on_acknowledged: Told the new cursor whenever it has moved.
            on_command: Told every order to this table.
            chain_head: Returns the journal's head, for `status` and the last will.
            pace: All waits; for tests.

        Raises:
            UserError: The site, the table or the prefix cannot stand in a topic.
        """
        callbacks = Callbacks(on_acknowledged, on_command, chain_head)
        pace = pace or Pace()
        self._desk = Desk(settings, identity, outbox, cursor, callbacks=callbacks, pace=pace)
        self._backoff = Backoff(pace, random.Random())
        self._thread = threading.Thread(target=self._run, name="mqtt-publisher", daemon=True)
        self._conversation: Conversation | None = None
        self._connecting = False
        self._turned = time.monotonic()
        self._down_since = self._turned

    def start(self) -> None:
        """
        Begin to publish. What was retained before is told before `online`.
        """
        self._thread.start()

    def notify(self, head_seq: int) -> None:
        """
        Events up to `head_seq` are in the journal: publish them now.

        Best called after `retain` and last before the caller blocks: from here on
        the two threads share one interpreter lock.
        """
        self._desk.lane.head = max(head_seq, self._desk.lane.head)
        self._desk.bell.ring()

    def retain(self, suffix: str, document: Document, seq: int) -> None:
        """
        Tell a retained document, after the events up to `seq`; the newest wins.

        `document` is the payload, or makes it when it is sent: it is then
        called on the publisher's thread with the moment of publication. `state`
        is made and sent again by itself at every heartbeat.
        """
        self._desk.shelf.put(suffix, document, seq)
        # One that waits for events is looked at when these are announced.
        if seq <= self._desk.lane.head:
            self._desk.bell.ring()

    def answer(
        self,
        payload: bytes,
        seq: int,
        *,
        order: str | None = None,
        response_topic: str | None = None,
        correlation: bytes | None = None,
    ) -> None:
        """
        Answer an order, after the events up to `seq`, at ``reply/<order>`` and where
        the asker wants it, once where both are one.

        A response topic among what tables say is not answered.
        """
        topics = self._desk.topics
        places = [] if order is None else [topics.reply(order)]
        if response_topic is not None and topics.may_answer(response_topic):
            places.append(response_topic)
        for place in dict.fromkeys(places):
            self._desk.letters.put(Letter(place, payload, seq, correlation))
        self._desk.bell.ring()

    @property
    def replaying(self) -> bool:
        """
        Whether events are being published again.
        """
        return self._desk.rerun.under_way

    def replay(self, from_seq: int, until: int) -> None:
        """
        Publish events again that are in the journal, when there is nothing else to do.
        """
        self._desk.rerun.ask(from_seq, until)
        self._desk.bell.ring()

    def announce(self) -> None:
        """
        Say `online` again, with the present seq and head hash.
        """
        self.retain(STATUS, self._desk.online, 0)

    def stop(self, timeout: float = 5.0) -> None:
        """
        Say `stopping`, send what is left, say `offline` and disconnect.

        Never takes much longer than `timeout`. Where time is short, the documents go
        without the events before them, which the next start sends. A first connection
        that is being made is waited for. Where the broker does not take the `offline`,
        the line is dropped without a word, so that the will says it.
        """
        self._desk.deadline = time.monotonic() + timeout
        self._desk.bell.ring()
        if self._thread.is_alive():
            self._thread.join(timeout + _TURN)
        if self._thread.is_alive():
            # A connection that does not come about, or a callback that blocks. The
            # thread is a daemon: it holds nothing back and ends with the process.
            self._desk.log.warning("mqtt publisher did not end in time, left behind")
        else:
            self._desk.bell.close()

    @property
    def health(self) -> Health:
        """
        How the publisher is at this moment.
        """
        conversation, lane, pipeline = self._conversation, self._desk.lane, self._desk.pipeline
        accepted_at = conversation.accepted_at if conversation else None
        turned = max(self._turned, conversation.turned if conversation else 0.0)
        silence = time.monotonic() - turned
        return Health(
            alive=self._thread.is_alive()
            and silence < (_STUCK_CONNECTING if self._connecting else _STUCK),
            connected=accepted_at is not None,
            cursor=lane.cursor,
            heartbeat=turned,
            in_flight=pipeline.in_flight,
            last_error=self._desk.last_error,
            listened=pipeline.listened,
            queued=lane.queued,
            since=self._down_since if accepted_at is None else accepted_at,
        )

    def _run(self) -> None:
        while True:
            self._rest(self._session())
            # Asked afterwards: a stop that comes before the first connection has things to say.
            if self._desk.deadline is not None:
                return

    def _session(self) -> float:
        """
        Connect and publish until the connection is lost; return how long to wait then.
        """
        connection = None
        try:
            connection = self._connect()
            self._conversation = Conversation(self._desk, connection)
            self._conversation.hold()
        except ConversationLost as lost:
            return self._gone(str(lost), taken_over=lost.taken_over)
        except UserError as error:
            return self._gone(str(error))
        except OSError as error:
            return self._gone(_in_words(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, this thread goes on
            return self._gone(f"{type(error).__name__}: {error}")
        finally:
            self._conversation = None
            self._desk.tell_cursor()
            if connection is not None:
                connection.close()
        return 0.0

    def _connect(self) -> Connection:
        desk = self._desk
        will = Will(desk.topics.retained(STATUS), desk.will(), desk.pace.will_delay)
        self._turned = time.monotonic()
        self._connecting = True
        try:
            client_id = desk.identity.client_id()
            connection = Connection(desk.settings, client_id, will, desk.pace.answer)
            connection.open()
        finally:
            self._turned = time.monotonic()
            self._connecting = False
        return connection

    def _gone(self, reason: str, *, taken_over: bool = False) -> float:
        desk, now, conversation = self._desk, time.monotonic(), self._conversation
        desk.last_error = reason
        if conversation is None or conversation.accepted_at is None:
            delay = self._backoff.failed()
            self._complain("mqtt broker out of reach", reason, delay, now)
            return delay
        self._down_since = now
        lived = now - conversation.accepted_at
        if lived > desk.pace.settled:
            desk.rarely.forget("mqtt connection lost")
            desk.rarely.forget("mqtt broker out of reach")
        if desk.settings.protocol == "5" and not conversation.remembered:
            self._backoff.forgotten()
        delay = self._backoff.lost(lived, taken_over=taken_over)
        self._complain("mqtt connection lost", reason, delay, now)
        return delay

    def _complain(self, what: str, reason: str, delay: float, now: float) -> None:
        """
        The first time and then once a minute; two clients with one id are worse.
        """
        desk = self._desk
        host, port = desk.settings.address
        facts = {"broker": f"{host}:{port}", "reason": reason, "retry_in": round(delay, 1)}
        if not self._backoff.twins:
            if desk.rarely(what, now):
                desk.log.warning(what, **facts)
        elif desk.rarely("twins", now):
            desk.log.critical(
                "the broker ends our sessions as soon as they begin: is another client "
                "using our id?",
                client_id=desk.identity.client_id(),
                **facts,
            )

    def _rest(self, delay: float) -> None:
        """
        Wait, and hear nothing but the call to stop.
        """
        desk = self._desk
        until = time.monotonic() + delay
        poll = select.poll()
        poll.register(desk.bell.descriptor, select.POLLIN)
        while desk.deadline is None and (left := until - time.monotonic()) > 0:
            self._turned = time.monotonic()
            poll.poll(min(left, _TURN) * 1000)
            desk.bell.hear()


def _in_words(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    return (error.strerror or str(error)).lower()

"""
The display's subscription: a thread that receives messages and publishes none.

It subscribes to public topics (and to the alerts for staff, if configured), reconnects
for ever, and puts messages into a `Mailbox`, from which the web server's loop takes them.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from shoe_daemon.backoff import LogRateLimit
from shoe_daemon.display.coalescing_queue import Mailbox
from shoe_daemon.display.freshness import Link
from shoe_daemon.display.table_discovery import Census
from shoe_daemon.display.table_model import Message
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.connection import (
    Connected,
    Connection,
    Disconnected,
    MessageReceived,
    Subscribed,
    SubscriptionRefused,
    Wakeup,
)
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.timeouts import ReconnectDelay, Timeouts
from shoe_daemon.mqtt.topics import STAFF_ALERTS, STATUS

__all__ = ["Feed"]

_log = structlog.get_logger(__name__)

_TURN: Final = 1.0


class _Lost(Exception):  # noqa: N818 - every connection ends so
    pass


class Feed:
    """
    Listens from `start` to `stop`.

    Attributes:
        turned: When the thread was last seen at work, monotonic.
    """

    def __init__(
        self,
        settings: MqttSettings,
        topic_filters: Sequence[str],
        mailbox: Mailbox,
        now: Callable[[], str],
        *,
        timeouts: Timeouts | None = None,
    ) -> None:
        """
        Args:
            settings: The broker.
            topic_filters: What to subscribe to; see `documents.filters`.
            mailbox: Takes what comes.
            now: The time of day, RFC 3339.
            timeouts: All waits; for tests.
        """
        self.turned = time.monotonic()
        self._settings, self._mailbox, self._now = settings, mailbox, now
        self._filters = topic_filters
        self._small = next(each for each in self._filters if each.endswith(f"/{STATUS}"))
        self._census = Census(settings.prefix)
        self._timeouts = timeouts or Timeouts()
        self._reconnect_delay = ReconnectDelay(self._timeouts, random.Random())
        self._may_log = LogRateLimit()
        self._wakeup = Wakeup()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="display-feed", daemon=True)
        self._told: str | None = ""

    def start(self) -> None:
        """
        Begin to listen; returns at once.
        """
        self._thread.start()

    def stop(self) -> None:
        """
        Leave the broker; returns when the thread has ended, or hangs.
        """
        self._stopping.set()
        self._wakeup.wake()
        self._thread.join(1.0)

    @property
    def alive(self) -> bool:
        """
        Whether the thread is there.
        """
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wait(self._once())

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping.is_set() and (left := until - time.monotonic()) > 0:
            self.turned = time.monotonic()
            self._stopping.wait(min(left, _TURN))

    def _once(self) -> float:
        """
        Listen over one connection; return how long to wait for the next.
        """
        accepted: float | None = None
        reason = "the display stops"
        try:
            connection = self._connection()
            self._census = Census(self._settings.prefix)
            try:
                accepted = self._welcome(connection)
                self._listen(connection)
            finally:
                connection.close()
        except _Lost as lost:
            reason = str(lost)
        except (OSError, UserError) as error:
            reason = str(error) or type(error).__name__
        except Exception:  # noqa: BLE001 - the thread must not die of what nobody thought of
            _log.error("feed_failed", exc_info=True)
            reason = "an error of the display itself; its log says more"
        return self._gone(reason, accepted)

    def _connection(self) -> Connection:
        # A name of its own for every connection: no other display is ever thrown out.
        name = f"shoe-display-{secrets.token_hex(4)}"
        connection = Connection(self._settings, name, None, self._timeouts.connect_s)
        connection.open()
        return connection

    def _welcome(self, connection: Connection) -> float:
        """
        Wait until the broker has accepted us, and subscribe.
        """
        until = time.monotonic() + self._timeouts.connect_s
        while time.monotonic() < until:
            for happened in self._turn(connection):
                if isinstance(happened, Connected):
                    for each in self._filters:
                        connection.subscribe(each)
                    return time.monotonic()
        raise _Lost("the broker does not answer")

    def _listen(self, connection: Connection) -> None:
        asked = len(self._filters)
        until = time.monotonic() + self._timeouts.connect_s
        while not self._stopping.is_set():
            for happened in self._turn(connection):
                if isinstance(happened, Subscribed):
                    asked -= 1
                    if asked == 0:
                        self._connected()
                    if asked <= 0:
                        self._census.answered(time.monotonic())
            self._count(connection)
            if asked > 0 and time.monotonic() > until:
                raise _Lost("the broker does not say whether we may listen")
        connection.disconnect()

    def _count(self, connection: Connection) -> None:
        """
        Find out which tables the broker no longer has anything of.
        """
        now = time.monotonic()
        if self._census.is_to_ask(now):
            connection.subscribe(self._small)
        there = self._census.result(now)
        if there is not None:
            self._mailbox.put_there(there)

    def _turn(self, connection: Connection) -> list[object]:
        """
        Turn the wheel once; what came is in the mailbox.
        """
        self.turned = time.monotonic()
        others: list[object] = []
        for happened in connection.poll(self._wakeup.descriptor, _TURN):
            match happened:
                case MessageReceived(topic, payload, retained):
                    now = time.monotonic()
                    self._census.note(topic, payload, retained=retained, now=now)
                    self._mailbox.put(Message(topic, payload, retained))
                case Disconnected(reason):
                    raise _Lost(reason)
                case SubscriptionRefused(reason, topic_filter):
                    # It may let us read the rest: what it refuses shows as missing.
                    if not topic_filter.endswith(STAFF_ALERTS):
                        self._census.give_up()
                    self._complain("subscription_refused", topics=topic_filter, reason=reason)
                case _:
                    others.append(happened)
        if not connection.is_open:
            raise _Lost("the line is closed")
        return others

    def _connected(self) -> None:
        if self._may_log("broker_connected", time.monotonic()):
            host, port = self._settings.address
            _log.info("broker_connected", broker=f"{host}:{port}")
        self._told = None
        self._mailbox.put_link(Link(connected=True, since=self._now()))

    def _gone(self, reason: str, accepted: float | None) -> float:
        if self._stopping.is_set():
            return 0.0
        lived = 0.0 if accepted is None else time.monotonic() - accepted
        # One that ends young is no sign of a twin: nobody else has our name.
        young = lived < self._timeouts.stable_session_s
        retry = self._reconnect_delay
        delay = retry.after_failure() if young else retry.after_session(lived)
        self._complain("broker_lost", reason=reason, retry_in=round(delay, 1))
        if self._told != reason:
            was_connected = self._told is None
            self._told = reason
            self._mailbox.lose_link(self._now() if was_connected else None, reason)
        return delay

    def _complain(self, what: str, **facts: object) -> None:
        if self._may_log(what, time.monotonic()):
            host, port = self._settings.address
            _log.warning(what, broker=f"{host}:{port}", **facts)

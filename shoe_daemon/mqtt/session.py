"""A client of a broker on a thread of its own, which connects again after every loss."""

from __future__ import annotations

import random
import select
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import Final

import structlog

from shoe_daemon.errors import UserError, describe_exception, one_line
from shoe_daemon.limits import LogRateLimit, RetryDelay
from shoe_daemon.mqtt.connection import Connection, ConnectionLost, Will
from shoe_daemon.mqtt.settings import MqttSettings, Timeouts
from shoe_daemon.threads import Wakeup

_log = structlog.get_logger(__name__)

_MAX_WAIT_S: Final = 1.0
_MAX_SHORT_SESSIONS: Final = 3
"""From so many short sessions in a row on, another client has the same id."""

_CLOSED_TIMES: Final = 3
"""From so many connections in a row on that ended at one message, its size is the cause."""


class Session(ABC):
    """
    One connection after another, from `start` to `stop` of the class that inherits it; each to the
    next broker, where there are several.

    Attributes:
        last_loop: When the thread last ran its loop (monotonic).
    """

    def __init__(self, name: str, settings: MqttSettings, timeouts: Timeouts | None) -> None:
        self.last_loop = time.monotonic()
        self._settings, self._timeouts = settings, timeouts or Timeouts()
        self._brokers = deque(settings.each)
        self._wakeup = Wakeup()
        self._stopping = self._connecting = False
        self._may_log = LogRateLimit()
        self._reconnect_delay = ReconnectDelay(self._timeouts, random.Random())
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    @property
    def _broker(self) -> str:
        """The broker of this connection, or of the next one, for people."""
        return self._brokers[0].name

    @abstractmethod
    def _identify(self) -> tuple[str, Will | None]:
        """Return the client id and the last will of the next connection."""

    @abstractmethod
    def _serve(self, connection: Connection) -> None:
        """Work over an open connection until `_stopping` is set."""

    @abstractmethod
    def _lost(self, reason: str, lost: ConnectionLost | None) -> float:
        """
        Report the end of a connection, or of an attempt; return the wait before the next.

        Args:
            reason: One line.
            lost: How the connection ended; None if it failed in another way.
        """

    def _end(self, timeout_s: float) -> bool:
        """End the thread; return whether it has ended in time."""
        self._stopping = True
        self._wakeup.wake()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        if self._thread.is_alive():
            return False
        self._wakeup.close()
        return True

    def _run(self) -> None:
        while True:
            self._wait(self._run_connection())
            # After the connection: a stop before the first one has documents to send.
            if self._stopping:
                return

    def _run_connection(self) -> float:
        """Work over one connection until it ends; return the wait before the next one."""
        connection, lost = None, None
        try:
            connection = self._open()
            self._serve(connection)
        except ConnectionLost as error:
            reason, lost = str(error), error
        except UserError as error:
            reason = str(error)
        except OSError as error:
            reason = one_line(error).lower()
        except Exception as error:  # noqa: BLE001 - the thread must not end
            if self._may_log("session_failed", time.monotonic()):
                _log.error("session_failed", exc_info=error)
            reason = describe_exception(error)
        else:
            return 0.0
        finally:
            if connection is not None:
                connection.close()
        delay = self._lost(reason, lost)
        self._brokers.rotate(-1)
        return delay

    def _open(self) -> Connection:
        self.last_loop = time.monotonic()
        self._connecting = True
        try:
            timeouts = self._timeouts
            connection = Connection(
                self._brokers[0], *self._identify(), timeouts.connect_s, timeouts
            )
            connection.open()
        finally:
            self.last_loop = time.monotonic()
            self._connecting = False
        return connection

    def _wait(self, delay: float) -> None:
        """Wait, unless a stop is requested."""
        until = time.monotonic() + delay
        poll = select.poll()
        poll.register(self._wakeup.descriptor, select.POLLIN)
        while not self._stopping and (left := until - time.monotonic()) > 0:
            self.last_loop = time.monotonic()
            poll.poll(min(left, _MAX_WAIT_S) * 1000)
            self._wakeup.clear()


class ReconnectDelay:
    """
    The wait before the next connection.

    An accepted session is no proof of success: two clients with one id end each
    other's sessions for ever. So only a stable session resets the wait, and
    several short ones in a row make it long.
    """

    def __init__(self, timeouts: Timeouts, chance: random.Random) -> None:
        self._timeouts = timeouts
        self._chance = chance
        self._retry_delay = RetryDelay(timeouts.first_retry_s, timeouts.max_retry_s, chance.random)
        self._short_sessions = 0
        self._has_failed = False

    @property
    def id_conflict(self) -> bool:
        """True if another client seems to have the same id."""
        return self._short_sessions >= _MAX_SHORT_SESSIONS

    def after_failure(self) -> float:
        """Return the wait after an attempt that failed."""
        # The broker cannot be reached: this explains the short sessions.
        self._short_sessions = 0
        self._has_failed = True
        return self._delay()

    def session_forgotten(self) -> None:
        """
        Reset: the broker has no session of this client, so it was restarted, and no
        other client with this id ended the connection.
        """
        self._short_sessions = 0
        self._retry_delay.reset()

    def after_session(
        self, length_s: float, *, taken_over: bool = False, explained: bool = False
    ) -> float:
        """
        Return the wait after a session of this length; `explained` if it is known to have ended
        for another reason than a client with the same id.
        """
        # A broker that hung may accept an earlier attempt of ours after the one that succeeded.
        is_short = length_s < self._timeouts.stable_session_s
        is_own = taken_over and self._has_failed and is_short
        self._has_failed = False
        if is_own:
            self._retry_delay.reset()
        elif taken_over:
            self._short_sessions = max(self._short_sessions + 1, _MAX_SHORT_SESSIONS)
        elif not is_short:
            self._short_sessions = 0
            self._retry_delay.reset()
        elif not explained:
            self._short_sessions += 1
        return self._delay()

    def _delay(self) -> float:
        delay = self._retry_delay.next()
        if self.id_conflict:
            # A wide spread, so that both clients do not return at the same moment.
            return self._timeouts.id_conflict_retry_s * self._chance.uniform(0.7, 1.3)
        return delay


class PacketLimit:
    """
    The largest packet that the broker accepts: announced (MQTT 5), or inferred.

    Infers a limit that the broker does not announce: it ends connection after connection while
    the same message is the largest one without an answer.

    Answers to smaller ones may be lost with the connection, so the oldest message without an
    answer is not always the cause.

    An inferred limit is forgotten after `retry_s`, because the broker may have been changed.
    """

    def __init__(self, retry_s: float) -> None:
        self._retry_s = retry_s
        self._topic: str | None = None
        self._times = 0
        self._inferred: int | None = None
        self._until = 0.0

    def at(self, now: float, announced: int | None) -> int | None:
        """Return the limit in bytes at this moment (monotonic); None without one."""
        if self._inferred is None or now >= self._until:
            return announced
        return self._inferred if announced is None else min(self._inferred, announced)

    def accepted(self, topic: str) -> None:
        """Note that the broker has answered a message."""
        if topic == self._topic:
            self._topic = None

    def unreachable(self) -> None:
        """Note that the broker could not be reached: it ended by itself."""
        self._topic = None

    def closed(self, topic: str, size: int, now: float, *, certain: bool = False) -> bool:
        """
        Note that the broker has closed the connection, and the largest message without an answer;
        `certain` if it named the size as the reason. Return whether the size is the likely cause.
        """
        self._times = self._times + 1 if topic == self._topic else 1
        self._topic = topic
        if certain or self._times >= _CLOSED_TIMES:
            self._topic, self._inferred, self._until = None, size - 1, now + self._retry_s
        return certain or self._times > 1

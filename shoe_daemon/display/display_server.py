"""
The display from its start to its end: the feed's thread, the loop, the web server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoe_daemon.backoff import LogRateLimit
from shoe_daemon.display.browser_streams import Hub
from shoe_daemon.display.build_version import version
from shoe_daemon.display.coalescing_queue import Mailbox
from shoe_daemon.display.display_config import DisplaySetup
from shoe_daemon.display.floor_model import Tables
from shoe_daemon.display.http_app import Site
from shoe_daemon.display.json_views import Views
from shoe_daemon.display.message_validation import filters
from shoe_daemon.display.mqtt_feed import Feed
from shoe_daemon.display.sockets import listening, many_doors
from shoe_daemon.display.table_model import Message, Moment
from shoe_daemon.mqtt.timeouts import Timeouts
from shoe_daemon.systemd_notify import notify_systemd
from shoe_daemon.table import from_microseconds

__all__ = ["Display"]

_log = structlog.get_logger(__name__)

_LOOK: Final = 1.0
_HUNG: Final = 30.0
"""Seconds after which the feed's thread counts as hung: an open that waits for a
name server takes less."""

_SWEEP: Final = 15
"""Seconds after which a line over which nothing was asked yet may be closed."""

_END: Final = 0.5
"""Seconds after which a browser that does not take what is left is let go."""

_NAMED: Final = 20
"""Tables that a line of the log names."""

_MORE: Final = 200
"""Connections besides those that listen: pages and their files."""


class Display:
    """
    Everything of one display, run by `run` on the thread that calls it.
    """

    def __init__(self, setup: DisplaySetup, *, timeouts: Timeouts | None = None) -> None:
        settings, mqtt = setup.config.display, setup.config.mqtt
        self._settings = settings
        staff_alerts = settings.pit.staff_alerts
        self.tables = Tables(
            mqtt.prefix, staff_alerts=staff_alerts, stale_after=settings.stale_after
        )
        wanted = [
            name if "." in name or settings.site is None else f"{settings.site}.{name}"
            for name in settings.tables
        ]
        self.hub = Hub(self.tables, Views(self.tables, wanted), _now, version())
        self._mailbox = Mailbox(self._ring)
        topics = filters(mqtt.prefix, settings.site, staff_alerts=staff_alerts)
        self._feed = Feed(mqtt, topics, self._mailbox, _now, timeouts=timeouts)
        self._site = Site(setup, self.hub)
        self._may_log = LogRateLimit()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """
        Serve until SIGTERM or Ctrl-C.

        Raises:
            UserError: The address cannot be had.
        """
        many_doors(self._settings.streams + _MORE)
        asyncio.run(self._serve())

    def stop(self) -> None:
        """
        Bring `run` to its end; on the loop's thread.
        """
        self._stopping.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_note)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop)
        with listening(self._settings.address) as door:
            server = _Server(self._site.app(), self._settings.streams + _MORE)
            self._feed.start()
            serving = asyncio.create_task(server.serve(sockets=[door]))
            looking = asyncio.create_task(self._look_around(server))
            self._say_started(*door.getsockname()[:2])
            stopping = asyncio.create_task(self._stopping.wait())
            # None of them ends by itself, unless something is broken.
            await asyncio.wait({serving, looking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            notify_systemd("STOPPING=1")
            self.hub.close()
            server.should_exit = True
            stopping.cancel()
            looking.cancel()
            await serving
        await asyncio.to_thread(self._feed.stop)
        _log.info("stopped")
        with contextlib.suppress(asyncio.CancelledError):
            await looking

    def _say_started(self, host: str, port: int) -> None:
        named = f"[{host}]" if ":" in host else host
        _log.info("started", url=f"http://{named}:{port}/")
        if self._settings.open_pit:
            _log.warning(
                "pit_open",
                hint="other machines see the pit without a password: set [display.pit]",
            )
        notify_systemd("READY=1", f"STATUS={self._summary()}", timeout_s=2.0)

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
        if mail.more and self._loop is not None:
            self._loop.call_soon(self._collect)
        moment = Moment(time.monotonic(), _now())
        before = self.tables.faults.total
        if mail.link is not None:
            self.hub.tell(self.tables.set_link(mail.link, moment.monotonic))
        for message in mail.messages:
            self._take(message, moment)
        if mail.there is not None:
            self.tables.miss(mail.there, moment.monotonic)
        if mail.dropped:
            what = f"{mail.dropped} messages dropped: they came faster than they could be read"
            self.hub.tell(self.tables.note_fault("", what, moment))
        if self.tables.faults.total != before:
            self._complain(moment.monotonic)

    def _take(self, message: Message, moment: Moment) -> None:
        try:
            self.hub.tell(self.tables.receive(message, moment))
        except Exception as error:  # noqa: BLE001 - one message must not keep the others away
            _log.error("message_failed", topic=message.topic[:200], exc_info=error)
            what = "a mistake of the display: its log says more"
            self.hub.tell(self.tables.note_fault(message.topic, what, moment))

    def _complain(self, now: float) -> None:
        if self._may_log("fault", now):
            faults = self.tables.faults
            last = faults.last[-1]
            _log.warning("fault", topic=last.topic, what=last.what, total=faults.total)

    async def _look_around(self, server: _Server) -> None:
        """
        Every second: what has changed because time has passed, and the watchdog.
        """
        for turn in count(1):
            await asyncio.sleep(_LOOK)
            now = time.monotonic()
            changes = self.tables.pass_time(now)
            self._say_gone([change.key for change in changes if change.what == "gone"])
            self.hub.tell(changes)
            self.hub.settle()
            if turn % _SWEEP == 0:
                server.sweep()
            if self._feed.alive and now - self._feed.turned < _HUNG:
                notify_systemd("WATCHDOG=1", f"STATUS={self._summary()}")

    def _say_gone(self, keys: list[str | None]) -> None:
        if keys:
            hint = "the broker has nothing of them any more"
            _log.warning("tables_gone", count=len(keys), tables=keys[:_NAMED], hint=hint)

    def _summary(self) -> str:
        broker = "connected" if self.tables.link.connected else "no broker"
        return f"{broker}, {len(self.tables)} tables, {len(self.hub)} browsers"


class _Server(uvicorn.Server):
    """
    uvicorn without signals of its own, and without a word about what browsers do.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        for name in ("uvicorn.error", "uvicorn.access", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=most,
            timeout_graceful_shutdown=_END,  # type: ignore[arg-type]  # any number will do
        )
        super().__init__(config)
        self._silent: set[H11Protocol] = set()

    def sweep(self) -> None:
        """
        Close the lines over which nothing was asked since the last time.
        """
        lines = (each for each in self.server_state.connections if isinstance(each, H11Protocol))
        silent = {each for each in lines if each.cycle is None}  # type: ignore[redundant-expr]
        for connection in silent & self._silent:
            connection.transport.close()
        self._silent = silent

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """
        Leave signals to the display.
        """
        yield


def _note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """
    Log what went wrong where nobody was there to see it.
    """
    _log.error("unexpected", what=context.get("message"), exc_info=context.get("exception"))


def _now() -> str:
    return from_microseconds(time.time_ns() // 1_000_000 * 1000)

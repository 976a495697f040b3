"""The running display: MQTT thread, event loop and web server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from shoe_daemon.display.app import HttpApp
from shoe_daemon.display.config import DisplaySetup, LogFile, parse_listen
from shoe_daemon.display.log.recorder import HistoryRecorder, HistoryRequests
from shoe_daemon.display.log.sql import Log
from shoe_daemon.display.pages import pages_version
from shoe_daemon.display.streams import StreamRegistry
from shoe_daemon.display.views import JsonViews
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.floor.feed import Feed
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.inbox import now_rfc3339
from shoe_daemon.floor.messages import topic_filters
from shoe_daemon.floor.table import Moment
from shoe_daemon.mqtt.settings import Timeouts
from shoe_daemon.process import notify_systemd

_log = structlog.get_logger(__name__)

TIMER_INTERVAL_S: Final = 1.0
COPIES_INTERVAL: Final = 10
"""Timer ticks between two looks at how far the database is behind."""

SWEEP_INTERVAL: Final = 15
"""Timer ticks between two checks for connections without a request."""

SHUTDOWN_TIMEOUT_S: Final = 0.5
NOTIFY_TIMEOUT_S: Final = 2.0
MAX_LOGGED_TABLES: Final = 20
PAGE_CONNECTIONS: Final = 200
"""Connections for pages and their files, besides the streams."""

METRICS_CONNECTIONS: Final = 20
SOCKET_BACKLOG: Final = 512
KEEPALIVE_S: Final = 30
"""Time after which the connection of an unreachable browser is closed."""

SPARE_FILES: Final = 100


class Display:
    """One display; `run` serves on the calling thread."""

    def __init__(self, setup: DisplaySetup, *, timeouts: Timeouts | None = None) -> None:
        settings, mqtt = setup.config.display, setup.config.mqtt
        self._setup, self._settings = setup, settings
        staff_alerts = settings.pit.staff_alerts
        # A pit that asks nobody who they are does not tell that nobody is notified.
        notifier_status = not settings.open_pit
        self.tables = Floor(
            mqtt.prefix,
            staff_alerts=staff_alerts,
            notifier_status=notifier_status,
            site=settings.site,
            stale_after=settings.stale_after,
        )
        views = JsonViews(self.tables, [settings.table_key(name) for name in settings.tables])
        self.streams = StreamRegistry(self.tables, views, now_rfc3339, pages_version())
        filters = topic_filters(
            mqtt.prefix,
            settings.site,
            staff_alerts=staff_alerts,
            notifier_status=notifier_status,
        )
        self._log, recorder, self._log_threads = _open_log(setup)
        self._feed = Feed(mqtt, filters, self._wake_loop, timeouts=timeouts, recorder=recorder)
        self._http_app = HttpApp(setup, self.streams, self._log)
        self._servers: dict[str, _Server] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """
        Serve until SIGTERM or Ctrl-C.

        Raises:
            UserError: The address cannot be listened on.
        """
        raise_file_limit(self._settings.streams + PAGE_CONNECTIONS)
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Let `run` return; to be called on the loop's thread."""
        self._stopping.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_log_loop_error)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop)
        async with contextlib.AsyncExitStack() as stack:
            serving = [await stack.enter_async_context(each) for each in self._listeners()]
            for thread in self._log_threads:
                thread.start()
            self._feed.start()
            timer = asyncio.create_task(self._run_timer())
            self._report_started()
            stopping = asyncio.create_task(self._stopping.wait())
            # Servers and timer end by themselves only on an error.
            await asyncio.wait({*serving, timer, stopping}, return_when=asyncio.FIRST_COMPLETED)
            notify_systemd("STOPPING=1")
            self.streams.close()
            self._http_app.close()
            stopping.cancel()
            timer.cancel()
        await asyncio.to_thread(self._feed.stop)
        for thread in reversed(self._log_threads):
            await asyncio.to_thread(thread.stop)
        _log.info("stopped")
        with contextlib.suppress(asyncio.CancelledError):
            await timer

    def _listeners(self) -> Iterator[contextlib.AbstractAsyncContextManager[asyncio.Task[None]]]:
        """Give a block for each address that is served."""
        pages, most = self._http_app.app(), self._settings.streams + PAGE_CONNECTIONS
        certificate, second = self._setup.tls, self._settings.https_address
        main = certificate if second is None else None
        yield self._serving(pages, self._settings.address, "display.listen", most, main)
        if second is not None:
            yield self._serving(pages, second, "display.tls.listen", most, certificate)
        if (metrics := self._setup.config.metrics.listen) is not None:
            # Displays without this listener need no extra.
            from shoe_daemon.display.metrics import metrics_app  # noqa: PLC0415

            app = metrics_app(self.tables, self.streams)
            address = parse_listen(metrics)
            yield self._serving(app, address, "metrics.listen", METRICS_CONNECTIONS)

    @contextlib.asynccontextmanager
    async def _serving(
        self,
        app: ASGIApp,
        address: tuple[str, int],
        key: str,
        connections: int,
        certificate: tuple[Path, Path] | None = None,
    ) -> AsyncIterator[asyncio.Task[None]]:
        """Serve an application within the block; `key` is where the address is configured."""
        with listening_socket(address, key) as listener:
            server = _Server(app, connections, certificate)
            self._servers[_url(listener, encrypted=certificate is not None)] = server
            task = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                yield task
            finally:
                server.should_exit = True
                await task

    def _report_started(self) -> None:
        for url in self._servers:
            _log.info("started", url=url)
        if self._settings.open_pit:
            _log.warning(
                "pit_open", hint="other machines see the pit without a password: set [display.pit]"
            )
        notify_systemd("READY=1", f"STATUS={self._summary()}", timeout_s=NOTIFY_TIMEOUT_S)

    def _wake_loop(self) -> None:
        # Called on the MQTT thread; a closed loop needs no call.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._receive)

    def _receive(self) -> None:
        """Apply one batch of messages and publish the changes to the browsers."""
        more = self._feed.inbox.deliver(self.tables, self.streams.publish)
        if more and self._loop is not None:
            self._loop.call_soon(self._receive)

    async def _run_timer(self) -> None:
        """Every second: publish changes that follow from the time, and notify the watchdog."""
        for tick in count(1):
            await asyncio.sleep(TIMER_INTERVAL_S)
            now = time.monotonic()
            changes = self.tables.advance_time(now)
            if removed := [change.key for change in changes if change.what == "gone"]:
                hint = "the broker has no retained messages of these tables"
                some = removed[:MAX_LOGGED_TABLES]
                _log.warning("tables_removed", count=len(removed), tables=some, hint=hint)
            copied = None if self._log is None else self._log.copied
            if copied is not None and tick % COPIES_INTERVAL == 0:
                changes += self.tables.compare_copies(copied, Moment(now, now_rfc3339()))
            self.streams.publish(changes)
            self.streams.publish_delayed()
            if tick % SWEEP_INTERVAL == 0:
                for server in self._servers.values():
                    server.close_idle_connections()
            if self._feed.works:
                notify_systemd("WATCHDOG=1", f"STATUS={self._summary()}")

    def _summary(self) -> str:
        link = self.tables.link
        broker = "connected" if link.connected else "no broker"
        reason = f": {link.detail}" if link.detail else ""
        return f"{broker}, {len(self.tables)} tables, {len(self.streams)} browsers{reason}"


class _Server(uvicorn.Server):
    """uvicorn without signal handlers and without logging of requests."""

    def __init__(self, app: ASGIApp, max_connections: int, tls: tuple[Path, Path] | None) -> None:
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
            ssl_certfile=None if tls is None else tls[0],
            ssl_keyfile=None if tls is None else tls[1],
            limit_concurrency=max_connections,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,  # type: ignore[arg-type]  # any number
        )
        super().__init__(config)
        self._idle: dict[H11Protocol, RequestResponseCycle | None] = {}

    def close_idle_connections(self) -> None:
        """
        Close the connections that have asked nothing since the last call: they have not sent a
        whole request, or go on sending the body of one that is answered.
        """
        idle: dict[H11Protocol, RequestResponseCycle | None] = {}
        for each in self.server_state.connections:
            if isinstance(each, H11Protocol):
                cycle: RequestResponseCycle | None = each.cycle
                if cycle is None or cycle.response_complete:
                    idle[each] = cycle
        for each, cycle in idle.items():
            if each in self._idle and self._idle[each] is cycle:
                each.transport.close()
        self._idle = idle

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers: the display has its own."""
        yield


def _url(listener: socket.socket, *, encrypted: bool) -> str:
    host, port = listener.getsockname()[:2]
    named = f"[{host}]" if ":" in host else host
    return f"{'https' if encrypted else 'http'}://{named}:{port}/"


@contextlib.contextmanager
def listening_socket(address: tuple[str, int], key: str) -> Iterator[socket.socket]:
    """
    Listen on an address until the end of the block; `key` is the configuration's, for the message.

    Raises:
        UserError: The address cannot be listened on.
    """
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # [::] stands for all addresses, those of IPv4 too.
        dual_stack = host == "::" and socket.has_dualstack_ipv6()
        listener = socket.create_server(
            (host, port), family=family, backlog=SOCKET_BACKLOG, dualstack_ipv6=dual_stack
        )
    except OSError as error:
        # The text of create_server is longer; an unknown host name has no errno of its own.
        number = error.errno or 0
        reason = (os.strerror(number) if number > 0 else one_line(error)).lower()
        reason = reason.partition(" (while ")[0]
        # The address may become available later: exit status 1 makes systemd restart.
        where = f"{key}: {host}:{port}"
        raise UserError(f"{where}: {reason}", exit_status=1) from error
    with listener:
        # Accepted connections inherit these options.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (
            (socket.TCP_KEEPIDLE, KEEPALIVE_S),
            (socket.TCP_KEEPINTVL, KEEPALIVE_S // 3),
            (socket.TCP_USER_TIMEOUT, KEEPALIVE_S * 1000),
        ):
            listener.setsockopt(socket.IPPROTO_TCP, option, value)
        yield listener


class _Thread(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


def _open_log(
    setup: DisplaySetup,
) -> tuple[Log | None, HistoryRecorder | None, Sequence[_Thread]]:
    """Return the log, what records it, and the threads to start."""
    if setup.history is None:
        return None, None, []
    where, prefix = setup.history.log, setup.config.mqtt.prefix
    if isinstance(where, LogFile):
        recorder = HistoryRecorder(where.path, prefix=prefix, days=where.days)
        return recorder, recorder, [recorder, HistoryRequests(recorder, where.mqtt)]
    # Displays with a file need no psycopg.
    from shoe_daemon.display.log.postgres import PostgresLog  # noqa: PLC0415

    log = PostgresLog(where.database, where.password)
    return log, None, [log]


def raise_file_limit(connections: int) -> None:
    """Raise the soft limit on open files for so many connections, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + SPARE_FILES
    if soft < needed:
        allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))


def _log_loop_error(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    _log.error("loop_failed", what=context.get("message"), exc_info=context.get("exception"))

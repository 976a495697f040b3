"""
HTTP routes of the display: pages, streams, static files, health; and the headers of every
response. All routes are GET, but for those of `order_routes`.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from msgspec import Raw
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe_daemon.display.commands import ORDER_PATHS, ORDER_VERBS, OrderRoutes
from shoe_daemon.display.config import (
    DEFAULT_MQTT_PORT,
    DisplaySetup,
    OrderSettings,
)
from shoe_daemon.display.languages import GLYPHS, Language, language, languages
from shoe_daemon.display.log.pages import HistoryPages
from shoe_daemon.display.log.sql import Log
from shoe_daemon.display.logins import Logins, PitAuth
from shoe_daemon.display.pages import (
    STATIC,
    Brand,
    FileCache,
    Modules,
    PageTemplates,
    StaticFile,
    data_block,
)
from shoe_daemon.display.streams import BrowserStream, StreamRegistry, Subscription
from shoe_daemon.floor.table import TABLE_NAME
from shoe_daemon.game import REPORTABLE_KINDS, IrregularityKind
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.mqtt.topics import DEFAULT_PREFIX
from shoe_daemon.web import (
    FILE_HEADERS,
    LOOPBACK_HOSTS,
    MEDIA_SECURITY_POLICY,
    SECURITY_HEADERS,
    is_known_host,
    is_loopback,
)

if TYPE_CHECKING:
    from shoe_daemon.mqtt.settings import MqttSettings

_log = structlog.get_logger(__name__)

_STAFF_PAGES: Final = ("pit", "pit_table", "dealer", "log", "log_round")
_VIDEO_PAGES: Final = ("log_round",)
_DOCUMENTS: Final = {
    "table": ("board", "roads"),
    "history": ("board", "roads", "history"),
    "dealer": ("board", "public_alerts", "events"),
    "pit_table": ("row", "board", "alerts", "events"),
}
"""The documents of its table that a page shows."""

_STATIC: Final = "/static/"
_FILE: Final = (200, 304)
_CACHE_FOR_A_YEAR: Final = "public, max-age=31536000, immutable"

PAGE_HOST: Final = None
"""Stands for the host of the page's own address, which only the browser knows."""

_UNKNOWN_USERNAME: Final = "NAME"
_UNKNOWN_FILE: Final = "FILE"


class SecurityHeaders:
    """
    ASGI middleware: adds the security headers that a response lacks; rejects other methods and
    unknown hosts.

    Args:
        hosts: Host names of the display besides those of loopback; None allows any name.
        posts: Beginnings of the paths that take POST.
    """

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str] | None, posts: tuple[str, ...] = ()
    ) -> None:
        self._app, self._posts = app, posts
        self._hosts = (
            None if hosts is None else {*LOOPBACK_HOSTS, *(each.lower() for each in hosts)}
        )
        self._headers = [
            (name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
        ]
        self._file_headers = [
            (name, value) for name, value in self._headers if name.decode() in FILE_HEADERS
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                is_file = message["status"] in _FILE and scope["path"].startswith(_STATIC)
                needed = self._file_headers if is_file else self._headers
                missing = [each for each in needed if each[0] not in own]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        rejection = self._rejection(scope)
        if rejection is None:
            await self._app(scope, receive, send_with_headers)
        else:
            await rejection(scope, receive, send_with_headers)

    def _rejection(self, scope: Scope) -> PlainTextResponse | None:
        takes_post = scope["method"] == "POST" and scope["path"].startswith(self._posts)
        if scope["method"] not in {"GET", "HEAD"} and not takes_post:
            return PlainTextResponse(
                "This address only shows.\n", 405, headers={"Allow": "GET, HEAD"}
            )
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if self._hosts is not None and not is_known_host(named, self._hosts):
            return PlainTextResponse(
                "This display is not known under that name; `hosts` in display.toml adds one.\n",
                421,
            )
        return None


class _EventStream(StreamingResponse):
    """Response that ends its stream as soon as the browser disconnects."""

    def __init__(self, stream: BrowserStream, headers: dict[str, str]) -> None:
        self._stream, self._chunks = stream, stream.run()
        super().__init__(self._chunks, 200, headers, "text/event-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all chunks."""
        try:
            async with aclosing(self._chunks):
                await super().__call__(scope, receive, send)
        finally:
            self._stream.close()


class HttpApp:
    """
    The routes and their handlers.

    Args:
        log: The log of the pit; None without.
    """

    def __init__(
        self,
        setup: DisplaySetup,
        streams: StreamRegistry,
        log: Log | None = None,
    ) -> None:
        self._settings, self._streams = setup.config.display, streams
        self._pit_credentials = setup.pit_credentials
        self._command_options = command_options(setup.config.mqtt, self._settings.orders)
        self._static = FileCache(STATIC)
        self._modules = Modules(STATIC)
        brand = self._settings.brand
        self._brand = Brand(brand.name, brand.colour, setup.logo)
        self._pages = PageTemplates(self._static, self._modules, self._brand)
        self._log_pages = HistoryPages(
            log,
            None if setup.history is None else setup.history.evidence,
            zone=self._settings.zone,
            names=self._table_names,
            page=self._page,
        )
        self._log, self._reports = log, asyncio.Semaphore(1)
        proxies = self._settings.proxies
        self._pit_logins = Logins("pit", proxies, guessable=False)
        self._orders: OrderRoutes | None = None
        self._may_log = LogRateLimit()
        if setup.operators is not None:
            self._orders = OrderRoutes(
                setup.operators,
                setup.commanding,
                Logins("pins", proxies, guessable=True),
                behind_proxy=self._settings.pit.behind_proxy,
                refuses_pins=setup.refuses_pins,
                allow_plain_pins=self._settings.orders.allow_plain_pins,
                find_table=self._find_table,
            )

    def app(self) -> ASGIApp:
        """Return the application with authentication and security headers."""
        routes = [
            Route("/", self._home),
            Route("/table/{name}", partial(self._table, "table", "live")),
            Route("/table/{name}/history", partial(self._table, "history", "live?with=history")),
            Route("/table/{name}/live", partial(self._table_stream, "table")),
            Route("/table/{name}/dealer", partial(self._table, "dealer", "dealer/live")),
            Route("/table/{name}/dealer/live", partial(self._table_stream, "dealer")),
            Route("/pit", self._pit),
            Route("/pit/live", self._pit_stream),
            Route("/pit/table/{name}", partial(self._table, "pit_table", "live")),
            Route("/pit/table/{name}/live", partial(self._table_stream, "pit_table")),
            *self._log_pages.routes(),
            Route("/pit/report", self._shift_report),
            Route("/static/modules/{version}/{name}", self._module),
            Route("/static/{name:path}", self._file),
            Route("/brand/{name}", self._brand_file),
            Route("/health", self._health),
        ]
        if self._orders is not None:
            routes += self._orders.routes()
        handlers = {404: self._not_found, Exception: self._failed}
        app: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)
        if self._pit_credentials is not None:
            app = PitAuth(app, self._pit_credentials, "/pit", self._pit_logins)
        hosts = self._settings.hosts
        named = hosts if hosts or self._settings.on_loopback else None
        return SecurityHeaders(app, named, ORDER_PATHS if self._orders is not None else ())

    def close(self) -> None:
        """Take no more passwords and commands."""
        self._pit_logins.close()
        if self._orders is not None:
            self._orders.close()

    def _find_table(self, name: str) -> tuple[str, str] | None:
        found = self._streams.tables.named(name)
        return (found[0].site, found[0].table) if len(found) == 1 else None

    def _table_names(self) -> dict[str, str]:
        views = self._streams.views
        return {each.key: views.title(each) for each in self._streams.tables}

    async def _home(self, request: Request) -> Response:
        return self._table_list(request, "home", 200)

    async def _not_found(self, request: Request, _error: Exception) -> Response:
        return self._table_list(request, "not_found", 404)

    async def _failed(self, request: Request, error: Exception) -> Response:
        if requests := self._may_log(type(error).__name__, time.monotonic()):
            _log.error("page_failed", path=request.url.path, requests=requests, exc_info=error)
        return PlainTextResponse("The display has failed; its log says more.\n", 500)

    async def _table(self, page: str, live: str, request: Request) -> Response:
        """Show a page of one table; `live` is the end of its stream's address."""
        name = self._table_name(request)
        if not name:
            return self._table_list(request, "not_found", 404)
        found = self._streams.tables.named(name)
        if len(found) > 1:
            return self._table_list(request, "ambiguous", 300)
        table = found[0] if found else None
        first = self._streams.views.initial(name, table, _DOCUMENTS[page])
        root = "/pit/table" if page == "pit_table" else "/table"
        # By its key: another site may have a table of the same id later.
        address = request.path_params["name"] if table is None else table.key
        facts: dict[str, Any] = {
            "key": None if table is None else table.key,
            "live": f"{root}/{address}/{live}",
            "first": first,
        }
        if page in _STAFF_PAGES and self._orders is not None:
            facts["order_verbs"] = ORDER_VERBS
            facts["reportable"] = [
                kind for kind in reversed(IrregularityKind) if kind in REPORTABLE_KINDS
            ]
        if page == "pit_table":
            first["pit"] = Raw(self._streams.views.pit())
            facts["order_options"] = self._command_options
            facts["operators"] = self._orders.names() if self._orders is not None else []
        return self._page(request, page, facts)

    async def _table_stream(self, page: str, request: Request) -> Response:
        if page == "table" and request.query_params.get("with") == "history":
            page = "history"
        names = _DOCUMENTS[page]
        subscription = Subscription(
            names,
            self._table_name(request),
            events="events" in names,
            pit=page == "pit_table",
        )
        return self._stream(request, subscription)

    async def _pit(self, request: Request) -> Response:
        views = self._streams.views
        first = {"pit": Raw(views.pit()), "rows": views.rows()}
        return self._page(request, "pit", {"live": "/pit/live", "first": first})

    async def _pit_stream(self, request: Request) -> Response:
        return self._stream(request, Subscription(("row",), None, pit=True))

    async def _shift_report(self, request: Request) -> Response:
        # Loaded on demand: most displays never make a report.
        from shoe_daemon.display.report import shift_report  # noqa: PLC0415

        settings, fonts = self._settings, self._pages.address("fonts.css")
        async with self._reports:
            return await shift_report(
                request, self._log, settings.zone, self._language(request), fonts
            )

    def _language(self, request: Request) -> Language:
        return language(request.query_params.get("lang"), self._settings.language)

    def _table_name(self, request: Request) -> str:
        name: str = request.path_params["name"]
        return self._settings.table_key(name) if TABLE_NAME.fullmatch(name) else ""

    def _table_list(self, request: Request, why: str, status: int) -> Response:
        views = self._streams.views
        tables = [
            {"key": each.key, "name": views.title(each), "url": f"/table/{each.key}"}
            for each in views.tables()
        ]
        table_list = {"why": why, "tables": tables, "pit": "/pit"}
        return self._page(request, "table_list", {"first": {"table_list": table_list}}, status)

    def _page(
        self, request: Request, page: str, facts: Mapping[str, Any], status: int = 200
    ) -> Response:
        settings = self._settings
        chosen = self._language(request)
        shown = chosen if page in _STAFF_PAGES else chosen.for_players()
        glyphs = request.query_params.get("glyphs")
        first = {"beat": Raw(self._streams.heartbeat()), **facts["first"]}
        block = {
            "key": None,
            "live": None,
            **facts,
            "first": first,
            "language": chosen.code,
            "glyphs": glyphs if glyphs in GLYPHS else settings.glyphs or chosen.glyphs,
            "words": dict(shown.words),
            "sentences": dict(shown.sentences),
            "languages": [[each.code, each.name] for each in languages().values()],
            "sound": settings.sound,
        }
        content = self._pages.render(page, chosen.lang, data_block(block))
        if content is None:
            return PlainTextResponse(f"The page {page} is not installed.\n", 500)
        headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
        if page in _VIDEO_PAGES:
            headers["Content-Security-Policy"] = MEDIA_SECURITY_POLICY
        if _accepts_gzip(request):
            content = gzip.compress(content, 1)
            headers["Content-Encoding"] = "gzip"
        return Response(content, status, headers, "text/html; charset=utf-8")

    def _stream(self, request: Request, subscription: Subscription) -> Response:
        if subscription.table == "":
            return PlainTextResponse("No table has such a name.\n", 404)
        if len(self._streams) >= self._settings.streams or self._streams.closing:
            return PlainTextResponse(
                "Too many displays listen at the moment.\n", 503, headers={"Retry-After": "10"}
            )
        headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
        if request.method == "HEAD":
            return Response(None, 200, headers, "text/event-stream")
        return _EventStream(BrowserStream(self._streams, subscription), headers)

    async def _module(self, request: Request) -> Response:
        asked = request.path_params
        file = self._modules.get(asked["version"], asked["name"])
        return self._content(request, file, same=True)

    async def _brand_file(self, request: Request) -> Response:
        file = self._brand.get(request.path_params["name"])
        same = file is not None and request.query_params.get("v") == file.version
        return self._content(request, file, same=same)

    async def _file(self, request: Request) -> Response:
        file = self._static.get(request.path_params["name"])
        same = file is not None and request.query_params.get("v") == file.version
        return self._content(request, file, same=same)

    @staticmethod
    def _content(request: Request, file: StaticFile | None, *, same: bool) -> Response:
        """Answer with a file; `same` if its address changes with its content."""
        if file is None:
            return PlainTextResponse("No such file.\n", 404)
        tag = f'"{file.version}"'
        headers = {"Cache-Control": _CACHE_FOR_A_YEAR if same else "no-cache", "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        content = file.content
        if file.gzipped is not None:
            headers["Vary"] = "Accept-Encoding"
            if _accepts_gzip(request):
                content, headers["Content-Encoding"] = file.gzipped, "gzip"
        return Response(content, 200, headers, file.media_type)

    async def _health(self, _request: Request) -> Response:
        tables = self._streams.tables
        facts = {
            "broker": tables.link,
            "faults": tables.faults.total,
            "live": sum(each.freshness.state == "live" for each in tables),
            "streams": len(self._streams),
            "tables": len(tables),
        }
        status = 200 if tables.link.connected else 503
        headers = {"Cache-Control": "no-store"}
        return Response(msgspec.json.encode(facts), status, headers, "application/json")


def _accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def command_options(mqtt: MqttSettings, orders: OrderSettings) -> list[str | None]:
    """
    Return the options with which `shoe-daemon cmd` reaches the broker from another computer.

    ``NAME`` and ``FILE`` stand for what the display cannot know: where the broker asks displays
    for a username, it asks operators for theirs.

    Args:
        mqtt: The display's own connection to the broker.
        orders: What the configuration says about other computers.
    """
    # `cmd` reads these from a configuration only.
    needs_config = mqtt.tls is not None or mqtt.prefix != DEFAULT_PREFIX or mqtt.brokers
    if needs_config or orders.config:
        return ["--config", orders.config or _UNKNOWN_FILE]
    # A broker on the display's own computer has the host of the page's address.
    broker = PAGE_HOST if is_loopback(mqtt.host) else mqtt.host
    host, port = orders.address or (broker, mqtt.address[1])
    options = ["--host", host]
    if port != DEFAULT_MQTT_PORT:
        options += ["--port", str(port)]
    if mqtt.protocol != "5":
        options += ["--protocol", mqtt.protocol]
    username = orders.username or (mqtt.username and _UNKNOWN_USERNAME)
    if username:
        options += ["--username", username]
        options += ["--password-file", orders.password_file or _UNKNOWN_FILE]
    return options

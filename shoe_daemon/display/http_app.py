"""
The addresses: pages, streams, static files, health. Everything is a GET.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec
import structlog
from msgspec import Raw
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Send

from shoe_daemon.display.browser_streams import Hub
from shoe_daemon.display.cmd_options import order_options
from shoe_daemon.display.display_config import DisplaySetup
from shoe_daemon.display.languages import GLYPHS, language, languages
from shoe_daemon.display.pit_auth import Lock
from shoe_daemon.display.security_headers import Guard
from shoe_daemon.display.server_sent_events import Stream, Watched
from shoe_daemon.display.static_pages import PAGES, STATIC, Shelf, data_block, render

__all__ = ["Site"]

_log = structlog.get_logger(__name__)

_NAME: Final = re.compile(r"([a-z0-9-]{1,40}\.)?[a-z0-9-]{1,40}")
_STAFF: Final = ("pit", "pit_table")
_BOARD: Final = ("board", "roads")
_ROOM: Final = ("row", "board", "alerts", "events")
_YEAR: Final = "public, max-age=31536000, immutable"


class _EventStream(StreamingResponse):
    """
    A stream that is closed at the moment when its browser goes.
    """

    def __init__(
        self, chunks: AsyncGenerator[bytes, None], status: int, headers: dict[str, str], kind: str
    ) -> None:
        super().__init__(chunks, status, headers, kind)
        self._chunks = chunks

    async def stream_response(self, send: Send) -> None:
        """
        Send what comes, until there is nothing more or nobody there.
        """
        async with aclosing(self._chunks):
            await super().stream_response(send)


class Site:
    """
    All that browsers can ask for.

    Args:
        setup: The configuration.
        hub: Where streams listen.
    """

    def __init__(self, setup: DisplaySetup, hub: Hub) -> None:
        self._settings, self._key, self._hub = setup.config.display, setup.key, hub
        self._order_options = order_options(setup.config.mqtt, self._settings.orders)
        self._pages, self._static = Shelf(PAGES), Shelf(STATIC)

    def app(self) -> ASGIApp:
        """
        Return the application, guarded.
        """
        routes = [
            Route("/", self._home),
            Route("/table/{name}", self._table),
            Route("/table/{name}/history", self._history),
            Route("/table/{name}/live", self._table_live),
            Route("/pit", self._pit),
            Route("/pit/live", self._pit_live),
            Route("/pit/table/{name}", self._room),
            Route("/pit/table/{name}/live", self._room_live),
            Route("/static/{name:path}", self._file),
            Route("/health", self._health),
        ]
        handlers = {404: self._lost, Exception: self._broken}
        app: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)
        if self._key is not None:
            app = Lock(app, self._key, "/pit")
        hosts = self._settings.hosts
        return Guard(app, hosts if hosts or self._settings.on_loopback else None)

    async def _home(self, request: Request) -> Response:
        return self._lost_page(request, "home", 200)

    async def _lost(self, request: Request, _error: Exception) -> Response:
        return self._lost_page(request, "not_found", 404)

    async def _broken(self, request: Request, error: Exception) -> Response:
        _log.error("page_failed", path=request.url.path, exc_info=error)
        return PlainTextResponse("The display has made a mistake; its log says more.\n", 500)

    async def _table(self, request: Request) -> Response:
        return self._table_page(request, "table", _BOARD, "live")

    async def _history(self, request: Request) -> Response:
        names = (*_BOARD, "history")
        return self._table_page(request, "history", names, "live?with=history")

    async def _table_live(self, request: Request) -> Response:
        more = ("history",) if request.query_params.get("with") == "history" else ()
        return self._stream(request, Watched((*_BOARD, *more), self._name(request)))

    async def _pit(self, request: Request) -> Response:
        views = self._hub.views
        first = {"pit": Raw(views.pit()), "rows": views.rows()}
        return self._page(request, "pit", {"key": None, "live": "/pit/live", "first": first})

    async def _pit_live(self, request: Request) -> Response:
        return self._stream(request, Watched(("row",), None, pit=True))

    async def _room(self, request: Request) -> Response:
        return self._table_page(request, "pit_table", _ROOM, "live", root="/pit/table")

    async def _room_live(self, request: Request) -> Response:
        watched = Watched(_ROOM, self._name(request), events=True, pit=True)
        return self._stream(request, watched)

    def _name(self, request: Request) -> str:
        name: str = request.path_params["name"]
        if not _NAME.fullmatch(name):
            return ""
        site = self._settings.site
        return name if "." in name or site is None else f"{site}.{name}"

    def _table_page(
        self,
        request: Request,
        page: str,
        names: tuple[str, ...],
        live: str,
        *,
        root: str = "/table",
    ) -> Response:
        name = self._name(request)
        if not name:
            return self._lost_page(request, "not_found", 404)
        found = self._hub.tables.named(name)
        if len(found) > 1:
            return self._lost_page(request, "ambiguous", 300)
        first = self._hub.views.first(name, found[0] if found else None, names)
        facts: dict[str, Any] = {
            "key": found[0].key if found else None,
            "live": f"{root}/{request.path_params['name']}/{live}",
            "first": first,
        }
        if root != "/table":
            first["pit"] = Raw(self._hub.views.pit())
            facts["order_options"] = self._order_options  # for the commands that it shows
        return self._page(request, page, facts)

    def _lost_page(self, request: Request, why: str, status: int) -> Response:
        tables = [
            {"key": each.key, "name": self._hub.views.title(each), "url": f"/table/{each.key}"}
            for each in self._hub.views.known()
        ]
        lost = {"why": why, "tables": tables, "pit": "/pit"}
        facts = {"key": None, "live": None, "first": {"table_list": lost}}
        return self._page(request, "table_list", facts, status)

    def _page(
        self, request: Request, page: str, facts: Mapping[str, Any], status: int = 200
    ) -> Response:
        file = self._pages.get(f"{page}.html")
        if file is None:
            return PlainTextResponse(f"The page {page} is not installed.\n", 500)
        settings = self._settings
        spoken = language(request.query_params.get("lang"), settings.language)
        shown = spoken if page in _STAFF else spoken.for_players()
        glyphs = request.query_params.get("glyphs")
        first = {"beat": Raw(self._hub.beat()), **facts["first"]}
        block = {
            **facts,
            "first": first,
            "language": spoken.code,
            "glyphs": glyphs if glyphs in GLYPHS else settings.glyphs or spoken.glyphs,
            "words": dict(shown.words),
            "sentences": dict(shown.sentences),
            "languages": [[each.code, each.name] for each in languages().values()],
            "sound": settings.sound,
        }
        content = render(file, self._static, spoken.lang, data_block(block))
        headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
        if _takes_gzip(request):
            content = gzip.compress(content, 1)
            headers["Content-Encoding"] = "gzip"
        return Response(content, status, headers, "text/html; charset=utf-8")

    def _stream(self, request: Request, watched: Watched) -> Response:
        if watched.table == "":
            return PlainTextResponse("No table has such a name.\n", 404)
        if len(self._hub) >= self._settings.streams or self._hub.closing:
            return PlainTextResponse(
                "Too many displays listen at the moment.\n", 503, headers={"Retry-After": "10"}
            )
        headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
        if request.method == "HEAD":
            return Response(None, 200, headers, "text/event-stream")
        stream = Stream(self._hub, watched)
        return _EventStream(stream.run(), 200, headers, "text/event-stream")

    async def _file(self, request: Request) -> Response:
        file = self._static.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("No such file.\n", 404)
        same = request.query_params.get("v") == file.version
        tag = f'"{file.version}"'
        headers = {"Cache-Control": _YEAR if same else "no-cache", "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        content = file.content
        if file.zipped is not None:
            headers["Vary"] = "Accept-Encoding"
            if _takes_gzip(request):
                content, headers["Content-Encoding"] = file.zipped, "gzip"
        return Response(content, 200, headers, file.kind)

    async def _health(self, _request: Request) -> Response:
        tables = self._hub.tables
        facts = {
            "broker": tables.link,
            "faults": tables.faults.total,
            "live": sum(each.fresh.state == "live" for each in tables),
            "streams": len(self._hub),
            "tables": len(tables),
        }
        status = 200 if tables.link.connected else 503
        headers = {"Cache-Control": "no-store"}
        return Response(msgspec.json.encode(facts), status, headers, "application/json")


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")

"""
The pages of the log: searches, exports, and the page of a round. All of them are below `/pit`, and
locked as the pit is.
"""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from shoe_daemon.display.evidence import (
    ArchivedFile,
    ArchiveResponse,
    Clip,
    ClipState,
    EvidenceFiles,
    EvidenceResponse,
    EvidenceTimes,
    Picture,
    evidence_times,
    parse_clip,
    parse_picture,
    round_archive,
)
from shoe_daemon.display.log.queries import Cursor, LogReader
from shoe_daemon.display.log.search import (
    KINDS,
    MARKS,
    VIEWS,
    ParsedFilter,
    parse_filter,
)
from shoe_daemon.display.log.sql import Log, SearchTimeoutError, UnreadableError
from shoe_daemon.floor.table import TABLE_NAME
from shoe_daemon.report.wording import csv_cell

PAGE_SIZE: Final = 50
EXPORT_BATCH: Final = 1000
_SECOND_US: Final = 1_000_000
MAX_SEARCHES: Final = 4
"""Searches at the same time; further ones wait."""

FORMATS: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
MAX_PICTURES: Final = 60
MAX_CLIPS: Final = 20
"""A page shows so many of each; the archive of a round has all."""

_encode = msgspec.json.Encoder(order="sorted").encode

_ENTRY_FIELDS: Final = (
    *("time", "table", "shoe", "round", "kind", "severity", "slot", "card", "detail", "closed"),
    *("seconds", "action", "operator", "dealer", "authority", "section", "verified", "reason"),
)
_ROUND_FIELDS: Final = (
    *("time", "ended", "table", "shoe", "round", "outcome", "player", "player_total", "banker"),
    *("banker_total", "marks", "kind"),
)
_EVENT_FIELDS: Final = ("seq", "type", "data")


class _FoundRound(NamedTuple):
    """A round as `LogReader.round` returns it, and the times of its evidence."""

    row: dict[str, Any]
    times: EvidenceTimes | None


class HistoryPages:
    """
    The routes of the log.

    Args:
        log: The log; None if the display keeps none.
        evidence: Folder with the pictures of all tables; None for no pictures.
        zone: The time zone of the pages; None for that of the computer.
        names: Returns the names of all known tables by their keys.
        page: Renders a page: request, name, data, HTTP status.
    """

    def __init__(
        self,
        log: Log | None,
        evidence: Path | None,
        *,
        zone: tzinfo | None,
        names: Callable[[], dict[str, str]],
        page: Callable[[Request, str, dict[str, Any], int], Response],
    ) -> None:
        self._log, self._zone, self._names, self._page = log, zone, names, page
        self._searches = asyncio.Semaphore(MAX_SEARCHES)
        self._checks = asyncio.Semaphore(1)
        self._files = None if evidence is None else EvidenceFiles(evidence)

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/pit/log", self._list),
            Route("/pit/round/{table}/{shoe:int}/{round:int}", self._round),
            Route("/pit/round/{table}/{shoe:int}/{round:int}/everything.zip", self._everything),
            Route("/pit/round/{table}/{shoe:int}/{round:int}/{file}", self._file),
        ]

    # The search.

    async def _list(self, request: Request) -> Response:
        parsed = parse_filter(request.query_params, self._zone)
        kind = request.query_params.get("format", "")
        if kind in FORMATS and self._log is not None:
            if parsed.errors:
                return PlainTextResponse(f"Invalid: {', '.join(parsed.errors)}\n", 400)
            return self._export(request, parsed, kind)
        found: dict[str, Any] = {
            "enabled": self._log is not None,
            "view": parsed.view,
            "values": parsed.values,
            "errors": parsed.errors,
            "kinds": KINDS,
            "marks": MARKS,
            "zone": self._zone_name(),
            "first_page": parsed.cursor is None,
            "rows": [],
            "next": None,
            "failed": None,
            **await self._answer(parsed),
        }
        status = 400 if parsed.errors else 503 if found["failed"] else 200
        return self._page(request, "log", {"first": {"log": found}}, status)

    async def _answer(self, parsed: ParsedFilter) -> dict[str, Any]:
        if self._log is None:
            return {}
        status = self._log.status
        state = asdict(status) | {"moved_aside": self._local(status.moved_aside)}
        found = await self._search(lambda reader: self._first_answer(reader, parsed))
        return {"state": state, **(found if isinstance(found, dict) else {"failed": found})}

    def _first_answer(self, reader: LogReader, parsed: ParsedFilter) -> dict[str, Any]:
        names = self._names()
        began = time.perf_counter()
        rows = [] if parsed.errors else self._rows(reader, parsed, PAGE_SIZE + 1, parsed.cursor)
        took = time.perf_counter() - began
        more = len(rows) > PAGE_SIZE
        rows = rows[:PAGE_SIZE]
        incomplete = reader.incomplete(parsed.wanted.table)
        for gap in incomplete:
            gap["from"], gap["to"] = self._local(gap["from"]), self._local(gap["to"])
        return {
            "rows": [self._shown(row) for row in rows],
            "next": "{}.{}".format(*rows[-1]["cursor"]) if more else None,
            "took_ms": round(took * 1000),
            "tables": [
                {"key": key, "name": names.get(key) or key.partition(".")[2]}
                for key in reader.tables()
            ],
            "operators": reader.names("operator"),
            "dealers": reader.names("dealer"),
            "incomplete": incomplete,
        }

    @staticmethod
    def _rows(
        reader: LogReader, parsed: ParsedFilter, limit: int, cursor: Cursor | None
    ) -> list[dict[str, Any]]:
        search = reader.entries if parsed.view == VIEWS[0] else reader.rounds
        return search(parsed.wanted, limit, cursor)

    async def _search(self, ask: Callable[[LogReader], Any]) -> Any:  # noqa: ANN401
        """Run a search on a thread of its own; return its answer, or why there is none."""
        async with self._searches:
            return await asyncio.to_thread(self._run, ask)

    def _run(self, ask: Callable[[LogReader], Any]) -> Any:  # noqa: ANN401
        if self._log is None:
            return "not_readable"
        try:
            with self._log.open() as database:
                return ask(LogReader(database))
        except SearchTimeoutError:
            return "too_slow"
        except UnreadableError:
            return "not_readable"

    # Exports.

    def _export(self, request: Request, parsed: ParsedFilter, kind: str) -> Response:
        day = datetime.now(self._zone).strftime("%Y-%m-%d")
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{parsed.view}-{day}.{kind}"',
        }
        if request.method == "HEAD":
            return Response(None, 200, headers, FORMATS[kind])
        return StreamingResponse(self._exported(parsed, kind), 200, headers, FORMATS[kind])

    async def _exported(self, parsed: ParsedFilter, kind: str) -> AsyncGenerator[bytes, None]:
        fields = _ENTRY_FIELDS if parsed.view == VIEWS[0] else _ROUND_FIELDS
        if kind == "csv":
            yield _csv_line(fields)
        cursor: Cursor | None = None
        while True:
            after = cursor
            rows = await self._search(
                lambda reader: self._rows(reader, parsed, EXPORT_BATCH, after)  # noqa: B023
            )
            if isinstance(rows, str):
                # A connection that breaks off is the only sign that something is missing.
                raise RuntimeError(f"export: {rows}")  # noqa: TRY004
            flat = [self._exported_row(row, fields) for row in rows]
            if kind == "csv":
                yield b"".join(_csv_line([row[name] for name in fields]) for row in flat)
            else:
                yield b"".join(_encode(row) + b"\n" for row in flat)
            if len(rows) < EXPORT_BATCH:
                return
            cursor = Cursor(*rows[-1]["cursor"])

    def _exported_row(self, row: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
        data = row.get("data") or {}
        found = {name: row.get(name, data.get(name)) for name in fields}
        found["time"] = self._iso(row["at"])
        for name in ("closed", "ended"):
            if name in found:
                found[name] = self._iso(row[name])
        return found

    # The page of a round.

    async def _find(self, request: Request) -> _FoundRound | str | None:
        """Return the round of an address, or why it is not known; None if there is none."""
        given = request.path_params
        if self._log is None or not TABLE_NAME.fullmatch(given["table"]):
            return None

        def find(reader: LogReader) -> _FoundRound | None:
            row = reader.round(given["table"], given["shoe"], given["round"])
            if row is None:
                return None
            return _FoundRound(row, evidence_times(row, reader.running_since(row["table"])))

        return cast("_FoundRound | str | None", await self._search(find))

    async def _evidence(self, times: EvidenceTimes | None) -> dict[str, Any]:
        """Return the pictures and clips of a round for its page."""
        if self._files is None or times is None:
            return {"pictures": [], "clips": [], "clips_left_out": 0}
        pictures, clips = await asyncio.to_thread(self._files.find, times)
        states = [await self._check(times.table, clip) for clip in clips[:MAX_CLIPS]]
        return {
            "pictures": [_file_facts(each, self._local) for each in pictures[:MAX_PICTURES]],
            "clips": [
                _file_facts(clip, self._local) | {"state": state}
                for clip, state in zip(clips, states, strict=False)
                if state is not None
            ],
            "clips_left_out": max(len(clips) - MAX_CLIPS, 0),
        }

    async def _check(self, table: str, clip: Clip) -> ClipState | None:
        if self._files is None:
            return None
        async with self._checks:
            return await asyncio.to_thread(self._files.check, table, clip)

    async def _file(self, request: Request) -> Response:
        found, name = await self._find(request), request.path_params["file"]
        times = found.times if isinstance(found, _FoundRound) else None
        picture, clip = parse_picture(name), parse_clip(name)
        headers = {"Cache-Control": "no-store"}
        media_type = "image/jpeg" if clip is None else "video/webm"
        try:
            if self._files is None or times is None:
                raise FileNotFoundError(name)
            if clip is not None and times.has_clip(clip):
                if await self._check(times.table, clip) != ClipState.INTACT:
                    headers["Content-Disposition"] = f'attachment; filename="{name}"'
            elif picture is None or not times.has_picture(picture):
                raise FileNotFoundError(name)
            file = await asyncio.to_thread(self._files.open_file, times.table, name)
        except OSError:
            return PlainTextResponse("No such file.\n", 404)
        return EvidenceResponse(file, headers, media_type)

    async def _everything(self, request: Request) -> Response:
        found = await self._find(request)
        if isinstance(found, str):
            return PlainTextResponse("The log cannot be read at the moment.\n", 503)
        if found is None:
            return PlainTextResponse("The log has no such round.\n", 404)
        row, times = found
        name = f"{row['table']}-shoe-{row['shoe']}-round-{row['round']}.zip"
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        if request.method == "HEAD":
            return Response(None, 200, headers, "application/zip")
        ended = row["at"] if row["ended"] is None else row["ended"]
        parts = round_archive(self._files, times, ended, lambda files: self._described(row, files))
        return ArchiveResponse(parts, headers)

    def _described(self, row: dict[str, Any], files: list[ArchivedFile]) -> bytes:
        """Return the round for its archive, as JSON."""
        facts: dict[str, Any] = {
            "round": self._exported_row(row, _ROUND_FIELDS),
            "entries": [self._exported_row(each, _ENTRY_FIELDS) for each in row["entries"]],
            "events": [
                {"time": self._iso(each["at"]), **{name: each[name] for name in _EVENT_FIELDS}}
                for each in row["events"]
            ],
            "pictures": [],
            "clips": [],
        }
        for item, sha256 in files:
            described = _file_facts(item, self._iso) | {"sha256": sha256}
            if isinstance(item, Clip):
                facts["clips"].append(described | {"intact": sha256.startswith(item.digits)})
            else:
                facts["pictures"].append(described)
        return msgspec.json.format(_encode(facts), indent=2) + b"\n"

    async def _round(self, request: Request) -> Response:
        table, shoe = request.path_params["table"], request.path_params["shoe"]
        number = request.path_params["round"]
        found = await self._find(request)
        facts: dict[str, Any] = {
            "table": table,
            "name": self._names().get(table) or table.partition(".")[2] or table,
            "shoe": shoe,
            "round": number,
            "zone": self._zone_name(),
            "failed": found if isinstance(found, str) else None,
            "found": None,
        }
        if isinstance(found, _FoundRound):
            row = found.row
            for each in (*row["events"], *row["entries"]):
                self._shown(each)
            facts["found"] = {**self._shown(row), **await self._evidence(found.times)}
        status = 200 if facts["found"] else 503 if facts["failed"] else 404
        return self._page(request, "log_round", {"first": {"round": facts}}, status)

    # Times.

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        """Add the local times of a row."""
        row["time"] = self._local(row["at"])
        for name in ("closed", "ended"):
            if row.get(name) is not None:
                row[name] = self._local(row[name])
        return row

    def _moment(self, at: int) -> datetime:
        moment = datetime.fromtimestamp(at // _SECOND_US, UTC)
        try:
            return moment.astimezone(self._zone)
        except (OverflowError, ValueError):  # the zone has no such year
            return moment

    def _local(self, at: int | None) -> str | None:
        """Return a time for a page, ``2026-11-21 09:34:46``."""
        return None if at is None else f"{self._moment(at):%Y-%m-%d %H:%M:%S}"

    def _iso(self, at: int | None) -> str | None:
        """Return a time for an export, with milliseconds and its offset."""
        if at is None:
            return None
        offset = self._moment(at).isoformat()[-6:]
        thousandths = at // 1000 % 1000
        return f"{self._moment(at):%Y-%m-%dT%H:%M:%S}.{thousandths:03}{offset}"

    def _zone_name(self) -> str:
        now = self._moment(time.time_ns() // 1000)
        offset = now.isoformat()[-6:]
        named = str(self._zone) if self._zone is not None else now.tzname() or ""
        return f"{named} (UTC{offset})"


def _file_facts(item: Picture | Clip, shown: Callable[[int | None], str | None]) -> dict[str, Any]:
    """Describe a picture or clip for a page or an archive; `shown` writes its time."""
    facts = item._asdict()
    facts.pop("digits", None)
    facts["time"] = shown(facts.pop("at"))
    return facts


def _csv_line(values: Any) -> bytes:  # noqa: ANN401 - a row of plain values
    out = io.StringIO()
    csv.writer(out).writerow([_csv_cell(value) for value in values])
    return out.getvalue().encode()


def _csv_cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(str(each) for each in value)
    return csv_cell(value) if isinstance(value, str) else value

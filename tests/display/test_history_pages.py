"""The pages of the log: every filter, exports, and the page of a round."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest

from drivers.simulators.angel_eye import Mode
from drivers.simulators.shoe import Fault
from shoe_daemon.cli.display import import_journal
from shoe_daemon.display.log.derived import SeqRange
from shoe_daemon.display.log.search import parse_filter
from shoe_daemon.display.log.store import HistoryStore, ReceivedEvent
from shoe_daemon.display.log.summaries import LoggedEvent
from shoe_daemon.table import to_microseconds
from shoe_daemon.web import CONTENT_SECURITY_POLICY
from tests.brokers import free_port
from tests.display.display_process import PATIENCE, SECRET_HASH, Answer, Display
from tests.each_case import each_case
from tests.report.report_shoes import Writer, shoe
from tests.waiting import wait_for

if TYPE_CHECKING:
    from tests.fakes.postgres import Server

MACAU = ZoneInfo("Asia/Macau")
ZONE = '[display]\ntime_zone = "Asia/Macau"\n'
CONFIG = f'{ZONE}[display.history]\nfile = "history.db"\ndays = 36500\n'

KEY = {"Authorization": "Basic cGl0OnNlY3JldA=="}
LOCKED = f'[display.pit]\nuser = "pit"\npassword_hash = "{SECRET_HASH}"\n'


def fill(path: Path, folder: Path) -> None:
    """Write the log of two tables of two sites."""
    folder.mkdir()
    first = shoe(
        folder / "1.db", seed=3, shoes=2, faults=tuple(Fault), fault_rate=0.2, mode=Mode.OPEN
    )
    with Writer(folder / "2.db", site="casino-south") as writer:
        writer.session()
        writer.order("dealer", dealer="kim", operator="ann")
        writer.order("new_shoe", operator="ann")
    with HistoryStore(path) as store:
        for each in (first, folder / "2.db"):
            import_journal(store, each, lambda *_: None)
        events = [ReceivedEvent("casino-south", "table-7", FORMULA)]
        store.add(events, [(2, SeqRange(900, 900))], [(2, 900)])


FORMULA = LoggedEvent(
    900, 1_795_291_900_000_000, 1, 1, "round_voided",
    {"after": None, "before": None, "operator": "=1+1", "reason": "@x"},
)  # fmt: skip


LAST = FORMULA._replace(seq=901, at=to_microseconds("9999-12-31T23:59:59Z"))
"""At the last moment of all."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log."""
    folder = tmp_path_factory.mktemp("log")
    fill(folder / "history.db", folder / "journals")
    with HistoryStore(folder / "history.db") as store:
        events = [ReceivedEvent("casino-south", "table-7", LAST)]
        store.add(events, [(2, SeqRange(901, 901))], [(2, 901)])
    return folder


@pytest.fixture(scope="module")
def file_display(folder: Path) -> Iterator[Display]:
    """A display without a broker, with that log."""
    with Display(folder, free_port(), CONFIG) as display:
        yield display


@pytest.fixture(scope="module")
def database_display(folder: Path, server: Server) -> Iterator[Display]:
    """A display with the same log in PostgreSQL, which it derives from the events itself."""
    from tests.display.log_database import copy_events
    from tests.fakes.postgres import PASSWORD

    copy_events(folder / "history.db", server, "log_pages")
    beside = folder / "database"
    beside.mkdir()
    (beside / "log.password").write_text(PASSWORD)
    database = f'database = "{server.dsn("board", "log_pages")}"\npassword_file = "log.password"\n'
    behind = "SELECT count(*) FROM journal LEFT JOIN progress ON journal = id"
    with Display(beside, free_port(), f"{ZONE}[display.history]\n{database}") as display:
        with server.connect(database="log_pages") as owner:
            owner.execute("SET search_path = shoe_log")
            query = f"{behind} WHERE head > coalesce(seq, 0)"
            wait_for(lambda: owner.execute(query).fetchone() == (0,), "the log to be derived")
        yield display


@pytest.fixture(params=["file", "database"])
def display(request: pytest.FixtureRequest) -> Display:
    found: Display = request.getfixturevalue(f"{request.param}_display")
    return found


def log(display: Display, **values: object) -> Any:  # noqa: ANN401 - JSON
    """Return the document of the page."""
    return display.ask(f"/pit/log?{urlencode(values)}").block["first"]["log"]


def exported(display: Display, **values: object) -> list[Any]:
    """Return all rows of a search."""
    answer = display.ask(f"/pit/log?{urlencode({**values, 'format': 'jsonl'})}", **KEY)
    assert answer.status == 200, answer.body
    return [json.loads(line) for line in answer.body.splitlines()]


Row = dict[str, Any]


def cards_of(row: Row) -> Counter[str]:
    return Counter([*row["player"], *row["banker"]])


FILTERS: list[tuple[dict[str, object], Callable[[Row], bool]]] = [
    ({"table": "casino-south.table-7"}, lambda row: row["table"] == "casino-south.table-7"),
    ({"table": "table-7", "shoe": 2}, lambda row: row["shoe"] == 2),
    ({"table": "casino-north.table-7", "shoe": 1}, lambda row: row["shoe"] == 1
        and row["table"] == "casino-north.table-7"),
    ({"shoe": 1, "round": 9}, lambda row: (row["shoe"], row["round"]) == (1, 9)),
    ({"round": 7}, lambda row: row["round"] == 7),
    ({"from": "2026-11-22T04:30"}, lambda row: row["time"] >= "2026-11-22T04:30"),
    ({"to": "2026-11-22T04:30:10"}, lambda row: row["time"] < "2026-11-22T04:30:11"),
    ({"from": "2026-11-22", "to": "2026-11-22"}, lambda row: row["time"][:10] == "2026-11-22"),
    ({"table": "nobody"}, lambda _: False),
]  # fmt: skip
ENTRY_FILTERS: list[tuple[dict[str, object], Callable[[Row], bool]]] = [
    ({"kind": "missing_draw"}, lambda row: row["kind"] == "missing_draw"),
    ({"kind": "round_voided"}, lambda row: row["kind"] == "round_voided"),
    ({"severity": 3}, lambda row: row["severity"] == 3),
    ({"operator": "ann"}, lambda row: row["operator"] == "ann"),
    ({"operator": "ann", "severity": 3, "shoe": 2},
        lambda row: (row["operator"], row["severity"], row["shoe"]) == ("ann", 3, 2)),
    ({"dealer": "kim"}, lambda row: row["dealer"] == "kim"),
    ({"open": 1}, lambda row: row["closed"] is None),
]  # fmt: skip
ROUND_FILTERS: list[tuple[dict[str, object], Callable[[Row], bool]]] = [
    ({"outcome": "tie"}, lambda row: row["outcome"] == "tie"),
    ({"outcome": "banker", "shoe": 2},
        lambda row: (row["outcome"], row["shoe"]) == ("banker", 2)),
    ({"mark": "irregular"}, lambda row: "irregular" in row["marks"]),
    ({"mark": "void", "table": "casino-south.table-7"},
        lambda row: "void" in row["marks"] and row["table"] == "casino-south.table-7"),
    ({"cards": "9h"}, lambda row: cards_of(row)["9H"] > 0),
    ({"cards": "10♠ K♦"}, lambda row: cards_of(row)["10S"] > 0 < cards_of(row)["KD"]),
    ({"cards": "TH,TH"}, lambda row: cards_of(row)["10H"] > 1),
    ({"cards": "4C", "outcome": "player", "table": "casino-north.table-7"},
        lambda row: cards_of(row)["4C"] > 0 and row["outcome"] == "player"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "filters"), [("irregularities", ENTRY_FILTERS), ("rounds", ROUND_FILTERS)]
)
def test_a_filter_gives_the_rows_that_fit(
    display: Display, view: str, filters: list[tuple[dict[str, object], Callable[[Row], bool]]]
) -> None:
    rows = exported(display, view=view)
    assert len(rows) > 10
    for values, fits in (*FILTERS, *filters):
        found = exported(display, view=view, **values)
        assert found == [row for row in rows if fits(row)], values


@pytest.mark.parametrize("view", ["irregularities", "rounds"])
@pytest.mark.parametrize("values", [{}, {"shoe": 1}, {"cards": "AS"}])
def test_its_pages_together_are_the_search(
    display: Display, view: str, values: dict[str, object]
) -> None:
    found: list[tuple[object, ...]] = []
    after: str | None = ""
    while after is not None:
        page = log(display, view=view, after=after, **values)
        found += [(row["table"], row["shoe"], row["round"], row["time"]) for row in page["rows"]]
        after = page["next"]
    whole = [
        (row["table"], row["shoe"], row["round"], row["time"][:19].replace("T", " "))
        for row in exported(display, view=view, **values)
    ]
    assert found == whole


def test_an_irregularity_says_who_decided_what_how_fast_and_by_which_rule(
    display: Display,
) -> None:
    row = exported(display, kind="excess_card", operator="ann")[0]
    assert row["action"] == "burn_card"
    assert row["authority"] == "France, order of 14 May 2007"
    assert row["section"] == "article 55-14"
    closed, opened = (datetime.fromisoformat(row[name]) for name in ("closed", "time"))
    assert row["seconds"] == pytest.approx((closed - opened).total_seconds(), abs=0.002)
    assert row["time"].endswith("+08:00")


def test_both_exports_have_the_same_rows_and_no_formula(display: Display) -> None:
    answer = display.ask("/pit/log?format=csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(
        r'attachment; filename="irregularities-[\d-]+\.csv"', answer.headers["content-disposition"]
    )
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    lines = exported(display)
    assert [row["time"] for row in rows] == [line["time"] for line in lines]
    assert list(rows[0]) == [name for name in rows[0] if name in lines[0]]
    voided = next(row for row in rows if row["seconds"] == "" and "=" in row["operator"])
    assert (voided["operator"], voided["reason"]) == ("'=1+1", "'@x")
    assert not any(value.startswith(("=", "@")) for row in rows for value in row.values())


@each_case(
    "values, wrong",
    [
        ({"shoe": "x", "round": "0"}, ["shoe", "round"]),
        ({"from": "yesterday", "to": "2026-13-01"}, ["from", "to"]),
        ({"from": "0001-01-01T00:00+23:59", "to": "9999-12-31"}, ["from", "to"]),
        ({"kind": "' OR 1", "severity": "6"}, ["kind", "severity"]),
        (
            {"view": "rounds", "cards": "1H", "mark": "x", "outcome": "y"},
            ["outcome", "mark", "cards"],
        ),
        ({"table": "../x", "after": "1"}, ["table", "after"]),
        ({"cards": "AS " * 7}, ["cards"]),
    ],
)
def test_an_invalid_search_names_its_fields(
    display: Display, values: dict[str, str], wrong: list[str]
) -> None:
    answer = display.ask(f"/pit/log?{urlencode(values)}")
    assert answer.status == 400
    page = answer.block["first"]["log"]
    assert (page["errors"], page["rows"]) == (wrong, [])
    assert display.ask(f"/pit/log?{urlencode({**values, 'format': 'csv'})}").status == 400


def test_a_time_without_a_zone_is_that_of_the_site() -> None:
    wanted = parse_filter({"from": "2026-11-22T04:00", "to": "2026-11-22T04:00"}, MACAU).wanted
    begin = round(datetime(2026, 11, 22, 4, tzinfo=MACAU).timestamp() * 1_000_000)
    assert (wanted.since, wanted.until) == (begin, begin + 60_000_000 - 1)
    given = parse_filter({"from": "2026-11-21T20:00:00+00:00"}, MACAU).wanted
    assert given.since == begin


def test_a_round_has_its_cards_every_event_and_its_decisions(display: Display) -> None:
    entry = exported(display, kind="excess_card")[0]
    path = f"/pit/round/{entry['table']}/{entry['shoe']}/{entry['round']}"
    found = display.ask(path).block["first"]["round"]["found"]
    (row,) = exported(
        display, view="rounds", **{key: entry[key] for key in ("table", "shoe", "round")}
    )
    assert [found[name] for name in ("player", "banker", "outcome", "marks")] == [
        row[name] for name in ("player", "banker", "outcome", "marks")
    ]
    numbers = [each["seq"] for each in found["events"]]
    assert numbers == sorted(numbers)
    assert {"round_started", "card_dealt", "irregularity"} <= {
        each["type"] for each in found["events"]
    }
    assert [each["kind"] for each in found["entries"]].count("excess_card") == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", found["events"][0]["time"])
    assert found["before"] == entry["round"] - 1


def test_an_unknown_round_is_said(display: Display) -> None:
    for path in ("x/1/1", "casino-north.table-7/9/1", "..%2f/1/1"):
        assert display.ask(f"/pit/round/{path}").status == 404, path


def test_the_page_says_what_may_be_missing(file_display: Display) -> None:
    display = file_display
    (gap,) = log(display)["incomplete"]
    assert gap["table"] == "casino-south.table-7"
    assert gap["to"] == "2026-11-22 04:11:40"
    assert log(display, table="casino-north.table-7")["incomplete"] == []


BEGIN = 1_795_291_200_000_000
"""First event of the first round: 21 November 2026, 20:00 UTC."""

SHORT, LONG = "/pit/round/casino.short/1/1", "/pit/round/casino.long/1/1"


def event(seq: int, seconds: int, number: int, type_: str, **data: object) -> LoggedEvent:
    return LoggedEvent(seq, BEGIN + seconds * 1_000_000, 1, number, type_, data)


def clip_name(seconds: float, length: int, content: bytes, witness: str = "ceiling") -> str:
    """Return the name of a clip that begins so long after the first event of the round."""
    begin = datetime.fromtimestamp(BEGIN / 1_000_000 + seconds, UTC)
    digits = hashlib.sha256(content).hexdigest()[:16]
    return f"{begin:%Y%m%d-%H%M%S}.000-{witness}-{length}s-{digits}.webm"


class EvidenceDisplay(NamedTuple):
    """
    A display with a locked pit and an evidence folder.

    Its first round lasts 20 s, and a card of it is corrected after ten minutes. At one table
    nothing follows, at the other a round begins after 590 s and still runs.
    """

    display: Display
    folder: Path

    def write(self, name: str, content: bytes = b"x", table: str = "short") -> str:
        (self.folder / f"casino.{table}").mkdir(parents=True, exist_ok=True)
        (self.folder / f"casino.{table}" / name).write_bytes(content)
        return name

    def write_clip(self, seconds: float, length: int, table: str = "short") -> str:
        content = f"clip after {seconds}".encode()
        return self.write(clip_name(seconds, length, content), content, table)

    def ask(self, path: str, **headers: str) -> Answer:
        return self.display.ask(path, **{**KEY, **headers})

    def found(self, path: str = SHORT) -> Any:  # noqa: ANN401 - JSON
        return self.ask(path).block["first"]["round"]["found"]

    def clips(self, path: str = SHORT) -> list[str]:
        return [each["name"] for each in self.found(path)["clips"]]

    def unpack(self, target: Path, path: str = SHORT) -> Path:
        answer = self.ask(f"{path}/everything.zip")
        assert answer.status == 200
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            archive.extractall(target)
        return target


@pytest.fixture(scope="module")
def evidence_display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EvidenceDisplay]:
    folder = tmp_path_factory.mktemp("evidence")
    hand = {"natural": False, "pair": False}
    result = {
        "outcome": "player", "player": {"cards": ["9C", "KD"], "total": 9, **hand},
        "banker": {"cards": ["2H", "3S"], "total": 5, **hand},
        "kind": "normal", "partial": False, "wagers": [],
    }  # fmt: skip
    correction = {"slot": "P1", "before": "8C", "after": "9C", "operator": "ann", "reason": None}
    round_events = [
        event(1, 0, 1, "round_started"),
        event(2, 20, 1, "round_finished", **result),
        event(3, 600, 1, "card_corrected", **correction),
    ]
    with HistoryStore(folder / "history.db") as store:
        for number, (table, more) in enumerate(
            (("short", []), ("long", [event(4, 590, 2, "round_started")])), 1
        ):
            events = [ReceivedEvent("casino", table, each) for each in (*round_events, *more)]
            store.add(events, [(number, SeqRange(1, len(events)))], [(number, len(events))])
    with Display(folder, free_port(), f'{LOCKED}{CONFIG}evidence = "evidence"\n') as display:
        yield EvidenceDisplay(display, folder / "evidence")


@pytest.fixture
def evidence(evidence_display: EvidenceDisplay) -> Iterator[EvidenceDisplay]:
    """A display whose evidence folder is empty."""
    yield evidence_display
    shutil.rmtree(evidence_display.folder, ignore_errors=True)


def test_a_finished_round_has_its_pictures_and_no_others(evidence: EvidenceDisplay) -> None:
    inside = evidence.write("20261121-200020.000-P1-AS.jpg", b"picture")
    others = ("20200101-000000.000-P1-AS.jpg", "notes.txt", ".half.jpg")
    for name in others:
        evidence.write(name)
    assert [each["name"] for each in evidence.found()["pictures"]] == [inside]
    assert evidence.ask(f"{SHORT}/{inside}").body == b"picture"
    assert evidence.display.ask(f"{SHORT}/{inside}").status == 401
    for name in (*others, "..%2f..%2fhistory.db"):
        assert evidence.ask(f"{SHORT}/{name}").status == 404


def test_a_finished_round_has_the_clips_that_show_some_of_it_or_of_its_correction(
    evidence: EvidenceDisplay,
) -> None:
    expected = [
        evidence.write_clip(seconds, length)
        for seconds, length in ((-12, 10), (5, 3), (25, 9), (588, 10), (605, 8))
    ]
    for seconds, length in ((-14, 10), (27, 10), (580, 10), (607, 30)):
        evidence.write_clip(seconds, length)
    evidence.write(f".{clip_name(4, 9, b'x')}")
    evidence.write(clip_name(4, 9, b"x").replace("-9s-", "-99999999s-"))
    assert evidence.clips() == sorted(expected)
    clip = evidence.found()["clips"][1]
    assert (clip["witness"], clip["time"], clip["seconds"], clip["state"]) == (
        "ceiling", "2026-11-22 04:00:05", 3, "intact"
    )  # fmt: skip


def test_no_clip_or_picture_reaches_a_round_that_still_runs(evidence: EvidenceDisplay) -> None:
    shown = evidence.write_clip(5, 3, "long")
    hidden = evidence.write_clip(598, 5, "long")
    during = clip_name(594, 5, b"x")
    evidence.write(during, table="long")
    picture = f"{during[:19]}-P1-AS.jpg"
    evidence.write(picture, table="long")
    assert evidence.clips(LONG) == [shown]
    running = LONG.removesuffix("1") + "2"
    assert (evidence.found(running)["clips"], evidence.found(running)["pictures"]) == ([], [])
    for path in (LONG, running):
        for name in (hidden, during, picture):
            assert evidence.ask(f"{path}/{name}").status == 404


def test_a_page_shows_twenty_clips_and_says_how_many_more_there_are(
    evidence: EvidenceDisplay, tmp_path: Path
) -> None:
    names = [evidence.write_clip(seconds, 2) for seconds in range(23)]
    assert evidence.clips() == names[:20]
    assert evidence.found()["clips_left_out"] == 3
    unpacked = evidence.unpack(tmp_path)
    assert sorted(each.name for each in (unpacked / "clips").iterdir()) == names


def test_a_clip_is_served_in_parts_to_staff_only(evidence: EvidenceDisplay) -> None:
    content = bytes(range(256)) * 1024
    name = evidence.write(clip_name(5, 3, content), content)
    whole = evidence.ask(f"{SHORT}/{name}")
    assert (whole.status, whole.body) == (200, content)
    assert whole.headers["content-type"] == "video/webm"
    assert whole.headers["cache-control"] == "no-store"
    assert whole.headers["accept-ranges"] == "bytes"
    assert "content-disposition" not in whole.headers
    part = evidence.ask(f"{SHORT}/{name}", Range="bytes=1000-1999")
    assert (part.status, part.body) == (206, content[1000:2000])
    assert part.headers["content-range"] == f"bytes 1000-1999/{len(content)}"
    assert evidence.ask(f"{SHORT}/{name}", Range="bytes=-5").body == content[-5:]
    assert evidence.ask(f"{SHORT}/{name}", Range="bytes=9999999-").status == 416
    assert evidence.display.ask(f"{SHORT}/{name}", method="HEAD", **KEY).body == b""
    for path in (f"{SHORT}/{name}", f"{SHORT}/everything.zip"):
        assert evidence.display.ask(path).status == 401


def test_a_changed_clip_is_named_and_only_downloaded(
    evidence: EvidenceDisplay, tmp_path: Path
) -> None:
    content = b"the whole clip"
    cut = evidence.write(clip_name(5, 3, content), content[:-1])
    assert [each["state"] for each in evidence.found()["clips"]] == ["changed"]
    answer = evidence.ask(f"{SHORT}/{cut}")
    assert answer.body == content[:-1]
    assert answer.headers["content-disposition"] == f'attachment; filename="{cut}"'
    unpacked = evidence.unpack(tmp_path)
    assert (unpacked / "changed.txt").read_text().splitlines()[-1] == f"clips/{cut}"
    (described,) = json.loads((unpacked / "round.json").read_bytes())["clips"]
    assert described["intact"] is False
    evidence.write(cut, content)
    assert [each["state"] for each in evidence.found()["clips"]] == ["intact"]


def test_links_pipes_and_folders_are_no_evidence(
    evidence: EvidenceDisplay, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    clip, picture = clip_name(5, 3, b"secret"), "20261121-200005.000-P1-AS.jpg"
    evidence.write("readme.txt")
    folder = evidence.folder / "casino.short"
    for name in (clip, picture):
        (folder / name).symlink_to(secret)
    pipe, directory = clip_name(6, 3, b"pipe"), clip_name(7, 3, b"directory")
    os.mkfifo(folder / pipe)
    (folder / directory).mkdir()
    found = evidence.found()
    assert (found["clips"], found["pictures"]) == ([], [])
    up = f"..%2fcasino.short%2f{clip}"
    for name in (clip, picture, pipe, directory, "readme.txt", "..%2f..%2fhistory.db", up):
        assert evidence.ask(f"{SHORT}/{name}").status == 404


def test_only_the_page_of_a_round_may_play_video(evidence: EvidenceDisplay) -> None:
    policies = {
        path: evidence.ask(path).headers["content-security-policy"]
        for path in ("/", "/pit", "/pit/log", SHORT)
    }
    assert policies.pop(SHORT) == f"{CONTENT_SECURITY_POLICY}; media-src 'self'"
    assert set(policies.values()) == {CONTENT_SECURITY_POLICY}


def test_everything_of_a_round_is_one_archive_that_proves_itself(
    evidence: EvidenceDisplay, tmp_path: Path
) -> None:
    clip = evidence.write_clip(5, 3)
    picture = evidence.write("20261121-200005.000-P1-AS.jpg", b"picture")
    answer = evidence.ask(f"{SHORT}/everything.zip")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == (
        'attachment; filename="casino.short-shoe-1-round-1.zip"'
    )
    assert evidence.ask(f"{SHORT}/everything.zip").body == answer.body
    unpacked = evidence.unpack(tmp_path)
    files = {str(each.relative_to(unpacked)) for each in unpacked.rglob("*") if each.is_file()}
    assert files == {f"clips/{clip}", f"pictures/{picture}", "round.json", "SHA256SUMS"}
    checked = subprocess.run(
        ("sha256sum", "-c", "--strict", "SHA256SUMS"), cwd=unpacked, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert len(checked.stdout.splitlines()) == len(files) - 1
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}
        assert archive.getinfo(f"clips/{clip}").date_time == (2026, 11, 21, 20, 0, 4)
    described = json.loads((unpacked / "round.json").read_bytes())
    rounds = exported(evidence.display, view="rounds", table="casino.short", shoe=1, round=1)
    entries = exported(evidence.display, table="casino.short", shoe=1, round=1)
    assert (described["round"], described["entries"]) == (rounds[0], entries)
    assert [each["type"] for each in described["events"]] == [
        "round_started", "round_finished", "card_corrected"
    ]  # fmt: skip
    assert described["clips"] == [
        {
            "intact": True,
            "name": clip,
            "seconds": 3,
            "sha256": hashlib.sha256((unpacked / "clips" / clip).read_bytes()).hexdigest(),
            "time": "2026-11-22T04:00:05.000+08:00",
            "witness": "ceiling",
        }
    ]


def test_a_round_without_evidence_has_an_archive_too(
    display: Display, evidence: EvidenceDisplay
) -> None:
    running = LONG.removesuffix("1") + "2"
    for answer in (
        display.ask("/pit/round/casino-north.table-7/1/5/everything.zip"),
        evidence.ask(f"{running}/everything.zip"),
    ):
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            assert archive.namelist() == ["round.json", "SHA256SUMS"]
    assert display.ask("/pit/round/casino-north.table-7/1/9999/everything.zip").status == 404


def test_a_download_that_breaks_off_closes_its_files(evidence: EvidenceDisplay) -> None:
    content = bytes(20_000_000)
    name = evidence.write(clip_name(5, 3, content), content)
    connection = http.client.HTTPConnection("127.0.0.1", evidence.display.port, timeout=PATIENCE)
    connection.request("GET", f"{SHORT}/everything.zip", headers=KEY)
    answer = connection.getresponse()
    assert answer.read(1) == b"P"
    descriptors = Path(f"/proc/{evidence.display.process.pid}/fd")

    def is_open() -> bool:
        found = []
        for each in list(descriptors.iterdir()):
            with contextlib.suppress(FileNotFoundError):
                found.append(each.readlink().name)
        return name in found

    assert is_open()
    answer.close()
    connection.close()
    wait_for(lambda: not is_open(), "the clip to be closed")


def test_the_last_moment_of_all_is_shown(display: Display) -> None:
    rows = log(display, kind="round_voided")["rows"]
    assert [row["time"] for row in rows if row["time"] > "9"] == ["9999-12-31 23:59:59"]

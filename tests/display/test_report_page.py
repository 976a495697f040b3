"""The report on a shift from the log of the pit says what the one from the journals says."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import axe_playwright_python
import msgspec
import pytest
from playwright.sync_api import Browser

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Fault
from shoe_daemon.cli.display import import_journal
from shoe_daemon.display import report as display_report
from shoe_daemon.display.languages import languages
from shoe_daemon.display.log.recorder import HistoryRecorder
from shoe_daemon.display.log.sql import Log
from shoe_daemon.display.log.store import HistoryStore
from shoe_daemon.display.report import MAX_DAYS, read_shift_from_log
from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Outcome
from shoe_daemon.report import figures
from shoe_daemon.report.figures import ShiftReport
from shoe_daemon.report.journal import read_shift
from shoe_daemon.report.period import Period
from shoe_daemon.report.shift_page import Pit, shift_page
from shoe_daemon.report.shift_text import shift_csv
from shoe_daemon.report.translation import Translation
from shoe_daemon.table.observations import Gap, GapDetail, Link
from tests.brokers import free_port
from tests.browser.chrome import browse, watch
from tests.display.display_process import Answer, Display
from tests.each_case import each_case
from tests.report.report_shoes import START, Writer
from tests.report.test_html_report import read

if TYPE_CHECKING:
    from tests.fakes.postgres import Server

CONFIG = '[display]\ntime_zone = "UTC"\n[display.history]\nfile = "history.db"\ndays = 36500\n'
SECOND = 1_000_000
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
BODY = re.compile(r"^.*?</style>|<input.*?>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
REASON = re.compile("「[^」]*」|“[^”]*”")
NAMES = ("casino-north, casino-south", "shoe-daemon report shift")
REPORT = Path(figures.__file__).parent
FAULTS = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE, Fault.RESET)
SITES = {"casino-north": Mode.HIDDEN, "casino-south": Mode.OPEN}


def journal(path: Path, site: str, mode: Mode) -> Path:
    """Write the journal of a table with dealers, faults, a lost line and a restart."""
    with Writer(path, site=site) as writer:
        writer.session()
        writer.say(Link(up=True))
        for number, dealer in enumerate(("Ann", "Bo", "Ann")):
            writer.order("dealer", dealer=dealer)
            faulty = Settings(rounds=30, seed=number, faults=FAULTS, fault_rate=0.2, mode=mode)
            writer.deal(faulty)
            writer.say(Link(up=False), after=60)
            writer.say(Link(up=True), after=60)
        writer.now += 600 * SECOND
        writer.session()
        writer.say(Gap(detail=GapDetail.RESTART))
        writer.say(Link(up=True), after=5)
        writer.deal(Settings(seed=9, rounds=10, mode=mode))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two journals, and their log."""
    folder = tmp_path_factory.mktemp("report")
    with HistoryStore(folder / "history.db") as store:
        for site, mode in SITES.items():
            path = journal(folder / f"{site}.db", site, mode)
            import_journal(store, path, lambda *_: None)
    return folder


@pytest.fixture(scope="module")
def display(folder: Path) -> Iterator[Display]:
    """A display without a broker, with that log."""
    with Display(folder, free_port(), CONFIG) as display:
        yield display


def ask(display: Display, **values: object) -> Answer:
    times = {"from": "2026-11-21T20:30", "to": "2026-11-21T22:00"}
    return display.ask(f"/pit/report?{urlencode({**times, **values})}")


def file_log(path: Path) -> Log:
    return HistoryRecorder(path, prefix="shoe/v1", days=400)


@pytest.fixture(scope="module")
def in_file(folder: Path) -> Log:
    return file_log(folder / "history.db")


@pytest.fixture(scope="module")
def in_database(folder: Path, server: Server) -> Log:
    from tests.display.log_database import copy_events, derive_all

    log = copy_events(folder / "history.db", server, "shift_report")
    derive_all(log)
    return log


@pytest.fixture(params=["in_file", "in_database"])
def log(request: pytest.FixtureRequest) -> Log:
    found: Log = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(("start", "end"), [(0, 20_000), (500, 2500), (1900, 4000)])
def test_the_figures_are_those_of_the_journals(
    folder: Path, log: Log, start: int, end: int
) -> None:
    period = Period(START + start * SECOND, START + end * SECOND, UTC)
    journals = read_shift([folder / f"{site}.db" for site in SITES], period)
    found = read_shift_from_log(log, period)

    def compared(report: ShiftReport) -> list[object]:
        return [
            (
                each.site,
                each.table,
                each.dealers,
                each.figures.rounds,
                each.figures.held,
                each.figures.seconds,
                each.expectations,
            )
            for each in report.tables
        ]

    assert compared(found) == compared(journals)
    assert found.hours == journals.hours
    assert [each.dealer for each in found.dealers] == [each.dealer for each in journals.dealers]
    for ours, theirs in zip(found.tables, journals.tables, strict=True):
        known, all_kinds = Counter(ours.figures.kinds), Counter(theirs.figures.kinds)
        if SITES[ours.site] is Mode.OPEN:
            # A copy too many may be one that was burned face down.
            assert set(all_kinds - known) <= {"duplicate_card"}
        # What only staff knew is not in the found.
        assert known <= all_kinds
        lacking = theirs.figures.cards - ours.figures.cards
        assert 0 <= lacking <= all_kinds["excess_card"]
        assert ours.availability.working == pytest.approx(theirs.availability.working, abs=130)
    assert found.not_included == ()


def test_tables_and_times_can_be_chosen(log: Log, display: Display) -> None:
    both = json.loads(ask(display, format="json").body)
    one = json.loads(ask(display, format="json", table="casino-south.table-7").body)
    assert [each["site"] for each in both["tables"]] == list(SITES)
    assert [each["site"] for each in one["tables"]] == ["casino-south"]
    assert one["all"]["cards"] == both["tables"][1]["figures"]["cards"] > 0
    assert (both["start"], both["source"]) == ("2026-11-21T20:30:00.000Z", "log")
    rows = list(csv.DictReader(ask(display, format="csv").body.decode().splitlines()))
    assert [row["of"] for row in rows] == ["all", "table", "table", "dealer", "dealer"]
    # Without times: the last eight hours, in which nothing happened.
    answer = display.ask("/pit/report?format=json")
    assert answer.status == 200
    with pytest.raises(UserError, match="no such table"):
        read_shift_from_log(log, Period(0, 1, UTC), ("table-9",))


@each_case(
    "values, text",
    [
        ({"from": "yesterday"}, "expected a date and a time"),
        ({"from": "9999-12-31T23:00Z", "to": "9999-12-31T23:59Z"}, "expected a date and a time"),
        ({"to": "2026-11-21T20:30"}, "expected a time after"),
        ({"table": "table-9"}, "no such table"),
        ({"from": "2026-01-01"}, f"At most {MAX_DAYS} days"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_line(
    display: Display, values: dict[str, str], text: str
) -> None:
    answer = ask(display, format="csv", **values)
    assert answer.status == 400
    assert text in answer.body.decode()
    assert answer.body.count(b"\n") == 1
    # A page says it above the form, with the way back.
    answer = ask(display, **values)
    page = unescape(answer.body.decode())
    assert answer.status == 400
    assert text in page
    assert 'role="alert"' in page
    assert 'href="/pit?lang=en"' in page


class Asked(Translation, frozen=True):
    """A language that records what is asked of it."""

    asked: set[str] = msgspec.field(default_factory=set)

    def __call__(self, english: str, /, **values: object) -> str:
        self.asked.add(english)
        return super().__call__(english, **values)

    def counted(self, count: int, one: str, many: str) -> str:
        self.asked.add(many)
        return super().counted(count, one, many)


@pytest.mark.parametrize("code", ["zh-hant", "zh-hans"])
def test_all_that_the_page_says_is_translated(log: Log, code: str) -> None:
    chosen = languages()[code]
    known = {**chosen.sentences, **chosen.report}
    translate = Asked(chosen.lang, chosen.words, known)
    pit = Pit("", "", "", code, (), "")
    for end in (600, 20_000):
        period = Period(START, START + end * SECOND, UTC)
        report = read_shift_from_log(log, period, translate=translate)
        page = BODY.sub("", shift_page(report, UTC, translate, pit))
        for each in NAMES:
            page = page.replace(each, "")
        # Two Latin words in a row were left in English, but for a person's reason.
        assert (
            re.findall(r"[A-Za-z]{2,}[ ,]+[A-Za-z]{2,}", REASON.sub("", TAG.sub("|", page))) == []
        )
    assert len(translate.asked) > 100
    assert {
        each for each in translate.asked - known.keys() if re.search("[A-Za-z]", each)
    } == set()


@pytest.mark.parametrize("code", ["zh-hant", "zh-hans"])
def test_no_phrase_of_a_language_is_said_nowhere(code: str) -> None:
    sources = [*REPORT.rglob("*.py"), *REPORT.rglob("*.html"), Path(display_report.__file__)]
    text = " ".join(path.read_text("utf-8") for path in sources)
    # A sentence may be on several lines; a count and its noun may be put together.
    text = re.sub(r'"\s+"', "", text)
    for phrase in languages()[code].report:
        noun = re.sub(r"^\{\w+\} |s$|ies$", "", phrase)
        assert phrase in text or f'"{noun}' in text, phrase


def test_a_translation_with_other_names_is_said_in_english() -> None:
    translate = Translation(
        "pt", {}, {"{n} void": "{numero} nulas", "{low} to {high}": "{low} a {high"}
    )
    assert translate("{n} void", n=3) == "3 void"
    assert translate("{low} to {high}", low=1, high=2) == "1 to 2"
    assert translate.counted(1, "{count} round", "{count} rounds") == "1 round"
    assert (
        Translation("zh", {}, {"{count} rounds": "{count}局"}).counted(
            1, "{count} round", "{count} rounds"
        )
        == "1局"
    )


def test_missing_events_are_told(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with HistoryStore(path) as store:
        import_journal(store, folder / "casino-north.db", lambda *_: None)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE coverage SET last = last - 50")
    report = read_shift_from_log(file_log(path), Period(START, START + 20_000 * SECOND, UTC))
    assert report.not_included == ("50 events of casino-north/table-7 that the log lacks",)


def test_events_of_an_earlier_journal_are_told(tmp_path: Path) -> None:
    for name, start, rounds in (("old", 0, 3), ("new", 3600, 2)):
        with Writer(tmp_path / name) as writer:
            writer.now = START + start * SECOND
            writer.session()
            writer.order("new_shoe")
            for _ in range(rounds):
                writer.order("enter_result", 30, outcome=Outcome.TIE)
    path = tmp_path / "history.db"
    with HistoryStore(path) as store:
        import_journal(store, tmp_path / "old", lambda *_: None)
        events = import_journal(store, tmp_path / "new", lambda *_: None).events
    with contextlib.closing(sqlite3.connect(path)) as connection:
        earlier = connection.execute("SELECT count(*) FROM event").fetchone()[0] - events
    report = read_shift_from_log(file_log(path), Period(START, START + 7200 * SECOND, UTC))
    assert report.all.rounds.begun == 2
    assert report.not_included == (
        f"{earlier} events of casino-north/table-7 in a journal before its newest",
    )
    # All results were entered by hand, which no event says.
    assert {row["results_entered"] for row in csv.DictReader(shift_csv(report).splitlines())} == {
        ""
    }
    later = read_shift_from_log(
        file_log(path), Period(START + 3600 * SECOND, START + 7200 * SECOND, UTC)
    )
    assert later.not_included == ()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browse() as browser:
        yield browser


def test_the_page_is_drawn_with_its_own_style_only(display: Display, browser: Browser) -> None:
    answer = ask(display)
    assert answer.status == 200
    read(answer.body.decode())
    policy = {name.lower(): text for name, text in answer.headers.items()}
    assert "unsafe" not in policy["content-security-policy"]
    assert policy["x-frame-options"] == "DENY"
    with watch(browser, "small") as watched:
        page = watched.page
        page.goto(f"http://127.0.0.1:{display.port}/pit/report?from=2026-11-21T20:30")
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontWeight") == "700"
        page.evaluate(AXE)
        found = page.evaluate("() => axe.run()")
        assert [each["id"] for each in found["violations"]] == []
        page.fill("input[name=to]", "2026-11-21T21:00:00")
        page.fill("input[name=table]", "casino-north.table-7")
        page.click("button")
        page.wait_for_url("**table=casino-north.table-7*")
        assert "20:30:00 to 21:00:00" in page.inner_text("header")
        page.click("text=繁體中文")
        assert "20:30:00至21:00:00" in page.inner_text("header")
        assert page.get_attribute("html", "lang") == "zh-Hant"
        assert "zh-hant" in page.evaluate("getComputedStyle(document.body).fontFamily")
        page.evaluate(AXE)
        assert page.evaluate("() => axe.run()")["violations"] == []
        page.emulate_media(media="print")
        assert not page.is_visible("form.ask")
        watched.assert_clean()

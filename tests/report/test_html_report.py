"""Reports fit 80 columns and paper, and escape all text from operators and devices."""

from __future__ import annotations

import json
import re
import stat
from datetime import UTC
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec import UNSET

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Fault
from shoe_daemon.cli import main
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.report.journal import read_shift, read_shoe
from shoe_daemon.report.page import shoe_page
from shoe_daemon.report.period import Period
from shoe_daemon.report.shift_page import shift_page
from shoe_daemon.report.shift_text import shift_text
from shoe_daemon.report.text import COLUMNS, shoe_text
from shoe_daemon.table.observations import Cause, DeviceError
from shoe_daemon.table.options import RoundEnd
from tests.report.report_shoes import START, Writer, shoe

HOSTILE = '<script>alert("x")</script><img src=http://evil.example/x>&\x1b[31m\u202e\n' + "w" * 90


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["journal", "shoe", *map(str, arguments)])


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    return shoe(tmp_path / "faulty", faults=list(Fault)[:6], fault_rate=0.3, seed=2)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    with Writer(tmp_path / "hostile", supervisor=HOSTILE) as writer:
        writer.session("seven-feathers", round_end=RoundEnd.DEVICE)
        writer.order("new_shoe", reason=HOSTILE)
        writer.coup()
        writer.say(DeviceError(cause=Cause.OTHER, code=HOSTILE, text=HOSTILE))
        alert = writer.table.state.alerts[-1].data.id
        writer.order("acknowledge", 3, irregularity=alert, reason=HOSTILE, claimed=True)
        writer.order("correct_card", slot=Slot.B2, card=Card("3C"), reason=HOSTILE)
        writer.order("confirm_result")
        writer.order("enter_result", outcome=Outcome.TIE, reason=HOSTILE)
    return tmp_path / "hostile"


def test_reports_name_a_shoe_without_real_cards(tmp_path: Path) -> None:
    texts = {}
    for simulated in (True, False):
        path = tmp_path / f"{simulated}"
        with Writer(path) as writer:
            writer.session(round_end=RoundEnd.RULES, simulated=simulated)
            writer.order("new_shoe")
            writer.coup()
        report = read_shoe(path, None)
        shift = read_shift([path], Period(START, START + 100_000_000, UTC))
        expected = simulated or UNSET
        assert report.simulated is shift.tables[0].simulated is expected
        texts[simulated] = [
            *(shoe_text(report), shoe_page(report)),
            *(shift_text(shift, UTC), shift_page(shift, UTC)),
        ]
    for marked, plain in zip(texts[True], texts[False], strict=True):
        assert "simulated" in marked.lower()
        assert "simulated" not in plain.lower()


class Reading(HTMLParser):
    """Notes tags and attributes, and that every tag is closed."""

    VOID = frozenset({"meta", "br", "input", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reading:
    reading = Reading()
    reading.feed(page)
    reading.close()
    assert reading.open == []
    return reading


@pytest.mark.parametrize("mode", list(Mode))
def test_the_text_fits_eighty_columns(tmp_path: Path, mode: Mode) -> None:
    path = shoe(tmp_path / "journal", faults=list(Fault)[:6], fault_rate=0.3, seed=2, mode=mode)
    lines = shoe_text(read_shoe(path, None)).splitlines()
    assert max(map(len, lines)) <= COLUMNS
    assert all(line == line.rstrip() for line in lines)


def test_what_people_wrote_cannot_steer_a_terminal(hostile: Path) -> None:
    text = run(hostile).stdout
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert all(sign.isprintable() for sign in text if sign != "\n")
    assert "<script>" in text


def test_what_people_wrote_stays_text_on_the_page(hostile: Path) -> None:
    reading = read(shoe_page(read_shoe(hostile, None)))
    assert not {"script", "img", "link", "iframe"} & set(reading.tags)
    assert reading.text.count('<script>alert("x")</script>') >= 4
    assert "\x1b" not in reading.text
    assert "\u202e" not in reading.text


def test_the_page_needs_nothing_from_outside(faulty: Path) -> None:
    page = shoe_page(read_shoe(faulty, None))
    reading = read(page)
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in reading.attributes}
    assert not any(name.startswith("on") for name, _ in reading.attributes)
    assert not re.search(r"url\(|@import|https?:|//", page.replace("<!doctype", ""))
    assert "$" not in page
    assert "default-src 'none'" in page


def test_the_page_shows_every_round_and_card(faulty: Path) -> None:
    report = read_shoe(faulty, None)
    reading = read(shoe_page(report))
    shown = reading.attributes.count(("class", "card red")) + reading.attributes.count(
        ("class", "card black")
    )
    hands = [hand for line in report.rounds for hand in (line.player, line.banker)]
    assert shown == sum(card is not None for hand in hands for card in hand.cards)
    assert all(f"#{each.id}" in reading.text for each in report.incidents)


def test_a_page_is_written_whole_and_not_for_everybody(faulty: Path, tmp_path: Path) -> None:
    out = tmp_path / "shoe.html"
    result = run(faulty, "last", "--html", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out}: the report on shoe 1\n"
    report = read_shoe(faulty, 1, progress=lambda _done, _total: None)
    assert out.read_text(encoding="utf-8") == shoe_page(report)
    assert not stat.S_IMODE(out.stat().st_mode) & stat.S_IRWXO
    nowhere = run(faulty, "--html", tmp_path / "missing" / "shoe.html")
    assert nowhere.exit_code == 2
    assert "cannot be written" in nowhere.stderr
    assert sorted(each.name for each in tmp_path.iterdir() if "html" in each.name) == ["shoe.html"]


def test_json_is_one_object_with_sorted_keys(faulty: Path) -> None:
    answer = json.loads(run(faulty, "1", "--json").stdout)
    assert list(answer) == sorted(answer)
    assert answer["shoe"] == 1
    assert len(answer["rounds"]) == answer["counts"]["begun"]
    assert set(answer["composition"]["read"]) == set(DECK)


@pytest.mark.parametrize("number", ["0", "-1", "two", "9", "١"])  # noqa: RUF001 - a digit of another script
def test_a_shoe_that_is_none_is_refused_in_a_line(faulty: Path, number: str) -> None:
    result = run(faulty, "--", number)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_a_journal_without_a_shoe_is_said_so(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session()
    result = run(tmp_path / "journal")
    assert result.exit_code == 2
    assert "holds no shoe yet" in result.stderr


def test_reading_leaves_a_journal_as_it_was(faulty: Path) -> None:
    before = faulty.read_bytes()
    run(faulty)
    run(faulty, "--json")
    assert faulty.read_bytes() == before
    assert [each.name for each in faulty.parent.glob("faulty*")] == ["faulty"]


def test_a_shoe_under_way_is_a_report_too(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session()
        writer.order("new_shoe")
        empty = run(tmp_path / "journal")
        assert empty.exit_code == 0, empty.output
        assert "no rounds" in empty.stdout
        writer.deal(Settings(shoes=1, rounds=2))
    assert "still under way" in run(tmp_path / "journal").stdout

"""Reports on shifts agree with an independent count of the events, and with the clock."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result

from drivers.simulators.angel_eye import Mode
from drivers.simulators.shoe import Fault
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.journal import JournalReader
from shoe_daemon.report.figures import PAUSE_S, ShiftReport
from shoe_daemon.report.journal import read_shift
from shoe_daemon.report.odds import confidence_interval
from shoe_daemon.report.period import Period
from shoe_daemon.report.shift_page import shift_page
from shoe_daemon.report.shift_text import shift_csv, shift_text
from shoe_daemon.report.text import COLUMNS
from shoe_daemon.report.wording import csv_cell
from shoe_daemon.table.observations import CardDrawn, Gap, GapDetail, Link, Lock
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds, to_microseconds
from tests.each_case import each_case
from tests.report.report_shoes import DECISION, SITE, START, TABLE, Writer, shoe
from tests.report.test_html_report import HOSTILE, read
from tests.volume import volume

HOUR = 3_600_000_000
FAULTS = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE, Fault.RESET)
COUP = ("9H", "KD", "KS", "2C")
"""A natural: Player 9, Banker 2."""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["report", "shift", *map(str, arguments)])


def shift(path: Path, start: float, end: float, **more: object) -> ShiftReport:
    """Report on the seconds from `start` to `end` since the tests' start."""
    first, last = (START + round(each * 1_000_000) for each in (start, end))
    return read_shift([path], Period(first, last, UTC), **more)  # type: ignore[arg-type]


def moment(seconds: float) -> str:
    return from_microseconds(START + round(seconds * 1_000_000))


def deal(writer: Writer, after: float = 1.0, between: float = 1.0) -> None:
    """Deal a coup by hand, and end its round."""
    for number, face in enumerate(COUP):
        writer.say(CardDrawn(card=Card(face)), after=between if number else after)


@pytest.mark.parametrize("mode", list(Mode))
def test_the_figures_are_those_of_an_independent_count(tmp_path: Path, mode: Mode) -> None:
    path = shoe(tmp_path / "journal", faults=FAULTS, fault_rate=0.3, shoes=2, seed=5, mode=mode)
    report = shift(path, 1800, 5400)
    with JournalReader(path) as reader:
        lines = [json.loads(each) for each in reader.event_lines()]
    inside = [each for each in lines if moment(1800) <= each["at"] < moment(5400)]
    assert 0 < len(inside) < len(lines)

    def rounds(kind: str) -> dict[tuple[int, int], dict[str, object]]:
        return {(e["shoe"], e["round"]): e["data"] for e in inside if e["type"] == kind}

    finished, void, aborted = map(rounds, ("round_finished", "round_voided", "round_aborted"))
    valid = [data for key, data in finished.items() if key not in void]
    raised = {e["data"]["id"]: e for e in inside if e["type"].endswith("irregularity")}
    closed = [
        (e, raised[e["data"]["id"]])
        for e in inside
        if e["type"].endswith("irregularity_closed") and e["data"]["id"] in raised
    ]
    waits = [
        (to_microseconds(end["at"]) - to_microseconds(begin["at"])) / 1_000_000
        for end, begin in closed
        if end["data"]["operator"] is not None
    ]
    figures = report.all
    assert figures.rounds.counted == len(valid)
    assert figures.rounds.void == len(void) > 0
    assert figures.rounds.aborted == len(aborted) > 0
    assert figures.rounds.partial == sum(bool(data["partial"]) for data in valid)
    assert figures.kinds == Counter(each["data"]["kind"] for each in raised.values())
    assert figures.decided_by_people == len(waits) > 0
    assert figures.median_decision == pytest.approx(median(waits))
    assert figures.still_open == len(raised) - len(closed)
    found = {each.name: each.found for each in report.expectations}
    assert {name: found[name] for name in Outcome} == {
        name: sum(data["outcome"] == name for data in valid) for name in Outcome
    }
    assert sum(each.rounds for each in report.hours) == len(valid)
    counted = [each["data"] for each in lines if each["type"] == "staff_composition"]
    out = sum(sum(data["read"].values()) + data["unread"] for data in counted)
    assert shift(path, 0, 20_000).all.cards == out


def test_two_shifts_add_up_wherever_they_meet(tmp_path: Path) -> None:
    path = shoe(tmp_path / "journal", faults=FAULTS, fault_rate=0.3, shoes=2, seed=5)
    whole = shift(path, 0, 20_000)

    def values(report: ShiftReport) -> Counter[str]:
        figures = report.all
        counted = Counter(figures.kinds)
        counted["cards"] = figures.cards
        for name in ("begun", "counted", "void", "aborted"):
            counted[name] = getattr(figures.rounds, name)
        return counted

    for cut in range(200, 4000, volume(950, 333)):
        early, late = shift(path, 0, cut), shift(path, cut, 20_000)
        assert values(early) + values(late) == values(whole), cut
        # The early shift ends with its last card or result.
        assert 0 <= whole.all.seconds - early.all.seconds - late.all.seconds < 30


def test_a_round_belongs_to_the_shift_in_which_it_ends(by_hand: Writer) -> None:
    for _ in range(3):
        deal(by_hand)  # its cards are at 1, 2, 3, 4; 5 …
    path = by_hand.journal.path
    early, late = shift(path, 0, 6.5), shift(path, 6.5, 100)
    assert (early.all.rounds.begun, early.all.cards) == (1, 6)
    assert (late.all.rounds.begun, late.all.cards) == (2, 6)
    # The hours in play begin in mid-round, at the start of the shift.
    assert early.all.seconds == 5
    assert late.all.seconds == 5.5


def test_a_pace_is_given_after_ten_minutes_of_play(by_hand: Writer) -> None:
    deal(by_hand, between=200)  # 1, 201, 401, 601
    path = by_hand.journal.path
    before, after = shift(path, 0, 600.5), shift(path, 0, 602)
    assert (before.all.rounds_per_hour, before.all.cards_per_hour) == (None, None)
    assert "less than ten minutes of play" in shift_text(before, UTC)
    assert (after.all.rounds_per_hour, after.all.cards_per_hour) == (6, 24)


def test_pauses_are_no_time_in_play(by_hand: Writer) -> None:
    deal(by_hand)
    deal(by_hand, after=PAUSE_S)
    deal(by_hand, after=PAUSE_S - 1)
    assert shift(by_hand.journal.path, 0, 10_000).all.seconds == 3 * 3 + PAUSE_S - 1


def test_what_happens_after_the_shift_does_not_change_its_report(by_hand: Writer) -> None:
    deal(by_hand)
    deal(by_hand)
    before = shift(by_hand.journal.path, 0, 9)
    by_hand.order("void_round", after=10, round=2, reason="later")
    deal(by_hand)
    assert shift(by_hand.journal.path, 0, 9).all == before.all
    after = shift(by_hand.journal.path, 9, 100)
    assert (before.all.rounds.counted, after.all.rounds.counted) == (2, 1)
    # Within one shift the correction counts.
    whole = shift(by_hand.journal.path, 0, 100).all.rounds
    assert (whole.counted, whole.void) == (2, 1)


def test_dealers_have_their_own_figures(by_hand: Writer) -> None:
    deal(by_hand)
    by_hand.order("dealer", dealer="Ann", after=0.5)
    for _ in range(2):
        deal(by_hand)
    by_hand.order("hold", after=0.25, kind="card_off_table", reason="it fell")
    by_hand.order("acknowledge", irregularity=by_hand.table.state.alerts[-1].data.id)
    by_hand.order("resume")
    by_hand.order("dealer", dealer="Bo", after=0.25)
    deal(by_hand)
    report = shift(by_hand.journal.path, 0, 100)
    assert report.tables[0].dealers == ("Ann", "Bo")
    found = {each.dealer: each.figures for each in report.dealers}
    assert {name: each.rounds.begun for name, each in found.items()} == {
        "Ann": 2,
        "Bo": 1,
        None: 1,
    }
    assert {name: each.seconds for name, each in found.items()} == {
        "Ann": 8.5,
        "Bo": 4,
        None: 3.5,
    }
    assert found["Ann"].kinds == {"card_off_table": 1}
    assert found["Bo"].kinds == {}
    assert sum(each.cards for each in found.values()) == report.all.cards
    # A later shift knows who had signed on before it.
    later = shift(by_hand.journal.path, 13.6, 100)
    assert [each.dealer for each in later.dealers] == ["Bo"]


def test_the_checkpoint_of_a_shoe_has_the_same_dealer_and_readers_as_all_events_before(
    by_hand: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand.say(Link(up=True, source="shoe"), Link(up=False, source="spare"), after=10)
    by_hand.order("dealer", dealer="Ann")
    deal(by_hand, after=100)
    by_hand.say(Lock(locked=True, source="shoe"), after=10)
    by_hand.order("new_shoe", after=100)
    deal(by_hand, after=100)
    by_hand.say(Lock(locked=False, source="shoe"), after=10)
    path = by_hand.journal.path
    found = [shift(path, start, 400) for start in (140, 250, 345)]

    def refuse(body: bytes) -> Table:
        raise UserError(f"{len(body)} bytes of another version")

    monkeypatch.setattr(Table, "restore", refuse)
    assert [shift(path, start, 400) for start in (140, 250, 345)] == found
    for report in found[:2]:
        assert [each.dealer for each in report.dealers] == ["Ann"]
        assert report.availability.outages[0].cause == "locked"


def test_held_results_are_counted_where_they_were_held(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.RULES, hold_from=3)
        writer.order("new_shoe")
        deal(writer)
        writer.order("hold", kind="card_off_table", reason="it fell")
        deal(writer)
        held = shift(tmp_path / "journal", 0, 100)
        assert held.all.held == 1
        assert held.all.rounds.begun == 1
        alert = writer.table.state.alerts[-1].data.id
        writer.order("acknowledge", 20, irregularity=alert)
        writer.order("resume")
        later = shift(tmp_path / "journal", 20, 100)
        assert (later.all.held, later.all.rounds.begun) == (0, 1)


def test_readers_work_while_they_are_up_without_fault_and_unlocked(by_hand: Writer) -> None:
    by_hand.say(Link(up=True), after=10)
    deal(by_hand)
    by_hand.say(Link(up=False), after=86)  # at 100
    by_hand.say(Link(up=True), after=50)
    by_hand.say(Lock(locked=True), after=50)  # at 200
    by_hand.say(Lock(locked=False), after=100)
    by_hand.say(Gap(detail=GapDetail.LOST_FRAMES), after=700)  # at 1000, and the end of the record
    found = shift(by_hand.journal.path, 0, 2000).availability
    assert (found.seconds, found.working, found.unknown) == (2000, 1000 - 10 - 150, 1010)
    assert (found.least, found.most) == (0.42, 0.925)
    assert [(each.at, each.seconds, each.cause) for each in found.outages] == [
        (moment(0), 10, "not known"),
        (moment(100), 50, "link down"),
        (moment(200), 100, "locked"),
        (moment(1000), 1000, "not known"),
    ]
    inside = shift(by_hand.journal.path, 20, 120).availability
    assert (inside.least, inside.most) == (0.8, 0.8)


def test_before_a_start_of_the_daemon_nothing_is_known(by_hand: Writer) -> None:
    by_hand.say(Link(up=True))
    deal(by_hand)  # until 4
    by_hand.now += 96_000_000
    by_hand.session("seven-feathers", round_end=RoundEnd.RULES)
    by_hand.say(Gap(detail=GapDetail.RESTART))
    by_hand.say(Link(up=True), after=5)
    by_hand.say(Lock(locked=False), after=95)  # at 200
    found = shift(by_hand.journal.path, 0, 200).availability
    assert found.starts == 2
    assert found.unknown == 96 + 5
    assert found.working == 99
    assert "49.5 to 100.0 %" in shift_text(shift(by_hand.journal.path, 0, 200), UTC)


def test_a_card_proves_that_a_reader_without_link_reports_works(by_hand: Writer) -> None:
    deal(by_hand, after=10)
    by_hand.say(Lock(locked=False), after=87)  # at 100
    found = shift(by_hand.journal.path, 0, 100).availability
    assert (found.working, found.unknown) == (90, 10)


def test_a_shift_without_rounds(by_hand: Writer, tmp_path: Path) -> None:
    with Writer(tmp_path / "empty"):
        pass
    report = shift(tmp_path / "empty", 0, 1000)
    assert report.tables[0].proof is None
    assert report.availability.unknown == 1000
    assert "worked not known" in shift_text(report, UTC)
    read(shift_page(report, UTC))
    deal(by_hand)
    for start, end in ((-2000, -1000), (5000, 6000)):
        report = shift(by_hand.journal.path, start, end)
        assert report.all.rounds.begun == report.all.cards == 0
        assert report.all.rounds_per_hour is None
        assert report.expectations == ()
        assert "nothing to compare" in shift_text(report, UTC)
        read(shift_page(report, UTC))
        assert len(list(csv.reader(shift_csv(report).splitlines()))) == 3


@pytest.fixture
def floor(tmp_path: Path) -> list[Path]:
    """Return the journals of three tables."""
    return [
        shoe(
            tmp_path / f"{number}.db",
            faults=FAULTS,
            fault_rate=0.2,
            rounds=30,
            seed=number,
            table=f"table-{number}",
        )
        for number in (1, 2, 3)
    ]


WHEN = ("--from", "2026-11-21T20:00", "--to", "2026-11-21T22:00", "--time-zone", "UTC")


def test_several_tables_are_added_up(floor: Sequence[Path]) -> None:
    answer = json.loads(run(*floor, *WHEN, "--json").stdout)
    single = [json.loads(run(each, *WHEN, "--json").stdout) for each in floor]
    assert [each["table"] for each in answer["tables"]] == ["table-1", "table-2", "table-3"]
    for name in ("cards", "held", "unread", "still_open"):
        assert answer["all"][name] == sum(each["all"][name] for each in single)
    for name, value in answer["all"]["rounds"].items():
        assert value == sum(each["all"]["rounds"][name] for each in single)
    assert answer["expectations"][0]["found"] == sum(
        each["expectations"][0]["found"] for each in single
    )
    assert len(answer["incidents"]) == sum(answer["all"]["kinds"].values())
    assert {each["proof"]["chain"] for each in answer["tables"]} == {"good"}
    only = run(*floor, *WHEN, "--json", "--table", "table-2", "--table", f"{SITE}/table-3").stdout
    assert [each["table"] for each in json.loads(only)["tables"]] == ["table-2", "table-3"]


def test_text_fits_eighty_columns_and_has_the_chains(floor: Sequence[Path]) -> None:
    result = run(*floor, *WHEN)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= COLUMNS
    assert all(line == line.rstrip() for line in lines)
    report = read_shift(floor, Period(START, START + 2 * HOUR, UTC))
    for each in report.tables:
        assert each.proof is not None
        assert each.proof.head in result.stdout
    assert f"{DECISION:.0f} s" in result.stdout


def test_csv_has_a_row_for_each_table_and_the_same_columns_always(
    floor: Sequence[Path], by_hand: Writer
) -> None:
    rows = list(csv.DictReader(run(*floor, *WHEN, "--csv").stdout.splitlines()))
    assert [(row["of"], row["name"]) for row in rows] == [
        ("all", ""),
        *(("table", f"{SITE}/table-{number}") for number in (1, 2, 3)),
    ]
    for name in ("rounds", "cards", "rounds_void", "banker", *IrregularityKind):
        assert int(rows[0][name]) == sum(int(row[name]) for row in rows[1:])
    deal(by_hand)
    by_hand.order("dealer", dealer="=1+1")
    deal(by_hand)
    others = list(csv.DictReader(shift_csv(shift(by_hand.journal.path, 0, 99)).splitlines()))
    assert list(others[0]) == list(rows[0])
    assert "'=1+1" in {row["name"] for row in others}


def test_a_damaged_journal_is_told_in_one_line(floor: Sequence[Path]) -> None:
    floor[1].write_bytes(b"no journal")
    result = run(*floor, *WHEN)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("shoe-daemon: not included:")
    assert str(floor[1]) in result.stderr
    assert "Left out" in result.stdout
    assert "table-3" in result.stdout
    nothing = run(floor[1], *WHEN)
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert nothing.stderr.count("\n") == 1


def test_a_changed_journal_is_reported_and_ends_with_one(floor: Sequence[Path]) -> None:
    with sqlite3.connect(floor[0]) as connection:
        connection.execute("UPDATE event SET body = body || ' ' WHERE seq = 9")
    connection.close()
    result = run(*floor[1:], floor[0], *WHEN)
    assert result.exit_code == 1
    assert "BROKEN at event 9" in result.stdout
    assert "not verified" in run(*floor, *WHEN, "--no-verify").stdout


def test_one_table_has_one_journal(floor: Sequence[Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(floor[0].read_bytes())
    result = run(*floor, copy, *WHEN)
    assert result.exit_code == 2
    assert f"both of {SITE}/table-1" in result.stderr
    assert run(floor[0], floor[0], *WHEN).exit_code == 0


@each_case(
    "arguments, message",
    [
        (("--from", "20:00"), "--from 20:00: expected a date and a time"),
        (("--from", "0001-01-01T00:00:00+23:59"), "00+23:59: expected a date and a time"),
        (("--from", "2026-11-21T20:00", "--to", "2026-11-21T20:00"), "expected a time after"),
        (("--from", "2026-11-21T20:00", "--time-zone", "Mars/Crater"), "knows no such zone"),
        (("--from", "2026-11-21T20:00", "--time-zone", "/etc/passwd"), "knows no such zone"),
        (("--from", "2026-11-21T20:00", "--table", "table-9"), "no journal is of this table"),
        (("--from", "2026-11-21T20:00", "--json", "--csv"), "give one of them"),
    ],
)
def test_wrong_options_are_refused_in_a_line(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run(shoe(tmp_path / "journal", rounds=3), *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_journals_are_found_by_their_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shoe(tmp_path / "journal.db", rounds=3)
    config = tmp_path / "table-7.toml"
    config.write_text(
        f'site = "{SITE}"\n[table]\nid = "{TABLE}"\nhouse = "chickasaw"\n[mqtt]\nhost = "::1"\n'
        '[[reader]]\nid = "shoe"\ndriver = "angel-eye-ii"\nport = "/dev/null"\n'
    )
    result = run("--config", config, *WHEN, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["all"]["rounds"]["begun"] == 3
    monkeypatch.setattr("shoe_daemon.config.table.SERVICE_STATE", tmp_path / "state")
    assert "no journals" in run(*WHEN).stderr
    (tmp_path / "state" / "table-7").mkdir(parents=True)
    path.rename(tmp_path / "state" / "table-7" / "journal.db")
    assert run(*WHEN).exit_code == 0


def test_times_are_those_of_the_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shoe(tmp_path / "journal", rounds=30)
    paris = run(path, "--from", "2026-11-21T21:00", "--to", "2026-11-21T23:00",
                "--time-zone", "Europe/Paris")  # fmt: skip
    assert "21 November 2026, 21:00:00 to 23:00:00 (2 h), time zone Europe/Paris" in paris.stdout
    assert "30 ended" in paris.stdout
    exact = run(path, "--from", "2026-11-21T20:00Z", "--to", "2026-11-21T23:00+01:00",
                "--time-zone", "Asia/Macau", "--json")  # fmt: skip
    answer = json.loads(exact.stdout)
    assert (answer["start"], answer["end"]) == (moment(0), moment(7200))
    monkeypatch.setenv("TZ", "Asia/Macau")
    mine = run(path, "--from", "2026-11-22T04:00", "--to", "2026-11-22T06:00")
    assert "time zone Asia/Macau" in mine.stdout
    assert "30 ended" in mine.stdout


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("2026-10-25T00:00", "2026-10-26T00:00", 25),
        ("2026-03-29T00:00", "2026-03-30T00:00", 23),
        ("2026-11-21T20:30", "2026-11-21T22:10", 3),
    ],
)
def test_hours_are_those_of_the_clock_also_when_it_changes(
    by_hand: Writer, start: str, end: str, hours: int
) -> None:
    zone = ZoneInfo("Europe/Paris")
    first, last = (
        int(datetime.fromisoformat(each).replace(tzinfo=zone).timestamp()) * 1_000_000
        for each in (start, end)
    )
    deal(by_hand)
    report = read_shift([by_hand.journal.path], Period(first, last, zone))
    assert len(report.hours) == hours
    week = read_shift([by_hand.journal.path], Period(first, first + 7 * 24 * HOUR, zone))
    assert len(week.hours) in {7, 8}
    assert shift_text(week, zone)


def test_the_page_is_safe_and_needs_nothing_from_outside(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal", supervisor=HOSTILE) as writer:
        writer.session("seven-feathers", round_end=RoundEnd.RULES)
        writer.order("new_shoe")
        writer.order("dealer", dealer=HOSTILE)
        deal(writer)
        writer.order("hold", kind="card_off_table", reason=HOSTILE)
    report = shift(tmp_path / "journal", 0, 7200)
    page = shift_page(report, UTC)
    reading = read(page)
    assert not {"script", "img", "link", "iframe"} & set(reading.tags)
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in reading.attributes}
    assert not re.search(r"url\(|@import|\$", page)
    assert reading.text.count('<script>alert("x")</script>') >= 3
    assert "\x1b" not in reading.text + shift_text(report, UTC) + shift_csv(report)
    assert max(map(len, shift_text(report, UTC).splitlines())) <= COLUMNS


def test_the_page_has_charts_numbers_of_pages_and_room_to_sign(
    floor: Sequence[Path], tmp_path: Path
) -> None:
    out = tmp_path / "shift.html"
    result = run(*floor, *WHEN, "--html", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out}: the report on the shift\n"
    page = out.read_text(encoding="utf-8")
    report = read_shift(floor, Period(START, START + 2 * HOUR, UTC))
    assert page.count('class="bars"') == len(report.hours) == 2
    assert page.count('class="range"') == 6
    assert page.count('class="plot"') == 6 + len(report.all.kinds) + 3
    assert "counter(page)" in page
    assert all(signer in page for signer in ("Shift manager", "Supervisor", "Auditor"))
    assert "report by shoe-daemon" in page


def test_what_is_unusual_is_said_in_a_sentence(by_hand: Writer) -> None:
    for _ in range(20):
        deal(by_hand)  # the Player wins with a natural, each time
    report = shift(by_hand.journal.path, 0, 1000)
    player = next(each for each in report.expectations if each.name == "player")
    assert (player.found, player.rounds) == (20, 20)
    assert player.low > player.expected_share
    text = " ".join(shift_text(report, UTC).split())
    expected = f"{20 * player.expected_share:.1f} were expected: very rare, 1 shift in"
    assert f"Player came 20 times in 20 rounds, and {expected}" in text
    assert "All counts are what chance gives" not in text
    assert 'class="odd"' in shift_page(report, UTC)


def test_the_limits_of_a_share() -> None:
    assert confidence_interval(0, 0) == (0, 1)
    for found, rounds, low, high in (
        (0, 10, 0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1),
        (450, 1000, 0.4194, 0.4810),
    ):
        assert confidence_interval(found, rounds) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize("space", ["", " ", "\t", "\r\n", "\u200b", "\ufeff", "\u3000\x00"])
def test_no_cell_is_a_formula(space: str) -> None:
    for sign in "=+-@＝＋－＠":  # noqa: RUF001 - full-width ones
        assert csv_cell(f"{space}{sign}1+1") == f"'{space}{sign}1+1"
    for text in ("", " ", "Maria", "1-2", "何-1", "'=1"):
        assert csv_cell(text) == text

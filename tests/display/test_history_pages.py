"""The pages of the log: every filter, exports, and the page of a round."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest

from drivers.simulators.simulated_shoe import Fault
from shoe_daemon.cli.journals_into_log import import_journal
from shoe_daemon.display.history_pages import parse_filter
from shoe_daemon.display.history_store import HistoryStore, ReceivedEvent, SeqRange
from shoe_daemon.display.history_summaries import LoggedEvent
from shoe_daemon.password_hashes_and_throttle import hash_password
from tests.brokers import free_port
from tests.display.display_process import Display
from tests.report.report_shoes import Writer, open_mode, shoe

MACAU = ZoneInfo("Asia/Macau")
CONFIG = (
    '[display]\ntime_zone = "Asia/Macau"\n[display.history]\nfile = "history.db"\ndays = 36500\n'
)


def fill(path: Path, folder: Path) -> None:
    """Write the log of two tables of two sites."""
    folder.mkdir()
    first = shoe(
        folder / "1.db", seed=3, shoes=2, faults=tuple(Fault), fault_rate=0.2, **open_mode()
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


@pytest.fixture(scope="module")
def display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Display]:
    """A display without a broker, with a log."""
    folder = tmp_path_factory.mktemp("log")
    fill(folder / "history.db", folder / "journals")
    with Display(folder, free_port(), CONFIG) as display:
        yield display


def log(display: Display, **values: object) -> Any:  # noqa: ANN401 - JSON
    """Return the document of the page."""
    return display.ask(f"/pit/log?{urlencode(values)}").block["first"]["log"]


def exported(display: Display, **values: object) -> list[Any]:
    """Return all rows of a search."""
    answer = display.ask(f"/pit/log?{urlencode({**values, 'format': 'jsonl'})}")
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


@pytest.mark.parametrize(("values", "fits"), [*FILTERS, *ENTRY_FILTERS])
def test_a_filter_of_irregularities_gives_those_that_fit(
    display: Display, values: dict[str, object], fits: Callable[[Row], bool]
) -> None:
    rows = exported(display)
    assert exported(display, **values) == [row for row in rows if fits(row)]


@pytest.mark.parametrize(("values", "fits"), [*FILTERS, *ROUND_FILTERS])
def test_a_filter_of_rounds_gives_those_that_fit(
    display: Display, values: dict[str, object], fits: Callable[[Row], bool]
) -> None:
    rows = exported(display, view="rounds")
    assert len(rows) > 100
    assert exported(display, view="rounds", **values) == [row for row in rows if fits(row)]


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


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"shoe": "x", "round": "0"}, ["shoe", "round"]),
        ({"from": "yesterday", "to": "2026-13-01"}, ["from", "to"]),
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


@pytest.mark.parametrize("path", ["x/1/1", "casino-north.table-7/9/1", "..%2f/1/1"])
def test_an_unknown_round_is_said(display: Display, path: str) -> None:
    answer = display.ask(f"/pit/round/{path}")
    assert answer.status == 404


def test_the_page_says_what_may_be_missing(display: Display) -> None:
    (gap,) = log(display)["incomplete"]
    assert gap["table"] == "casino-south.table-7"
    assert gap["to"] == "2026-11-22 04:11:40"
    assert log(display, table="casino-north.table-7")["incomplete"] == []


def test_the_log_is_locked_as_the_pit_is(tmp_path: Path) -> None:
    text = f'[display.pit]\nuser = "pit"\npassword_hash = "{hash_password("secret")}"\n'
    with Display(tmp_path, free_port(), text) as display:
        for path in ("/pit/log", "/pit/log?format=csv", "/pit/round/a.b/1/1"):
            assert display.ask(path).status == 401
        allowed = display.ask("/pit/log", Authorization="Basic cGl0OnNlY3JldA==")
        assert allowed.block["first"]["log"]["enabled"] is False


def test_a_finished_round_has_its_pictures_and_no_others(tmp_path: Path) -> None:
    fill(tmp_path / "history.db", tmp_path / "journals")
    pictures = tmp_path / "evidence" / "casino-north.table-7"
    pictures.mkdir(parents=True)
    text = (
        f'[display.pit]\nuser = "pit"\npassword_hash = "{hash_password("secret")}"\n'
        f'{CONFIG}evidence = "evidence"\n'
    )
    key = {"Authorization": "Basic cGl0OnNlY3JldA=="}
    with Display(tmp_path, free_port(), text) as display:
        path = "/pit/round/casino-north.table-7/1/5"
        found = display.ask(path, **key).block["first"]["round"]["found"]
        assert found["pictures"] == []
        ended = datetime.fromisoformat(found["ended"]).replace(tzinfo=MACAU).astimezone(UTC)
        inside = f"{ended:%Y%m%d-%H%M%S}.000-P1-AS.jpg"
        for name in (inside, "20200101-000000.000-P1-AS.jpg", "notes.txt", ".half.jpg"):
            (pictures / name).write_bytes(b"picture")
        found = display.ask(path, **key).block["first"]["round"]["found"]
        assert [each["name"] for each in found["pictures"]] == [inside]
        assert display.ask(f"{path}/{inside}", **key).body == b"picture"
        assert display.ask(f"{path}/{inside}").status == 401
        for name in ("20200101-000000.000-P1-AS.jpg", "notes.txt", "..%2f..%2fhistory.db"):
            assert display.ask(f"{path}/{name}", **key).status == 404

"""The display's history: the log equals the journal, in whatever order its events arrive."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_daemon.cli import main
from shoe_daemon.display.log.derived import SeqRange
from shoe_daemon.display.log.queries import missing_ranges
from shoe_daemon.display.log.store import (
    HistoryStore,
    ReceivedEvent,
    connect_read_only,
    is_damage,
    logged_event,
    move_aside,
)
from shoe_daemon.display.log.summaries import LoggedEvent
from shoe_daemon.journal import JournalReader
from shoe_daemon.table import is_staff
from shoe_daemon.table.table import Table
from tests.floor.table_messages import PATIENT
from tests.report.report_shoes import shoe
from tests.table.dealer import public_json
from tests.table.history_model import HistoryModel
from tests.table.random_observations import RandomObservations
from tests.volume import sample, volume

SITE, TABLE = "house", "table-1"
SEEDS = range(6)


class _Envelope(msgspec.Struct):
    at: str
    data: dict[str, Any]
    round: int | None
    seq: int
    shoe: int | None
    type: str


@cache
def played(seed: int) -> tuple[list[LoggedEvent], dict[int, HistoryModel], Table]:
    """Return the public events of a table, what they say of each shoe's rounds, and the table."""
    table, models = Table(), {0: HistoryModel()}
    events: list[LoggedEvent] = []
    for observation in RandomObservations(seed).generate(400):
        for each in public_json(table.apply(observation)):
            events.append(logged_event(msgspec.convert(each, _Envelope)))
            if each["type"] == "shoe_started":
                models[each["shoe"]] = HistoryModel()
            models[max(models)].hear([each])
    return events, models, table


def received(events: list[LoggedEvent], table: str = TABLE) -> list[ReceivedEvent]:
    return [ReceivedEvent(SITE, table, each) for each in events]


def content(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything that the pages can find."""
    names = ("event", "entry", "round", "round_card", "duty")
    with closing(sqlite3.connect(path)) as db, db:
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=str) for name in names}  # noqa: S608


def stored(path: Path, *batches: list[LoggedEvent]) -> dict[str, list[tuple[Any, ...]]]:
    with HistoryStore(path) as store:
        for batch in batches:
            store.add(received(batch))
    return content(path)


@pytest.mark.parametrize("seed", sample(SEEDS, 2))
def test_rounds_and_open_entries_are_what_the_events_say(tmp_path: Path, seed: int) -> None:
    events, models, table = played(seed)
    found = stored(tmp_path / "h.db", events)
    by_round = {(row[0] >> 16 & 0xFFFFFF, row[3]): row for row in found["round"]}
    for number_of_shoe, model in models.items():
        for number, (_, data, voided) in model.rounds.items():
            row = by_round[number_of_shoe, number]
            outcome = None if data is None or voided else data["outcome"]
            assert (row[4], bool(row[5] & 1)) == (outcome, voided), number
            if data is not None:
                hands = [
                    " ".join(card or "?" for card in data[hand]["cards"])
                    for hand in ("player", "banker")
                ]
                assert list(row[6:8]) == hands
    still_open = {row[0] & 0xFFFFFFFFFF for row in found["entry"] if row[8] is None}
    # Of what players do not know yet the log has nothing.
    public = {each.data["id"] for each in events if each.type == "irregularity"}
    known = {alert.data.id for alert in table.public().alerts}
    assert still_open == known & public


@settings(PATIENT, max_examples=volume(6, 40))
@given(seed=st.sampled_from(SEEDS), shuffle=st.integers(0, 10**6))
def test_order_and_repetition_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, seed: int, shuffle: int
) -> None:
    events, random = played(seed)[0], Random(shuffle)
    folder = tmp_path_factory.mktemp("history")
    assert stored(folder / "shuffled.db", *disordered(events, random)) == in_order(seed, folder)


def disordered(events: list[LoggedEvent], random: Random) -> list[list[LoggedEvent]]:
    """Return every event at least once, in batches, in any order."""
    shuffled = [*events, *random.choices(events, k=len(events) // 3)]
    random.shuffle(shuffled)
    cuts = sorted(random.randrange(len(shuffled)) for _ in range(3))
    return [
        shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)
    ]


_IN_ORDER: dict[int, Any] = {}


def in_order(seed: int, folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    if seed not in _IN_ORDER:
        _IN_ORDER[seed] = stored(folder / "in-order.db", played(seed)[0])
    found: dict[str, list[tuple[Any, ...]]] = _IN_ORDER[seed]
    return found


def test_the_dealer_on_duty_is_known_in_any_order(tmp_path: Path) -> None:
    changes = [plain(seq, "dealer_changed", dealer=name) for seq, name in DEALERS]
    voids = [plain(seq, "round_voided", operator="ann", reason=None) for seq in (1, 4, 6, 9)]
    for number, batches in enumerate(
        ([changes, voids], [voids, changes], [[*changes[::-1], *voids]])
    ):
        path = tmp_path / f"{number}.db"
        stored(path, *batches)
        with closing(sqlite3.connect(path)) as db, db:
            dealers = [row[0] for row in db.execute("SELECT dealer FROM entry ORDER BY id")]
        assert dealers == [None, "kim", "lee", None]


DEALERS = [(3, "kim"), (5, "lee"), (8, None)]


def plain(seq: int, kind: str, **data: Any) -> LoggedEvent:  # noqa: ANN401
    return LoggedEvent(seq, seq * 1_000_000, 1, 1, kind, data)


def test_a_journal_that_begins_again_replaces_nothing(tmp_path: Path) -> None:
    first = [plain(seq, "round_started") for seq in range(1, 4)]
    second = [each._replace(at=each.at + 7) for each in first]
    with HistoryStore(tmp_path / "h.db") as store:
        assert store.add(received(first)) == len(first)
        assert store.add(received(second)) == len(second)
        assert store.add(received([*first, *second])) == 0
        assert store.journal_with(SITE, TABLE, first[1:]) == 1
        assert store.journal_with(SITE, TABLE, second[1:]) == 2


@given(ranges=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 10)), max_size=12))
def test_the_missing_numbers_are_those_of_no_range(
    tmp_path_factory: pytest.TempPathFactory, ranges: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("history") / "h.db"
    with HistoryStore(path) as store:
        journal = store.journal(SITE, TABLE)
        for first, length in ranges:
            store.add([], [(journal, SeqRange(first, first + length))], [])
    covered = {seq for first, length in ranges for seq in range(first, first + length + 1)}
    reader = connect_read_only(path)
    missing = missing_ranges(reader, journal, 45)
    reader.close()
    numbers = list(chain.from_iterable(range(each.first, each.last + 1) for each in missing))
    assert sorted(numbers) == sorted(set(range(1, 46)) - covered)
    assert missing == sorted(missing, reverse=True)
    assert all(other.last + 1 < one.first for one, other in pairwise(missing))


def test_old_events_are_deleted(tmp_path: Path) -> None:
    events = played(1)[0]
    path, middle = tmp_path / "h.db", events[len(events) // 2].at
    with HistoryStore(path) as store:
        store.add(received(events))
        while store.prune(middle, limit=50):
            pass
    found = content(path)
    assert len(found["event"]) == sum(each.at >= middle for each in events)
    for name, column in (("entry", 2), ("round", 1), ("round_card", 1)):
        assert found[name]
        assert all(row[column] >= middle for row in found[name])


@pytest.mark.parametrize("damage", ["no database", "torn", "another version"])
def test_a_damaged_database_is_recognised_and_moved_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "h.db"
    stored(path, played(1)[0])
    with path.open("r+b") as file:
        if damage == "torn":
            file.truncate(4096)
        elif damage == "no database":
            file.write(b"This is a text. " * 10)
    if damage == "another version":
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA user_version = 77")
    with pytest.raises(sqlite3.DatabaseError) as caught, HistoryStore(path) as store:
        store.add(received(played(2)[0]))
    assert is_damage(caught.value)
    assert move_aside(path).exists()
    assert stored(path, played(1)[0])["round"]


def test_an_imported_journal_is_in_the_log_once(tmp_path: Path) -> None:
    journals = [shoe(tmp_path / f"{seed}.db", seed=seed, rounds=6) for seed in (1, 2)]
    config = tmp_path / "display.toml"
    config.write_text('[display.history]\nfile = "history.db"\n', encoding="utf-8")
    command = ["display", "import", *map(str, journals), "--config", str(config)]
    lines = CliRunner().invoke(main, command).output.splitlines()
    assert [line.endswith(" events, 0 of them new") for line in lines] == [False, False]
    before = content(tmp_path / "history.db")
    again = CliRunner().invoke(main, command).output.splitlines()
    assert [line.endswith(" events, 0 of them new") for line in again] == [True, True]
    assert content(tmp_path / "history.db") == before
    with JournalReader(journals[1]) as reader:
        public = [json.loads(line) for line in reader.event_lines()]
    public = [each for each in public if not is_staff(each["type"])]
    rows = [row for row in before["event"] if row[0] >> 40 == 2]
    assert [(row[0] & 0xFFFFFFFFFF, row[5], json.loads(row[6])) for row in rows] == [
        (each["seq"], each["type"], each["data"]) for each in public
    ]

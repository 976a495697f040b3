"""
Searches in the pit's log over a simulated year of many tables: p50 and p95 of every filter.

`python -m bench.pit_log [--tables 60] [--days 365] [--shoes 0.42] [--repeat 200] [--file PATH]`
makes the database (12 million events by default, some gigabytes) and measures searches with values
that are in it, at random times. An existing `--file` is measured as it is. `--postgres` copies the
events to a PostgreSQL, measures how fast the log is derived there, and searches that instead.

The shoes are simulated, with irregularities and decisions, and dealt again at other times and
tables: the numbers of rows count, not the cards.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.simulators.angel_eye import Mode, Settings, scenes
from drivers.simulators.shoe import Fault
from shoe_daemon import __version__
from shoe_daemon.display.log.derived import (
    INSERT_ENTRY,
    INSERT_ROUND,
    SeqRange,
    card_rows,
    entry_row,
    event_id,
    round_id,
    round_row,
    stored_events,
)
from shoe_daemon.display.log.postgres import PostgresLog, derive
from shoe_daemon.display.log.queries import LogFilter, LogReader
from shoe_daemon.display.log.sql import Database
from shoe_daemon.display.log.store import HistoryStore, connect_read_only
from shoe_daemon.display.log.summaries import (
    DECISIONS,
    IRREGULARITY,
    UNREAD,
    LoggedEvent,
    RoundMark,
    summarise_decision,
    summarise_irregularity,
    summarise_round,
)
from shoe_daemon.forward.database import schema
from shoe_daemon.game.house_rules import house_to_mapping, load_house
from shoe_daemon.game.rulings import load_policy, policy_to_mapping
from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.table import (
    Irregularity,
    IrregularityClosed,
    Table,
    encode_event,
    is_staff,
    to_microseconds,
)
from shoe_daemon.table.observations import Command, Session
from shoe_daemon.table.times import from_microseconds
from tests.fakes.postgres import PASSWORD, temporary_server

DAY_US: Final = 86_400_000_000
START_US: Final = 1_764_547_200_000_000
"""1 December 2025."""

TEMPLATES: Final = 24
FAULT_RATE: Final = 0.02
"""Share of the rounds in which something goes wrong."""

LIMIT_MS: Final = 200
"""Longest time of a filter at p95."""

PAGE: Final = 51
"""Rows of a page, and one that tells whether there are more."""

PEOPLE: Final = [f"supervisor-{number}" for number in range(24)]
DEALERS: Final = [f"dealer-{number}" for number in range(240)]


class Template(NamedTuple):
    """
    The public events of a shoe.

    Attributes:
        events: The events; `seq` from 1, times from 0, the shoe's number is 1.
        data: Their data as JSON.
        length: Duration in microseconds.
        last: The last number.
    """

    events: list[LoggedEvent]
    data: list[str]
    length: int
    last: int


def simulate_shoe(seed: int) -> Template:
    """Deal a shoe, and let a supervisor rule on its irregularities."""
    table, decoder = Table(), AngelEyeII().decoder()
    settings = Settings(
        shoes=1, seed=seed, mode=Mode.OPEN, faults=tuple(Fault), fault_rate=FAULT_RATE
    )
    begin, now = START_US, START_US
    events: list[Any] = []
    house, policy = load_house("chickasaw"), load_policy("fr_2007")
    session = Session(
        site="site",
        table="table",
        house=house.id,
        policy=policy.id,
        program=__version__,
        rules=house_to_mapping(replace(house, resolutions=())),
        rulings=policy_to_mapping(policy),
    )
    events += table.apply(replace(session, at=from_microseconds(now)))
    for scene in scenes(settings):
        for step in scene.steps:
            for at, written in step.writes(copies=1):
                for frame in decoder.feed(written, at):
                    now = max(now, begin + round(at * 1000) * 1000)
                    for observation in frame.observations:
                        events += table.apply(replace(observation, at=from_microseconds(now)))
        for alert in list(table.state.alerts):
            now += 7_000_000
            order = Command(
                name="rule",
                operator="operator",
                irregularity=alert.data.id,
                action="continue",
                reason="seen on the camera",
                at=from_microseconds(now),
            )
            if alert.chosen is None and table.refusal(order) is None:
                events += table.apply(order)
    public = [_logged(encode_event(each)) for each in events if not is_staff(each.type)]
    return Template(
        [each._replace(at=each.at - START_US) for each in public],
        [msgspec.json.encode(each.data, order="sorted").decode() for each in public],
        now - START_US,
        max(each.seq for each in public),
    )


def _logged(line: bytes) -> LoggedEvent:
    found = msgspec.json.decode(line)
    at = to_microseconds(found["at"])
    return LoggedEvent(
        found["seq"], at, found["shoe"], found["round"], found["type"], found["data"]
    )


class _Rows(NamedTuple):
    events: list[tuple[Any, ...]]
    rounds: list[tuple[Any, ...]]
    cards: list[tuple[Any, ...]]
    entries: list[tuple[Any, ...]]
    duties: list[tuple[Any, ...]]


class _Place(NamedTuple):
    """The place of a shoe: journal, last event before it, its number and its begin."""

    journal: int
    seq: int
    shoe: int
    start: int


def shoe_rows(template: Template, place: _Place, chance: random.Random) -> _Rows:
    """Return the rows of a shoe."""
    journal, seq, shoe, start = place
    rows = _Rows([], [], [], [], [])
    dealer, operator = chance.choice(DEALERS), chance.choice(PEOPLE)
    duty = event_id(journal, seq + 1)
    rows.duties.append((duty, dealer))
    changed = f'{{"before":null,"dealer":"{dealer}","operator":"{operator}","reason":null}}'
    rows.events.append((duty, start, shoe, None, None, "dealer_changed", changed))
    seq += 1
    moved: list[CausedEvent] = []
    for event, published in zip(template.events, template.data, strict=True):
        data, text = event.data, published
        ref = None
        if event.type in IRREGULARITY or event.type in DECISIONS:
            data = dict(data)
            if data.get("operator"):
                data["operator"] = operator
            if event.type in IRREGULARITY:
                data["id"] += seq
                ref = event_id(journal, data["id"])
            text = msgspec.json.encode(data, order="sorted").decode()
        number = None if event.round is None else round_id(journal, shoe, event.round)
        key, at = event_id(journal, seq + event.seq), start + event.at
        rows.events.append((key, at, shoe, number, ref, event.type, text))
        if event.type in DECISIONS:
            decided = summarise_decision(
                event._replace(seq=seq + event.seq, at=at, shoe=shoe, data=data)
            )
            rows.entries.append(entry_row(key, decided, dealer))
        moved += stored_events([(key, at, shoe, number, event.type, text)])
    _add_rounds(rows, journal, moved)
    _add_entries(rows, journal, moved, dealer)
    return rows


def _by_round(caused: CausedEvent) -> tuple[int, int]:
    return caused.event.shoe or 0, caused.event.round or 0


def _add_rounds(rows: _Rows, journal: int, events: list[CausedEvent]) -> None:
    inside = sorted((each for each in events if each.event.round is not None), key=_by_round)
    for (shoe, number), found in groupby(inside, _by_round):
        summary = summarise_round(found)
        assert summary is not None  # noqa: S101 - groupby gives no empty group
        key = round_id(journal, shoe, number)
        rows.rounds.append(round_row(key, summary))
        rows.cards.extend(card_rows(key, summary))


def _add_entries(rows: _Rows, journal: int, events: list[CausedEvent], dealer: str) -> None:
    by_number: defaultdict[int, list[CausedEvent]] = defaultdict(list)
    for each in events:
        if isinstance(each.event.data, Irregularity | IrregularityClosed):
            by_number[each.event.data.id].append(each)
    for number, found in by_number.items():
        entry = summarise_irregularity(found)
        if entry is not None:
            rows.entries.append(entry_row(event_id(journal, number), entry, dealer))


def build(path: Path, tables: int, days: int, shoes_a_day: float) -> None:
    """Write the simulated time of all tables, in the order of time."""
    HistoryStore(path).close()
    chance = random.Random(1)
    templates = [simulate_shoe(seed) for seed in range(TEMPLATES)]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -400000")
    indexes = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    heads = dict.fromkeys(range(1, tables + 1), 0)
    shoes = dict.fromkeys(heads, 0)
    for table in heads:
        db.execute("INSERT INTO journal VALUES (?, 'casino', ?, 0, 0)", (table, f"table-{table}"))
    for day in range(days):
        db.execute("BEGIN")
        for table in heads:
            at = START_US + day * DAY_US + chance.randrange(8 * 3_600_000_000, 14 * 3_600_000_000)
            count = int(shoes_a_day + chance.random())
            for _ in range(count):
                template = chance.choice(templates)
                shoes[table] += 1
                rows = shoe_rows(template, _Place(table, heads[table], shoes[table], at), chance)
                _insert(db, rows)
                heads[table] += template.last + 1
                at += template.length + 900_000_000
        db.execute("COMMIT")
    for table, head in heads.items():
        db.execute("UPDATE journal SET head = ?, latest = id WHERE id = ?", (head, table))
        db.execute("INSERT INTO coverage VALUES (?, ?, ?)", (table, *SeqRange(1, max(head, 1))))
    for _, sql in indexes:
        db.execute(sql)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def _insert(db: sqlite3.Connection, rows: _Rows) -> None:
    for statement, found in (
        ("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", rows.events),
        (INSERT_ROUND, rows.rounds),
        ("INSERT INTO round_card VALUES (?, ?, ?, ?, ?)", rows.cards),
        (INSERT_ENTRY, rows.entries),
        ("INSERT INTO duty VALUES (?, ?)", rows.duties),
    ):
        db.executemany(statement, found)


class Values(NamedTuple):
    """Values that are in the log, for the filters."""

    entries: list[dict[str, Any]]
    rounds: list[dict[str, Any]]


def sample(reader: LogReader, chance: random.Random, span: tuple[int, int]) -> Values:
    """Return entries and rounds of random times."""
    values = Values([], [])
    for _ in range(60):
        until = chance.randrange(*span)
        values.entries.extend(reader.entries(LogFilter(until=until), 3))
        values.rounds.extend(reader.rounds(LogFilter(until=until), 3))
    return values


Search = Callable[[random.Random, Values], LogFilter]


def _week(chance: random.Random, at: int) -> LogFilter:
    begin = at - chance.randrange(7 * DAY_US)
    return LogFilter(since=begin, until=begin + 7 * DAY_US)


def _entry(*names: str) -> Search:
    def search(chance: random.Random, values: Values) -> LogFilter:
        found = chance.choice(values.entries)
        return LogFilter(**{name: found[name] for name in names})

    return search


def _round(*names: str) -> Search:
    def search(chance: random.Random, values: Values) -> LogFilter:
        found = chance.choice(values.rounds)
        return LogFilter(**{name: found[name] for name in names})

    return search


def _cards(count: int, *names: str) -> Search:
    def search(chance: random.Random, values: Values) -> LogFilter:
        # A card that was not read cannot be searched for.
        read = [each for each in values.rounds if UNREAD not in (*each["player"], *each["banker"])]
        found = chance.choice(read)
        cards = [*found["player"], *found["banker"]]
        more = {name: found[name] for name in names}
        return LogFilter(cards=tuple(chance.sample(cards, count)), **more)

    return search


ENTRY_SEARCHES: Final[dict[str, Search]] = {
    "nothing": lambda *_: LogFilter(),
    "table": _entry("table"),
    "table, shoe": _entry("table", "shoe"),
    "kind": _entry("kind"),
    "severity": _entry("severity"),
    "operator": _entry("operator"),
    "dealer": _entry("dealer"),
    "open only": lambda *_: LogFilter(open_only=True),
    "a week": lambda chance, values: _week(chance, chance.choice(values.entries)["at"]),
    "round's number": _entry("round"),
    "operator, dealer, kind": _entry("operator", "dealer", "kind"),
    "table, kind, severity, operator": _entry("table", "kind", "severity", "operator"),
    "no result": lambda *_: LogFilter(operator="nobody", severity=3),
}
ROUND_SEARCHES: Final[dict[str, Search]] = {
    "nothing": lambda *_: LogFilter(),
    "number": _round("round"),
    "number, outcome": _round("round", "outcome"),
    "table, shoe, number": _round("table", "shoe", "round"),
    "table": _round("table"),
    "table, outcome": _round("table", "outcome"),
    "outcome": _round("outcome"),
    "a week": lambda chance, values: _week(chance, chance.choice(values.rounds)["at"]),
    "number 99 (none)": lambda *_: LogFilter(round=99),
    "shoe": _round("shoe"),
    "shoe 9999 (none)": lambda *_: LogFilter(shoe=9999),
    "void": lambda *_: LogFilter(mark=RoundMark.VOID),
    "table, held": lambda chance, values: LogFilter(
        table=chance.choice(values.rounds)["table"], mark=RoundMark.HELD
    ),
    "2 cards": _cards(2),
    "4 cards": _cards(4),
    "all cards, table": _cards(4, "table"),
    "3 cards, outcome, number": _cards(3, "outcome", "round"),
    "1 card, void": lambda chance, values: replace(_cards(1)(chance, values), mark=RoundMark.VOID),
    "1 card, number": _cards(1, "round"),
    "number 99 (none), table": lambda chance, values: LogFilter(
        table=chance.choice(values.rounds)["table"], round=99
    ),
    "1 card, tie, a week": lambda chance, values: replace(
        _week(chance, chance.choice(values.rounds)["at"]), outcome="tie", cards=("9H",)
    ),
    "two pairs of the same card": lambda *_: LogFilter(cards=("AS", "KD") * 2),
    "the same card 4 times": lambda *_: LogFilter(cards=("AS",) * 4),
}


Open = Callable[[], AbstractContextManager[Database]]


def opened_file(path: Path) -> Open:
    return lambda: closing(connect_read_only(path))


@contextmanager
def postgres(path: Path) -> Iterator[Open]:
    """A PostgreSQL with the same events, from which the log is derived."""
    with temporary_server() as server:
        server.make_database(schema())
        began = time.monotonic()
        server.copy_log(path)
        print(f"copied to PostgreSQL in {time.monotonic() - began:.0f} s", flush=True)
        log = PostgresLog(server.dsn("board"), lambda: PASSWORD)
        began = time.monotonic()
        with log.open() as database:
            events = database.behind()
            while derive(database):
                pass
        took = time.monotonic() - began
        print(f"derived in {took:.0f} s: {events / took:,.0f} events/s", flush=True)
        with server.connect(database="shoe") as owner:
            owner.execute("VACUUM ANALYZE")
        yield log.open


def measure(open_log: Open, repeat: int) -> Iterator[str]:
    """Yield a line for each filter: p50, p95 and the range in milliseconds."""
    chance = random.Random(2)
    with open_log() as database:
        span = database.execute("SELECT min(at), max(at) FROM round").fetchone()
        events, rounds, entries = database.execute(
            "SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM round),"
            " (SELECT count(*) FROM entry)"
        ).fetchone()
        yield f"{events:,} events, {rounds:,} rounds, {entries:,} entries"
        values = sample(LogReader(database), chance, span)
    everything: list[float] = []
    slowest = 0.0
    for title, searches in (("entries", ENTRY_SEARCHES), ("rounds", ROUND_SEARCHES)):
        for name, search in searches.items():
            times = []
            for _ in range(repeat):
                wanted = search(chance, values)
                began = time.perf_counter()
                with open_log() as database:
                    reader = LogReader(database)
                    (reader.entries if title == "entries" else reader.rounds)(wanted, PAGE)
                times.append((time.perf_counter() - began) * 1000)
            everything += times
            slowest = max(slowest, _p95(times))
            yield f"{title:8} {name:32} {_figures(times)}"
    times = []
    for _ in range(repeat):
        found = chance.choice(values.rounds)
        began = time.perf_counter()
        with open_log() as database:
            LogReader(database).round(found["table"], found["shoe"], found["round"])
        times.append((time.perf_counter() - began) * 1000)
    yield f"{'round':8} {'all of one round':32} {_figures(times)}"
    yield f"{'all':8} {'':32} {_figures(everything)}"
    kept = "kept" if slowest <= LIMIT_MS else "missed"
    yield f"slowest filter: p95 {slowest:.1f} ms; at most {LIMIT_MS} ms: {kept}"


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _figures(times: list[float]) -> str:
    ordered = sorted(times)
    return (
        f"p50 {statistics.median(ordered):7.1f} ms   p95 {_p95(times):7.1f} ms   "
        f"{ordered[0]:.1f} to {ordered[-1]:.1f} ms"
    )


def main() -> None:
    """Build, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--shoes", type=float, default=0.42, help="shoes a day and table")
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pit-log-") as folder:
        path = options.file or Path(folder) / "history.db"
        if not path.exists():
            began = time.monotonic()
            build(path, options.tables, options.days, options.shoes)
            print(f"built in {time.monotonic() - began:.0f} s", flush=True)
        with postgres(path) if options.postgres else nullcontext(opened_file(path)) as opener:
            for line in measure(opener, options.repeat):
                print(line, flush=True)


if __name__ == "__main__":
    main()

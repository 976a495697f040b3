"""A table whose journal has public and staff events, and comparisons with the database."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from shoe_daemon.cli import main
from shoe_daemon.game import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.journal import Entry, Journal, Step
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.table import CardDealt, Event, EventData, RoundVoided, StaffCardDealt
from shoe_daemon.table import observations as seen
from shoe_daemon.table.times import from_microseconds
from tests.fakes.postgres import PASSWORD, Server

START_US = 1_800_000_000_000_000
_SITE = "casino"


class Floor:
    """Tables of a computer in a folder, which forward to a database."""

    def __init__(self, folder: Path, server: Server, database: str = "shoe") -> None:
        self.folder, self.server, self.database = folder, server, database
        self.dsn = server.dsn("floor", database)
        (folder / "forward.password").write_text(PASSWORD)

    def config(
        self, table: str = "table-7", *, database: str | None = None, more: str = ""
    ) -> Path:
        """Write the configuration of a table."""
        path = self.folder / f"{table}.toml"
        path.write_text(
            f'site = "{_SITE}"\n[table]\nid = "{table}"\n[journal]\npath = "{table}.db"\n'
            f'[forward]\ndatabase = "{database or self.dsn}"\nevery = 1\n'
            f'password_file = "forward.password"\n{more}'
        )
        return path

    def journal(self, table: str = "table-7") -> Path:
        """Return the path of a table's journal."""
        return self.folder / f"{table}.db"

    def open(self, table: str = "table-7") -> Journal:
        """Open or create the journal of a table."""
        return Journal.open(self.journal(table), _SITE, table, durable=False)

    def forward(self, *arguments: object) -> Result:
        """Run `shoe-daemon forward --once`; by default for the table 7."""
        what = arguments or (self.config(),)
        return CliRunner().invoke(main, ["forward", "--once", *map(str, what)])

    def start(self, log: Path | None = None) -> subprocess.Popen[bytes]:
        """Start `shoe-daemon forward` for the table 7."""
        command = [sys.executable, "-m", "shoe_daemon", "forward", str(self.config())]
        if log is None:
            return subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with log.open("wb") as output:
            return subprocess.Popen(command, stderr=output, stdout=output)

    def rows(self, query: str, *values: object, user: str = "owner") -> list[Any]:
        """Run a query."""
        with self.server.connect(user, self.database) as connection:
            return connection.execute(query, values).fetchall()

    def copied(self) -> int:
        """Return the last copied event of all journals."""
        (row,) = self.rows("SELECT coalesce(max(seq), 0) FROM shoe.journal")
        return int(row[0])

    def bodies(self, table: str = "table-7") -> list[str]:
        """Return the JSON of the events in the database, rebuilt from its columns."""
        rows = self.rows(
            "SELECT e.seq, (extract(epoch FROM e.at) * 1000000)::bigint, shoe, round, type,"
            " data::text FROM (TABLE shoe.event UNION ALL TABLE shoe.staff_event) AS e"
            " JOIN shoe.journal AS j ON j.id = e.journal"
            " WHERE table_id = %s ORDER BY created, e.seq",
            table,
        )
        return [_body(table, *row) for row in rows]

    def journal_bodies(self, table: str = "table-7") -> list[str]:
        """Return the JSON of the events in the journal."""
        with JournalReader(self.journal(table)) as reader:
            return [line.decode() for line in reader.event_lines()]

    def cursor(self, table: str = "table-7") -> int | None:
        """Return what the journal knows about the copy."""
        with closing(sqlite3.connect(self.journal(table))) as connection:
            row = connection.execute("SELECT seq FROM cursor WHERE consumer='forward'").fetchone()
        return None if row is None else int(row[0])


def _body(  # noqa: PLR0913, PLR0917 - the columns
    table: str, seq: int, at: int, shoe: int | None, number: int | None, kind: str, data: str
) -> str:
    return (
        f'{{"at":"{from_microseconds(at)}","data":{data},"round":{json.dumps(number)},'
        f'"schema":"1.0","seq":{seq},"shoe":{json.dumps(shoe)},"site":"{_SITE}",'
        f'"table":"{table}","type":"{kind}"}}'
    )


def append(journal: Journal, *data: EventData, round_number: int | None = 1) -> None:
    """Append events of one observation."""
    seq, table = journal.head.seq, journal.identity.table
    at = from_microseconds(START_US + (seq + 1) * 250_000)
    events = [
        Event(at, each, round_number, "1.0", seq + place, 1, _SITE, table, each.type)
        for place, each in enumerate(data, start=1)
    ]
    journal.append([Entry(steps=[Step(seen.Tick(at=at, deadline="quiet"), events)])])


def deal(journal: Journal, cards: int) -> None:
    """Append cards, each fifth with a hidden face, and a reason that needs escapes."""
    for number in range(cards):
        data: list[EventData] = [CardDealt(None, None, None, Slot.P1)]
        if number % 5 == 0:
            data.append(StaffCardDealt(Card("10H"), Slot.P1))
        if number % 50 == 0:
            data.append(RoundVoided(None, None, "ana", 'back\\slash "quoted" 閒\t'))
        append(journal, *data, round_number=number // 5 + 1)


def deal_quickly(journal: Journal, cards: int) -> None:
    """Append many cards in few transactions."""
    identity, seq = journal.identity, journal.head.seq
    for first in range(0, cards, 1000):
        events: list[Event] = []
        at = from_microseconds(START_US + (seq + 1) * 250_000)
        for _ in range(min(1000, cards - first)):
            seq += 1
            data: EventData = CardDealt(0, Card("10H"), 0, Slot.P1)
            if seq % 10 == 0:
                data = StaffCardDealt(Card("KS"), Slot.B1)
            events.append(
                Event(at, data, seq // 6 + 1, "1.0", seq, 1, _SITE, identity.table, data.type)
            )
        step = Step(seen.Tick(at=at, deadline="quiet"), events)
        journal.append([Entry(steps=[step])])


def lines_of(result: Result) -> Sequence[str]:
    """Return what a failed command printed."""
    return result.output.strip().splitlines()

"""Deterministic journal entries for tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner, Result

from shoe_daemon import __version__
from shoe_daemon.cli import main
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.journal import Entry, Head, Journal, Step
from shoe_daemon.table import CardDealt, Event, EventData, RoundStarted, ShoeStarted
from shoe_daemon.table.observations import CardDrawn, Observation, Session, Tick
from shoe_daemon.table.times import from_microseconds

SITE, TABLE = "casino-north", "table-7"
ROUNDS_A_SHOE = 20


def open_journal(path: Path) -> Journal:
    """Open or create the journal of the test table."""
    return Journal.open(path, SITE, TABLE)


def moment(number: int) -> str:
    return from_microseconds(1_800_000_000_000_000 + number * 250_000)


def events_of(observation: int) -> int:
    """Return the number of events of an observation: 0 to 3."""
    return observation % 4


def entry(head: Head) -> Entry:
    """
    Return the entry after a head: every 20th observation starts a shoe, every 7th has no bytes.
    """
    number = head.observation + 1
    starts = number % ROUNDS_A_SHOE == 1
    source = None if number % 5 == 0 else "angel"
    observation: Observation = CardDrawn(
        at=moment(number), source=source, card=Card("10H"), slot=Slot.P1
    )
    if starts:
        observation = Session(at=moment(number), site=SITE, table=TABLE, program=__version__)
    elif number % 7 == 0:
        observation = Tick(at=moment(number), deadline="quiet")
    events = list(_events(head.seq, number, starts=starts))
    checkpoint = b"state %d" % number if starts else None
    raw = b"" if number % 7 == 0 else b"\x02card %d\x03\xff" % number
    return Entry(raw, [Step(observation, events, checkpoint)])


def _events(seq: int, number: int, *, starts: bool) -> Iterator[Event]:
    shoe = (number - 1) // ROUNDS_A_SHOE + 1
    kinds: list[EventData] = [CardDealt(None, Card("10H"), 0, Slot.P1), RoundStarted()]
    if starts:
        kinds = [ShoeStarted(8, "chickasaw", "management")]
    for place in range(1, events_of(number) + 1):
        data = kinds[place % len(kinds)]
        round_number = None if starts else number
        yield Event(
            moment(number), data, round_number, "1.0", seq + place, shoe, SITE, TABLE, data.type
        )


def fill(journal: Journal, observations: int) -> None:
    """Append observations."""
    for _ in range(observations):
        journal.append([entry(journal.head)])


def made(path: Path, observations: int = 45) -> Path:
    """Create a closed journal."""
    with Journal.open(path, SITE, TABLE, durable=False) as journal:
        fill(journal, observations)
    return path


def execute(path: Path, *statements: str) -> None:
    """Change a closed journal by SQL."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def run_journal(*arguments: object) -> Result:
    """Run `shoe-daemon journal`."""
    return CliRunner().invoke(main, ["journal", *map(str, arguments)])

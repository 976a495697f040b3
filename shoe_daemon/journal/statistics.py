"""What is in a journal, in numbers."""

from __future__ import annotations

import sqlite3
from typing import Any

from msgspec import Struct

from shoe_daemon.journal.journal_file import wal_of
from shoe_daemon.journal.journal_reader import JournalReader


class Counter(Struct, frozen=True):
    """What was only counted of one reader."""

    bytes: int
    noise: int
    repeats: int


class Summary(Struct, frozen=True):
    """
    What is in a journal.

    Attributes:
        aborted: Rounds that came to nothing.
        counters: By reader; `""` where there is only one.
        cursors: The last event that each consumer is known to have.
        events: By type.
        first_at: Of the first observation; None where there is none.
        hash: The head of the chain, in hex.
        irregularities: By kind.
        last_at: Of the last observation.
        rounds: Those that were finished.
        seq: Of the last event.
        shoes: Those that were started.
        size: In bytes, what is not yet in the main file included.
        version: Of the file's form.
    """

    aborted: int
    captures: int
    checkpoints: int
    counters: dict[str, Counter]
    created: str
    cursors: dict[str, int]
    events: dict[str, int]
    first_at: str | None
    hash: str
    irregularities: dict[str, int]
    last_at: str | None
    observations: int
    rounds: int
    seq: int
    shoes: int
    site: str
    size: int
    table: str
    version: int


def summarise(reader: JournalReader) -> Summary:
    """Count what one moment of a journal holds."""
    connection = reader.connection
    connection.execute("BEGIN")
    try:
        return _summary(reader, connection)
    finally:
        connection.execute("COMMIT")


def _summary(reader: JournalReader, connection: sqlite3.Connection) -> Summary:
    head = reader.head()
    events = _pairs(connection, "SELECT type, count(*) FROM event GROUP BY type")
    return Summary(
        aborted=events.get("round_aborted", 0),
        captures=head.capture,
        checkpoints=_one(connection, "SELECT count(*) FROM checkpoint"),
        counters=_counters(connection),
        created=reader.identity.created,
        cursors=_pairs(connection, "SELECT consumer, seq FROM cursor"),
        events=events,
        first_at=_one(connection, "SELECT at FROM observation ORDER BY id LIMIT 1"),
        hash=head.hash.hex(),
        irregularities=_pairs(
            connection,
            "SELECT body ->> '$.data.kind' AS kind, count(*) FROM event"
            " WHERE type = 'irregularity' GROUP BY kind",
        ),
        last_at=_one(connection, "SELECT at FROM observation ORDER BY id DESC LIMIT 1"),
        observations=head.observation,
        rounds=events.get("round_finished", 0),
        seq=head.seq,
        shoes=events.get("shoe_started", 0),
        site=reader.identity.site,
        size=_size(reader),
        table=reader.identity.table,
        version=reader.version,
    )


def _counters(connection: sqlite3.Connection) -> dict[str, Counter]:
    rows = connection.execute("SELECT source, bytes, noise, repeats FROM counter ORDER BY source")
    return {source: Counter(*counts) for source, *counts in rows}


def _pairs(connection: sqlite3.Connection, query: str) -> dict[str, int]:
    return dict(sorted(connection.execute(query)))


def _one(connection: sqlite3.Connection, query: str) -> Any:  # noqa: ANN401 - as the query says
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]


def _size(reader: JournalReader) -> int:
    files = (reader.path, wal_of(reader.path))
    return sum(file.stat().st_size for file in files if file.exists())

"""Statistics of a journal's contents."""

from __future__ import annotations

import sqlite3
from typing import Any

from msgspec import Struct

from shoe_daemon.journal.database import read_anchor, wal_of
from shoe_daemon.journal.reader import JournalReader


class Counter(Struct, frozen=True):
    """Data of one reader that was counted but not stored."""

    bytes: int
    noise: int
    repeats: int


class Summary(Struct, frozen=True):
    """
    The contents of a journal, in numbers.

    Attributes:
        counters: By reader id; `""` for the only reader.
        cursors: The last event acknowledged by each consumer.
        first_at: Time of the first observation; None in an empty journal.
        hash: The last hash of the chain, in hex.
        removed: The last shoe that was removed; 0 for none.
        size: In bytes, including the WAL.
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
    removed: int
    rounds: int
    seq: int
    shoes: int
    site: str
    size: int
    table: str
    version: int


def summarise(reader: JournalReader) -> Summary:
    """Count the contents in one snapshot."""
    connection = reader.connection
    connection.execute("BEGIN")
    try:
        return _summary(reader, connection)
    finally:
        connection.execute("COMMIT")


def _summary(reader: JournalReader, connection: sqlite3.Connection) -> Summary:
    head, anchor = reader.head(), read_anchor(connection)
    counters = connection.execute(
        "SELECT source, bytes, noise, repeats FROM counter ORDER BY source"
    )
    files = (reader.path, wal_of(reader.path))
    events = _pairs(connection, "SELECT type, count(*) FROM event GROUP BY type")
    return Summary(
        aborted=events.get("round_aborted", 0),
        captures=head.capture - (anchor.capture if anchor else 0),
        checkpoints=_one(connection, "SELECT count(*) FROM checkpoint"),
        counters={source: Counter(*counts) for source, *counts in counters},
        created=reader.identity.created,
        cursors=_pairs(connection, "SELECT consumer, seq FROM cursor"),
        events=events,
        first_at=_one(
            connection,
            "SELECT at FROM observation WHERE id > ? ORDER BY id LIMIT 1",
            anchor.observation if anchor else 0,
        ),
        hash=head.hash.hex(),
        irregularities=_pairs(
            connection,
            "SELECT body ->> '$.data.kind' AS kind, count(*) FROM event"
            " WHERE type = 'irregularity' GROUP BY kind",
        ),
        last_at=_one(connection, "SELECT at FROM observation ORDER BY id DESC LIMIT 1"),
        observations=head.observation - (anchor.observation if anchor else 0),
        removed=anchor.shoe if anchor else 0,
        rounds=events.get("round_finished", 0),
        seq=head.seq,
        shoes=events.get("shoe_started", 0),
        site=reader.identity.site,
        size=sum(file.stat().st_size for file in files if file.exists()),
        table=reader.identity.table,
        version=reader.version,
    )


def _pairs(connection: sqlite3.Connection, query: str) -> dict[str, int]:
    return dict(sorted(connection.execute(query)))


def _one(connection: sqlite3.Connection, query: str, *values: int) -> Any:  # noqa: ANN401 - depends on the query
    row = connection.execute(query, values).fetchone()
    return None if row is None else row[0]

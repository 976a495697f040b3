"""Export of events and observations, of the whole journal or one shoe, byte for byte as stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from shoe_daemon.errors import UserError
from shoe_daemon.journal.journal_reader import JournalReader

_PAGE = 500
"""Rows per query: a slow consumer must not block the writer's WAL checkpoint."""


def event_lines(reader: JournalReader, shoe: int | None = None) -> Iterator[bytes]:
    """Yield all events, or those of one shoe."""
    if shoe is not None:
        _span(reader, shoe)
    query = "SELECT seq, CAST(body AS BLOB) FROM event WHERE seq > ?"
    query += "" if shoe is None else " AND shoe = ?"
    query += f" ORDER BY seq LIMIT {_PAGE}"
    chosen = () if shoe is None else (shoe,)
    after = 0
    while page := reader.connection.execute(query, (after, *chosen)).fetchall():
        yield from (body for _, body in page)
        after = page[-1][0]


def observation_lines(reader: JournalReader, shoe: int | None = None) -> Iterator[bytes]:
    """Yield all observations; for one shoe, preceded by the session in effect at its start."""
    if shoe is None:
        yield from (line for _, line in reader.observation_lines())
        return
    first, end = _span(reader, shoe)
    yield from (
        reader.connection.execute(
            "SELECT CAST(body AS BLOB) FROM observation WHERE type = 'session' AND id < ?"
            " ORDER BY id DESC LIMIT 1",
            (first,),
        ).fetchone()
        or ()
    )
    lines = reader.observation_lines(first - 1)
    yield from (line for _, line in takewhile(lambda row: end is None or row[0] < end, lines))


def _span(reader: JournalReader, shoe: int) -> tuple[int, int | None]:
    starts = dict(
        reader.connection.execute(
            "SELECT shoe, min(observation) FROM event WHERE type = 'shoe_started'"
            " AND shoe >= ? GROUP BY shoe ORDER BY shoe LIMIT 2",
            (shoe,),
        )
    )
    if shoe not in starts:
        raise UserError(f"{reader.path}: has no shoe {shoe}; {_shoes(reader)}")
    first = starts.pop(shoe)
    return first, next(iter(starts.values()), None)


def _shoes(reader: JournalReader) -> str:
    first, last = reader.connection.execute(
        "SELECT min(shoe), max(shoe) FROM event WHERE type = 'shoe_started'"
    ).fetchone()
    return "it has none at all" if first is None else f"its shoes are {first} to {last}"

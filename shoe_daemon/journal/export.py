"""The lines of a journal, whole or of one shoe, byte for byte as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from shoe_daemon.errors import UserError
from shoe_daemon.journal.journal_reader import JournalReader

_PAGE = 500
"""Lines at a time: who reads them slowly must not hold the writer's WAL back."""


def event_lines(reader: JournalReader, shoe: int | None = None) -> Iterator[bytes]:
    """Yield the events, or those of one shoe."""
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
    """Yield the observations, or those of one shoe, led by the session it began under."""
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

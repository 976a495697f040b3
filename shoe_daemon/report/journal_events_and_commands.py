"""A journal's events by shoe, with the commands that caused them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from shoe_daemon.errors import UserError
from shoe_daemon.journal.journal_reader import JournalReader
from shoe_daemon.report.caused_event import CausedEvent
from shoe_daemon.table import Command, decode_event

_PAGE: Final = 500
"""Rows per query: a long read must not block the writer's WAL checkpoint."""

NO_END: Final = 1 << 62
"""The end of the last shoe: later than any event."""

_EVENTS: Final = """
    SELECT e.seq, e.observation, CAST(e.body AS BLOB), ifnull(o.type, ''),
           CASE WHEN o.type = 'command' THEN CAST(o.body AS BLOB) END
    FROM event e LEFT JOIN observation o ON o.id = e.observation
    WHERE e.seq > :after AND e.seq < :end
      AND (:types IS NULL OR e.type IN (SELECT value FROM json_each(:types)))
    ORDER BY e.seq LIMIT :page
"""


class ShoeSpan(NamedTuple):
    """The events of one shoe: from `first` up to and excluding `end`, or `NO_END`."""

    shoe: int
    first: int
    end: int


def shoe_spans(reader: JournalReader) -> list[ShoeSpan]:
    """Return the shoes of a journal, oldest first."""
    starts = reader.connection.execute(
        "SELECT shoe, min(seq) FROM event WHERE type = 'shoe_started' AND shoe IS NOT NULL"
        " GROUP BY shoe ORDER BY shoe"
    ).fetchall()
    return [
        ShoeSpan(shoe, seq, end) for (shoe, seq), (_, end) in pairwise([*starts, (None, NO_END)])
    ]


def find_span(reader: JournalReader, shoe: int | None) -> ShoeSpan:
    """
    Return one shoe; the last one for None.

    Raises:
        UserError: The shoe does not exist.
    """
    known = shoe_spans(reader)
    if not known:
        raise UserError(f"{reader.path}: holds no shoe yet")
    if shoe is None:
        return known[-1]
    for span in known:
        if span.shoe == shoe:
            return span
    raise UserError(
        f"{reader.path}: has no shoe {shoe}; its shoes are {known[0].shoe} to {known[-1].shoe}"
    )


def events_in(
    reader: JournalReader, span: ShoeSpan, types: Collection[str] | None = None
) -> Iterator[CausedEvent]:
    """
    Yield the events of one shoe in order, or those of the given types.

    Raises:
        UserError: An event is unknown to this version.
    """
    wanted = {
        "after": span.first - 1,
        "end": span.end,
        "types": None if types is None else msgspec.json.encode(list(types)).decode(),
        "page": _PAGE,
    }
    while rows := reader.connection.execute(_EVENTS, wanted).fetchall():
        for seq, observation, body, cause, order in rows:
            try:
                event = decode_event(body)
                command = None if order is None else msgspec.json.decode(order, type=Command)
            except msgspec.DecodeError as error:
                raise UserError(f"{reader.path}: event {seq} cannot be read: {error}") from error
            yield CausedEvent(event, observation, cause, command)
        wanted["after"] = rows[-1][0]

"""
The reports read from journals, with the proof that a journal is unchanged. Daemons may be writing
the journals.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from shoe_daemon import __version__
from shoe_daemon.errors import UserError
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.part import part_around
from shoe_daemon.journal.reader import open_read_only
from shoe_daemon.journal.signatures import last_signature
from shoe_daemon.journal.verify import verify
from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.report.figures import JournaledCommand, ShiftReport, TableEvents
from shoe_daemon.report.period import Period, first_event_at
from shoe_daemon.report.shift import FoldedTable, fold_table_events, report_on_shift
from shoe_daemon.report.shoe import Proof, ProofSignature, ShoeReport, Verified, report_on
from shoe_daemon.table import (
    Command,
    DealerChanged,
    EventData,
    Table,
    decode_event,
    decode_observation,
    reader_status,
    to_microseconds,
)

Progress = Callable[[int, int], None]

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
_HASH_BYTES: Final = 32

_NEAR: Final = 10_000
"""More events than a table causes between two signatures."""

_LAST_EVENT: Final = (
    "SELECT seq, hash, observation FROM event WHERE seq < ? ORDER BY seq DESC LIMIT 1"
)
_PUBLISHED_HEAD: Final = """
    SELECT body ->> '$.data.head' FROM event
    WHERE seq BETWEEN ? AND ? AND type = 'shoe_finished' ORDER BY seq DESC LIMIT 1
"""
_PROGRAMS: Final = """
    SELECT body ->> '$.program' FROM observation
    WHERE type = 'session' AND id <= :last AND id >= ifnull((
        SELECT max(o.id) FROM observation o, event e
        WHERE o.type = 'session' AND e.seq = :first AND o.id <= e.observation
    ), 0) ORDER BY id
"""
_STATES_BEFORE: Final = """
    SELECT max(seq) FROM event
    WHERE type IN ('dealer_changed', 'reader_status') AND seq < ?
    GROUP BY type, body ->> '$.data.source'
"""
_EVENT_FROM: Final = "SELECT seq, at FROM event WHERE seq >= ? ORDER BY seq LIMIT 1"
_BOUNDS: Final = "SELECT (SELECT min(seq) FROM event), (SELECT max(seq) + 1 FROM event)"
"""Both in one SELECT would read the whole table."""
_LAST_SHOE: Final = "SELECT ifnull(shoe, 0) FROM event WHERE seq < ? ORDER BY seq DESC LIMIT 1"
_COMMANDS: Final = """
    SELECT id, CAST(body AS BLOB) FROM observation
    WHERE type = 'command'
    AND id >= ifnull((SELECT observation FROM event WHERE seq < ? ORDER BY seq DESC LIMIT 1), 0)
    AND id <= ifnull((SELECT observation FROM event WHERE seq >= ? ORDER BY seq LIMIT 1), 1 << 62)
    ORDER BY id
"""
_SILENCES: Final = """
    SELECT s.at, (SELECT o.at FROM observation o WHERE o.id < s.id ORDER BY o.id DESC LIMIT 1)
    FROM observation s WHERE s.type = 'session' ORDER BY s.id
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


def read_shoe(path: Path, shoe: int | None, *, progress: Progress | None = None) -> ShoeReport:
    """
    Report on one shoe of a journal; on the last one for None. A daemon may be writing the journal.

    With `progress` the chain of the shoe is verified, and `progress` is called with the
    observations done and their total.

    Raises:
        UserError: The shoe does not exist, or the file is no journal.
    """
    with open_read_only(path) as reader:
        span = find_span(reader, shoe)
        report = report_on(events_in(reader, span), replaced=span.end < NO_END)
        return replace(report, proof=prove(reader, span, progress))


def prove(
    reader: JournalReader, span: ShoeSpan, progress: Progress | None, *, since: int | None = None
) -> Proof:
    """
    Collect the proof of some events. Without `progress` the chain is not verified.

    It is verified from the last signature or shoe before them, or before event `since`, up to the
    signature that covers them. The journal holds at least one event before the span's end.
    """
    connection = reader.connection
    last, digest, observation = connection.execute(_LAST_EVENT, (span.end,)).fetchone()
    found = connection.execute(_PUBLISHED_HEAD, (span.first, last)).fetchone()
    published = found[0] if found else None
    sessions = connection.execute(_PROGRAMS, {"first": span.first, "last": observation})
    signed = last_signature(connection, shoe=span.shoe)
    until = signed.seq if signed is not None and 0 < signed.seq - last < _NEAR else last
    verdict = verified = None
    if progress is not None:
        with reader.snapshot():
            of = reader.head().seq
            part = part_around(
                connection, reader.identity, since or span.first, until if until < of else None
            )
            verdict = verify(reader, find=_hash(published), part=part, progress=progress)
        end = of if part.end is None else part.end.seq
        verified = Verified(part.start.seq + 1, end, of, part.basis)
    fault = verdict.broken if verdict else None
    return Proof(
        first_event=span.first,
        last_event=last,
        head=digest.hex(),
        published=published,
        published_at=verdict.found_at if verdict else None,
        chain="not verified" if verdict is None else "broken" if fault else "good",
        broken=f"{fault.row}: {fault.what}" if fault else None,
        written_by=tuple(dict.fromkeys(row[0] for row in sessions)),
        reported_by=__version__,
        signature=None
        if signed is None
        else ProofSignature(signed.seq, signed.key.hex(), signed.signature.hex()),
        verified=None if fault else verified,
    )


def _hash(published: object) -> bytes | None:
    try:
        found = bytes.fromhex(str(published))
    except ValueError:
        return None
    return found if len(found) == _HASH_BYTES else None


def read_shift(
    paths: Sequence[Path],
    period: Period,
    *,
    wanted: Sequence[str] = (),
    progress: Progress | None = None,
) -> ShiftReport:
    """
    Report on a shift from journals. Daemons may be writing them.

    Args:
        paths: One journal for each table.
        period: The time of the shift.
        wanted: Only these tables, as ``table`` or ``site/table``; all if empty.
        progress: With it the chains are verified, and it is called with the observations done
            and their total.

    Raises:
        UserError: No journal can be read, a table of `wanted` has none, or two journals are of
            the same table.
    """
    tables: list[FoldedTable] = []
    faults: list[str] = []
    known: dict[tuple[str, str], Path] = {}
    for path in dict.fromkeys(each.resolve() for each in paths):
        try:
            with open_read_only(path) as reader:
                name = reader.identity.site, reader.identity.table
                twice = name in known
                if not twice and (not wanted or {name[1], "/".join(name)} & set(wanted)):
                    tables.append(_read(reader, period, progress))
        except UserError as error:
            faults.append(str(error))
            continue
        if twice:  # its rounds would count twice
            raise UserError(f"{known[name]} and {path} are both of {'/'.join(name)}")
        known[name] = path
    found = {text for site, table in known for text in (table, f"{site}/{table}")}
    if (missing := [each for each in wanted if each not in found]) and not faults:
        names = ", ".join(sorted("/".join(name) for name in known)) or "none"
        raise UserError(f"--table {missing[0]}: no journal is of this table; there are: {names}")
    if not tables:
        raise UserError("; ".join(faults) or "no journals are given")
    tables.sort(key=lambda each: (each.shift.site, each.shift.table))
    return report_on_shift(tables, period, not_included=faults)


def _read(reader: JournalReader, period: Period, progress: Progress | None) -> FoldedTable:
    connection = reader.connection
    first = _first_from(connection, period.start)
    end = _first_from(connection, period.end)
    # A shoe that was under way is read from its start, as its decks and cards are needed.
    before = [span.first for span in shoe_spans(reader) if span.first < first]
    start = before[-1] if before else first
    states = _states_at(reader, before[-1]) if before else _states_before(reader, first)
    silences = list(_silences(connection))
    identity = reader.identity
    return fold_table_events(
        TableEvents(
            identity.site,
            identity.table,
            chain(states, events_in(reader, ShoeSpan(0, start, end))),
            silences,
            starts=sum(period.start <= at < period.end for _, at in silences[:-1]),
            proof=_proof(reader, start, first, end, progress),
            commands=list(_commands(reader, start, end)),
        ),
        period,
    )


def _commands(reader: JournalReader, first: int, end: int) -> Iterator[JournaledCommand]:
    """Yield the commands from the event `first` to the event `end`."""
    for number, body in reader.connection.execute(_COMMANDS, (first, end)):
        try:
            observation = decode_observation(body)
        except UserError as error:
            raise UserError(f"{reader.path}: observation {number}: {error}") from error
        if isinstance(observation, Command):
            yield JournaledCommand(number, observation)


def _states_at(reader: JournalReader, start: int) -> Iterator[CausedEvent]:
    """Yield the dealer and the readers at the start of a shoe, from its checkpoint, as events."""
    first = next(events_in(reader, ShoeSpan(0, start, start + 1)))
    checkpoint = reader.last_checkpoint(before=first.observation + 1)
    state = None
    if checkpoint is not None and checkpoint.observation == first.observation:
        with suppress(UserError):  # of another version
            state = Table.restore(checkpoint.body).state
    if state is None:
        yield from _states_before(reader, start)
        return
    states: list[EventData] = [reader_status(*each) for each in state.readers.items()]
    if state.dealer is not None:
        states.append(DealerChanged(None, state.dealer, None, None))
    for data in states:
        yield first._replace(event=replace(first.event, data=data, type=data.type))


def _states_before(reader: JournalReader, first: int) -> Iterator[CausedEvent]:
    """Yield the last events about the dealer and each reader; this reads all events before."""
    for (seq,) in reader.connection.execute(_STATES_BEFORE, (first,)).fetchall():
        yield from events_in(reader, ShoeSpan(0, seq, seq + 1))


def _proof(
    reader: JournalReader, start: int, first: int, end: int, progress: Progress | None
) -> Proof | None:
    found = reader.connection.execute(_LAST_SHOE, (end,)).fetchone()
    if found is None:
        return None
    # The first signature of that shoe or a later one covers the whole shift.
    return prove(reader, ShoeSpan(found[0], first, end), progress, since=start)


def _first_from(connection: sqlite3.Connection, at: int) -> int:
    """Return the first event at `at` or later; the number after the last if there is none."""

    def event_from(seq: int) -> tuple[int, int] | None:
        row = connection.execute(_EVENT_FROM, (seq,)).fetchone()
        return None if row is None else (row[0], to_microseconds(row[1]))

    low, high = connection.execute(_BOUNDS).fetchone()
    return first_event_at(event_from, low or 0, high or 0, at)


def _silences(connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """
    Yield the times in which the daemon may have been off, in order.

    They are the times before each start, back to the record before it, and the time after the
    last record.
    """
    rows: Iterable[tuple[str, str | None]] = connection.execute(_SILENCES).fetchall()
    for at, last in rows:
        yield 0 if last is None else to_microseconds(last), to_microseconds(at)
    found = connection.execute("SELECT at FROM observation ORDER BY id DESC LIMIT 1").fetchone()
    yield to_microseconds(found[0]) if found else 0, NO_END
